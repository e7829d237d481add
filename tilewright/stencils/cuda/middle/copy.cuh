// Copies of a slice of an operand to shared memory by all threads of a block.
#pragma once

// COUNT runs of LENGTH neighbours, at multiples of ld in device memory and of LD in shared memory. UNIT bytes divide the address of
// every run of the operand, and a tile or slice begins at a multiple of START elements in it. ALONG_K: neighbours are those along k.
template <bool ALONG_K, int LENGTH, int COUNT, int LD, int UNIT, int START> struct Runs {
    // By the widest vectors, of which the last one of a run may be a part.
    static constexpr int WORD = vector_bytes(UNIT, START * SIZE), EACH = WORD / SIZE, WORDS = ceiling(LENGTH, EACH);
    static constexpr int ACROSS = WORDS <= 4 ? 4 : WORDS <= 8 ? 8 : WORDS <= 16 ? 16 : 32, STEP = WARPS * (32 / ACROSS);

    // `length` and `count` of them are there. By tensor cores zeros take the place of what is beyond the last k: they sum over
    // four at a time.
    static INLINE void fetch(Stored *to, const Stored *from, long long ld, int length, int count) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * (32 / ACROSS) + lane / ACROSS, at = lane % ACROSS * EACH;
        const int runs = MMA && !ALONG_K ? (count + 3) / 4 * 4 : count, asked = MMA && ALONG_K ? (length + 3) / 4 * 4 : length;
        Stored *here = to + first * LD + at;
        const Stored *there = from + first * ld + at;
        _Pragma("unroll 2") for (int run = first; run < runs; run += STEP, here += STEP * LD, there += STEP * ld) {
            UNROLL for (int w = 0; w < ceiling(WORDS, ACROSS); w++) {
                const int before = at + w * ACROSS * EACH;
                if (before >= asked) continue;
                const int bytes = run < count ? smaller((length - before) * SIZE, WORD) : 0;
                cp_async<WORD>(here + w * ACROSS * EACH, bytes > 0 ? there + w * ACROSS * EACH : from, bytes > 0 ? bytes : 0);
            }
        }
    }
};

typedef Runs<TRANS_A, TRANS_A ? DEPTH : TILE_M, TRANS_A ? TILE_M : DEPTH, LD_A, UNIT_A, START_A> RunsA;
typedef Runs<!TRANS_B, TRANS_B ? TILE_N : DEPTH, TRANS_B ? DEPTH : TILE_N, LD_B, UNIT_B, START_B> RunsB;
