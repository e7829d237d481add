// Step 5: wgmma and TMA. Four warps multiply together, straight from shared memory, and one thread copies for all.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//     ring of STAGES slots, each boxes as TMA writes and wgmma reads them, lines of 128 bytes with the swizzle of step 3
//
//                64 along k           64 columns   64 columns
//              +------------+        +----------+ +----------+
//        BM    | A, one box |    64  | B, box 0 | | B, box 1 | ...      sums: 64 rows by BN columns, BM / 64 times,
//              +------------+        +----------+ +----------+          in the registers of four warps
//
// Adds: wgmma (sm_90a) takes both operands from shared memory by a descriptor of their layout: 64 x BN x 16 at once, and no
// fragment passes a register. A tensor map says where a matrix lies; one thread asks for whole boxes of it, whose swizzle,
// addresses and edges (zeros) are TMA's, and a barrier in shared memory counts the bytes that have come.
// Bound by: one group of warps that waits for its own products, meets, and only then lets the slot be filled. Tensor cores
// have work meanwhile only from other blocks of the same SM, and results wait for nobody but are waited for.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes; sm_90a.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/box.cuh"
#include "lib/wgmma.cuh"

#ifndef BM
#define BM 128  // rows of C of a block
#endif
#ifndef BN
#define BN 128  // columns of C of a block
#endif
#ifndef STAGES
#define STAGES 3  // slots of the ring
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2  // blocks of a multiprocessor that registers are kept free for
#endif

constexpr int BK = 64, BAND = 8;  // steps of k of a slot; columns of tiles of a band
constexpr int THREADS = 128, STACKS = BM / 64, BOX = 64 * 128, TILE_A = BM * 128, SLOT = TILE_A + BN * 128;
static_assert(BM % 64 == 0 && BN % 64 == 0 && BM <= 256 && BN <= 256, "boxes cover the tiles");
static_assert(BM * BN <= 192 * THREADS, "a thread holds no more than 192 sums");

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
wgmma(const __grid_constant__ Gemm g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
    extern __shared__ __align__(1024) unsigned char ring[];  // STAGES x (A, B), and a barrier for each
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, slices = (depth(g) + BK - 1) / BK;
    const int number = blockIdx.y * gridDim.x + blockIdx.x, band = number / (BAND * gridDim.y) * BAND;
    const int width = min(BAND, (int)gridDim.x - band), rest = number - band * gridDim.y;
    const int row0 = rest / width * BM, column0 = (band + rest % width) * BN;

    auto come = [&](int slot) { return shared_address(ring + STAGES * SLOT) + 8 * slot; };
    auto ask = [&](int slice) {
        unsigned char *const a = ring + slice % STAGES * SLOT, *const b = a + TILE_A;
        barrier_expect(come(slice % STAGES), SLOT);
        box_load(a, map_a, slice * BK, row0, 0, come(slice % STAGES));
        UNROLL for (int j = 0; j < BN / 64; j++)
            box_load(b + j * BOX, map_b, column0 + 64 * j, slice * BK, 0, come(slice % STAGES));
    };
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < STAGES; slot++) barrier_start(come(slot));
        barriers_started();
        for (int slice = 0; slice < min(STAGES, slices); slice++) ask(slice);
    }
    __syncthreads();

    float c[STACKS][BN / 2] = {};
    ONE_BY_ONE for (int slice = 0; slice < slices; slice++) {
        const int slot = slice % STAGES;
        // A barrier has come for the first time, the second: its parity says which is waited for.
        barrier_wait(come(slot), slice / STAGES & 1);
        const unsigned long long a = wgmma_operand(ring + slot * SLOT);
        const unsigned long long b = wgmma_operand_across(ring + slot * SLOT + TILE_A, BOX);
        wgmma_fence();
        // In units of 16 bytes: 16 steps of k are 32 bytes further in a line of A, and 16 lines in a box of B.
        UNROLL for (int step = 0; step < BK / 16; step++)
            UNROLL for (int i = 0; i < STACKS; i++)
                wgmma_16_shared<BN, false, true>(c[i], a + i * (BOX / 16) + 2 * step, b + 128 * step, 1);
        wgmma_commit();
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(c[i]);
        __syncthreads();  // all four warps have read the slot
        if (threadIdx.x == 0 && slice + STAGES < slices) ask(slice + STAGES);
    }

    // Lane l has columns l % 4 * 2 and the next one of each 8, of rows l / 4 and 8 further.
    UNROLL for (int i = 0; i < STACKS; i++)
        UNROLL for (int j = 0; j < BN / 8; j++) {
            const int row = row0 + 64 * i + 16 * warp + lane / 4, column = column0 + 8 * j + lane % 4 * 2;
            put(g, row, column, c[i][4 * j], c[i][4 * j + 1]);
            put(g, row + 8, column, c[i][4 * j + 2], c[i][4 * j + 3]);
        }
}
