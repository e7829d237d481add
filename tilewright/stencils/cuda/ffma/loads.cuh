// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read.
#pragma once

// A whole warp, of which one lane acts.
INLINE void come(const Product &g, const Cut &cut, const Packs &packs, const TensorMap &map_a, const TensorMap &map_b, bool acts) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    if (acts && !PACK_A) map_prefetch(map_a);
    if (acts && !PACK_B) map_prefetch(map_b);
    if (acts) packed(g, packs, cut);
    __syncwarp();
    _Pragma("unroll 1") while (walk.next()) {
        const Place tile(g, tiles, walk.number);
        // Slices of a tile that are packed follow each other.
        const long long along = whole(g.k), before = (long long)walk.first * DEPTH;
        _Pragma("unroll 1") for (int product = 0; product < PRODUCTS; product++) {
            const float *from_a = (const float *)(cut.workspace + packs.at_a) + tile.m * along + before * TILE_M;
            const float *from_b = (const float *)(cut.workspace + packs.at_b) + tile.n * along + before * TILE_N;
            if (PRODUCTS > 1) from_a += plane_a(product) * packs.plane_a;
            if (PRODUCTS > 1) from_b += plane_b(product) * packs.plane_b;
            _Pragma("unroll 1") for (int slice = walk.first; slice < walk.last; slice++) {
                barrier_wait(gone_barrier(turn.at), turn.parity);
                __syncwarp();  // lanes may leave the wait apart
                if (acts) {
                    unsigned char *const a = shared_memory + turn.at * STAGE;
                    const unsigned int arrived = come_barrier(turn.at);
                    barrier_expect(arrived, STAGE);
                    if (PACK_A) bulk_load<false>(a, from_a, OF_A, arrived, 0);
                    else box_load(a, map_a, TURN_A ? slice * SLICE : tile.m, TURN_A ? tile.m : slice * SLICE, tile.matrix_a, arrived);
                    if (PACK_B) bulk_load<false>(a + OF_A, from_b, STAGE - OF_A, arrived, 0);
                    else box_load(a + OF_A, map_b, TURN_B ? slice * SLICE : tile.n, TURN_B ? tile.n : slice * SLICE, tile.matrix_b, arrived);
                }
                turn.next();
                from_a += DEPTH * TILE_M;
                from_b += DEPTH * TILE_N;
            }
        }
    }
}
