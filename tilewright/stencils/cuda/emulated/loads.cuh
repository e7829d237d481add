// The loads: one thread asks for the slices of all tiles of its block, plane by plane, each as soon as its slot has been read.
#pragma once

// Which plane comes as number i of a slice, in the order in which they are first read (multiply.cuh).
CONSTANT int plane_of(int i) { return PLANES == 2 ? i : (i + 2) % 3; }

// COUNT rows or columns of a plane from `first` on.
template <bool ALONG, int COUNT>
INLINE void bring(unsigned char *to, const TensorMap &map, int first, int k, int plane, unsigned int arrived) {
    UNROLL for (int i = 0; i < (ALONG ? 1 : COUNT / 64); i++)
        box_load(to + i * BOX, map, ALONG ? k : first + 64 * i, ALONG ? first : k, plane, arrived);
}

// A whole warp, of which one lane acts.
INLINE void come(const Product &g, const Cut &cut, const TensorMap &map_a, const TensorMap &map_b, bool acts) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    if (acts) map_prefetch(map_a);
    if (acts) map_prefetch(map_b);
    if (acts) all_split(g, cut.workspace);
    __syncwarp();
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        int k = walk.low() * SLICE;
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--, k += SLICE)
            UNROLL for (int i = 0; i < PLANES; i++) {
                barrier_wait(gone_barrier(turn.at), turn.parity);
                __syncwarp();  // lanes may leave the wait apart
                if (acts) {
                    unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
                    const unsigned int arrived = come_barrier(turn.at);
                    barrier_expect(arrived, STAGE);
                    bring<A_ALONG, TILE_M>(a, map_a, tile.m, k, plane_of(i), arrived);
                    bring<B_ALONG, TILE_N>(b, map_b, tile.n, k, plane_of(i), arrived);
                }
                turn.next();
            }
    }
}
