// Operands whose columns begin at multiples of 8 bytes: numbers come one by one, to where boxes would have them.
#pragma once

#include "lib/lines.cuh"

// The part of a thread of the warp group of a block of an operand, COUNT rows (of B: columns) from `first` on of `rows`, at UNIT
// places from k on of `depth`. Sixteen threads have a line, so that they ask for numbers that follow each other; in a line the 16
// bytes i lie at position i ^ line % 8. What lies outside comes as zero.
template <bool ALONG, int COUNT>
INLINE void fetch(unsigned char *to, const Lines &from, long long ahead, int first, int rows, int k, int depth, int thread) {
    constexpr int AT_A_TIME = 128 / UNIT;  // lines
    const int e = thread % UNIT, line = thread / UNIT;
    unsigned char *at = to + line * LINE + (e / 2 ^ line % 8) * 16 + e % 2 * 8;
    const Stored *const matrix = from.first + ahead;
    if (ALONG) {
        const Stored *number = matrix + (first + line) * from.leading + k + e;
        _Pragma("unroll 4") for (int i = 0; i < COUNT; i += AT_A_TIME) {
            const bool inside = first + line + i < rows && k + e < depth;
            if (COUNT % AT_A_TIME == 0 || line + i < COUNT) cp_async<8>(at, inside ? number : from.first, inside ? 8 : 0);
            at += AT_A_TIME * LINE;
            number += AT_A_TIME * from.leading;
        }
    } else {
        // Slabs of as many rows as a line has, and in each lines at as many k.
        const Stored *number = matrix + (k + line) * from.leading + first + e;
        _Pragma("unroll 2") for (int slab = 0; slab < COUNT; slab += UNIT) {
            UNROLL for (int i = 0; i < UNIT; i += AT_A_TIME) {
                const bool inside = first + slab + e < rows && k + line + i < depth;
                cp_async<8>(at, inside ? number + i * from.leading : from.first, inside ? 8 : 0);
                at += AT_A_TIME * LINE;
            }
            number += UNIT;
        }
    }
}
