// Operands of 16 bits whose columns begin anywhere: all threads of the warp group that loads ask for words of 32 bits, shift what
// came by half a word where a column begins inside of one, and store 16 bytes at a time to where boxes would have them.
#pragma once

#include "lib/lines.cuh"

#if LOOSE_A || LOOSE_B
// Elements of a run of 16 bytes of an operand's slice, of COUNT lines of 64: rows (of B: columns) from `first` on of `rows`, from k on
// of `depth`. Where columns run across k lines are at 64 k each, and so many follow each other for each 64 rows.
template <bool ALONG, int COUNT> struct Runs {
    static constexpr int EACH = 8, AT_A_TIME = 128 / EACH, ALL = COUNT / AT_A_TIME;  // elements; lines of 128 threads; runs of a thread
    unsigned int words[ALL][EACH / 2 + 1];

    // Of run i: elements that are there, and where the first of them is.
    static INLINE int count(int i, int first, int rows, int k, int depth, int thread) {
        const int line = thread / EACH + i * AT_A_TIME, at = thread % EACH * EACH;
        const bool inside = ALONG ? first + line < rows : k + line % 64 < depth;
        return inside ? max(0, min(EACH, ALONG ? depth - k - at : rows - first - line / 64 * 64 - at)) : 0;
    }
    static INLINE const Stored *begin(int i, const Lines &from, int first, int k, int thread) {
        const int line = thread / EACH + i * AT_A_TIME, at = thread % EACH * EACH;
        return from.first + (ALONG ? (first + line) * from.leading + k + at : (k + line % 64) * from.leading + first + line / 64 * 64 + at);
    }

    // Of a word those halves that are of the operand.
    static INLINE unsigned int part(const Stored *at, const Stored *low, const Stored *high) {
        return (at >= low && at < high ? (unsigned int)at[0] : 0) | (at + 1 >= low && at + 1 < high ? (unsigned int)at[1] << 16 : 0);
    }

    INLINE void ask(const Lines &from, int first, int rows, int k, int depth, int thread) {
        const Stored *const end = from.first + (long long)((ALONG ? rows : depth) - 1) * from.leading + (ALONG ? depth : rows);
        UNROLL for (int i = 0; i < ALL; i++) {
            UNROLL for (int w = 0; w <= EACH / 2; w++) words[i][w] = 0;
            if (count(i, first, rows, k, depth, thread) == 0) continue;
            const Stored *const from_here = (const Stored *)((unsigned long long)begin(i, from, first, k, thread) & ~3ull);
            const bool whole = from_here >= from.first && from_here + EACH + 2 <= end;
            UNROLL for (int w = 0; w <= EACH / 2; w++)
                words[i][w] = whole ? *(const unsigned int *)(from_here + 2 * w) : part(from_here + 2 * w, from.first, end);
        }
    }

    INLINE void put(unsigned char *to, const Lines &from, int first, int rows, int k, int depth, int thread) const {
        const int line = thread / EACH;
        UNROLL for (int i = 0; i < ALL; i++) {
            const int left = count(i, first, rows, k, depth, thread);
            const int shift = (unsigned long long)begin(i, from, first, k, thread) & 2 ? 16 : 0;
            unsigned int x[4];
            UNROLL for (int w = 0; w < 4; w++) {
                const unsigned int word = __funnelshift_r(words[i][w], words[i][w + 1], shift);
                x[w] = left > 2 * w + 1 ? word : left > 2 * w ? word & 0xffff : 0;
            }
            *(uint4 *)(to + (line + i * AT_A_TIME) * LINE + (thread % EACH ^ line % 8) * 16) = make_uint4(x[0], x[1], x[2], x[3]);
        }
    }
};
#endif

// What has a map is brought by one thread, and nobody asks for its elements.
struct NoRuns {
    INLINE void ask(const TensorMap &, int, int, int, int, int) {}
    INLINE void put(unsigned char *, const TensorMap &, int, int, int, int, int) const {}
};
