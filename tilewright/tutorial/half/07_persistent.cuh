// Step 7: blocks that stay. The ring goes on from tile to tile, and two groups of warps may take turns.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//        warp 8    | copies of tile 0 | of tile 1         | of tile 2         | ...      as many blocks as SMs, each
//        groups      | multiply 0     | store 0 | multiply 1   | store 1 | ...            takes every so-many-th tile
//
//        or in turns:  group 0    | multiplies 0 | stores 0 ...   | multiplies 2 | ...
//                      group 1                   | multiplies 1   | stores 1 ...
//
// Adds: slots are filled for the next tile while the results of this one are stored, and no block begins in vain. In turns
// (TURNS) tensor cores go on meanwhile, too: ping-pong, by two barriers of the groups, one for each turn. But then a tile
// is what one group holds, and smaller tiles move more bytes.
// Bound by: copies. A step of k asks the second-level cache for BM + BN numbers in each block, and blocks that run at the
// same time ask it for the same ones.
//
// Requires: rows and bases of A, B and C at multiples of 16 bytes; sm_90a.
#include "half/numbers.cuh"

#include "lib/mma.cuh"

#include "lib/box.cuh"
#include "lib/meet.cuh"
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
constexpr int ROWS = TURNS ? BM : BM / 2, STACKS = ROWS / 64, BOX = 64 * 128, TILE_A = BM * 128, SLOT = TILE_A + BN * 128;
static_assert(ROWS % 64 == 0 && BN % 64 == 0 && BM <= 256 && BN <= 256, "boxes cover the tiles");
static_assert(ROWS * BN <= 192 * 128, "a thread holds no more than 192 sums");

struct Tile {
    int row, column;  // where it begins
    INLINE Tile(const Gemm &g, int number) {
        const int down = (g.m + BM - 1) / BM, across = (g.n + BN - 1) / BN, band = number / (BAND * down) * BAND;
        const int width = min(BAND, across - band), rest = number - band * down;
        row = rest / width * BM;
        column = (band + rest % width) * BN;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
persistent(const __grid_constant__ Gemm g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
    extern __shared__ __align__(1024) unsigned char ring[];  // STAGES x (A, B), and two barriers for each
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32, group = warp / 4;
    const int slices = (depth(g) + BK - 1) / BK, tiles = ((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN);

    auto come = [&](int slot) { return shared_address(ring + STAGES * SLOT) + 8 * slot; };
    auto gone = [&](int slot) { return come(STAGES + slot); };
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < STAGES; slot++) {
            barrier_start(come(slot));
            barrier_start_for(gone(slot), TURNS ? 4 : 8);  // a lane of each warp that reads it
        }
        barriers_started();
    }
    __syncthreads();

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
                        box_load(b + j * BOX, map_b, tile.column + 64 * j, slice * BK, 0, come(slot));
                }
            }
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
            if (lane == 0 && slice > 0) barrier_expect(gone((turn - 1) % STAGES), 0);
        }
        if (TURNS) pass(2 - group, 256);
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(c[i]);
        if (lane == 0 && slices > 0) barrier_expect(gone((turn - 1) % STAGES), 0);
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
}
