// A warp's part of a tile by multiply-add units: a lane keeps its rows of A for all of k, and goes over the columns, which all
// lanes along m read at one address of shared memory.
#pragma once

#include "strips/operands.cuh"
#include "strips/prefetch.cuh"

// COLUMNS columns of C from `to` on, of which `left` are inside, or more than there are if FULL.
template <bool WHOLE, bool FULL>
INLINE void multiply_turn(const Element (&x)[K][ROWS], const Stored *b, bool terms, Stored *to, long long ldc, int rows, int left) {
    Element sum[COLUMNS][ROWS];
    UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = zero();
    if (terms) add_products(sum, x, b);
    UNROLL for (int j = 0; j < COLUMNS; j++) {
        if (FULL || j * APART < left) store_rows<WHOLE>(to, sum[j], rows);
        to += APART * ldc;
    }
}

// One tile of a warp, whose columns of B are in shared memory.
template <bool WHOLE> INLINE void multiply_tile(const TileScheduler &tile, const Stored *b, int row, int rows, int warp, int lane) {
    const Segments &g = tile.groups.g;
    const bool terms = WHOLE || tile.k_left() > 0;  // what is no group's has none, and no columns of B
    Element x[K][ROWS];
    if (terms) load_rows<WHOLE>(x, tile.a(), g.lda, row, rows);
    else UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < ROWS; i++) x[k][i] = zero();
    if (AHEAD) prefetch(tile, warp, lane);
    cp_async_wait<1>();
    __syncwarp();  // the whole warp sees all columns
    const int beside = lane / LANES_M * BESIDE;
    int left = min(TILE_N, tile.end_n - tile.n) - beside;
    Stored *to = tile.c() + row + (tile.n + beside) * g.ldc;
    b += beside * (B_ALONG ? PITCH : 1);
    _Pragma("unroll 1") for (; left > (COLUMNS - 1) * APART; left -= TURN) {
        multiply_turn<WHOLE, true>(x, b, terms, to, g.ldc, rows, left);
        b += TURN * (B_ALONG ? PITCH : 1);
        to += TURN * g.ldc;
    }
    if (left > 0) multiply_turn<WHOLE, false>(x, b, terms, to, g.ldc, rows, left);
}

// The block's tiles of a chunk of groups.
INLINE void multiply_tiles(const Groups &groups, int warp, int lane) {
    Stored *const columns = (Stored *)shared_memory + warp * 2 * OF_B;
    TileScheduler tile(groups);
    int place = 0;
    bring(tile, columns, warp, lane);
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        TileScheduler following(tile);
        following.next();
        __syncwarp();  // the columns of the tile before this one have been read
        bring(following, columns + (place ^ 1) * OF_B, warp, lane);
        const int first = tile.m + warp * WARP_M, row = first + lane % LANES_M * RUN, rows = tile.end_m - row;
        if (tile.k_left() > 0 && tile.end_m - first >= WARP_M)
            multiply_tile<true>(tile, columns + place * OF_B, row, rows, warp, lane);
        else if (first < tile.end_m)
            multiply_tile<false>(tile, columns + place * OF_B, row, rows, warp, lane);
        place ^= 1;
    }
    cp_async_wait<0>();
    __syncwarp();
}
