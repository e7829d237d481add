// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read, and all threads of the
// warp group for those of operands that have no map (loose.cuh).
#pragma once

#include "warpgroup/loose.cuh"

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

template <bool ALONG, int COUNT, int PARTS>
INLINE void bring(unsigned char *, const Lines &, int, int, unsigned int) {}

#if LOOSE_A
typedef Runs<A_ALONG, TILE_M> RunsA;
#else
typedef NoRuns RunsA;
#endif
#if LOOSE_B
typedef Runs<B_ALONG, TILE_N> RunsB;
#else
typedef NoRuns RunsB;
#endif

// Whole warps; of what has a map the first thread asks.
template <typename FromA, typename FromB>
INLINE void come(const Product &g, const Cut &cut, const Copied &copied, const FromA &map_a, const FromB &map_b, int thread) {
    constexpr int MAPPED = (LOOSE_A ? 0 : OF_A) + (LOOSE_B ? 0 : OF_B);  // bytes of a slice that boxes bring
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    bool back = false;
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        copies_there(g, copied, cut, tile, thread);
        // Parts of tiles run forwards, beside each other.
        const bool down = back && !walk.is_cut();
        const int step = down ? -SLICE : SLICE;
        int k = (down ? walk.last - 1 : walk.low()) * SLICE;
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--, k += step) {
            unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
            const unsigned int arrived = come_barrier(turn.at);
            RunsA of_a;
            RunsB of_b;
            of_a.ask(map_a, tile.m, g.m, k, g.k, thread);
            of_b.ask(map_b, tile.n, g.n, k, g.k, thread);
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (thread == 0 && MAPPED > 0) {
                barrier_expect(arrived, MAPPED - g.clipped);
                bring<A_ALONG, TILE_M, CLUSTER_N>(a, map_a, tile.m, k, arrived);
                bring<B_ALONG, TILE_N, CLUSTER_M>(b, map_b, tile.n, k, arrived);
            }
            if (LOOSE) {
                __syncwarp();
                of_a.put(a, map_a, tile.m, g.m, k, g.k, thread);
                of_b.put(b, map_b, tile.n, g.n, k, g.k, thread);
                // Tensor cores read it by the other proxy.
                async_fence();
                barrier_expect(arrived, 0);
            }
            turn.next();
        }
        if (BACKWARDS) back = !back;
    }
}
