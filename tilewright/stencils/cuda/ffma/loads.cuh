// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read.
#pragma once

// A whole warp, of which one lane acts. Coordinates of maps count real numbers.
INLINE void come(const Product &g, const Cut &cut, const TensorMap &map_a, const TensorMap &map_b, bool acts) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    if (acts) map_prefetch(map_a);
    if (acts) map_prefetch(map_b);
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        _Pragma("unroll 1") for (int slice = walk.first; slice < walk.last; slice++) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (acts) {
                unsigned char *const a = shared_memory + turn.at * STAGE;
                barrier_expect(come_barrier(turn.at), STAGE);
                box_load(a, map_a, tile.m * NUMBERS, slice * SLICE, 0, come_barrier(turn.at));
                box_load(a + OF_A, map_b, tile.n * NUMBERS, slice * SLICE, 0, come_barrier(turn.at));
            }
            turn.next();
        }
    }
}
