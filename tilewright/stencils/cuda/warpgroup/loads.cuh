// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read.
#pragma once

// Rows or columns of an operand from `first` on; of PARTS blocks that share them each brings its part to all.
template <bool ALONG, int COUNT, int PARTS>
INLINE void bring(unsigned char *to, const TensorMap &map, int first, int k, unsigned int arrived) {
    constexpr int PART = COUNT / PARTS, BOXES = ALONG ? 1 : PART / SLICE;
    const int begin = PARTS > 1 ? blockIdx.y * PART : 0;
    UNROLL for (int i = 0; i < BOXES; i++) {
        unsigned char *const box = to + begin * LINE + i * SLICE * LINE;
        const int x = ALONG ? k : first + begin + SLICE * i, y = ALONG ? first + begin : k;
        if constexpr (PARTS > 1) box_load_to_all(box, map, x, y, 0, arrived, (1 << PARTS) - 1);
        else box_load(box, map, x, y, 0, arrived);
    }
}

// A whole warp, of which one lane asks.
INLINE void come(const Product &g, const Cut &cut, const Copied &copied, const TensorMap &map_a, const TensorMap &map_b, int lane) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    bool back = false;
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        copies_there(g, copied, cut, tile, lane);
        // Parts of tiles run forwards, beside each other.
        const bool down = back && !walk.is_cut();
        const int step = down ? -SLICE : SLICE;
        int k = (down ? walk.last - 1 : walk.first) * SLICE;
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--, k += step) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (lane == 0) {
                unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
                const unsigned int arrived = come_barrier(turn.at);
                barrier_expect(arrived, STAGE - g.clipped);
                bring<A_ALONG, TILE_M, CLUSTER_N>(a, map_a, tile.m, k, arrived);
                bring<B_ALONG, TILE_N, CLUSTER_M>(b, map_b, tile.n, k, arrived);
            }
            turn.next();
        }
        if (BACKWARDS) back = !back;
    }
}
