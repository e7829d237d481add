// Step 2: tiles in shared memory. A block reads A and B once for all its warps, and a warp has many sums.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//               BN                          WN                    shared memory
//        +------+------+             +----+----+----+         A: BM rows of BK + 8
//        |  W0  |  W1  |  WM         | 16 | 16 |    |         B: BK rows of BN + 8
//     BM +------+------+    a warp   +----+----+----+  WM
//        |  W2  |  W3  |             | 16 |    |    |
//        +------+------+             +----+----+----+
//
// Adds: every number comes from device memory once for BN (A) or BM (B) sums, 16 bytes at a time; a fragment serves a row or
// a column of the warp's products. Eight numbers after each row move the next one by four banks, so that the rows of a
// fragment lie on different ones. And what lies outside of the matrices is zero: any M, N and K.
// Bound by: waiting. Read, meet, multiply, meet: tensor cores have nothing to do while the next tiles come.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes.
#include "half/fragments.cuh"

#ifndef BM
#define BM 128  // rows of C of a block
#endif
#ifndef BN
#define BN 128  // columns of C of a block
#endif
#ifndef BK
#define BK 32  // steps of k between two barriers
#endif
#ifndef WM
#define WM 64  // rows of C of a warp
#endif
#ifndef WN
#define WN 32  // columns of C of a warp
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = 32 * WARPS;
constexpr int PITCH_A = BK + 8, PITCH_B = BN + 8;
constexpr int ROWS_A = THREADS / (BK / 8), ROWS_B = THREADS / (BN / 8);  // rows that all threads read at once
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0, "fragments cover the tiles");
static_assert(THREADS % (BK / 8) == 0 && THREADS % (BN / 8) == 0, "a thread reads the same columns of all its rows");
static_assert(BM % ROWS_A == 0 && BK % ROWS_B == 0, "threads share the tiles evenly");

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) wmma_shared(const __grid_constant__ Gemm g) {
    __shared__ __align__(32) Half as[BM * PITCH_A], bs[BK * PITCH_B];
    __shared__ __align__(32) float out[WARPS][16 * 16];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = depth(g);
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;
    // A thread reads the same columns of all its rows. Rows beyond the matrix are the last one, and are never stored.
    const int k_own = threadIdx.x % (BK / 8) * 8, column_own = threadIdx.x % (BN / 8) * 8;
    const int row_a = threadIdx.x / (BK / 8), row_b = threadIdx.x / (BN / 8);

    Sums c[WM / 16][WN / 16] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Stage 1: the tiles that begin at k0, those of an operand all on their way before the first is stored.
        uint4 next_a[BM / ROWS_A], next_b[BK / ROWS_B];
        UNROLL for (int v = 0; v < BM / ROWS_A; v++) {
            const int row = min(row0 + row_a + v * ROWS_A, g.m - 1), k = k0 + k_own;
            next_a[v] = eight((const Half *)g.a + row * g.lda + k, K - k);
        }
        UNROLL for (int v = 0; v < BM / ROWS_A; v++) *(uint4 *)(as + (row_a + v * ROWS_A) * PITCH_A + k_own) = next_a[v];
        UNROLL for (int v = 0; v < BK / ROWS_B; v++) {
            const int k = k0 + row_b + v * ROWS_B, column = column0 + column_own;
            next_b[v] = eight((const Half *)g.b + k * g.ldb + column, k < K ? g.n - column : 0);
        }
        UNROLL for (int v = 0; v < BK / ROWS_B; v++) *(uint4 *)(bs + (row_b + v * ROWS_B) * PITCH_B + column_own) = next_b[v];
        __syncthreads();
        // Stage 2: a fragment of B serves a column of products, those of A a row.
        UNROLL for (int k = 0; k < BK; k += 16) {
            Fragment a[WM / 16], b;
            UNROLL for (int i = 0; i < WM / 16; i++) load_a(a[i], as + (warp_row + 16 * i) * PITCH_A + k, PITCH_A);
            UNROLL for (int j = 0; j < WN / 16; j++) {
                load_b(b, bs + k * PITCH_B + warp_column + 16 * j, PITCH_B);
                UNROLL for (int i = 0; i < WM / 16; i++) multiply(c[i][j], a[i], b);
            }
        }
        __syncthreads();
    }

    // Stage 3: one product after the other through 1024 bytes of the warp's own.
    UNROLL for (int i = 0; i < WM / 16; i++)
        UNROLL for (int j = 0; j < WN / 16; j++) {
            store(out[warp], c[i][j], 16);
            __syncwarp();
            const int row = row0 + warp_row + 16 * i, column = column0 + warp_column + 16 * j;
            for (int e = lane; e < 128; e += 32)
                put(g, row + e / 8, column + e % 8 * 2, out[warp][2 * e], out[warp][2 * e + 1]);
            __syncwarp();
        }
}
