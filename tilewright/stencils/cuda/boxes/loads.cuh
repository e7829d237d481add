// The loads: one thread asks for the slices of all tiles of its block, each as soon as its place has been read.
#pragma once

struct Slices {
    const Products &g;
    const Tiles &tiles;
    const TensorMap &map_a, &map_b;

    INLINE Slices(const Products &products, const Tiles &all, const TensorMap &a, const TensorMap &b)
        : g(products), tiles(all), map_a(a), map_b(b) {}

    INLINE void ask(const Tile &tile, int k, int slot) const {
        unsigned char *const b = shared_memory + slot * STAGE, *const a = b + OF_B;
        const int of_a = tile.product * g.step_a, of_b = tile.product * g.step_b;
        const unsigned int arrived = come_barrier(slot);
        barrier_expect(arrived, STAGE);
        if (TRANS_A) box_load(a, map_a, k, tile.m, of_a, arrived);
        else UNROLL for (int i = 0; i < LINES; i++) box_load(a + i * BOX, map_a, tile.m + 64 * i, k, of_a, arrived);
        if (!TRANS_B) box_load(b, map_b, k, tile.n, of_b, arrived);
        else UNROLL for (int i = 0; i < TILE_N / 64; i++) box_load(b + i * BOX, map_b, tile.n + 64 * i, k, of_b, arrived);
    }

    // A whole warp, of which one lane acts.
    INLINE void come(bool acts) const {
        Turn<STAGES> turn;
        turn.parity = 1;  // nothing has to be read before the first ones
        if (acts) map_prefetch(map_a);
        if (acts) map_prefetch(map_b);
        _Pragma("unroll 1") for (int number = blockIdx.x; number < tiles.all; number += (int)gridDim.x) {
            const Tile tile(tiles, number);
            _Pragma("unroll 1") for (int slice = 0; slice < tiles.slices; slice++) {
                barrier_wait(gone_barrier(turn.at), turn.parity);
                __syncwarp();  // lanes may leave the wait apart
                if (acts) ask(tile, slice * SLICE, turn.at);
                turn.next();
            }
        }
    }
};
