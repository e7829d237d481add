// Tiles of C: one thread has each of them stored when it is complete, and what is read of C brought to its place before.
#pragma once

struct Results {
    const Products &g;
    const Tiles &tiles;
    const TensorMap &map;

    INLINE Results(const Products &products, const Tiles &all, const TensorMap &map_c) : g(products), tiles(all), map(map_c) {}

    INLINE unsigned char *place(int number) const { return shared_memory + AT_RESULTS + number * RESULT; }

    // Gives a place to a tile.
    INLINE void give(int number, int at) const {
        if (number >= tiles.all) return;
        barrier_expect(free_barrier(at), BETA != 0 ? RESULT : 0);
        if (BETA == 0) return;
        const Tile tile(tiles, number);
        UNROLL for (int i = 0; i < LINES; i++)
            box_load(place(at) + i * (TILE_N * LINE), map, tile.m + 64 * i, tile.n, tile.product, free_barrier(at));
    }

    INLINE void go(int number, int at) const {
        const Tile tile(tiles, number);
        UNROLL for (int i = 0; i < LINES; i++)
            box_store(map, tile.m + 64 * i, tile.n, tile.product, place(at) + i * (TILE_N * LINE));
        bulk_commit();
        bulk_read<0>();
    }

    // A whole warp, of which one lane acts.
    INLINE void come_and_go(bool acts) const {
        Turn<KEPT> turn;
        if (acts) map_prefetch(map);
        if (acts) UNROLL for (int i = 0; i < KEPT; i++) give(blockIdx.x + i * (int)gridDim.x, i);
        _Pragma("unroll 1") for (int number = blockIdx.x; number < tiles.all; number += (int)gridDim.x) {
            barrier_wait(complete_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (acts) {
                go(number, turn.at);
                give(number + KEPT * (int)gridDim.x, turn.at);
            }
            turn.next();
        }
        if (acts) bulk_done();
    }
};
