// Step 4: a ring of tiles. Asynchronous copies fill slots ahead of the products, and pass no register.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//     ring of STAGES slots    |  multiply  |  has come  |  on its way  |  on its way  |
//                                  ^ after a barrier all move on by one: what was multiplied is filled anew
//
// Adds: cp.async (sm_80) brings 16 bytes from device memory to their swizzled place while the warps multiply, and zeros for
// what lies outside; a thread waits for its copies of all but the newest slots, then for the other threads, once for each
// tile. Fragments of the next 16 steps of k are loaded while those of these 16 are multiplied. And blocks that run at the
// same time lie in bands of 8 tiles, so that what they read is in the second-level cache for each other.
// Bound by: what passes registers. Every operand of mma.sync does, and all warps compute addresses for all copies: of the
// instructions of a warp one in four is a product. sm_80 has nothing beyond this; the next steps do without either.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes, and rows of fewer than 2^24 numbers.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/bulk.cuh"
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
#define WN 64  // columns of C of a warp
#endif
#ifndef STAGES
#define STAGES 3  // slots of the ring
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int BK = 64, BAND = 8;  // steps of k of a slot: a row of A is 128 bytes; columns of tiles of a band
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32, TILE_A = BM * BK, SLOT = TILE_A + BK * BN;
constexpr int ROWS_A = THREADS / (BK / 8), ROWS_B = THREADS / (BN / 8);  // rows that all threads copy at once
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "products cover the tiles");
static_assert(BN % 64 == 0, "a row of B is whole runs of 128 bytes");
static_assert(THREADS % (BN / 8) == 0, "a thread copies the same columns of all its rows");
static_assert(BM % ROWS_A == 0 && BK % ROWS_B == 0, "threads share the tiles evenly");
static_assert(STAGES >= 2, "one slot is filled while another one is multiplied");

template <int COLUMNS> INLINE int place(int row, int column) { return row * COLUMNS + (column ^ row % 8 * 8); }

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) pipelined(const __grid_constant__ Gemm g) {
    extern __shared__ __align__(128) Half ring[];  // STAGES x (A as BM x BK, B as BK x BN)
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = depth(g), slices = (K + BK - 1) / BK;
    // Blocks in the order of their numbers: a band of columns from top to bottom, then the next band.
    const int number = blockIdx.y * gridDim.x + blockIdx.x, band = number / (BAND * gridDim.y) * BAND;
    const int width = min(BAND, (int)gridDim.x - band), rest = number - band * gridDim.y;
    const int row0 = rest / width * BM, column0 = (band + rest % width) * BN;
    const int warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;

    // A thread copies the same columns of all its rows. Rows beyond the matrix are the last one, and are never stored. How
    // much of 16 bytes lies inside is computed once for a slot, and offsets within a tile are 32 bits wide.
    const int k_own = threadIdx.x % (BK / 8) * 8, column_own = threadIdx.x % (BN / 8) * 8, last = g.m - 1 - row0;
    const int row_a = threadIdx.x / (BK / 8), row_b = threadIdx.x / (BN / 8), inside_b = min(max(g.n - column0 - column_own, 0), 8);
    const unsigned int lda = (unsigned int)g.lda, ldb = (unsigned int)g.ldb;
    const Half *const from_a = (const Half *)g.a + row0 * g.lda, *const from_b = (const Half *)g.b + (inside_b ? column0 + column_own : 0);
    auto ask = [&](int slice) {
        Half *const as = ring + slice % STAGES * SLOT, *const bs = as + TILE_A;
        const int k0 = slice * BK, inside_a = min(max(K - k0 - k_own, 0), 8);
        const Half *const a = from_a + (inside_a ? k0 + k_own : 0), *const b = from_b + k0 * g.ldb;
        UNROLL for (int v = 0; v < BM / ROWS_A; v++) {
            const int row = row_a + v * ROWS_A;
            cp_async<16>(as + place<BK>(row, k_own), a + min(row, last) * lda, 2 * inside_a);
        }
        UNROLL for (int v = 0; v < BK / ROWS_B; v++) {
            const int k = row_b + v * ROWS_B;
            cp_async<16>(bs + place<BN>(k, column_own), b + min(k, K - 1 - k0) * ldb, k0 + k < K ? 2 * inside_b : 0);
        }
    };
    unsigned int a[2][WM / 16][4], b[2][WN / 8][2];
    auto load = [&](int slice, int step) {
        const Half *const as = ring + slice % STAGES * SLOT, *const bs = as + TILE_A;
        UNROLL for (int i = 0; i < WM / 16; i++)
            ldmatrix<false>(a[step % 2][i][0], a[step % 2][i][1], a[step % 2][i][2], a[step % 2][i][3],
                            as + place<BK>(warp_row + 16 * i + lane % 16, 16 * step + lane / 16 * 8));
        UNROLL for (int j = 0; j < WN / 8; j += 2)
            ldmatrix<true>(b[step % 2][j][0], b[step % 2][j][1], b[step % 2][j + 1][0], b[step % 2][j + 1][1],
                           bs + place<BN>(16 * step + lane % 16, warp_column + 8 * j + lane / 16 * 8));
    };

    float c[WM / 16][WN / 8][4] = {};
    UNROLL for (int slice = 0; slice < STAGES - 1; slice++) {
        if (slice < slices) ask(slice);
        cp_async_commit();  // a group for each slot, were it of nothing: waits count groups
    }
    ONE_BY_ONE for (int slice = 0; slice < slices; slice++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();  // this slot has come for all, and all have read the one before
        if (slice + STAGES - 1 < slices) ask(slice + STAGES - 1);
        cp_async_commit();
        load(slice, 0);
        UNROLL for (int step = 0; step < BK / 16; step++) {
            if (step + 1 < BK / 16) load(slice, step + 1);
            UNROLL for (int i = 0; i < WM / 16; i++)
                UNROLL for (int j = 0; j < WN / 8; j++) mma_16x8x16(c[i][j], a[step % 2][i], b[step % 2][j][0], b[step % 2][j][1]);
        }
    }
    cp_async_wait<0>();

    UNROLL for (int i = 0; i < WM / 16; i++)
        UNROLL for (int j = 0; j < WN / 8; j++) {
            const int row = row0 + warp_row + 16 * i + lane / 4, column = column0 + warp_column + 8 * j + lane % 4 * 2;
            put(g, row, column, c[i][j][0], c[i][j][1]);
            put(g, row + 8, column, c[i][j][2], c[i][j][3]);
        }
}
