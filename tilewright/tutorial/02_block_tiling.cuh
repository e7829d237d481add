// Rung 2, block tiling: a block reads square tiles of A and B into shared memory, once for all its threads.
//
//     C = alpha A B + beta C      row-major, single precision; A is M x K, B is K x N, C is M x N
//
//                              +----+
//                              |tile|  |  the tiles move on by BLOCK_DIM steps of k
//                         B    +----+  v
//        A    +----+ ->        +----+
//             |tile|           | C  |  BLOCK_DIM x BLOCK_DIM, one element a thread
//             +----+           +----+
//
// Device memory is asked for an element of A N / BLOCK_DIM times instead of N times; shared memory is now
// asked for two operands of every multiply-add.
// Requires nothing of M, N, K or of addresses: rows and columns beyond the matrix are computed from the last
// one and never stored; steps of k beyond K are zeros.
#include "lib/gemm.cuh"

#ifndef BLOCK_DIM
#define BLOCK_DIM 32  // rows and columns of C of a block, and steps of k between two barriers
#endif

constexpr int THREADS = BLOCK_DIM * BLOCK_DIM;

static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is whole warps, at most 1024 threads");
static_assert(BLOCK_DIM % 4 == 0, "rows of the tiles begin at multiples of 16 bytes");

extern "C" __global__ void __launch_bounds__(THREADS) block_tiling(const __grid_constant__ Gemm g) {
    __shared__ __align__(16) float as[BLOCK_DIM][BLOCK_DIM], bs[BLOCK_DIM][BLOCK_DIM];

    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    const int K = alpha == 0.0f ? 0 : g.k;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * BLOCK_DIM + y, column = blockIdx.x * BLOCK_DIM + x;
    const float *a = static_cast<const float *>(g.a) + min(row, g.m - 1) * g.lda + x;
    const float *b = static_cast<const float *>(g.b) + y * g.ldb + min(column, g.n - 1);
    float sum = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BLOCK_DIM) {
        // Stage 1: both tiles to shared memory, one element of each a thread.
        as[y][x] = k0 + x < K ? __ldg(a) : 0.0f;
        bs[y][x] = k0 + y < K ? __ldg(b) : 0.0f;
        a += BLOCK_DIM;
        b += BLOCK_DIM * g.ldb;
        __syncthreads();

        // Stage 2: a row of one tile times a column of the other.
#pragma unroll
        for (int k = 0; k < BLOCK_DIM; k++) sum = fmaf(as[y][k], bs[k][x], sum);
        __syncthreads();
    }

    // Stage 3: the sum, scaled, to C. With beta = 0 C is not read: it may hold anything.
    if (row >= g.m || column >= g.n) return;
    float *to = static_cast<float *>(g.c) + row * g.ldc + column;
    *to = alpha * sum + (beta == 0.0f ? 0.0f : beta * *to);
}
