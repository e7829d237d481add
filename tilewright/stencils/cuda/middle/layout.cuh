// Where slices lie in shared memory, and which part of a tile is whose.
#pragma once

#include "lib/sizes.cuh"

constexpr int TILES_M = ceiling(SIZE_M, TILE_M), TILES_N = ceiling(SIZE_N, TILE_N), TILES_OF_C = TILES_M * TILES_N;
constexpr int SLICES = ceiling(SIZE_K, DEPTH), LAST = SIZE_K - (SLICES - 1) * DEPTH;

// Parts of a tile, one to a thread or, by tensor cores, to a warp. Two columns of parts stand side by side: then every
// other lane reads the same of op(A), and every other one of op(B), which is half the traffic of shared memory.
constexpr int PARTS_M = ceiling(TILE_M, ROWS), PARTS_N = ceiling(TILE_N, COLUMNS);
constexpr int BESIDE = MMA || PARTS_N == 1 ? 1 : 2, PARTS = PARTS_M * ceiling(PARTS_N, BESIDE) * BESIDE;
constexpr int WARPS = MMA ? PARTS : ceiling(PARTS, 32), THREADS = 32 * WARPS;

// An operand lies in shared memory as it is stored: columns of op(A), or rows of it that lie along k; so with B. They are so far
// apart that neighbours lie in other banks, and that vectors are aligned.
constexpr int HELD_M = PARTS_M * ROWS, HELD_N = PARTS_N * COLUMNS;
CONSTANT int apart(int extent, int by) { return ceiling(extent - by, 2 * by) * 2 * by + by; }
CONSTANT int leading(bool along_k, int held) {
    return along_k ? apart(DEPTH, TYPE_BITS == 32 ? WORD : 4) : apart(held, COMPLEX ? 2 : 4);
}
constexpr int LD_A = leading(TRANS_A, HELD_M), LD_B = leading(!TRANS_B, HELD_N);
constexpr int SLICE_A = (TRANS_A ? HELD_M : DEPTH) * LD_A, SLICE_B = (TRANS_B ? DEPTH : HELD_N) * LD_B;
constexpr int STAGE = (SLICE_A + SLICE_B) * SIZE;
// Elements of the vectors that they are read by.
constexpr int WIDE_A = WORD, WIDE_B = WORD;
// Elements that divide where runs of a tile and a slice begin.
CONSTANT int start(bool several, int piece) { return several ? piece : 16; }
constexpr int START_A = TRANS_A ? start(SLICES > 1, DEPTH) : start(TILES_M > 1, TILE_M);
constexpr int START_B = TRANS_B ? start(TILES_N > 1, TILE_N) : start(SLICES > 1, DEPTH);

// What each warp exchanges parts of C through, so that neighbours write neighbouring rows: vectors that C has none of, or eight
// columns that tensor cores leave in pieces of 64 bytes.
constexpr bool EXCHANGED = MMA ? !COMPLEX : !TRANS_A && WORD > 1 && !(UNIT_C == 16 && SIZE_M % WORD == 0);
constexpr int LD_EXCHANGE = ROWS + 2;
constexpr int AT_EXCHANGE = STAGES * STAGE, EXCHANGE = MMA ? 8 * LD_EXCHANGE * SIZE : 512;

// Whether sums begin with beta * C. An alpha that is not 1 multiplies the sums alone, so that C is read when they are complete.
constexpr bool BEGINS = BETA != 0 && ALPHA_ONE;

// The same number, of which the compiler does not know so: what is derived from it is derived again for each tile, and does not
// stay in registers that the sums need.
__device__ __forceinline__ int again(int x) {
    asm volatile("" : "+r"(x));
    return x;
}
