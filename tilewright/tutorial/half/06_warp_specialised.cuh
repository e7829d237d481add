// Step 6: roles. One warp only copies, two groups of four warps only multiply, and barriers say whose turn a slot is.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//        warp 8                          ring of STAGES slots                 warps 0 to 3, 4 to 7
//        waits until a slot is read  ->  | A: BM x 64, B: 64 x BN |  ->  wait until it has come, multiply
//        and asks for its next boxes <-  |                        |  <-  say that they have read it
//
// Adds: nobody waits for the whole block. The warp that copies runs ahead by as many slots as there are; a group that
// multiplies asks for the products of the next slot before those of this one are done, and gives back the one before.
// Registers go to who needs them: the group that copies keeps 40 of each thread, those that multiply have 232, room for a
// tile of 128 x 256, of which 1 byte comes for every 85 operations (64 in a tile of 128 x 128).
// Bound by: beginnings and ends. A block fills its ring before the first product and stores its tile after the last, and
// there is one block of this size to an SM.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes; sm_90a.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/box.cuh"
#include "lib/registers.cuh"
#include "lib/wgmma.cuh"

#ifndef BM
#define BM 128  // rows of C of a block, half of them of each group
#endif
#ifndef BN
#define BN 256  // columns of C of a block
#endif
#ifndef STAGES
#define STAGES 4  // slots of the ring
#endif

constexpr int BK = 64, BAND = 8;           // steps of k of a slot; columns of tiles of a band
constexpr int GROUPS = 2, THREADS = 384;   // groups that multiply; one more copies
constexpr int STACKS = BM / GROUPS / 64, BOX = 64 * 128, TILE_A = BM * 128, SLOT = TILE_A + BN * 128;
static_assert(BM % (64 * GROUPS) == 0 && BN % 64 == 0 && BM <= 256 && BN <= 256, "boxes cover the tiles");
static_assert(BM / GROUPS * BN <= 192 * 128, "a thread holds no more than 192 sums");

extern "C" __global__ void __launch_bounds__(THREADS, 1)
warp_specialised(const __grid_constant__ Gemm g, const __grid_constant__ TensorMap map_a,
                 const __grid_constant__ TensorMap map_b) {
    extern __shared__ __align__(1024) unsigned char ring[];  // STAGES x (A, B), and two barriers for each
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32, group = warp / 4;
    const int slices = (depth(g) + BK - 1) / BK;
    const int number = blockIdx.y * gridDim.x + blockIdx.x, band = number / (BAND * gridDim.y) * BAND;
    const int width = min(BAND, (int)gridDim.x - band), rest = number - band * gridDim.y;
    const int row0 = rest / width * BM, column0 = (band + rest % width) * BN;

    auto come = [&](int slot) { return shared_address(ring + STAGES * SLOT) + 8 * slot; };
    auto gone = [&](int slot) { return come(STAGES + slot); };
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < STAGES; slot++) {
            barrier_start(come(slot));
            barrier_start_for(gone(slot), 4 * GROUPS);  // a lane of each warp that multiplies
        }
        barriers_started();
    }
    __syncthreads();

    if (group == GROUPS) {
        registers_given<40>();
        if (warp == 4 * GROUPS)
            ONE_BY_ONE for (int slice = 0; slice < slices; slice++) {
                const int slot = slice % STAGES;
                unsigned char *const a = ring + slot * SLOT, *const b = a + TILE_A;
                // A new barrier is taken to have completed the phase before its first: nothing has to be read before.
                barrier_wait(gone(slot), slice / STAGES & 1 ^ 1);
                __syncwarp();  // lanes may leave the wait apart
                if (lane != 0) continue;
                barrier_expect(come(slot), SLOT);
                box_load(a, map_a, slice * BK, row0, 0, come(slot));
                UNROLL for (int j = 0; j < BN / 64; j++) box_load(b + j * BOX, map_b, column0 + 64 * j, slice * BK, 0, come(slot));
            }
        return;
    }

    registers_taken<232>();
    float c[STACKS][BN / 2] = {};
    ONE_BY_ONE for (int slice = 0; slice < slices; slice++) {
        const int slot = slice % STAGES;
        barrier_wait(come(slot), slice / STAGES & 1);
        __syncwarp();
        const unsigned long long a = wgmma_operand(ring + slot * SLOT + group * STACKS * BOX);
        const unsigned long long b = wgmma_operand_across(ring + slot * SLOT + TILE_A, BOX);
        wgmma_fence();
        UNROLL for (int step = 0; step < BK / 16; step++)
            UNROLL for (int i = 0; i < STACKS; i++)
                wgmma_16_shared<BN, false, true>(c[i], a + i * (BOX / 16) + 2 * step, b + 128 * step, 1);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slot before
        if (lane == 0 && slice > 0) barrier_expect(gone((slice - 1) % STAGES), 0);
    }
    wgmma_wait<0>();
    UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(c[i]);

    UNROLL for (int i = 0; i < STACKS; i++)
        UNROLL for (int j = 0; j < BN / 8; j++) {
            const int row = row0 + 64 * (group * STACKS + i) + warp % 4 * 16 + lane / 4, column = column0 + 8 * j + lane % 4 * 2;
            put(g, row, column, c[i][4 * j], c[i][4 * j + 1]);
            put(g, row + 8, column, c[i][4 * j + 2], c[i][4 * j + 3]);
        }
}
