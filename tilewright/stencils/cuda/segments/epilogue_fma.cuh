// The epilogue of sums that lanes hold as in warp_fma.cuh: each writes its neighbours in a column of C as one vector.
#pragma once

#include "tensor/epilogue.cuh"

struct Epilogue {
    template <bool INSIDE>
    static INLINE void store(const Accumulators &sum, const WarpTile &tile, long long ldc, const Scalars &s, Out *,
                             const Stored *, int lane) {
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            const int column = of_lane<LANES_N, RUN_B>(j, lane / LANES_M);
            if (!INSIDE && column >= tile.columns) continue;
            Stored *const to = tile.c + column * opaque(ldc);
            UNROLL for (int i = 0; i < ROWS; i += RUN_A) {
                const int row = of_lane<LANES_M, RUN_A>(i, lane % LANES_M);
                const Pack<RUN_A> old;
                store_c<RUN_A, INSIDE>(to + row, s, tile.rows - row, old, [&](int v) { return sum[j][i + v]; });
            }
        }
    }
};
