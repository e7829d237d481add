// The products of complex halves of a warp group, 64 rows of each tile, and the warps that turn B for them.
#pragma once

#include "lib/turned.cuh"

// A whole warp, one of TURNERS: turns the boxes of B, and along a split k sets to zero what lies behind its end. (Of A those who
// multiply do it in registers.)
INLINE void turn_slices(TileScheduler &tile, Turn<STAGES> &turn, int number, int lane) {
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        _Pragma("unroll 1") for (int left = tile.k_left(); left > 0; left -= SLICE) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            _Pragma("unroll 1") for (int i = number; i < BOXES_N; i += TURNERS) {
                unsigned char *const box = shared_memory + turn.at * STAGE + OF_A + i * OF_BOX;
                if (AXIS == 2 && left < SLICE) {
                    _Pragma("unroll 1") for (int at = left * LINE + lane * 16; at < OF_BOX; at += 32 * 16)
                        *(uint4 *)(box + at) = make_uint4(0, 0, 0, 0);
                    __syncwarp();
                }
                turn_box<1>(box, lane);
            }
            // Tensor cores read it by the other proxy.
            async_fence();
            __syncwarp();
            if (lane == 0) barrier_expect(turned_barrier(turn.at), 0);
            turn.next();
        }
    }
}

INLINE void multiply_tiles(TileScheduler &tile, const TensorMap &map_c, Turn<STAGES> &turn, int &place, int warp, int lane) {
    const unsigned char *const a = shared_memory + warp / 4 * BOX;
    const unsigned long long of_b = slice_operand<true>(shared_memory + OF_A);
    Fragments fragments[2] = {};
    const auto leave = [&] { if (lane == 0) barrier_expect(gone_barrier(turn.before()), 0); };
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        const int slices = (tile.k_left() + SLICE - 1) / SLICE;
        Sums sum;
        // A group without terms has results, too.
        if (slices <= 0) UNROLL for (int i = 0; i < TILE_N / 2; i++) sum[0][i] = sum[1][i] = 0;
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(TURNED ? turned_barrier(turn.at) : come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            multiply_pairs<TILE_N, AXIS == 2>(sum[0], sum[1], fragments, a + turn.at * STAGE, of_b + turn.at * (STAGE / 16), slice,
                                              tile.k_left() - slice * SLICE, warp, lane, leave);
            turn.next();
        }
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < 2; i++) wgmma_settled(sum[i]);
        fragments[(SETS - 1) % 2].settled();
        if (slices > 0) leave();
        tile.locate();  // once more, rather than held in registers meanwhile
        store(sum, tile, map_c, place, warp, lane);
    }
}
