// The loads: one thread asks for the slices of all tiles of its block, each as soon as its place has been read.
#pragma once

INLINE void ask(const TileScheduler &tile, const TensorMap &map_a, const TensorMap &map_b, int k, int slot) {
    const Segments &g = tile.groups.g;
    unsigned char *const a = shared_memory + slot * STAGE, *const b = a + OF_A;
    const int of_a = AXIS == 1 && g.group_a ? tile.group : 0, of_b = AXIS == 0 && g.group_b ? tile.group : 0;
    const unsigned int arrived = come_barrier(slot);
    barrier_expect(arrived, STAGE);
    if (A_ALONG) box_load(a, map_a, k, tile.m, of_a, arrived);
    else UNROLL for (int i = 0; i < BOXES_M; i++) box_load(a + i * OF_BOX, map_a, tile.m + SLICE * i, k, of_a, arrived);
    if (B_ALONG) box_load(b, map_b, k, tile.n, of_b, arrived);
    else UNROLL for (int i = 0; i < BOXES_N; i++) box_load(b + i * OF_BOX, map_b, tile.n + SLICE * i, k, of_b, arrived);
}

// A whole warp, of which one lane acts.
INLINE void come(TileScheduler &tile, const TensorMap &map_a, const TensorMap &map_b, Turn<STAGES> &turn, bool acts) {
    if (acts) map_prefetch(map_a);
    if (acts) map_prefetch(map_b);
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        _Pragma("unroll 1") for (int k = tile.k; k < tile.end_k; k += SLICE) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (acts) ask(tile, map_a, map_b, k, turn.at);
            turn.next();
        }
    }
}
