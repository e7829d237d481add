// What lies along k, turned in shared memory by the warps of the group that loads which do not: it costs none of the places of
// those that multiply, and no pass over device memory.
#pragma once

// A whole warp, one of TURNERS.
INLINE void turn_slices(const Product &g, const Cut &cut, int number, int lane) {
    constexpr int BOX = 32 * 128, IN_A = TURN_A ? TILE_M / 32 : 0, ALL = IN_A + (TURN_B ? TILE_N / 32 : 0);
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const slice = shared_memory + turn.at * STAGE;
            _Pragma("unroll 1") for (int i = number; i < ALL; i += TURNERS)
                turn_box<2>(slice + (i < IN_A ? i * BOX : OF_A + (i - IN_A) * BOX), lane);
            // The next copy to come here goes through the other proxy.
            async_fence();
            __syncwarp();
            done(turned_barrier(turn.at), lane);
            turn.next();
        }
    }
}
