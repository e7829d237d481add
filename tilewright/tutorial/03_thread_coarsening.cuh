// Rung 3, thread coarsening in two dimensions: a thread owns a TM x TN patch of C in registers.
//
//     C = alpha A B + beta C      row-major, single precision; A is M x K, B is K x N, C is M x N
//
//                    BN
//              +--+--+--+--+             +-----------+
//              |T0|T1|T2|..|  BM         | TM x TN   |  one thread: TM elements of A and TN of B, read from
//              +--+--+--+--+             | sums      |  shared memory, serve TM * TN multiply-adds
//              |  |  |  |  |             +-----------+
//              +--+--+--+--+
//        tiles: A as BM x BK, B as BK x BN, copied element by element by all threads in turn
//
// Two reads from shared memory for each multiply-add become (TM + TN) / (TM * TN), and larger tiles ask device
// memory for fewer elements.
// Requires nothing of M, N, K or of addresses: rows and columns beyond the matrix are computed from the last
// one and never stored; steps of k beyond K are zeros.
// Offsets within a tile are 32 bits wide: leading dimensions stay below 2^24.
#include "lib/gemm.cuh"

#ifndef BM
#define BM 128  // rows of C of a block
#endif
#ifndef BN
#define BN 128  // columns of C of a block
#endif
#ifndef BK
#define BK 8  // steps of k between two barriers
#endif
#ifndef TM
#define TM 8  // rows of C of a thread
#endif
#ifndef TN
#define TN 8  // columns of C of a thread
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int THREADS = BM / TM * (BN / TN);
constexpr int READS_A = BM * BK / THREADS, READS_B = BK * BN / THREADS;

static_assert(BM % TM == 0 && BN % TN == 0, "threads cover the block's tile");
static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is whole warps, at most 1024 threads");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "threads share the tiles evenly");

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    thread_coarsening(const __grid_constant__ Gemm g) {
    __shared__ __align__(16) float as[BM][BK], bs[BK][BN];

    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    const int M = g.m, N = g.n, K = alpha == 0.0f ? 0 : g.k;
    const unsigned lda = (unsigned)g.lda, ldb = (unsigned)g.ldb;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const float *a = static_cast<const float *>(g.a) + row0 * g.lda;
    const float *b = static_cast<const float *>(g.b) + column0;
    const int tile_row = threadIdx.x / (BN / TN) * TM, tile_column = threadIdx.x % (BN / TN) * TN;

    // Who reads what of a tile: read v of a thread is element threadIdx.x + v * THREADS, rows first.
    unsigned offset_a[READS_A], offset_b[READS_B];
#pragma unroll
    for (int v = 0; v < READS_A; v++) {
        const int i = threadIdx.x + v * THREADS;
        offset_a[v] = min(i / BK, M - 1 - row0) * lda + i % BK;
    }
#pragma unroll
    for (int v = 0; v < READS_B; v++) {
        const int i = threadIdx.x + v * THREADS;
        offset_b[v] = i / BN * ldb + min(i % BN, N - 1 - column0);
    }

    float c[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Stage 1: both tiles to shared memory.
        float next_a[READS_A], next_b[READS_B];
        if (k0 + BK <= K) {
#pragma unroll
            for (int v = 0; v < READS_A; v++) next_a[v] = __ldg(a + offset_a[v]);
#pragma unroll
            for (int v = 0; v < READS_B; v++) next_b[v] = __ldg(b + offset_b[v]);
        } else {
#pragma unroll
            for (int v = 0; v < READS_A; v++)
                next_a[v] = k0 + (threadIdx.x + v * THREADS) % BK < K ? a[offset_a[v]] : 0.0f;
#pragma unroll
            for (int v = 0; v < READS_B; v++)
                next_b[v] = k0 + (threadIdx.x + v * THREADS) / BN < K ? b[offset_b[v]] : 0.0f;
        }
#pragma unroll
        for (int v = 0; v < READS_A; v++) (&as[0][0])[threadIdx.x + v * THREADS] = next_a[v];
#pragma unroll
        for (int v = 0; v < READS_B; v++) (&bs[0][0])[threadIdx.x + v * THREADS] = next_b[v];
        a += BK;
        b += (long long)BK * ldb;
        __syncthreads();

        // Stage 2: a TM x TN patch of products for each k.
#pragma unroll
        for (int k = 0; k < BK; k++)
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    c[i][j] = fmaf(as[tile_row + i][k], bs[k][tile_column + j], c[i][j]);
        __syncthreads();
    }

    // Stage 3: the patch, scaled, to C. With beta = 0 C is not read: it may hold anything.
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int row = row0 + tile_row + i;
        if (row >= M) continue;
        float *to = static_cast<float *>(g.c) + row * g.ldc + column0 + tile_column;
#pragma unroll
        for (int j = 0; j < TN; j++)
            if (column0 + tile_column + j < N)
                to[j] = alpha * c[i][j] + (beta == 0.0f ? 0.0f : beta * to[j]);
    }
}
