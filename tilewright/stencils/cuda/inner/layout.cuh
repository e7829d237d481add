// Where slabs of the operands and partial sums lie in shared memory, and who multiplies what.
#pragma once

#include "lib/sizes.cuh"

constexpr int THREADS = 32 * WARPS;

// All bytes of an operand, from the first of its matrices in memory to the last.
struct Span {
    const unsigned char *begin, *end;

    INLINE Span(const void *base, long long stride, int batch, long long ld, int columns, int rows) {
        const long long ahead = (batch - 1) * stride * SIZE;
        begin = (const unsigned char *)base + (ahead < 0 ? ahead : 0);
        end = (const unsigned char *)end_of(base, stride < 0 ? 0 : stride, batch, ld, columns, rows);
    }
};

// A slab of an operand: DEPTH of k, EXTENT rows of op(A) or columns of op(B). ALONG: neighbours in memory are neighbours in k,
// and each row (column) is a run; else each k is one, or, if nothing lies between them, the slab is: it STREAMS. UNIT bytes
// divide the address of every run.
template <int EXTENT, bool ALONG, bool STREAMS, int UNIT> struct Slab {
    static constexpr bool ANYWHERE = UNIT < 16 && !STREAMS;
    // One word more of a run keeps runs along k out of each other's banks, and has room for one that begins inside a word.
    static constexpr int LD = ALONG ? DEPTH + WORD : STREAMS ? EXTENT : ceiling(EXTENT + (ANYWHERE ? WORD - 1 : 0), WORD) * WORD;
    static constexpr int RUNS = STREAMS ? 1 : ALONG ? EXTENT : DEPTH, ROOM = STREAMS ? EXTENT * DEPTH + WORD : LD;
    static constexpr int BYTES = padded(RUNS * ROOM * SIZE);

    // A run of the slab at `from`, of which so many rows (columns) and k are there, and how many runs are.
    static INLINE Run run(const Stored *from, long long ld, int number, int extent, int count) {
        return Run(from + number * ld, STREAMS ? EXTENT * count : ALONG ? count : extent);
    }
    static INLINE int runs(int extent, int count) { return STREAMS ? 1 : ALONG ? extent : count; }

    // By all threads, words of 16 bytes: of those that lie in the operand in part, the elements that do.
    static INLINE void fetch(unsigned char *to, const Stored *from, long long ld, int extent, int count, const Span &all) {
        constexpr int WORDS = ROOM / WORD;
        _Pragma("unroll 2") for (int w = threadIdx.x; w < runs(extent, count) * WORDS; w += THREADS) {
            const Run x = run(from, ld, w / WORDS, extent, count);
            const int at = w % WORDS * 16;
            if (at >= x.head() + x.bytes) continue;
            const unsigned char *const there = x.from - x.head() + at;
            unsigned char *const here = to + w / WORDS * ROOM * SIZE + at;
            if (there >= all.begin && there + 16 <= all.end) cp_async<16>(here, there, 16);
            else _Pragma("unroll 1") for (int b = 0; b < 16; b += SIZE)
                if (there + b >= all.begin && there + b < all.end) *(Stored *)(here + b) = *(const Stored *)(there + b);
        }
    }

    // Where the first element of a slab is, and what finds the others.
    static INLINE const Stored *first(const unsigned char *stage, const Stored *from) {
        return (const Stored *)(stage + (STREAMS ? Run(from, 0).head() : 0));
    }
    static INLINE auto lead(const Stored *from, long long ld) { return Lead<ANYWHERE, LD>::of(from, ld); }
};

constexpr bool ALONG_A = TRANS_A, ALONG_B = !TRANS_B;
typedef Slab<TILE_M, ALONG_A, STREAM_A, UNIT_A> SlabA;
typedef Slab<TILE_N, ALONG_B, STREAM_B, UNIT_B> SlabB;

// Shared memory: barriers, the ring, partial sums.
constexpr int AT_RING = BULK ? padded(8 * STAGES) : 0, STAGE_B = SlabA::BYTES, STAGE = STAGE_B + SlabB::BYTES;
constexpr int AT_SUMS = AT_RING + STAGES * STAGE;

// Parts of C of ROWS x COLUMNS, each of a thread (MMA: of a warp). The warps of a team have all parts of one tile between
// them, for every GROUPS-th step of k; where there are few parts, the lanes of a warp have each of them INSIDE times.
constexpr int TILE = TILE_M * TILE_N, ACROSS_M = ceiling(TILE_M, ROWS), PARTS = ACROSS_M * ceiling(TILE_N, COLUMNS);
constexpr int TEAM = MMA ? PARTS : ceiling(PARTS, 32), INSIDE = MMA || PARTS > 32 ? 1 : 32 / PARTS, GROUPS = WARPS / TEAM;
// Pieces of k are multiples of GRAIN, and GRAIN of whole words.
constexpr int GRAIN = smaller(DEPTH, 16);
