// The products of a warp group: its half of the columns of each tile, which are what tensor cores call rows.
#pragma once

INLINE void multiply_tiles(const Product &g, int warp, int lane) {
    const Tiles tiles(g);
    const int all = tiles.all(), slices = tiles.slices(), group = warp / 4;
    const unsigned long long of_a = slice_operand<A_ALONG>(shared_memory);
    const unsigned long long of_b = slice_operand<B_ALONG>(shared_memory + OF_A + group * GROUP_N * LINE);
    Turn<STAGES> turn;
    Sums sum;
    _Pragma("unroll 1") for (int number = blockIdx.x; number < all; number += (int)gridDim.x) {
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            multiply_slice<TILE_M, B_ALONG, A_ALONG, STACKS>(sum[0], of_b + turn.at * (STAGE / 16), of_a + turn.at * (STAGE / 16),
                                                             slice);
            wgmma_wait<0>();
            if (lane == 0) barrier_expect(gone_barrier(turn.at), 0);
            turn.next();
        }
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
        store(g, sum, Tile(tiles, number), group, warp, lane);
    }
}
