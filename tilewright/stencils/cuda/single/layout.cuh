// How matrices lie in shared memory, and which part of C is whose.
#pragma once

#include "lib/sizes.cuh"

// Parts of C, one to a thread or, by tensor cores, to a warp. Two columns of parts stand side by side, as in middle, where they
// come in pairs.
constexpr int PARTS_M = ceiling(SIZE_M, ROWS), PARTS_N = ceiling(SIZE_N, COLUMNS);
constexpr int BESIDE = MMA || PARTS_N % 2 ? 1 : 2, PARTS = PARTS_M * PARTS_N;
constexpr int WARPS = MMA ? PARTS : ceiling(PARTS, 32), THREADS = 32 * WARPS;

// Matrices as they are stored: LENGTH neighbours, COUNT times.
constexpr int LENGTH_A = TRANS_A ? SIZE_K : SIZE_M, COUNT_A = TRANS_A ? SIZE_M : SIZE_K;
constexpr int LENGTH_B = TRANS_B ? SIZE_N : SIZE_K, COUNT_B = TRANS_B ? SIZE_K : SIZE_N;

// They lie in shared memory as they do in device memory.
constexpr int LD_A = LENGTH_A, LD_B = LENGTH_B;
// Elements of the vectors that parts of them are read by.
constexpr int WIDE_A = vector_bytes(UNIT_A, ROWS * SIZE) / SIZE, WIDE_B = vector_bytes(UNIT_B, COLUMNS * SIZE) / SIZE;
