// The results of a warp group: rounded, put together as columns of 64 rows in shared memory, some of them at a time, and stored
// from there as boxes, while the group goes on. Where a box would reach into the columns of the next group, and where rows are
// split, threads store what is the group's.
#pragma once

#include "lib/columns.cuh"
#include "lib/meet.cuh"  // 1 to 4 are the barriers of warp groups

#if COMPLEX
typedef float Sums[2][TILE_N / 2];  // of real parts, and of imaginary ones
#else
typedef float Sums[TILE_N / 2];
#endif

// Puts columns of a warp's sums together, from `first` on.
INLINE void put(const Sums &sum, int first, unsigned char *out, int warp, int lane) {
    // Addresses of complex halves are made anew each time: kept, they would take registers of sums.
    if (COMPLEX) asm volatile("" : "+r"(lane));
    UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j += 2) {
#if COMPLEX
        UNROLL for (int i = 0; i < 8; i++) {
            const int e = i / 2 % 2, at = (first / 8 + j + i / 4) * 4 + i % 4;
            const int row = column_of(warp, e, lane / 4), column = (j + i / 4) * 8 + lane % 4 * 2 + i % 2;
            unsigned char *const line = out + row / SLICE * OF_OUT + column * LINE;
            *(unsigned int *)(line + (row % SLICE / 4 ^ column % 8) * 16 + row % 4 * 4) = halves_of(sum[0][at], sum[1][at]);
        }
#else
        const float *const x = sum + (first / 8 + j) * 4;
        const int q = lane / 8;
        stmatrix_transposed(halves_of(x[0], x[1]), halves_of(x[2], x[3]), halves_of(x[4], x[5]), halves_of(x[6], x[7]),
                            (Stored *)out + ((j + q / 2) * 8 + lane % 8) * 64 + ((warp % 4 * 2 + q % 2) ^ lane % 8) * 8);
#endif
    }
}

// `place` is where the next columns are put together: those before them may still be on their way from the other one.
INLINE void store(const Sums &sum, const TileScheduler &tile, const TensorMap &map_c, int &place, int warp, int lane) {
    const int group = warp / 4, row = tile.m + 64 * group, rows = tile.end_m - row, columns = tile.end_n - tile.n;
    const int thread = warp % 4 * 32 + lane;
    if (rows <= 0) return;
    UNROLL for (int first = 0; first < TILE_N; first += OUT_COLUMNS) {
        if (first >= columns) return;
        unsigned char *const out = shared_memory + AT_OUT + (group * PLACES + place) * OUT;
        place ^= 1;
        if (thread == 0) bulk_read<PLACES - 1>();
        __syncwarp();
        meet(1 + group, 128);  // the columns that were here have been read
        put(sum, first, out, warp, lane);
        const bool boxed = AXIS == 2 || (AXIS == 1 && first + OUT_COLUMNS <= columns);
        if (boxed) async_fence();
        meet(1 + group, 128);
        UNROLL for (int i = 0; i < OUTS; i++) {
            const int from = row + i * SLICE, left = rows - i * SLICE;
            if (boxed) {
                if (thread == 0) box_store(map_c, from, tile.n + first, AXIS == 2 ? tile.group : 0, out + i * OF_OUT);
            } else {
                // One matrix of a group whose rows or columns are split.
                const long long ldc = tile.groups.g.ldc;
                store_columns<OUT_COLUMNS, VEC_C>((const Stored *)(out + i * OF_OUT), (Stored *)tile.groups.g.c + from + (tile.n + first) * ldc,
                                                  ldc, left, columns - first, thread);
            }
        }
        if (thread == 0) bulk_commit();  // of nothing, too: waits count groups
        __syncwarp();  // lanes may leave the loop apart
    }
}
