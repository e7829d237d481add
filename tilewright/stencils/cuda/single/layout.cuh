// How matrices lie in shared memory, and which part of C is whose.
#pragma once

#include "lib/sizes.cuh"

// Parts of C, one to a thread or, by tensor cores, to a warp. Two columns of parts stand side by side, as in middle.
constexpr int PARTS_M = ceiling(SIZE_M, ROWS), PARTS_N = ceiling(SIZE_N, COLUMNS);
constexpr int BESIDE = MMA || PARTS_N == 1 ? 1 : 2, PARTS = PARTS_M * ceiling(PARTS_N, BESIDE) * BESIDE;
constexpr int WARPS = MMA ? PARTS : ceiling(PARTS, 32), THREADS = 32 * WARPS;

// Matrices as they are stored: LENGTH neighbours, COUNT times.
constexpr int LENGTH_A = TRANS_A ? SIZE_K : SIZE_M, COUNT_A = TRANS_A ? SIZE_M : SIZE_K;
constexpr int LENGTH_B = TRANS_B ? SIZE_N : SIZE_K, COUNT_B = TRANS_B ? SIZE_K : SIZE_N;

// They come as they lie in memory, or column by column, so far apart that those that are read together are in other banks: vectors
// along k at odd multiples of 16 bytes; for tensor cores, four k of eight rows, at odd multiples of four elements, or of two.
CONSTANT int apart(int extent, int by) { return ceiling(extent - by, 2 * by) * 2 * by + by; }
CONSTANT int leading(bool along_k, int length, int unit) {
    if (!PAD || unit < 16) return length;
    if (MMA) return length % 4 ? length : along_k || !COMPLEX ? apart(length, 4) : length + 2;
    return along_k ? apart(length, WORD) : length;
}
constexpr int LD_A = leading(TRANS_A, LENGTH_A, UNIT_A), LD_B = leading(!TRANS_B, LENGTH_B, UNIT_B);
// Elements of the vectors that they are read by.
constexpr int WIDE_A = vector_bytes(UNIT_A, 16) / SIZE, WIDE_B = vector_bytes(UNIT_B, 16) / SIZE;
