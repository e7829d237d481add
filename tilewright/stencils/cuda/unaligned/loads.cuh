// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read.
#pragma once

// COUNT rows or columns of an operand from `first` on, and the slice of k that begins at `k`. Eight boxes have every eighth
// line each: of lines along k all COUNT, of lines across k the 64 of the slice, 64 elements long.
template <bool ALONG, int COUNT>
INLINE void bring(unsigned char *to, const Boxes &boxes, int first, int k, unsigned int arrived) {
    constexpr int EACH = (ALONG ? COUNT : SLICE) / TOGETHER * LINE;
    const int along = ALONG ? k : first, column = (ALONG ? first : k) / TOGETHER;
    _Pragma("unroll 2") for (int r = 0; r < TOGETHER; r++) {
        const TensorMap &map = boxes.map(r);
        const int x = boxes.begin(r) + along;
        UNROLL for (int i = 0; i < (ALONG ? 1 : COUNT / 64); i++)
            box_load(to + r * EACH + i * BOX, map, x + 64 * i, column, 0, arrived);
    }
}

// A whole warp, of which one lane acts.
INLINE void come(const Product &g, const Maps &maps_a, const Maps &maps_b, bool acts) {
    const Tiles tiles(g);
    const int all = tiles.all(), slices = tiles.slices();
    const Boxes boxes_a(maps_a, g.a, A_ALONG ? g.k : g.m, A_ALONG ? g.m : g.k, g.lda);
    const Boxes boxes_b(maps_b, g.b, B_ALONG ? g.k : g.n, B_ALONG ? g.n : g.k, g.ldb);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    _Pragma("unroll 1") for (int number = blockIdx.x; number < all; number += (int)gridDim.x) {
        const Tile tile(tiles, number);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (acts) {
                unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
                const unsigned int arrived = come_barrier(turn.at);
                barrier_expect(arrived, STAGE);
                bring<A_ALONG, TILE_M>(a, boxes_a, tile.m, slice * SLICE, arrived);
                bring<B_ALONG, TILE_N>(b, boxes_b, tile.n, slice * SLICE, arrived);
            }
            turn.next();
        }
    }
}
