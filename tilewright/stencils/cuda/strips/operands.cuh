// What a lane reads: its rows of A, all of them at once; columns of B, by way of shared memory, where all lanes of a warp read
// the same.
#pragma once

#include "strips/results.cuh"

// Parts write columns that follow one another together, unless a lane reads its columns of B as one vector.
constexpr int APART = B_ALONG ? SPLIT : 1, BESIDE = B_ALONG ? 1 : COLUMNS;

// COUNT neighbours of an operand.
template <int COUNT> INLINE void read(Element (&x)[COUNT], const Stored *from) {
    typedef typename Vector<COUNT * SIZE>::Type Type;
    Pack<COUNT> found;
    found.vector = __ldg((const Type *)from);
    UNROLL for (int i = 0; i < COUNT; i++) x[i] = widened(found.element[i]);
}

// Rows of A, of which `rows` are left from the lane's first on, or more than it has if WHOLE. What is read for the others is that
// of rows that there are, so that all loads are under way at a time: nobody stores what comes of it.
template <bool WHOLE> INLINE void load_rows(Element (&x)[K][ROWS], const Stored *a, long long lda, int row, int rows) {
    if (A_ALONG) {
        constexpr int COUNT = divisor_of(VEC_A, K);
        UNROLL for (int i = 0; i < ROWS; i++) {
            const Stored *const from = a + (row + (WHOLE ? below(i) : min(below(i), rows - 1))) * lda;
            UNROLL for (int k = 0; k < K; k += COUNT) {
                Element found[COUNT];
                read(found, from + k);
                UNROLL for (int e = 0; e < COUNT; e++) x[k + e][i] = conjugated(CONJ_A, found[e]);
            }
        }
    } else {
        constexpr int COUNT = divisor_of(VEC_A, RUN);
        const Stored *from = a;
        UNROLL for (int k = 0; k < K; k++, from = further(from, lda)) UNROLL for (int i = 0; i < ROWS; i += COUNT) {
            Element found[COUNT];
            read(found, from + (WHOLE || below(i) + COUNT <= rows ? row + below(i) : 0));
            UNROLL for (int e = 0; e < COUNT; e++) x[k][i + e] = conjugated(CONJ_A, found[e]);
        }
        // A vector of which the first rows are there.
        if (!WHOLE && COUNT > 1) UNROLL for (int i = 0; i < ROWS; i += COUNT) {
            const int left = rows - below(i);
            if (left <= 0 || left >= COUNT) continue;
            const Stored *at = a + row + below(i);
            UNROLL for (int k = 0; k < K; k++, at = further(at, lda)) UNROLL for (int e = 0; e < COUNT - 1; e++)
                if (e < left) x[k][i + e] = conjugated(CONJ_A, widened(at[e]));
        }
    }
}

// COUNT neighbours on their way to shared memory. What is narrower than such copies passes through a register.
template <int COUNT> INLINE void copy(Stored *to, const Stored *from) {
    if constexpr (COUNT * SIZE >= 4) cp_async<COUNT * SIZE>(to, from, COUNT * SIZE);
    else *to = *from;
}

// Starts to copy the columns of B of a tile to shared memory, by one warp: those that there are, for nobody stores what others
// make. Nothing where the warp has no rows of the tile: nobody would wait for it, and it could arrive after what is copied to the
// same place next.
INLINE void bring(const TileScheduler &tile, Stored *to, int warp, int lane) {
    if (tile.valid() && tile.k_left() > 0 && tile.m + warp * WARP_M < tile.end_m) {
        const long long ldb = tile.groups.g.ldb;
        const Stored *const b = tile.b() + tile.n * (B_ALONG ? ldb : 1);
        const int columns = min(TILE_N, tile.end_n - tile.n);
        constexpr int COUNT = divisor_of(VEC_B, B_ALONG ? K : TILE_N), EACH = (B_ALONG ? K : TILE_N) / COUNT;
        _Pragma("unroll 4") for (int i = lane; i < (B_ALONG ? columns : K) * EACH; i += 32) {
            const int along = i % EACH * COUNT, across = i / EACH;
            const Stored *const from = b + across * ldb + along;
            Stored *const into = to + across * PITCH + along;
            if (B_ALONG || along + COUNT <= columns) copy<COUNT>(into, from);
            else UNROLL for (int e = 0; e < COUNT; e++) if (along + e < columns) copy<1>(into + e, from + e);
        }
    }
    cp_async_commit();
}

// Adds what COLUMNS columns of B make, of which the first is at b in shared memory.
INLINE void add_products(Element (&sum)[COLUMNS][ROWS], const Element (&x)[K][ROWS], const Stored *b) {
    constexpr int COUNT = B_ALONG ? WORD : divisor_of(WORD, COLUMNS);  // read together
    UNROLL for (int k = 0; k < K; k += B_ALONG ? COUNT : 1) UNROLL for (int j = 0; j < COLUMNS; j += B_ALONG ? 1 : COUNT) {
        Pack<COUNT> found;
        found.vector = *(const typename Vector<COUNT * SIZE>::Type *)(b + (B_ALONG ? j * APART * PITCH + k : k * PITCH + j));
        UNROLL for (int e = 0; e < COUNT; e++) {
            const int at_k = B_ALONG ? k + e : k, at_j = B_ALONG ? j : j + e;
            if (at_k >= K) continue;
            const Element y = conjugated(CONJ_B, widened(found.element[e]));
            UNROLL for (int i = 0; i < ROWS; i++) multiply_add(sum[at_j][i], x[at_k][i], y);
        }
    }
}
