// Copies of a slice of an operand to shared memory by all threads of a block.
#pragma once

// COUNT runs of LENGTH neighbours, at multiples of ld in device memory and of LD in shared memory. UNIT bytes divide the address of
// every run of the operand, and a tile or slice begins at a multiple of START elements in it. ALONG_K: neighbours are those along k.
template <bool ALONG_K, int LENGTH, int COUNT, int LD, int UNIT, int START> struct Runs {
    // By the widest vectors, of which the last one of a run may be a part.
    static constexpr int WORD = vector_bytes(UNIT, START * SIZE), EACH = WORD / SIZE, WORDS = ceiling(LENGTH, EACH);
    static constexpr int ACROSS = WORDS <= 4 ? 4 : WORDS <= 8 ? 8 : WORDS <= 16 ? 16 : 32, STEP = WARPS * (32 / ACROSS);

    // By tensor cores zeros take the place of what is beyond the last k: they sum over four at a time.
    static INLINE constexpr int summed(bool k, int there) { return MMA && k ? (there + 3) / 4 * 4 : there; }

    // A slice of which LENGTH_THERE and COUNT_THERE are there: who copies what is known to the compiler but for addresses.
    template <int LENGTH_THERE, int COUNT_THERE> static INLINE void whole(Stored *to, const Stored *from, long long ld) {
        constexpr int RUNS = summed(!ALONG_K, COUNT_THERE), ASKED = summed(ALONG_K, LENGTH_THERE), FULL = COUNT_THERE / STEP;
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * (32 / ACROSS) + lane / ACROSS, at = lane % ACROSS * EACH;
        Stored *here = to + first * LD + at;
        const Stored *there = from + first * ld + at;
        auto copy = [&](bool in) {
            UNROLL for (int w = 0; w < ceiling(ASKED, EACH * ACROSS); w++) {
                const int before = at + w * ACROSS * EACH, bytes = in ? smaller((LENGTH_THERE - before) * SIZE, WORD) : 0;
                if (before < ASKED)
                    cp_async<WORD>(here + w * ACROSS * EACH, bytes > 0 ? there + w * ACROSS * EACH : from, bytes > 0 ? bytes : 0);
            }
        };
        _Pragma("unroll 8") for (int i = 0; i < FULL; i++, here += STEP * LD, there += STEP * ld) copy(true);
        // Runs that not all warps have, and zeros.
        UNROLL for (int run = FULL * STEP; run < RUNS; run += STEP, here += STEP * LD, there += STEP * ld)
            if (first < RUNS - run) copy(first < COUNT_THERE - run);
    }

    // The same of which `length` and `count` are there.
    static INLINE void some(Stored *to, const Stored *from, long long ld, int length, int count) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * (32 / ACROSS) + lane / ACROSS, at = lane % ACROSS * EACH;
        const int runs = summed(!ALONG_K, count), asked = summed(ALONG_K, length);
        Stored *here = to + first * LD + at;
        const Stored *there = from + first * ld + at;
        _Pragma("unroll 1") for (int run = first; run < runs; run += STEP, here += STEP * LD, there += STEP * ld) {
            UNROLL for (int w = 0; w < ceiling(WORDS, ACROSS); w++) {
                const int before = at + w * ACROSS * EACH;
                if (before >= asked) continue;
                const int bytes = run < count ? smaller((length - before) * SIZE, WORD) : 0;
                cp_async<WORD>(here + w * ACROSS * EACH, bytes > 0 ? there + w * ACROSS * EACH : from, bytes > 0 ? bytes : 0);
            }
        }
    }

    // DEPTH_THERE along k, and `extent` along the tile, mostly all TILE of it.
    template <int DEPTH_THERE, int TILE, bool DIVIDED>
    static INLINE void fetch(Stored *to, const Stored *from, long long ld, int extent) {
        if (DIVIDED || extent == TILE)
            whole<ALONG_K ? DEPTH_THERE : TILE, ALONG_K ? TILE : DEPTH_THERE>(to, from, ld);
        else
            some(to, from, ld, ALONG_K ? DEPTH_THERE : extent, ALONG_K ? extent : DEPTH_THERE);
    }
};

typedef Runs<TRANS_A, TRANS_A ? DEPTH : TILE_M, TRANS_A ? TILE_M : DEPTH, LD_A, UNIT_A, START_A> RunsA;
typedef Runs<!TRANS_B, TRANS_B ? TILE_N : DEPTH, TRANS_B ? DEPTH : TILE_N, LD_B, UNIT_B, START_B> RunsB;
