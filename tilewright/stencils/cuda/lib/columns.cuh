// Columns of 128 bytes of results in shared memory, 64 rows of 16 bits or 32 of 32, stored thread by thread.
//
// In a column the 16 bytes i lie at position i ^ column % 8, as boxes with the 128-byte swizzle have them. Copies of boxes
// store whole words of 16 bytes: where a matrix ends inside of one, they would write what lies behind it.
//
// What is included after element.cuh.
#pragma once

#include "lib/global.cuh"

// So many rows of so many of the COLUMNS columns, by the 128 threads of a warp group, VEC elements at a time.
template <int COLUMNS, int VEC>
INLINE void store_columns(const Stored *out, Stored *c, long long ldc, int rows, int columns, int thread) {
    constexpr int ROWS = 128 / SIZE, RUNS = ROWS / VEC, EACH = 16 / SIZE;
    _Pragma("unroll 1") for (int run = thread; run < RUNS * COLUMNS; run += 128) {
        const int row = run % RUNS * VEC, column = run / RUNS, left = rows - row;
        if (column >= columns) break;
        Pack<VEC> found;
        found.vector = *(const typename Vector<VEC * SIZE>::Type *)(out + column * ROWS + (row / EACH ^ column % 8) * EACH + row % EACH);
        Stored *const to = c + row + column * ldc;
        if (left >= VEC)
            global_store((typename Vector<VEC * SIZE>::Type *)to, found.vector);
        else
            UNROLL for (int v = 0; v < VEC; v++) if (v < left) to[v] = found.element[v];
    }
}
