// Step 8: clusters. Two blocks with the same columns of C share what comes of B: each brings half of it, to both.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//                      BN                    a slice of B, 64 steps of k
//                 +---------+               +----------------------+
//        block 0  | BM rows |  its A     32 | brought by block 0   | -> shared memory of both
//                 +---------+               +----------------------+
//        block 1  | BM rows |  its A     32 | brought by block 1   | -> shared memory of both
//                 +---------+               +----------------------+
//
// Adds: multicast. One copy fills the same slot of both blocks, each of whose barriers counts the bytes that come to it; so
// a slot is free when the warps of both have read it, and these arrive at the barriers of both. The second-level cache is
// asked for (2 BM + BN) numbers instead of 2 (BM + BN) for each step of k.
// Bound by: power. An H200 lowers its clock when all tensor cores work all the time, and every byte that is moved takes of
// that power: tiles in other orders, results put together in shared memory and stored by TMA, and tiles chosen by the size
// of the product are what is left. The package's own kernel has these: stencils/cuda/warpgroup.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes; sm_90a.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/cluster.cuh"
#include "lib/meet.cuh"
#include "lib/multicast.cuh"
#include "lib/registers.cuh"
#include "lib/wgmma.cuh"

#ifndef BM
#define BM 128  // rows of C of a tile
#endif
#ifndef BN
#define BN 256  // columns of C of a tile
#endif
#ifndef STAGES
#define STAGES 4  // slots of the ring
#endif
#ifndef TURNS
#define TURNS 0  // whether each group has tiles of its own, in turns; else half of the rows of each tile
#endif

constexpr int BK = 64, BAND = 8;  // steps of k of a slot; columns of tiles of a band
constexpr int THREADS = 384;      // two groups that multiply, and one that copies
constexpr int ROWS = TURNS ? BM : BM / 2, STACKS = ROWS / 64, BOX = 64 * 128, HALF_BOX = BOX / 2, TILE_A = BM * 128, SLOT = TILE_A + BN * 128;
static_assert(ROWS % 64 == 0 && BN % 64 == 0 && BM <= 256 && BN <= 256, "boxes cover the tiles");
static_assert(ROWS * BN <= 192 * 128, "a thread holds no more than 192 sums");

struct Tile {
    int row, column;  // where it begins; the blocks of a cluster are neighbours along y of the grid
    INLINE Tile(const Gemm &g, int number) {
        const int down = (g.m + 2 * BM - 1) / (2 * BM), across = (g.n + BN - 1) / BN, band = number / (BAND * down) * BAND;
        const int width = min(BAND, across - band), rest = number - band * down;
        row = (rest / width * 2 + blockIdx.y) * BM;
        column = (band + rest % width) * BN;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
multicast(const __grid_constant__ Gemm g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
    extern __shared__ __align__(1024) unsigned char ring[];  // STAGES x (A, B), and two barriers for each
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32, group = warp / 4;
    const int slices = (depth(g) + BK - 1) / BK, tiles = ((g.m + 2 * BM - 1) / (2 * BM)) * ((g.n + BN - 1) / BN);

    auto come = [&](int slot) { return shared_address(ring + STAGES * SLOT) + 8 * slot; };
    auto gone = [&](int slot) { return come(STAGES + slot); };
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < STAGES; slot++) {
            barrier_start(come(slot));
            barrier_start_for(gone(slot), TURNS ? 8 : 16);  // a lane of each warp of both blocks that reads it
        }
        barriers_started();
    }
    cluster_sync();  // both blocks know the barriers of both

    if (group == 2) {
        registers_given<24>();
        int turn = 0;  // slices of all tiles, one after the other
        if (warp == 8)
            ONE_BY_ONE for (int number = blockIdx.x; number < tiles; number += gridDim.x) {
                const Tile tile(g, number);
                ONE_BY_ONE for (int slice = 0; slice < slices; slice++, turn++) {
                    const int slot = turn % STAGES;
                    unsigned char *const a = ring + slot * SLOT, *const b = a + TILE_A;
                    barrier_wait(gone(slot), turn / STAGES & 1 ^ 1);
                    __syncwarp();  // lanes may leave the wait apart
                    if (lane != 0) continue;
                    barrier_expect(come(slot), SLOT);
                    box_load(a, map_a, slice * BK, tile.row, 0, come(slot));
                    UNROLL for (int j = 0; j < BN / 64; j++)
                        box_load_to_all(b + j * BOX + blockIdx.y * HALF_BOX, map_b, tile.column + 64 * j,
                                        slice * BK + blockIdx.y * (BK / 2), 0, come(slot), 3);
                }
            }
        __syncwarp();
        cluster_sync();
        return;
    }

    registers_taken<240>();
    if (TURNS && group == 1) pass(1, 256);  // the first turn is group 0's
    const int first = TURNS ? group : 0, step = (TURNS ? 2 : 1) * gridDim.x;
    int turn = first * slices;
    ONE_BY_ONE for (int number = blockIdx.x + first * gridDim.x; number < tiles; number += step) {
        float c[STACKS][BN / 2] = {};
        if (TURNS) meet(1 + group, 256);  // the other group has asked for its last products
        ONE_BY_ONE for (int slice = 0; slice < slices; slice++, turn++) {
            const int slot = turn % STAGES;
            barrier_wait(come(slot), turn / STAGES & 1);
            __syncwarp();
            const unsigned long long a = wgmma_operand(ring + slot * SLOT + (TURNS ? 0 : group * STACKS * BOX));
            const unsigned long long b = wgmma_operand_across(ring + slot * SLOT + TILE_A, BOX);
            wgmma_fence();
            UNROLL for (int step = 0; step < BK / 16; step++)
                UNROLL for (int i = 0; i < STACKS; i++)
                    wgmma_16_shared<BN, false, true>(c[i], a + i * (BOX / 16) + 2 * step, b + 128 * step, 1);
            wgmma_commit();
            wgmma_wait<1>();
            if (lane < 2 && slice > 0) barrier_arrive_in(gone((turn - 1) % STAGES), lane);
        }
        if (TURNS) pass(2 - group, 256);
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(c[i]);
        if (lane < 2 && slices > 0) barrier_arrive_in(gone((turn - 1) % STAGES), lane);
        if (TURNS) turn += slices;  // the other group's

        const Tile tile(g, number);
        UNROLL for (int i = 0; i < STACKS; i++)
            UNROLL for (int j = 0; j < BN / 8; j++) {
                const int row = tile.row + (TURNS ? 0 : group * ROWS) + 64 * i + warp % 4 * 16 + lane / 4;
                const int column = tile.column + 8 * j + lane % 4 * 2;
                put(g, row, column, c[i][4 * j], c[i][4 * j + 1]);
                put(g, row + 8, column, c[i][4 * j + 2], c[i][4 * j + 3]);
            }
    }
    __syncwarp();
    cluster_sync();  // a block stays for as long as the other one reaches its barriers
}
