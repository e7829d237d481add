// The epilogue of 16-bit results to which no C is added: rounded in registers, transposed into shared memory by stmatrix,
// and written from there in whole lines.
#pragma once

#include "tensor/epilogue.cuh"

struct Epilogue {
    template <bool INSIDE> static INLINE void prefetch(const WarpTile &, long long, Stored *, int) {}  // C is not read

    template <bool INSIDE>
    static INLINE void store(const Accumulators &sum, const WarpTile &tile, long long ldc, const Scalars &s, Out *out,
                             const Stored *, int lane) {
        Stored *const c = tile.c;
        const int rows = tile.rows, columns = tile.columns;
        constexpr int RUNS = WARP_M / VEC_C;
        const int q = lane / 8, column = lane % 8;  // of four blocks of 8 by 8, and of this one
        UNROLL for (int first = 0; first < WARP_N; first += OUT_COLUMNS) {
            __syncwarp();  // the columns before these have been read
            UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j += 2) UNROLL for (int i = 0; i < SUBS_M; i++) {
                constexpr bool TWO = OUT_COLUMNS % 16 == 0;
                unsigned int x[4];
                UNROLL for (int e = 0; e < (TWO ? 4 : 2); e++) {
                    const float *const pair = sum[0][i][first / 8 + j + e / 2] + e % 2 * 2;
                    x[e] = halves_of(scaled(s, pair[0], zero()), scaled(s, pair[1], zero()));
                }
                Half *const to = out + (j * 8 + (TWO ? q / 2 * 8 : 0) + column) * OUT_PITCH + i * 16 + q % 2 * 8;
                if constexpr (TWO)
                    stmatrix_transposed(x[0], x[1], x[2], x[3], to);
                else
                    stmatrix_transposed(x[0], x[1], to);
            }
            __syncwarp();
            _Pragma("unroll (INSIDE ? 8 : 1)") for (int run = lane; run < RUNS * OUT_COLUMNS; run += 32) {
                const int row = run % RUNS * VEC_C, column = run / RUNS, left = rows - row;
                if (!INSIDE && first + column >= columns) continue;
                Pack<VEC_C> found;
                found.vector = *(const typename Vector<VEC_C * SIZE>::Type *)(out + column * OUT_PITCH + row);
                Stored *const to = c + row + (first + column) * ldc;
                if (INSIDE || left >= VEC_C)
                    global_store((typename Vector<VEC_C * SIZE>::Type *)to, found.vector);
                else
                    UNROLL for (int v = 0; v < VEC_C; v++) if (v < left) to[v] = found.element[v];
            }
        }
    }
};
