// Which operand is the matrix and which the vector, the teams of a block, and how words of the matrix are read.
#pragma once

#include "lib/element.cuh"
#include "lib/sizes.cuh"
#include "lib/span.cuh"

constexpr int THREADS = 32 * WARPS, TEAMS = THREADS / LANES;
constexpr bool CONJ_MATRIX = ROW ? CONJ_B : CONJ_A, CONJ_X = ROW ? CONJ_A : CONJ_B;
// Places in a word of 16 bytes where runs begin, and the elements before the last of them.
constexpr int CLASSES = 16 / UNIT, HEAD = WORD - UNIT / SIZE;
// Whether every word is of one run alone.
constexpr bool EVEN = UNIT == 16 && UNIT_RUN % WORD == 0;
// Rows of a tile of C where runs are across the sum: what the words of a team cover wherever they begin.
constexpr int COVERED = LANES * WORDS * WORD, TILE = ALONG ? TEAMS * RUNS * TURNS : COVERED - HEAD;
// What shares of a long k that blocks have are multiples of, so that all begin where the first one does in a line.
constexpr int GRAIN = ALONG ? 8 * WORD : 1;

typedef Pack<WORD> Word;

INLINE Word no_word() {
    Word out;
    clear(out.vector);
    return out;
}

// Loads keep the order in which they are written: few counters say which of a warp's loads have come, so that who waits for one that
// was asked for in between waits for others as well. Of the matrix 16 bytes, which need not stay in the first-level cache: what
// is read twice is the vector.
INLINE Word read_word(const Stored *from) {
    Word out;
    asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out.vector.x), "=r"(out.vector.y), "=r"(out.vector.z), "=r"(out.vector.w)
                 : "l"(from));
    return out;
}

// Of the vector as much, or an element.
INLINE void read_x(uint4 &x, const Stored *from) {
    asm volatile("ld.global.nc.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from));
}
INLINE void read_x(uint2 &x, const Stored *from) {
    asm volatile("ld.global.nc.v2.b32 {%0,%1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from));
}
INLINE void read_x(unsigned int &x, const Stored *from) { asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(from)); }
INLINE void read_x(unsigned short &x, const Stored *from) { asm volatile("ld.global.nc.b16 %0, [%1];" : "=h"(x) : "l"(from)); }

// A tile of C of one product, or the share of its k that a block of a cluster has: its operands, how many runs the matrix has and
// how long they are.
struct Product {
    const Stored *matrix, *x;  // x: the vector
    Stored *c;
    long long ld, step_x, step_c;
    int runs, length;
    int first;  // element of C where the tile begins
    int rank;   // of the block in its cluster
    Span all;
    bool inside;  // whether all words that the tile reads lie in the operands

    INLINE Product(const Gemm &g)
        : ld(ROW ? g.ldb : g.lda), step_x(STRIDED ? (ROW ? g.lda : g.ldb) : 1), step_c(ROW ? g.ldc : 1),
          runs(ALONG ? (ROW ? g.n : g.m) : g.k), length(ALONG ? g.k : (ROW ? g.n : g.m)),
          all(ROW ? g.b : g.a, ROW ? g.stride_b : g.stride_a, g.batch, ld, runs, length) {
        const Span all_x(ROW ? g.a : g.b, ROW ? g.stride_a : g.stride_b, g.batch, step_x, g.k, 1);
        const unsigned int of_each = ceiling(ROW ? g.n : g.m, TILE), number = blockIdx.x / of_each;
        first = (int)(blockIdx.x - number * of_each) * TILE;
        rank = (int)blockIdx.y;
        const long long at = number;
        matrix = (const Stored *)(ROW ? g.b : g.a) + at * (ROW ? g.stride_b : g.stride_a);
        x = (const Stored *)(ROW ? g.a : g.b) + at * (ROW ? g.stride_a : g.stride_b);
        c = (Stored *)g.c + at * g.stride_c;
        if (SPLIT > 1) {
            const int share = ceiling(g.k, SPLIT * GRAIN) * GRAIN, from = smaller(rank * share, g.k);
            (ALONG ? length : runs) = smaller(share, g.k - from);
            matrix += ALONG ? from : from * ld;
            x += from * step_x;
        }
        const Stored *const begin = ALONG ? matrix + first * ld : matrix + first;
        const int last = ALONG ? smaller(first + TILE, runs) - 1 : runs - 1;
        const int rest = ALONG ? length : smaller(length - first, TILE);
        inside = all.holds(begin, (ALONG ? matrix : begin) + last * ld + rest) && (STRIDED || !ALONG || all_x.holds(x, x + length));
    }
};

// Words of a run from the one in which it begins.
struct Words {
    const Stored *base;
    int head;  // elements of the first word that are before the run

    INLINE Words(const Stored *from) : head(UNIT == 16 ? 0 : (int)((unsigned long long)from / SIZE & (WORD - 1))) { base = from - head; }
    INLINE Words(const Words &other, long long apart) : base(other.base + apart), head(other.head) {}
    // A word, 0 where it is not wanted; with SAFE all of it lies in the operand. Else its neighbour is read in place of the first or
    // last word of the operand, and then its elements: with no load behind a branch all others are on their way together, so that
    // the last block is as fast as others.
    template <bool SAFE> INLINE Word read(int word, bool wanted, const Span &all) const {
        Word out = no_word();
        const Stored *const from = base + word * WORD, *const whole = SAFE ? from : all.nearest(from);
        if (wanted) out = read_word(whole);
        if (!SAFE && wanted && whole != from)
            UNROLL for (int e = 0; e < WORD; e++) out.element[e] = all.has(from + e) ? from[e] : Stored();
        return out;
    }
};

// C = alpha * sum + beta * C of an element.
INLINE void keep(Stored *at, Element sum, const Scalars &scalars) {
    *at = narrowed(scaled(scalars, sum, BETA != 0 ? widened(*at) : zero()));
}

#if SPLIT > 1
// Elements of a tile whose sums all blocks of the cluster have in shared memory: each adds up and writes a part of them.
INLINE void join(const Element *sums, int elements, const Product &p, const Scalars &scalars) {
    cluster_sync();
    _Pragma("unroll 1") for (int e = p.rank * THREADS + threadIdx.x; e < elements; e += SPLIT * THREADS) {
        Element each[SPLIT];
        UNROLL for (int block = 0; block < SPLIT; block++) each[block] = remote(sums + e, block);
        UNROLL for (int block = 1; block < SPLIT; block++) each[0] = sum_of(each[0], each[block]);
        keep(p.c + (p.first + e) * p.step_c, each[0], scalars);
    }
    cluster_sync();  // no block may leave while others read its shared memory
}
#endif
