// Where slabs of the operands and partial sums lie in shared memory, and who multiplies what.
#pragma once

#include "lib/sizes.cuh"
#include "lib/span.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr bool SHARING = SPLIT > 1 || SPREAD;  // whether several blocks share the k of a tile

// 16 bytes in device memory, where they are in a slab, and whether any of them are of it.
struct Word {
    const unsigned char *from;
    int at;
    bool ours;
};

// Copies 16 bytes to an address in shared memory, if they are wanted.
INLINE void word_async(unsigned int to, const void *from, bool wanted) {
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.ne.b32 p, %2, 0;\n\t"
                 "@p cp.async.cg.shared.global [%0], [%1], 16;\n\t}"
                 ::"r"(to), "l"(from), "r"((int)wanted) : "memory");
}

// Parts of C of ROWS x COLUMNS, each of a thread (MMA: of a warp). The warps of a team have all parts of one tile between
// them, for every GROUPS-th step of k; where there are few parts, the lanes of a warp have each of them INSIDE times.
constexpr int TILE = TILE_M * TILE_N, ACROSS_M = ceiling(TILE_M, ROWS), PARTS = ACROSS_M * ceiling(TILE_N, COLUMNS);
constexpr int TEAM = MMA ? PARTS : ceiling(PARTS, 32), INSIDE = MMA || PARTS > 32 ? 1 : 32 / PARTS, GROUPS = WARPS / TEAM;
// Words of 4 bytes from a run along k to the next: lanes that read neighbouring runs at LANES neighbouring k meet no bank twice
// where it is LANES of them, modulo the 32 banks; a run that begins inside a word of 16 bytes has room for one more.
CONSTANT int pitch(int lanes, int across) {
    const int apart = across == 1 || lanes * SIZE >= 128 ? 4 : ceiling(lanes * SIZE, 16) * 4;
    int words = (DEPTH + WORD) * SIZE / 4;
    while (words % 32 != apart % 32) words += 4;
    // Where that takes too much room, some banks are met twice.
    return words * 4 <= (DEPTH + WORD) * SIZE * 5 / 4 ? words : (DEPTH + WORD) * SIZE / 4;
}
constexpr int LANES_K = !MMA ? INSIDE : TYPE_BITS == 16 ? 16 / SIZE : 4;

// A slab of an operand: DEPTH of k, EXTENT rows of op(A) or columns of op(B). ALONG: neighbours in memory are neighbours in k,
// and each row (column) is a run; else each k is one, or, if nothing lies between them, the slab is: it STREAMS. UNIT bytes
// divide the address of every run.
template <int EXTENT, int ACROSS, bool ALONG, bool STREAMS, int UNIT> struct Slab {
    static constexpr bool ANYWHERE = UNIT < 16 && !STREAMS;
    static constexpr int LD = ALONG ? pitch(LANES_K, ACROSS) * 4 / SIZE : STREAMS ? EXTENT : ceiling(EXTENT + (ANYWHERE ? WORD - 1 : 0), WORD) * WORD;
    static constexpr int RUNS = STREAMS ? 1 : ALONG ? EXTENT : DEPTH, ROOM = STREAMS ? EXTENT * DEPTH + WORD : LD;
    static constexpr int BYTES = padded(RUNS * ROOM * SIZE);

    // A run of the slab at `from`, of which so many rows (columns) and k are there, and how many runs are.
    static INLINE Run run(const Stored *from, long long ld, int number, int extent, int count) {
        return Run(from + number * ld, STREAMS ? EXTENT * count : ALONG ? count : extent);
    }
    static INLINE int runs(int extent, int count) { return STREAMS ? 1 : ALONG ? extent : count; }

    // By all threads, words of 16 bytes; near the ends of the operand, elements that lie in it.
    static INLINE void fetch(unsigned char *to, const Stored *from, int ld, int extent, int count, const Span &all) {
        constexpr int WORDS = STREAMS ? ROOM / WORD : ALONG ? DEPTH / WORD + ANYWHERE : LD / WORD;
        const int many = runs(extent, count), bytes = run(from, ld, 0, extent, count).bytes, step = ld * SIZE;
        const unsigned char *const base = (const unsigned char *)from;
        const bool inside = base - 15 >= all.begin && base + (long long)(many - 1) * step + bytes + 15 <= all.end;
        const unsigned int here = shared_address(to);
        auto word = [&](int w) {
            const int number = STREAMS ? 0 : w / WORDS, at = (STREAMS ? w : w % WORDS) * 16;
            const unsigned char *const there = base + (long long)number * step;
            const int head = (int)(unsigned long long)there & 15;
            return Word{there + (at - head), number * ROOM * SIZE + at, at < head + bytes};
        };
        if (inside) {
            _Pragma("unroll 4") for (int w = threadIdx.x; w < many * WORDS; w += THREADS) {
                const Word x = word(w);
                word_async(here + x.at, x.from, x.ours);
            }
        } else {
            _Pragma("unroll 1") for (int w = threadIdx.x; w < many * WORDS; w += THREADS) {
                const Word x = word(w);
                _Pragma("unroll 1") for (int b = 0; b < 16; b += SIZE)
                    if (x.ours && x.from + b >= all.begin && x.from + b < all.end)
                        *(Stored *)(to + x.at + b) = *(const Stored *)(x.from + b);
            }
        }
    }

    // Where the first element of a slab is, and what finds the others.
    static INLINE const Stored *first(const unsigned char *stage, const Stored *from) {
        return (const Stored *)(stage + (STREAMS ? Run(from, 0).head() : 0));
    }
    static INLINE auto lead(const Stored *from, long long ld) { return Lead<ANYWHERE, LD>::of(from, ld); }
};

constexpr bool ALONG_A = TRANS_A, ALONG_B = !TRANS_B;
typedef Slab<TILE_M, ACROSS_M, ALONG_A, STREAM_A, UNIT_A> SlabA;
typedef Slab<TILE_N, PARTS / ACROSS_M, ALONG_B, STREAM_B, UNIT_B> SlabB;

// Shared memory: barriers, the ring, partial sums, and a word for what one thread finds.
constexpr int AT_RING = BULK ? padded(8 * STAGES) : 0, STAGE_B = SlabA::BYTES, STAGE = STAGE_B + SlabB::BYTES;
constexpr int AT_SUMS = AT_RING + STAGES * STAGE, AT_FOUND = AT_SUMS + GROUPS * TILE * (int)sizeof(Element);

// Pieces of k are multiples of GRAIN, and GRAIN of whole words.
constexpr int GRAIN = smaller(DEPTH, 16);
