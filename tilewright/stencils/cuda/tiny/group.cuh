// A group of matrices, multiplied from shared memory (a stage) or from device memory.
#pragma once

#include "tiny/multiply_fma.cuh"
#if MMA && TYPE_BITS == 64
#include "tiny/multiply_mma_f64.cuh"
#elif MMA
#include "tiny/multiply_mma_f16.cuh"
#elif ODD
#include "tiny/multiply_odd.cuh"
#endif

// Multiplies `count` matrices in shared memory. `list` says where they are in device memory, if that is asked for.
INLINE void multiply_group(const Stored *a, const Stored *b, const Stored *c, Stored *out, int count, const Scalars &s,
                           const unsigned long long *list = nullptr) {
    const int items = (ACROSS ? GROUP : count) * TILES;
    _Pragma("unroll 1") for (int item = threadIdx.x / (THREADS / SLOTS); item < items; item += SLOTS) {
        const int matrix = ACROSS ? item % GROUP : item / TILES, tile = ACROSS ? item / GROUP : item % TILES;
        if (ACROSS && matrix >= count) continue;
        const Stored *from_a = a + matrix * STEP_A, *from_b = b + matrix * STEP_B;
        if (SKEWED_A) from_a += (int)(list[matrix] % 16) / SIZE;
        if (SKEWED_B) from_b += (int)(list[GROUP + matrix] % 16) / SIZE;
#if MMA
        multiply_mma(tile, from_a, LD_A, from_b, LD_B, c + matrix * STEP_C, out + matrix * STEP_C, LD_C, s);
#elif ODD
        multiply_odd(tile, from_a, from_b, c + matrix * STEP_C, out + matrix * STEP_C, s);
#else
        multiply<ROWS, COLUMNS, vector_bytes(LD_A * SIZE, APART_A * SIZE), vector_bytes(LD_B * SIZE, APART_B * SIZE),
                 vector_bytes(LD_C * SIZE, APART_C * SIZE), TURN>(tile, matrix, from_a, LD_A, from_b, LD_B,
                                                         c + matrix * STEP_C,
                                                         out + matrix * STEP_C, LD_C, s);
#endif
    }
}

// Matrices of an operand in device memory, STORED_ROWS x STORED_COLS each.
template <int STORED_ROWS, int STORED_COLS, bool FLAT, bool ONCE> struct Matrices {
    static INLINE const Stored *at(const void *base, long long stride, int matrix) {
        if (LISTED && !ONCE) return ((const Stored *const *)base)[matrix];
        return (const Stored *)base + (ONCE ? 0 : matrix * (FLAT ? (long long)STORED_ROWS * STORED_COLS : stride));
    }
};

typedef Matrices<ROWS_A, COLS_A, FLAT_A, SHARED_A> MatricesA;
typedef Matrices<ROWS_B, COLS_B, FLAT_B, SHARED_B> MatricesB;
typedef Matrices<SIZE_M, SIZE_N, FLAT_C, false> MatricesC;

// Multiplies matrices first to first + count - 1 in device memory; this thread takes every step-th tile.
template <int TILE_M, int TILE_N>
INLINE void multiply_in_place(const Given &given, int first, int count, int from, int step, const Scalars &s) {
    const Gemm &g = gemm_of(given);
    constexpr int EACH = ceiling(SIZE_M, TILE_M) * ceiling(SIZE_N, TILE_N);
    const long long lda = FLAT_A ? ROWS_A : g.lda, ldb = FLAT_B ? ROWS_B : g.ldb, ldc = FLAT_C ? SIZE_M : g.ldc;
    _Pragma("unroll 1") for (int item = from; item < count * EACH; item += step) {
        const int matrix = first + item / EACH;
        if (OUTER) {
            const Place at = place(given, matrix);
            const Stored *const a = (const Stored *)g.a + at.a + at.inner * g.stride_a;
            const Stored *const b = (const Stored *)g.b + at.b + at.inner * g.stride_b;
            Stored *const c = (Stored *)g.c + at.c + at.inner * g.stride_c;
            multiply<TILE_M, TILE_N, UNIT_A, UNIT_B, UNIT_C, false>(item % EACH, 0, a, lda, b, ldb, c, c, ldc, s);
            continue;
        }
        const Stored *const a = MatricesA::at(g.a, g.stride_a, matrix), *const b = MatricesB::at(g.b, g.stride_b, matrix);
        Stored *const c = (Stored *)MatricesC::at(g.c, g.stride_c, matrix);
        multiply<TILE_M, TILE_N, UNIT_A, UNIT_B, UNIT_C, false>(item % EACH, 0, a, lda, b, ldb, c, c, ldc, s);
    }
}
