// Pieces of runs along a batch axis, between device memory and shared memory (PATH 2, OUTER).
//
// Bulk copies take multiples of 16 bytes, and runs may begin and end anywhere. So a piece comes with the bytes before it up
// to such a multiple, and the last bytes, less than 16, by a copy that ends with them. What leaves goes by a bulk copy of
// whole vectors, and element by element before and behind them.
#pragma once

#include "tiny/copy.cuh"

// What is known of a piece in a stage: its C, its products, and by how much A, B and C begin behind a multiple of 16 bytes.
struct Known {
    Stored *c;
    unsigned int rest, unused;
    INLINE int products() const { return (int)(rest >> 12); }
    INLINE int skew(int operand) const { return (int)(rest >> 4 * operand & 15); }
};
static_assert(sizeof(Known) == 16, "needs.py counts 16 bytes");
INLINE Known known_of(int products, const Stored *a, const Stored *b, Stored *c) {
    auto skew = [](const Stored *at) { return (unsigned int)(unsigned long long)at % 16; };
    return Known{c, (unsigned int)products << 12 | skew(c) << 8 | skew(b) << 4 | skew(a), 0};
}

// Asks for a piece of so many bytes. The bytes of the bulk copy are those of whole_vectors().
INLINE int whole_vectors(const Stored *from, int bytes) { return ((int)((unsigned long long)from % 16) + bytes) / 16 * 16; }
template <bool SKEWED> INLINE void fetch_piece(unsigned char *to, const Stored *from, int bytes, unsigned int barrier, unsigned long long policy) {
    const int skew = SKEWED ? (int)((unsigned long long)from % 16) : 0, whole = (skew + bytes) / 16 * 16;
    const unsigned char *const start = (const unsigned char *)from - skew;
    if (!SKEWED || whole) bulk_load<EVICT>(to, start, whole, barrier, policy);
    if (SKEWED && whole < skew + bytes) cp_async<16>(to + whole, start + whole, skew + bytes - whole);
}

// Bytes of a piece of C before its first whole vector, and of its whole vectors.
INLINE int bytes_before(const Known &of) { return SKEWED_C ? min((16 - of.skew(2)) % 16, of.products() * STEP_C * SIZE) : 0; }
INLINE int bytes_whole(const Known &of) { return (of.products() * STEP_C * SIZE - bytes_before(of)) / 16 * 16; }

// Writes the whole vectors of a piece, by one thread.
INLINE void write_whole(const Known &of, const unsigned char *from, unsigned long long policy) {
    const int before = bytes_before(of), whole = bytes_whole(of);
    if (whole) bulk_store<EVICT>((unsigned char *)of.c + before, from + of.skew(2) + before, whole, policy);
}

// Writes what lies before and behind them, an element by a thread.
INLINE void write_edges(const Known *pieces, const unsigned char *from) {
    if constexpr (SKEWED_C && SIZE < 16) {
        constexpr int EDGE = SIZE < 16 ? 16 / SIZE - 1 : 1;
        _Pragma("unroll 1") for (int item = threadIdx.x; item < PIECES * 2 * EDGE; item += THREADS) {
            const int piece = item / (2 * EDGE), element = item % (2 * EDGE);
            const Known &of = pieces[piece];
            const int before = bytes_before(of);
            const int at = element < EDGE ? element * SIZE : before + bytes_whole(of) + (element - EDGE) * SIZE;
            if (at < (element < EDGE ? before : of.products() * STEP_C * SIZE))
                of.c[at / SIZE] = *(const Stored *)(from + piece * ROOM_C + of.skew(2) + at);
        }
    }
}
