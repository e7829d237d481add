// The multiplier of two neighbouring products of tiny matrices of 16 bits: all of both C by one thread, from shared memory.
//
// Matrices of 9 halves lie 18 bytes apart, so that threads which read them half by half meet in a bank, and each read brings
// two bytes. Here a thread reads what it needs by words, wherever they begin: two neighbours that have no gap between them at
// once, an odd number of words for an odd number of halves, which all threads do without meeting. Halves that begin in the
// middle of a word are shifted to its beginning in registers, and results to where they are stored.
#pragma once

#include "tiny/multiply_fma.cuh"

// COUNT halves as words, the first in the low half of the first word.
template <int COUNT> struct Halves {
    unsigned int words[(COUNT + 1) / 2];
    INLINE Half at(int i) const { return (Half)(i % 2 ? words[i / 2] >> 16 : words[i / 2]); }

    // Reads nothing but the words that have one of them.
    INLINE void read(const Stored *from) {
        const unsigned int odd = (unsigned int)(unsigned long long)from & 2;
        const unsigned int *const first = (const unsigned int *)((const unsigned char *)from - odd);
        unsigned int raw[COUNT / 2 + 1];
        UNROLL for (int i = 0; i <= COUNT / 2; i++) raw[i] = COUNT % 2 || i < COUNT / 2 || odd ? first[i] : 0;
        UNROLL for (int i = 0; i < (COUNT + 1) / 2; i++)
            words[i] = __funnelshift_r(raw[i], i < COUNT / 2 ? raw[i < COUNT / 2 ? i + 1 : i] : 0, 8 * odd);
    }

    INLINE void write(Stored *to) const {
        if ((unsigned int)(unsigned long long)to & 2) {
            to[0] = at(0);
            unsigned int *const rest = (unsigned int *)(to + 1);
            UNROLL for (int i = 1; i + 1 < COUNT; i += 2) rest[i / 2] = __funnelshift_r(words[i / 2], words[i / 2 + 1], 16);
            if (COUNT % 2 == 0) to[COUNT - 1] = at(COUNT - 1);
        } else {
            unsigned int *const all = (unsigned int *)to;
            UNROLL for (int i = 0; i + 1 < COUNT; i += 2) all[i / 2] = words[i / 2];
            if (COUNT % 2) to[COUNT - 1] = at(COUNT - 1);
        }
    }
};

// An operand of two products, COUNT halves of each: one for both, two next to each other, or two anywhere.
template <int COUNT, bool ONE, bool ADJACENT> struct Pair {
    Halves<COUNT * (!ONE && ADJACENT ? 2 : 1)> first;
    Halves<COUNT> second;
    INLINE void read(const Stored *one, const Stored *other, bool both) {
        if (!ONE && ADJACENT && !both) {
            second.read(one);
            UNROLL for (int i = 0; i < (COUNT + 1) / 2; i++) first.words[i] = second.words[i];
            UNROLL for (int i = (COUNT + 1) / 2; i < COUNT; i++) first.words[i] = 0;
            return;
        }
        first.read(one);
        if (!ONE && !ADJACENT) second.read(other);
    }
    INLINE Element at(int product, int i) const {
        return widened(ONE || product == 0 ? first.at(i) : ADJACENT ? first.at(COUNT + i) : second.at(i));
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
        const int at = o * EACH + i + j * SIZE_M;
        sum[at] = scaled(s, value, BETA != 0 ? old.at(o, i + j * SIZE_M) : zero());
    }
    Halves<2 * EACH> all;
    UNROLL for (int i = 0; i < EACH; i++) all.words[i] = halves_of(sum[2 * i], sum[2 * i + 1]);
    if (both) {
        all.write(out);
    } else {
        Halves<EACH> some;
        UNROLL for (int i = 0; i < (EACH + 1) / 2; i++) some.words[i] = all.words[i];
        some.write(out);
    }
}
