// A warp's part of C by tensor cores, float64, put into shared memory.
#pragma once

#include "middle/products_mma.cuh"

// Lanes of a half (8 bytes) or a quarter (16 bytes) of a warp that ask for the same bank, at most, where lane 4r + q reads element
// r * by_row + q * by_k.
CONSTANT int conflicts(int by_row, int by_k) {
    constexpr int BANKS = 128 / SIZE;
    int most = 0;
    for (int bank = 0; bank < BANKS; bank++) {
        int here = 0;
        for (int lane = 0; lane < BANKS; lane++) here += (lane / 4 * by_row + lane % 4 * by_k) % BANKS == bank;
        most = larger(most, here);
    }
    return most;
}

// How many k neighbouring lanes are apart. Which four k a product has is free, as long as both operands agree: those that lie in
// different banks.
CONSTANT int apart_in_k() {
    int best = 1, least = 1 << 20;
    for (int by = 1; by <= 4; by *= 2) {
        const int of_a = ROWS * conflicts(TRANS_A ? LD_A : 1, by * (TRANS_A ? 1 : LD_A));
        const int of_b = COLUMNS * conflicts(TRANS_B ? 1 : LD_B, by * (TRANS_B ? LD_B : 1));
        if (of_a + of_b >= least) continue;
        least = of_a + of_b;
        best = by;
    }
    return best;
}

struct Sums : Products {
    static constexpr int APART = apart_in_k(), TURNS = SIZE_K / (4 * APART), REST = TURNS * 4 * APART;

    INLINE void add(const Stored *a, const Stored *b) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        a += (first_row(threadIdx.x) + r) * ROW_A + q * APART * K_A;
        b += (first_column(threadIdx.x) + r) * COLUMN_B + q * APART * K_B;
        _Pragma("unroll 1") for (int turn = 0; turn < TURNS; turn++, a += 4 * APART * K_A, b += 4 * APART * K_B)
            _Pragma("unroll 2") for (int k = 0; k < APART; k++) add_four(a + k * K_A, b + k * K_B);
        // Neighbours behind them. Memory beyond the last k may hold anything.
        a -= q * (APART - 1) * K_A;
        b -= q * (APART - 1) * K_B;
        _Pragma("unroll 1") for (int k = 0; k < SIZE_K - REST; k += 4) add_four(a + k * K_A, b + k * K_B, k + q < SIZE_K - REST);
    }

    // Where C is read it is there.
    INLINE void keep(Stored *c, const Scalars &s) const {
        const int lane = threadIdx.x % 32;
        const int row = first_row(threadIdx.x) + lane / 4, column = first_column(threadIdx.x) + lane % 4 * 2;
        c += row + column * SIZE_M;
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) {
            if (row + i * 8 >= SIZE_M || column + j * 8 + e >= SIZE_N) continue;
            Stored *const at = c + (i * 8 + (j * 8 + e) * SIZE_M);
            *at = scaled(s, sum[j][i][e], BETA != 0 ? *at : zero());
        }
    }
};
