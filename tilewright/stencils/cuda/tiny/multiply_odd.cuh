// The multiplier of one product of odd matrices of 16 bits: all rows of some neighbouring columns of C by one thread, from shared
// memory.
//
// Columns of an odd number of halves begin in the middle of a word as often as not, so that multiply() reads them half by
// half. Here a thread reads all of A by words, widens it once and keeps it, and then takes a few columns of B and of C at a
// time, which are one run of halves each.
#pragma once

#include "tiny/halves.cuh"

constexpr int COLUMNS_AT_ONCE = COLUMNS % 3 == 0 ? 3 : 1;

INLINE void multiply_odd(int tile, const Stored *a, const Stored *b, const Stored *c, Stored *out, const Scalars &s) {
    constexpr int OF_A = SIZE_M * SIZE_K, OF_B = SIZE_K * COLUMNS_AT_ONCE, OF_C = SIZE_M * COLUMNS_AT_ONCE;
    Element x[OF_A];
    {
        Halves<OF_A, OF_A> stored;
        stored.read(a, true);
        UNROLL for (int i = 0; i < OF_A; i++) x[i] = widened(stored.at(i));
    }
    const int first = tile * COLUMNS;
    _Pragma("unroll 1") for (int j0 = first; j0 < first + COLUMNS; j0 += COLUMNS_AT_ONCE) {
        Halves<OF_B, OF_B> y;
        y.read(b + j0 * SIZE_K, true);
        Halves<OF_C, OF_C> old, made;
        if (BETA != 0) old.read(c + j0 * SIZE_M, true);
        Element sum[OF_C + 1];
        UNROLL for (int at = 0; at <= OF_C; at++) sum[at] = zero();
        UNROLL for (int k = 0; k < SIZE_K; k++) UNROLL for (int j = 0; j < COLUMNS_AT_ONCE; j++)
            UNROLL for (int i = 0; i < SIZE_M; i++)
                multiply_add(sum[i + j * SIZE_M], x[TRANS_A ? k + i * SIZE_K : i + k * SIZE_M], widened(y.at(k + j * SIZE_K)));
        UNROLL for (int at = 0; at < OF_C; at++) sum[at] = scaled(s, sum[at], BETA != 0 ? widened(old.at(at)) : zero());
        UNROLL for (int word = 0; word < (OF_C + 1) / 2; word++) made.words[word] = halves_of(sum[2 * word], sum[2 * word + 1]);
        made.write(out + j0 * SIZE_M, true);
    }
}
