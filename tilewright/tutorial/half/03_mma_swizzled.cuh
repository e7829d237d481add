// Step 3: mma.sync and ldmatrix, whose layouts are known, and a swizzle in place of gaps.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//     shared memory: 16 bytes i of row r lie at place i ^ r % 8 of the 128 bytes that they belong to
//
//        row 0   0 1 2 3 4 5 6 7        ldmatrix reads one number of a column, of eight rows at a time:
//        row 1   1 0 3 2 5 4 7 6        eight different places, all 32 banks, once
//        row 2   2 3 0 1 6 7 4 5
//        ...
//
// Adds: one ldmatrix loads four blocks of 8 x 8 for all lanes, of B transposed on the way, where a load of wmma takes many
// single ones. As the layout of a product (16 x 8 x 16) is known, results go from registers to C, two neighbours at a time.
// The swizzle keeps rows at multiples of 128 bytes, takes no room, and is what TMA and wgmma want later.
// Bound by: waiting, as before: one pair of tiles, and barriers on both sides of it.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/fragment.cuh"

#ifndef BM
#define BM 128  // rows of C of a block
#endif
#ifndef BN
#define BN 128  // columns of C of a block
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

constexpr int BK = 64;  // steps of k between two barriers: a row of A is 128 bytes
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int ROWS_A = THREADS / (BK / 8), ROWS_B = THREADS / (BN / 8);  // rows that all threads read at once
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "products cover the tiles");
static_assert(BN % 64 == 0, "a row of B is whole runs of 128 bytes");
static_assert(THREADS % (BK / 8) == 0 && THREADS % (BN / 8) == 0, "a thread reads the same columns of all its rows");
static_assert(BM % ROWS_A == 0 && BK % ROWS_B == 0, "threads share the tiles evenly");

// Where the 16 bytes lie that begin at a column, in a tile with so many columns.
template <int COLUMNS> INLINE int place(int row, int column) { return row * COLUMNS + (column ^ row % 8 * 8); }

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) mma_swizzled(const __grid_constant__ Gemm g) {
    __shared__ __align__(128) Half as[BM * BK], bs[BK * BN];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = depth(g);
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;
    // A thread reads the same columns of all its rows. Rows beyond the matrix are the last one, and are never stored.
    const int k_own = threadIdx.x % (BK / 8) * 8, column_own = threadIdx.x % (BN / 8) * 8;
    const int row_a = threadIdx.x / (BK / 8), row_b = threadIdx.x / (BN / 8);

    float c[WM / 16][WN / 8][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Stage 1: the tiles that begin at k0, those of an operand all on their way before the first is stored.
        uint4 next_a[BM / ROWS_A], next_b[BK / ROWS_B];
        UNROLL for (int v = 0; v < BM / ROWS_A; v++) {
            const int row = min(row0 + row_a + v * ROWS_A, g.m - 1), k = k0 + k_own;
            next_a[v] = eight((const Half *)g.a + row * g.lda + k, K - k);
        }
        UNROLL for (int v = 0; v < BM / ROWS_A; v++) *(uint4 *)(as + place<BK>(row_a + v * ROWS_A, k_own)) = next_a[v];
        UNROLL for (int v = 0; v < BK / ROWS_B; v++) {
            const int k = k0 + row_b + v * ROWS_B, column = column0 + column_own;
            next_b[v] = eight((const Half *)g.b + k * g.ldb + column, k < K ? g.n - column : 0);
        }
        UNROLL for (int v = 0; v < BK / ROWS_B; v++) *(uint4 *)(bs + place<BN>(row_b + v * ROWS_B, column_own)) = next_b[v];
        __syncthreads();
        // Stage 2: lane l points at row l % 16 of a block of 16 x 16, and at its left or right half.
        UNROLL for (int k = 0; k < BK; k += 16) {
            unsigned int a[WM / 16][4], b[WN / 8][2];
            UNROLL for (int i = 0; i < WM / 16; i++)
                ldmatrix<false>(a[i][0], a[i][1], a[i][2], a[i][3],
                                as + place<BK>(warp_row + 16 * i + lane % 16, k + lane / 16 * 8));
            UNROLL for (int j = 0; j < WN / 8; j += 2)
                ldmatrix<true>(b[j][0], b[j][1], b[j + 1][0], b[j + 1][1],
                               bs + place<BN>(k + lane % 16, warp_column + 8 * j + lane / 16 * 8));
            UNROLL for (int i = 0; i < WM / 16; i++)
                UNROLL for (int j = 0; j < WN / 8; j++) mma_16x8x16(c[i][j], a[i], b[j][0], b[j][1]);
        }
        __syncthreads();
    }

    // Stage 3: lane l has columns l % 4 * 2 and the next one, of rows l / 4 and 8 further.
    UNROLL for (int i = 0; i < WM / 16; i++)
        UNROLL for (int j = 0; j < WN / 8; j++) {
            const int row = row0 + warp_row + 16 * i + lane / 4, column = column0 + warp_column + 8 * j + lane % 4 * 2;
            put(g, row, column, c[i][j][0], c[i][j][1]);
            put(g, row + 8, column, c[i][j][2], c[i][j][3]);
        }
}
