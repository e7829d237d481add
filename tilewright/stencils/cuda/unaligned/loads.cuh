// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read.
#pragma once

// COUNT rows or columns of an operand from `first` on.
template <bool ALONG, int COUNT>
INLINE void bring(unsigned char *to, const TensorMap &map, int first, int k, unsigned int arrived) {
    UNROLL for (int i = 0; i < (ALONG ? 1 : COUNT / 64); i++)
        box_load(to + i * BOX, map, ALONG ? k : first + 64 * i, ALONG ? first : k, 0, arrived);
}

// A whole warp, of which one lane acts.
INLINE void come(const Product &g, const TensorMap &map_a, const TensorMap &map_b, bool acts) {
    const Tiles tiles(g);
    const int all = tiles.all(), slices = tiles.slices();
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    if (acts) map_prefetch(map_a);
    if (acts) map_prefetch(map_b);
    if ((COPY_A || COPY_B) && acts) copied(g);
    _Pragma("unroll 1") for (int number = blockIdx.x; number < all; number += (int)gridDim.x) {
        const Tile tile(tiles, number);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (acts) {
                unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
                const unsigned int arrived = come_barrier(turn.at);
                barrier_expect(arrived, STAGE);
                bring<A_ALONG, TILE_M>(a, map_a, tile.m, slice * SLICE, arrived);
                bring<B_ALONG, TILE_N>(b, map_b, tile.n, slice * SLICE, arrived);
            }
            turn.next();
        }
    }
}
