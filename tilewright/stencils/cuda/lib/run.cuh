// Runs: neighbouring elements of device memory that bulk copies (bulk.cuh) move whole, wherever they begin.
//
// Bulk copies move whole words of 16 bytes. A run may begin and end inside one, so it keeps its place in words: what is
// loaded includes its neighbours' bytes in the first and last word, and of what is stored these words are written element
// by element.
#pragma once

#include "lib/bulk.cuh"
#include "lib/element.cuh"
#include "lib/sizes.cuh"

// A run as bytes in device memory, and whole words that it is loaded by.
struct Run {
    const unsigned char *from;
    int bytes;

    INLINE Run(const Stored *at, int count) : from((const unsigned char *)at), bytes(count * SIZE) {}
    INLINE int head() const { return (int)((unsigned long long)from & 15); }

    // Asks for the words of the run, which lie at `to` in shared memory; nothing outside begin to end is requested: the
    // first and last elements of an operand come one by one. Returns the bytes that the barrier has to expect.
    INLINE int load(unsigned char *to, const void *begin, const void *end, unsigned int barrier) const {
        const unsigned char *first = from - head(), *last = from + bytes + (-(head() + bytes) & 15);
        to += first < (const unsigned char *)begin ? 16 : 0;
        if (first < (const unsigned char *)begin) {
            first += 16;
            _Pragma("unroll 1") for (const unsigned char *p = from; p < smaller_of(first, from + bytes); p += SIZE)
                *(Stored *)(to - (first - p)) = *(const Stored *)p;
        }
        if (last > (const unsigned char *)end) {
            last -= 16;
            _Pragma("unroll 1") for (const unsigned char *p = larger_of(last, from); p < from + bytes; p += SIZE)
                *(Stored *)(to + (p - first)) = *(const Stored *)p;
        }
        const int asked = (int)(last - first);
        if (asked <= 0) return 0;
        bulk_load<false>(to, first, asked, barrier, 0);
        return asked;
    }
    static INLINE const unsigned char *smaller_of(const unsigned char *a, const unsigned char *b) { return a < b ? a : b; }
    static INLINE const unsigned char *larger_of(const unsigned char *a, const unsigned char *b) { return a < b ? b : a; }

    // A bulk copy writes whole grains of 16 or 32 bytes: bytes before them, and in them. Memory takes a part of a sector of 32 bytes
    // as slowly as several whole ones.
    template <int GRAIN> INLINE int ahead() const {
        return smaller(-(int)(unsigned long long)from & (GRAIN - 1), bytes);
    }
    template <int GRAIN> INLINE int whole() const { return (bytes - ahead<GRAIN>()) & ~(GRAIN - 1); }
    // Writes its bytes from at to end, which lie in one grain and are not all of it, by one lane. Pieces grow up to a multiple of 8, or of
    // 16 in grains of 32, and shrink behind it; each is there or not, so that lanes whose runs begin elsewhere do not wait for each other.
    template <int GRAIN> INLINE void store_edge(const unsigned char *here, int at, int end) const {
        if constexpr (SIZE <= 2) piece<unsigned short>(here, at, end, (head() + at) & 2);
        if constexpr (SIZE <= 4) piece<unsigned int>(here, at, end, (head() + at) & 4);
        if constexpr (GRAIN > 16) piece<uint2>(here, at, end, (head() + at) & 8);
        if constexpr (GRAIN > 16) piece<uint4>(here, at, end, true);
        piece<uint2>(here, at, end, true);
        if constexpr (SIZE <= 4) piece<unsigned int>(here, at, end, true);
        if constexpr (SIZE <= 2) piece<unsigned short>(here, at, end, true);
    }
    // One of them, if it is asked for and as much is left.
    template <typename Piece> INLINE void piece(const unsigned char *here, int &at, int end, bool asked) const {
        if (!asked || end - at < (int)sizeof(Piece)) return;
        *(Piece *)((unsigned char *)from + at) = *(const Piece *)(here + at);
        at += sizeof(Piece);
    }
    // Writes what is before and behind whole grains, one element by each of 2 GRAIN / SIZE lanes: all that a sector takes at once.
    template <int GRAIN> INLINE void store_edges(const unsigned char *here, int lane) const {
        constexpr int EACH = GRAIN / SIZE;
        const bool behind = lane >= EACH;
        const int at = (behind ? ahead<GRAIN>() + whole<GRAIN>() : 0) + lane % EACH * SIZE;
        if (at < (behind ? bytes : ahead<GRAIN>())) *(Stored *)((unsigned char *)from + at) = *(const Stored *)(here + at);
    }
};

// What a run's number is multiplied by to find where it begins in shared memory: runs LD elements apart that lie on words of
// 16 bytes as they do in device memory, where each begins `step` elements further on in its word.
template <int LD> struct Placed {
    int first, step;
    friend INLINE int operator*(int column, Placed by) { return column * LD + ((by.first + column * by.step) & (WORD - 1)); }
};
template <int LD> INLINE Placed<LD> placed(const Stored *at, long long ld) {
    return Placed<LD>{(int)((unsigned long long)at / SIZE & (WORD - 1)), (int)(ld & (WORD - 1))};
}

// Runs begin ANYWHERE in a word, unless all of them begin with one.
template <bool ANYWHERE, int LD> struct Lead {
    static INLINE int of(const Stored *, long long) { return LD; }
};
template <int LD> struct Lead<true, LD> {
    static INLINE Placed<LD> of(const Stored *at, long long ld) { return placed<LD>(at, ld); }
};

// Behind the last element of an operand, whose matrices come one after the other.
INLINE const void *end_of(const void *base, long long stride, int batch, long long ld, int cols, int rows) {
    return (const Stored *)base + (batch - 1) * stride + (cols - 1) * ld + rows;
}
