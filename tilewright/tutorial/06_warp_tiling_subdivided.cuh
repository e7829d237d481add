// Rung 6, warp tiling subdivided: each warp's tile falls into WMITER x WNITER subtiles.
//
//     C = alpha A B + beta C      row-major, single precision; A is M x K, B is K x N, C is M x N
//
//              BN                          WN                          WSUBN = WN / WNITER
//        +----+----+                 +-----+-----+                   +--+--+--+--+
//        | W0 | W1 |  WM             | sub | sub |  WSUBM            |T0|T1|..|T7|  TM
//     BM +----+----+        one warp +-----+-----+       one subtile +--+--+--+--+    32 threads
//        | W2 | W3 |                 | sub | sub |                   |T8|..|  |  |
//        +----+----+                 +-----+-----+                   +--+--+--+--+
//                                                                     TN
//
// A thread owns one TM x TN patch of every subtile. With TM = TN = 4 each patch is one 16-byte read wide, so
// that neighbouring lanes read neighbouring 16 bytes of shared memory: no bank is asked twice, whereas a
// solid patch 8 wide leaves holes of 16 bytes between lanes. And one fragment of A serves WNITER fragments of
// B that come later: the multiply-adds of the first subtile run while the others are still being read.
//
// Around that step: PREFETCH carries the next tiles in registers while the present ones are multiplied.
// Requires nothing of M, N, K: rows and columns beyond the matrix are computed from the last one and never
// stored; steps of k beyond K are zeros. Rows that 16 bytes do not divide are read by single elements.
// Offsets within a tile are 32 bits wide: leading dimensions stay below 2^24.
#include "lib/gemm.cuh"

#ifndef BM
#define BM 128  // rows of C of a block
#endif
#ifndef BN
#define BN 128  // columns of C of a block
#endif
#ifndef BK
#define BK 16  // steps of k between two barriers
#endif
#ifndef WM
#define WM 64  // rows of C of a warp
#endif
#ifndef WN
#define WN 64  // columns of C of a warp
#endif
#ifndef WMITER
#define WMITER 2  // subtiles of a warp's tile, downwards
#endif
#ifndef WNITER
#define WNITER 4  // subtiles of a warp's tile, across
#endif
#ifndef TM
#define TM 4  // rows of a subtile of a thread
#endif
#ifndef TN
#define TN 4  // columns of a subtile of a thread
#endif
#ifndef PREFETCH
#define PREFETCH 2  // 0: read, then multiply; 1: next tiles in registers; 2: and two copies in shared memory
#endif
#ifndef PAIRED
#define PAIRED 1  // 1: lanes 4 x 8 or 8 x 4 in the order in which half a warp is served at once
#endif
#ifndef ORDER
#define ORDER 0  // multiply-adds of a step: 0 by rows, 1 by rows there and back, 2 by columns there and back
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int THREADS = BM / WM * (BN / WN) * 32;
constexpr int WSUBM = WM / WMITER, WSUBN = WN / WNITER;
constexpr int LANES_M = WSUBM / TM, LANES_N = WSUBN / TN;
constexpr int ROWS = WMITER * TM, COLUMNS = WNITER * TN;
// A turned around: a row for each k. Four more columns let the four k of one stored vector fall on other banks.
constexpr int PITCH_A = BM + 4, PITCH_B = BN;
constexpr int TILE_A = BK * PITCH_A, TILES = TILE_A + BK * PITCH_B;
constexpr int VECTORS_A = BM * BK / 4 / THREADS, VECTORS_B = BK * BN / 4 / THREADS;

static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the block's tile");
static_assert(WM % (WMITER * TM) == 0 && WN % (WNITER * TN) == 0, "subtiles cover the warp's tile");
static_assert(LANES_M * LANES_N == 32, "a warp has 32 threads");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "fragments are read 16 bytes at a time");
static_assert(TILES % 4 == 0, "a second copy of the tiles begins at a multiple of 16 bytes");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0, "threads share the tiles evenly");

// Whether 16 bytes divide the base, the distance between rows and the rows themselves.
__device__ __forceinline__ bool wide(const void *base, long long pitch, int width) {
    return ((unsigned long long)base | (unsigned long long)pitch * 4 | (unsigned long long)width * 4) % 16 == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    warp_tiling_subdivided(const __grid_constant__ Gemm g) {
    extern __shared__ __align__(16) float tiles[];  // (1 or 2) x (A as BK x PITCH_A, B as BK x PITCH_B)

    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    const int M = g.m, N = g.n, K = alpha == 0.0f ? 0 : g.k;
    const unsigned lda = (unsigned)g.lda, ldb = (unsigned)g.ldb;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const float *a = static_cast<const float *>(g.a) + row0 * g.lda;
    const float *b = static_cast<const float *>(g.b) + column0;
    const bool vectors = wide(g.a, g.lda, g.k) && wide(g.b, g.ldb, N);
    const int last_row = M - 1 - row0, last_column = N - 1 - column0;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int lane_m = lane / LANES_N, lane_n = lane % LANES_N;
    if (PAIRED && (LANES_M == 4 || LANES_M == 8)) {
        // Lanes t and t^1 read the same 16 bytes of one operand, t and t^2 of the other.
        const int four = lane / 16 * 2 + lane % 2, eight = lane / 2 % 8;
        lane_m = LANES_M == 4 ? four : eight;
        lane_n = LANES_M == 4 ? eight : four;
    }
    const int tile_row = warp / (BN / WN) * WM + lane_m * TM;
    const int tile_column = warp % (BN / WN) * WN + lane_n * TN;

    // Who reads what of a tile: vector v of a thread is number threadIdx.x + v * THREADS, rows first.
    unsigned offset_a[VECTORS_A], offset_b[VECTORS_B];
#pragma unroll
    for (int v = 0; v < VECTORS_A; v++) {
        const int i = threadIdx.x + v * THREADS;
        offset_a[v] = min(i / (BK / 4), last_row) * lda + i % (BK / 4) * 4;
    }
#pragma unroll
    for (int v = 0; v < VECTORS_B; v++) {
        const int i = threadIdx.x + v * THREADS;
        offset_b[v] = i / (BN / 4) * ldb + min(i % (BN / 4) * 4, last_column / 4 * 4);
    }

    float4 next_a[VECTORS_A], next_b[VECTORS_B];
    // Stage 1a: the tiles that begin at k go from device memory to registers.
    auto fetch = [&](int k) {
        if (vectors && k + BK <= K) {
#pragma unroll
            for (int v = 0; v < VECTORS_A; v++) next_a[v] = __ldg((const float4 *)(a + offset_a[v]));
#pragma unroll
            for (int v = 0; v < VECTORS_B; v++) next_b[v] = __ldg((const float4 *)(b + offset_b[v]));
        } else {
#pragma unroll
            for (int v = 0; v < VECTORS_A; v++) {
                const int x = k + (threadIdx.x + v * THREADS) % (BK / 4) * 4;
                const float *p = a + offset_a[v];
                next_a[v] = make_float4(x < K ? p[0] : 0.0f, x + 1 < K ? p[1] : 0.0f, x + 2 < K ? p[2] : 0.0f,
                                        x + 3 < K ? p[3] : 0.0f);
            }
#pragma unroll
            for (int v = 0; v < VECTORS_B; v++) {
                const int i = threadIdx.x + v * THREADS, x = min(i % (BN / 4) * 4, last_column / 4 * 4);
                const bool in = k + i / (BN / 4) < K;
                const float *p = b + offset_b[v];
                next_b[v] = make_float4(in ? p[0] : 0.0f, in ? p[min(1, last_column - x)] : 0.0f,
                                        in ? p[min(2, last_column - x)] : 0.0f,
                                        in ? p[min(3, last_column - x)] : 0.0f);
            }
        }
        a += BK;
        b += (long long)BK * ldb;
    };
    // Stage 1b: from registers to shared memory, A turned around.
    auto stash = [&](float *tile) {
#pragma unroll
        for (int v = 0; v < VECTORS_A; v++) {
            const int i = threadIdx.x + v * THREADS;
            float *to = tile + i % (BK / 4) * 4 * PITCH_A + i / (BK / 4);
            to[0] = next_a[v].x;
            to[PITCH_A] = next_a[v].y;
            to[2 * PITCH_A] = next_a[v].z;
            to[3 * PITCH_A] = next_a[v].w;
        }
#pragma unroll
        for (int v = 0; v < VECTORS_B; v++) {
            const int i = threadIdx.x + v * THREADS;
            *(float4 *)(tile + TILE_A + i / (BN / 4) * PITCH_B + i % (BN / 4) * 4) = next_b[v];
        }
    };

    float c[ROWS][COLUMNS] = {};
    // Stage 2: for each k an outer product of a column of A and a row of B, in registers.
    auto multiply = [&](const float *tile) {
        const float *as = tile + tile_row, *bs = tile + TILE_A + tile_column;
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float m[ROWS], n[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; i += 4)
                *(float4 *)(m + i) = *(const float4 *)(as + k * PITCH_A + i / TM * WSUBM + i % TM);
#pragma unroll
            for (int j = 0; j < COLUMNS; j += 4)
                *(float4 *)(n + j) = *(const float4 *)(bs + k * PITCH_B + j / TN * WSUBN + j % TN);
#if ORDER == 2
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int q = 0; q < ROWS; q++) {
                    const int i = j % 2 ? ROWS - 1 - q : q;
                    c[i][j] = fmaf(m[i], n[j], c[i][j]);
                }
#else
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int q = 0; q < COLUMNS; q++) {
                    const int j = ORDER == 1 && i % 2 ? COLUMNS - 1 - q : q;
                    c[i][j] = fmaf(m[i], n[j], c[i][j]);
                }
#endif
        }
    };

#if PREFETCH
    float *here = tiles, *there = tiles + (PREFETCH == 2 ? TILES : 0);
    if (K > 0) {
        fetch(0);
        stash(here);
        __syncthreads();
    }
    for (int k = BK; k < K; k += BK) {
        fetch(k);
        multiply(here);
        if (PREFETCH == 1) __syncthreads();  // all have read the old tiles
        stash(there);
        __syncthreads();
        float *swap = here;
        here = there;
        there = swap;
    }
    if (K > 0) multiply(here);
#else
    for (int k = 0; k < K; k += BK) {
        fetch(k);
        stash(tiles);
        __syncthreads();
        multiply(tiles);
        __syncthreads();
    }
#endif

    // Stage 3: the patches of a thread, scaled, to C. With beta = 0 C is not read: it may hold anything.
    const bool vectors_c = wide(g.c, g.ldc, N);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const int row = row0 + tile_row + i / TM * WSUBM + i % TM;
        if (row >= M) continue;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4) {
            const int column = column0 + tile_column + j / TN * WSUBN + j % TN;
            float *to = static_cast<float *>(g.c) + row * g.ldc + column;
            if (vectors_c && column < N) {
                float4 old = beta == 0.0f ? make_float4(0, 0, 0, 0) : *(float4 *)to;
                *(float4 *)to =
                    make_float4(alpha * c[i][j] + beta * old.x, alpha * c[i][j + 1] + beta * old.y,
                                alpha * c[i][j + 2] + beta * old.z, alpha * c[i][j + 3] + beta * old.w);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (column + e < N) to[e] = alpha * c[i][j + e] + (beta == 0.0f ? 0.0f : beta * to[e]);
            }
        }
    }
}
