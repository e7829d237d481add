// The multiplier of two neighbouring products of tiny matrices of 16 bits: all of both C by one thread, from shared memory.
//
// Matrices of 9 halves lie 18 bytes apart, so that threads which read them half by half meet in a bank, and each read brings
// two bytes. Here a thread reads what it needs by words, wherever they begin: two neighbours that have no gap between them at
// once, an odd number of words for an odd number of halves, which all threads do without meeting. Halves that begin in the
// middle of a word are shifted to its beginning in registers, and results to where they are stored. Threads whose halves
// begin elsewhere, or that have one product alone, do the same instructions.
#pragma once

#include "tiny/halves.cuh"

// An operand of two products, COUNT halves of each: one for both, two next to each other, or two anywhere.
template <int COUNT, bool ONE, bool ADJACENT> struct Pair {
    static constexpr bool TOGETHER = !ONE && ADJACENT;
    Halves<TOGETHER ? 2 * COUNT : COUNT, COUNT> first;
    Halves<COUNT, COUNT> second;
    INLINE void read(const Stored *one, const Stored *other, bool both) {
        first.read(one, both);
        if (!ONE && !ADJACENT) second.read(other, true);
    }
    INLINE Element at(int product, int i) const {
        return widened(ONE || product == 0 ? first.at(i) : TOGETHER ? first.at(TOGETHER ? COUNT + i : i) : second.at(i));
    }
};

// Computes two products, of which there may be the first alone. ONE_A and ONE_B: they have one A, or B; ADJACENT_A and _B:
// theirs lie next to each other, as their C do.
template <bool ONE_A, bool ONE_B, bool ADJACENT_A, bool ADJACENT_B>
INLINE void multiply_pair(const Stored *const (&a)[2], const Stored *const (&b)[2], const Stored *c, Stored *out, bool both,
                          const Scalars &s) {
    constexpr int EACH = SIZE_M * SIZE_N;
    Pair<SIZE_M * SIZE_K, ONE_A, ADJACENT_A> x;
    Pair<SIZE_K * SIZE_N, ONE_B, ADJACENT_B> y;
    x.read(a[0], a[1], both);
    y.read(b[0], b[1], both);
    Pair<EACH, false, true> old;
    if (BETA != 0) old.read(c, nullptr, both);
    Element sum[2 * EACH];
    UNROLL for (int o = 0; o < 2; o++) UNROLL for (int j = 0; j < SIZE_N; j++) UNROLL for (int i = 0; i < SIZE_M; i++) {
        Element value = zero();
        UNROLL for (int k = 0; k < SIZE_K; k++)
            multiply_add(value, x.at(o, TRANS_A ? k + i * ROWS_A : i + k * ROWS_A), y.at(o, TRANS_B ? j + k * ROWS_B : k + j * ROWS_B));
        const int at = i + j * SIZE_M;
        sum[o * EACH + at] = scaled(s, value, BETA != 0 ? old.at(o, at) : zero());
    }
    Halves<2 * EACH, EACH> all;
    UNROLL for (int i = 0; i < EACH; i++) all.words[i] = halves_of(sum[2 * i], sum[2 * i + 1]);
    all.write(out, both);
}
