// All bytes of an operand, outside of which nothing may be read.
#pragma once

#include "lib/run.cuh"

struct Span {
    const unsigned char *begin, *end;  // of its first matrix in memory, and behind its last

    INLINE Span(const void *base, long long stride, int batch, long long ld, int columns, int rows) {
        const long long ahead = (batch - 1) * stride * SIZE;
        begin = (const unsigned char *)base + (ahead < 0 ? ahead : 0);
        end = (const unsigned char *)end_of(base, stride < 0 ? 0 : stride, batch, ld, columns, rows);
    }
    // Whether the words of 16 bytes in which elements lie, from the first to one behind the last, are of the operand.
    INLINE bool holds(const Stored *first, const Stored *last) const {
        const unsigned long long from = (unsigned long long)first & ~15ULL, to = ((unsigned long long)last + 15) & ~15ULL;
        return from >= (unsigned long long)begin && to <= (unsigned long long)end;
    }
    // The word of 16 bytes at an address, or that next to it which lies in the operand; there is one.
    INLINE const Stored *nearest(const Stored *word) const {
        const unsigned long long at = (unsigned long long)word, low = ((unsigned long long)begin + 15) & ~15ULL;
        const unsigned long long high = ((unsigned long long)end & ~15ULL) - 16;
        return (const Stored *)(at < low ? low : at > high ? high : at);
    }
    INLINE bool has(const Stored *element) const {
        return (const unsigned char *)element >= begin && (const unsigned char *)element < end;
    }
};
