// Copies of a slice of an operand to shared memory by all threads of a block.
#pragma once

// A slice of DEPTH k: EXTENT elements of each at multiples of LD. TILE of the EXTENT are a tile's. ALONG: neighbours in device
// memory are neighbours of a k; else they are neighbours along k. UNIT bytes divide the address of every stored column.
template <bool ALONG, int TILE, int EXTENT, int LD, int UNIT> struct Slice {
    // Columns along the tile move by vectors, whose last one may be a part.
    static constexpr int WORD = ALONG ? vector_bytes(UNIT, TILE < EXTENT ? TILE * SIZE : 16) : SIZE, EACH = WORD / SIZE;
    static constexpr int WORDS = ceiling(TILE, EACH), ACROSS = WORDS <= 8 ? 8 : WORDS <= 16 ? 16 : 32;
    static constexpr bool WHOLE = EXTENT % TILE == 0;

    // `count` of the tile's elements and `depth` of the k are there. By tensor cores zeros take the place of what is beyond the
    // last k: they sum over four at a time.
    static INLINE void fetch(Stored *to, const Stored *from, long long ld, int count, int depth) {
        const int there = MMA ? (depth + 3) / 4 * 4 : depth, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if constexpr (ALONG) {
            constexpr int STEP = WARPS * (32 / ACROSS);
            const int first = warp * (32 / ACROSS) + lane / ACROSS, row = lane % ACROSS * EACH;
            Stored *here = to + first * LD + row;
            const Stored *at = from + first * ld + row;
            _Pragma("unroll 2") for (int k = first; k < there; k += STEP, here += STEP * LD, at += STEP * ld) {
                UNROLL for (int w = 0; w < ceiling(WORDS, ACROSS); w++) {
                    const int left = (WHOLE ? TILE : count) - row - w * ACROSS * EACH;
                    if (left <= 0) continue;
                    const int bytes = EACH == 1 ? WORD : smaller(left * SIZE, WORD);
                    const bool in = !MMA || k < depth;
                    cp_async<WORD>(here + w * ACROSS * EACH, in ? at + w * ACROSS * EACH : from, in ? bytes : 0);
                }
            }
        } else {
            constexpr int STEP = WARPS * (32 / LANES);
            const int first = warp * (32 / LANES) + lane / LANES, deep = lane % LANES;
            Stored *here = to + deep * LD + first;
            const Stored *at = from + first * ld + deep;
            _Pragma("unroll 2") for (int row = first; row < (WHOLE ? TILE : count); row += STEP, here += STEP, at += STEP * ld) {
                UNROLL for (int w = 0; w < ceiling(DEPTH, LANES); w++) {
                    const int k = deep + w * LANES;
                    if (k >= there) continue;
                    const bool in = !MMA || k < depth;
                    cp_async<SIZE>(here + w * LANES * LD, in ? at + w * LANES : from, in ? SIZE : 0);
                }
            }
        }
    }
};

typedef Slice<!TRANS_A, TILE_M, SIZE_M, LD_A, UNIT_A> SliceA;
typedef Slice<TRANS_B, TILE_N, SIZE_N, LD_B, UNIT_B> SliceB;
