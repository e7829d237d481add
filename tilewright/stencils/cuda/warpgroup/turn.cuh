// Slices of float32 that run across k, turned where they lie: tensor cores multiply them along k alone.
#pragma once

#include "lib/turned.cuh"

// Halves of a box that are on their way at once, as registers allow: groups that hold more sums leave fewer.
constexpr int HALVES = SUMS <= 128 ? 2 : 1;
// Registers of a thread that loads, turns or copies, and of one that multiplies: what three groups begin with.
constexpr int FEW = TURNED ? (HALVES > 1 ? 56 : 40) : BEHIND ? 72 : LOOSE ? 152 : 24, MANY = (3 * 168 - FEW) / 2;

// A whole warp, one of TURNERS.
INLINE void turn_slices(const Product &g, const Cut &cut, int number, int lane) {
    constexpr int IN_A = TURN_A ? TILE_M / SLICE : 0, ALL = IN_A + (TURN_B ? TILE_N / SLICE : 0);
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const slice = shared_memory + turn.at * STAGE;
            _Pragma("unroll 1") for (int i = number; i < ALL; i += TURNERS)
                turn_box<HALVES>(slice + (i < IN_A ? 0 : OF_A - IN_A * SLICE * LINE) + i * SLICE * LINE, lane);
            // Tensor cores read it by the other proxy.
            async_fence();
            __syncwarp();
            if (lane == 0) barrier_expect(turned_barrier(turn.at), 0);
            turn.next();
        }
    }
}
