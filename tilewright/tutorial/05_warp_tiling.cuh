// Rung 5, warp tiling: the 32 threads of a warp own one compact WM x WN tile of C.
//
//     C = alpha A B + beta C      row-major, single precision; A is M x K, B is K x N, C is M x N
//
//              BN                        WN
//        +----+----+             +--+--+--+--+
//        | W0 | W1 |  WM         |T0|T1|..|  |  TM       32 threads, a TM x TN patch each
//     BM +----+----+    one warp +--+--+--+--+
//        | W2 | W3 |             |  |  |  |  |
//        +----+----+             +--+--+--+--+
//                                 TN
//
// Stages 1 and 3 are those of rung 4; what changes is which patch a thread owns. A warp that is two rows of
// patches high reads a wide strip of B and a sliver of A; a squarer one reads less of both together.
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
#define WM 32  // rows of C of a warp
#endif
#ifndef WN
#define WN 128  // columns of C of a warp
#endif
#ifndef TM
#define TM 16  // rows of C of a thread
#endif
#ifndef TN
#define TN 8  // columns of C of a thread
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int THREADS = BM / WM * (BN / WN) * 32;
// A turned around: a row for each k. Four more columns let the four k of one stored vector fall on other banks.
constexpr int PITCH_A = BM + 4, PITCH_B = BN, TILE_A = BK * PITCH_A;
constexpr int VECTORS_A = BM * BK / 4 / THREADS, VECTORS_B = BK * BN / 4 / THREADS;

static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the block's tile");
static_assert(WM % TM == 0 && WN % TN == 0 && WM / TM * (WN / TN) == 32, "a warp has 32 threads");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "fragments are read 16 bytes at a time");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0, "threads share the tiles evenly");

// Whether 16 bytes divide the base, the distance between rows and the rows themselves.
__device__ __forceinline__ bool wide(const void *base, long long pitch, int width) {
    return ((unsigned long long)base | (unsigned long long)pitch * 4 | (unsigned long long)width * 4) % 16 == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) warp_tiling(const __grid_constant__ Gemm g) {
    __shared__ __align__(16) float tiles[TILE_A + BK * PITCH_B];  // A as BK x PITCH_A, B as BK x PITCH_B

    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    const int M = g.m, N = g.n, K = alpha == 0.0f ? 0 : g.k;
    const unsigned lda = (unsigned)g.lda, ldb = (unsigned)g.ldb;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const float *a = static_cast<const float *>(g.a) + row0 * g.lda;
    const float *b = static_cast<const float *>(g.b) + column0;
    const bool vectors = wide(g.a, g.lda, g.k) && wide(g.b, g.ldb, N);
    const int last_row = M - 1 - row0, last_column = N - 1 - column0;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tile_row = warp / (BN / WN) * WM + lane / (WN / TN) * TM;
    const int tile_column = warp % (BN / WN) * WN + lane % (WN / TN) * TN;

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

    float c[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        fetch(k0);
        stash(tiles);
        __syncthreads();

        // Stage 2: for each k an outer product of a column of A and a row of B, in registers.
        const float *as = tiles + tile_row, *bs = tiles + TILE_A + tile_column;
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float m[TM], n[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4) *(float4 *)(m + i) = *(const float4 *)(as + k * PITCH_A + i);
#pragma unroll
            for (int j = 0; j < TN; j += 4) *(float4 *)(n + j) = *(const float4 *)(bs + k * PITCH_B + j);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) c[i][j] = fmaf(m[i], n[j], c[i][j]);
        }
        __syncthreads();
    }

    // Stage 3: the patch, scaled, to C. With beta = 0 C is not read: it may hold anything.
    const bool vectors_c = wide(g.c, g.ldc, N);
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int row = row0 + tile_row + i;
        if (row >= M) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int column = column0 + tile_column + j;
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
