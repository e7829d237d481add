// Rung 1, naive: one thread, one element of C, both operands straight from device memory.
//
//     C = alpha A B + beta C      row-major, single precision; A is M x K, B is K x N, C is M x N
//
//                         B   | column of the thread
//                             v
//        A  row of the   +---------+
//           thread  ---> |  block  |  BLOCK_DIM x BLOCK_DIM threads, x along the columns of C
//                        +---------+
//
// The 32 threads of a warp share a row: they read one element of A (a broadcast) and 32 neighbours of B (one
// line of 128 bytes) for 32 multiply-adds. Each element of A is asked for N times and each of B M times.
// Requires nothing of M, N, K or of addresses.
#include "lib/gemm.cuh"

#ifndef BLOCK_DIM
#define BLOCK_DIM 32  // rows and columns of C of a block
#endif
#ifndef UNROLL
#define UNROLL 4  // steps of k whose reads are under way together
#endif

constexpr int THREADS = BLOCK_DIM * BLOCK_DIM;
constexpr int STEPS = UNROLL;  // a pragma takes names of constants, not macros

static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is whole warps, at most 1024 threads");

extern "C" __global__ void __launch_bounds__(THREADS) naive(const __grid_constant__ Gemm g) {
    const int row = blockIdx.y * BLOCK_DIM + threadIdx.y, column = blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (row >= g.m || column >= g.n) return;

    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    const int K = alpha == 0.0f ? 0 : g.k;
    const float *a = static_cast<const float *>(g.a) + row * g.lda;
    const float *b = static_cast<const float *>(g.b) + column;
    float sum = 0.0f;
#pragma unroll STEPS
    for (int k = 0; k < K; k++, b += g.ldb) sum = fmaf(__ldg(a + k), __ldg(b), sum);

    // With beta = 0 C is not read: it may hold anything.
    float *to = static_cast<float *>(g.c) + row * g.ldc + column;
    *to = alpha * sum + (beta == 0.0f ? 0.0f : beta * *to);
}
