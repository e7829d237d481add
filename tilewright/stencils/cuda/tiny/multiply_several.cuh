// The multiplier of several products at a time that share an operand: one tile of each C by one thread, from shared memory.
// What is shared is read, and widened, once for all of them.
#pragma once

#include "tiny/multiply_fma.cuh"

// Where the products of a thread are: their operands (the first alone counts of what is shared), and which of them are there.
template <int COUNT> struct Several {
    const Stored *a[COUNT], *b[COUNT], *c[COUNT];
    Stored *out[COUNT];
    bool there[COUNT];
};

// Computes tile number `tile` of COUNT products, of which all have one A (ONE_A) or one B (ONE_B). AT_ONCE_A, _B and _C are
// bytes that divide the address of every stored column. What is not there is computed of memory that is, and not stored.
template <int COUNT, bool ONE_A, bool ONE_B, int TILE_M, int TILE_N, int AT_ONCE_A, int AT_ONCE_B, int AT_ONCE_C>
INLINE void multiply_several(int tile, const Several<COUNT> &of, const Scalars &s) {
    constexpr int MANY_A = ONE_A ? 1 : COUNT, MANY_B = ONE_B ? 1 : COUNT;
    // Vectors run as in multiply().
    constexpr int VK_A = TRANS_A ? vector(AT_ONCE_A, SIZE_K, SIZE_K) : 16;
    constexpr int VK_B = TRANS_B ? 16 : vector(AT_ONCE_B, SIZE_K, SIZE_K);
    constexpr int VK = TRANS_B && !TRANS_A ? 1 : smaller(VK_A, VK_B);
    constexpr int VM = vector(smaller(AT_ONCE_C, TRANS_A ? 16 : AT_ONCE_A), SIZE_M, TILE_M);
    constexpr int VN = TRANS_B ? vector(AT_ONCE_B, SIZE_N, TILE_N) : 1, STEPS = SIZE_K / VK;
    constexpr int ACROSS_M = ceiling(SIZE_M, TILE_M), ACROSS_N = ceiling(SIZE_N, TILE_N);
    constexpr int COST = COUNT * TILE_M * TILE_N * VK * (COMPLEX ? 4 : 1);
    constexpr int UNROLLED = COST * STEPS <= 512 ? STEPS : COST >= 256 ? 1 : smaller(STEPS, 256 / COST);

    const int tile_m = tile % ACROSS_M, tile_n = tile / ACROSS_M;
    auto row = [&](int i) { return (i / VM * ACROSS_M + tile_m) * VM; };
    auto column = [&](int j) { return (j / VN * ACROSS_N + tile_n) * VN; };
    // Rows and columns outside the matrix are read from its last piece.
    auto row_in = [&](int i) { return min(row(i), SIZE_M - VM); };
    auto column_in = [&](int j) { return min(column(j), SIZE_N - VN); };

    Element sum[COUNT][TILE_N][TILE_M];
    UNROLL for (int o = 0; o < COUNT; o++) UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
        sum[o][j][i] = zero();
    _Pragma("unroll UNROLLED") for (int step = 0; step < STEPS; step++) {
        const int k = step * VK;
        Pack<VK> along_a[MANY_A][TRANS_A ? TILE_M : 1], along_b[MANY_B][TRANS_B ? 1 : TILE_N];
        if (TRANS_A) UNROLL for (int o = 0; o < MANY_A; o++) UNROLL for (int i = 0; i < TILE_M; i++)
            along_a[o][TRANS_A ? i : 0] = load<VK>(of.a[o] + k + (row_in(i) + i % VM) * LD_A);
        if (!TRANS_B) UNROLL for (int o = 0; o < MANY_B; o++) UNROLL for (int j = 0; j < TILE_N; j++)
            along_b[o][TRANS_B ? 0 : j] = load<VK>(of.b[o] + k + (column_in(j) + j % VN) * LD_B);
        UNROLL for (int q = 0; q < VK; q++) {
            Element x[MANY_A][TILE_M], y[MANY_B][TILE_N];
            UNROLL for (int o = 0; o < MANY_A; o++) UNROLL for (int i = 0; i < TILE_M; i += VM) {
                Pack<VM> piece;
                if (!TRANS_A) piece = load<VM>(of.a[o] + row_in(i) + (k + q) * LD_A);
                UNROLL for (int e = 0; e < VM; e++)
                    x[o][i + e] = conjugated(
                        CONJ_A, widened(TRANS_A ? along_a[o][TRANS_A ? i + e : 0].element[q] : piece.element[e]));
            }
            UNROLL for (int o = 0; o < MANY_B; o++) UNROLL for (int j = 0; j < TILE_N; j += VN) {
                Pack<VN> piece;
                if (TRANS_B) piece = load<VN>(of.b[o] + column_in(j) + (k + q) * LD_B);
                UNROLL for (int e = 0; e < VN; e++)
                    y[o][j + e] = conjugated(
                        CONJ_B, widened(TRANS_B ? piece.element[e] : along_b[o][TRANS_B ? 0 : j + e].element[q]));
            }
            UNROLL for (int o = 0; o < COUNT; o++) UNROLL for (int j = 0; j < TILE_N; j++)
                UNROLL for (int i = 0; i < TILE_M; i++)
                    multiply_add(sum[o][j][i], x[ONE_A ? 0 : o][i], y[ONE_B ? 0 : o][j]);
        }
    }
    UNROLL for (int o = 0; o < COUNT; o++) {
        if (!of.there[o]) continue;
        UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i += VM) {
            const int at_m = row(i), at_n = column(j) + j % VN;
            if (at_m >= SIZE_M || at_n >= SIZE_N) continue;
            Pack<VM> old;
            if (BETA != 0) old = load<VM>(of.c[o] + at_m + at_n * LD_C);
            Element result[VM];
            UNROLL for (int e = 0; e < VM; e++)
                result[e] = scaled(s, sum[o][j][i + e], BETA != 0 ? widened(old.element[e]) : zero());
            store<VM>(of.out[o] + at_m + at_n * LD_C, packed(result));
        }
    }
}
