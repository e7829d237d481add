// A warp's part of a tile by tensor cores: it keeps its fragments of A for all of k, and has those of a turn's columns of B on
// their way together. Nothing passes shared memory.
#pragma once

#include "strips/fragments.cuh"
#include "strips/prefetch.cuh"

// The products of 16 columns with all rows of the warp: of each block columns r and r + 8, two rows of a product of each.
INLINE void add_products(float (&sum)[BLOCKS_M][4], const unsigned int (&a)[BLOCKS_M][WORDS], const unsigned int (&b)[WORDS],
                         const unsigned int (&later)[WORDS]) {
    UNROLL for (int j = 0; j < BLOCKS_M; j++) UNROLL for (int i = 0; i < WORDS; i += 2) {
        if (k_of(0, i) >= K) continue;
        if (i + 1 < WORDS && k_of(0, i + 1) < K)
            mma_16x8x16(sum[j], b[i], later[i], b[i + 1], later[i + 1], a[j][i], a[j][i + 1]);
        else
            mma_16x8x8(sum[j], b[i], later[i], a[j][i]);
    }
}

// A lane's rows of a column: numbers `first` and `first + 1` of the sums of each block.
template <bool WHOLE> INLINE void store_column(Stored *to, const float (&sum)[BLOCKS_M][4], int first, int rows) {
    Element found[ROWS];
    UNROLL for (int j = 0; j < BLOCKS_M; j++) {
#if COMPLEX
        found[j] = Element{sum[j][first], sum[j][first + 1]};
#else
        found[2 * j] = sum[j][first];
        found[2 * j + 1] = sum[j][first + 1];
#endif
    }
    store_rows<WHOLE>(to, found, rows);
}

// One turn of a warp: its columns of C from `to` on, of which `left` are there.
template <bool WHOLE>
INLINE void multiply_turn(const unsigned int (&a)[BLOCKS_M][WORDS], const unsigned int (&b)[COLUMNS][WORDS], Stored *to, long long ldc,
                          int rows, int left, int r) {
    UNROLL for (int c = 0; c < COLUMNS; c += 2) {
        if (c > 0 && 8 * c >= left) break;  // the whole warp has no more
        float sum[BLOCKS_M][4];
        UNROLL for (int j = 0; j < BLOCKS_M; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
        add_products(sum, a, b[c], b[c + 1]);
        UNROLL for (int q = 0; q < 2; q++) {
            if (r + 8 * (c + q) < left) store_column<WHOLE>(to, sum, 2 * q, rows);
            to += 8 * ldc;
        }
    }
}

// One tile of a warp, from row `first` on.
template <bool WHOLE> INLINE void multiply_tile(const TileScheduler &tile, int first, int warp, int lane) {
    const Segments &g = tile.groups.g;
    const bool terms = WHOLE || tile.k_left() > 0;  // what is no group's has none
    const int r = lane / 4, rows = tile.end_m - first, own = lane % 4 * RUN;
    const Stored *b = tile.b() + tile.n * (B_ALONG ? g.ldb : 1);
    Stored *to = tile.c() + first + own + (tile.n + r) * g.ldc;
    int left = min(TILE_N, tile.end_n - tile.n);
    unsigned int x[BLOCKS_M][WORDS], y[COLUMNS][WORDS];
    if (terms) {
        load_a<WHOLE>(x, tile.a(), g.lda, first, rows, lane);
        load_b(y, b, g.ldb, left, lane);
        turn_a(x, lane);
    } else {
        UNROLL for (int i = 0; i < WORDS; i++) {
            UNROLL for (int j = 0; j < BLOCKS_M; j++) x[j][i] = 0;
            UNROLL for (int c = 0; c < COLUMNS; c++) y[c][i] = 0;
        }
    }
    if (AHEAD) prefetch(tile, warp, lane);
    _Pragma("unroll 1") while (true) {
        turn_b(y);
        multiply_turn<WHOLE>(x, y, to, g.ldc, rows - own, left, r);
        left -= TURN;
        if (left <= 0) break;
        b += TURN * (B_ALONG ? g.ldb : 1);
        to += TURN * g.ldc;
        if (terms) load_b(y, b, g.ldb, left, lane);
    }
}

// The block's tiles of a chunk of groups.
INLINE void multiply_tiles(const Groups &groups, int warp, int lane) {
    _Pragma("unroll 1") for (TileScheduler tile(groups); tile.valid(); tile.next()) {
        const int first = tile.m + warp * WARP_M;
        if (tile.k_left() > 0 && tile.end_m - first >= WARP_M) multiply_tile<true>(tile, first, warp, lane);
        else if (first < tile.end_m) multiply_tile<false>(tile, first, warp, lane);
    }
}
