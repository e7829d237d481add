// Runs of halves that begin anywhere, as words in registers: in shared memory, or in device memory.
#pragma once

#include "tiny/multiply_fma.cuh"

// COUNT halves as words, the first in the low half of the first word. Those from FIRST on are there or not.
template <int COUNT, int FIRST> struct Halves {
    unsigned int words[(COUNT + 1) / 2];
    INLINE Half at(int i) const { return (Half)(i % 2 ? words[i / 2] >> 16 : words[i / 2]); }
    static INLINE bool there(int i, bool all) { return i >= 0 && i < COUNT && (i < FIRST || all); }
    // Whether the halves of a word of memory are wanted, of which the first one is in the middle of a word where it is odd.
    static INLINE bool low(int word, bool odd, bool all) { return odd ? there(2 * word - 1, all) : there(2 * word, all); }
    static INLINE bool high(int word, bool odd, bool all) { return odd ? there(2 * word, all) : there(2 * word + 1, all); }

    // Reads nothing but the words that have one of them.
    INLINE void read(const Stored *from, bool all) {
        const unsigned int before = (unsigned int)(unsigned long long)from & 2;
        const unsigned int *const first = (const unsigned int *)((const unsigned char *)from - before);
        unsigned int raw[COUNT / 2 + 1];
        UNROLL for (int i = 0; i <= COUNT / 2; i++) raw[i] = low(i, before, all) || high(i, before, all) ? first[i] : 0;
        UNROLL for (int i = 0; i < (COUNT + 1) / 2; i++)
            words[i] = __funnelshift_r(raw[i], i < COUNT / 2 ? raw[i < COUNT / 2 ? i + 1 : i] : 0, 8 * before);
    }

    INLINE void write(Stored *to, bool all) const {
        const unsigned int before = (unsigned int)(unsigned long long)to & 2;
        unsigned int *const first = (unsigned int *)((unsigned char *)to - before);
        UNROLL for (int i = 0; i <= COUNT / 2; i++) {
            constexpr int LAST = (COUNT - 1) / 2;
            const unsigned int left = i ? words[i ? i - 1 : 0] : 0, right = i <= LAST ? words[i <= LAST ? i : 0] : 0;
            const unsigned int word = __funnelshift_l(left, right, 8 * before);
            const bool one = low(i, before, all), other = high(i, before, all);
            if (one && other) first[i] = word;
            if (one && !other) ((Stored *)first)[2 * i] = (Stored)word;
            if (!one && other) ((Stored *)first)[2 * i + 1] = (Stored)(word >> 16);
        }
    }
};
