// The loads: one thread asks for the slices of all tiles of its block, each as soon as its slot has been read, and of operands that
// come number by number (loose.cuh) all threads of the warp group do.
#pragma once

// A block of an operand, COUNT rows from `first` on; of PARTS blocks of a cluster that share them each brings its part to all.
// Coordinates of maps count real numbers.
template <bool ALONG, int COUNT, int PARTS>
INLINE void bring(unsigned char *to, const TensorMap &map, int first, int k, int matrix, unsigned int arrived) {
    constexpr int PART = COUNT / PARTS, BOXES = ALONG ? 1 : PART / UNIT;
    const int begin = PARTS > 1 ? blockIdx.y * PART : 0;
    // A warp that loads has few registers: of 16 boxes side by side, or eight for a cluster, too few, and of eight fewer than of a loop.
    constexpr int SIDE_BY_SIDE = BOXES > 8 || CLUSTER_M * CLUSTER_N > 1 ? 4 : BOXES;
    _Pragma("unroll SIDE_BY_SIDE") for (int i = 0; i < BOXES; i++) {
        const int row = first + begin + i * UNIT;
        const int x = (ALONG ? k : row) * NUMBERS, y = ALONG ? row : k;
        unsigned char *const box = to + (begin + i * UNIT) * LINE;
        if constexpr (PARTS > 1) box_load_to_all(box, map, x, y, matrix, arrived, (1 << PARTS) - 1);
        else box_load(box, map, x, y, matrix, arrived);
    }
}

// What one thread asks for, of an operand that has a map; and what all ask for, of one that has none.
template <bool ALONG, int COUNT, int PARTS>
INLINE void bring(unsigned char *, const Lines &, int, int, int, unsigned int) {}
template <bool ALONG, int COUNT>
INLINE void fetch(unsigned char *, const TensorMap &, long long, int, int, int, int, int) {}

// Whole warps; of what has maps the first thread asks.
template <typename FromA, typename FromB>
INLINE void come(const Product &g, const Cut &cut, const FromA &from_a, const FromB &from_b, int thread) {
    constexpr int MAPPED = (LOOSE_A ? 0 : OF_A) + (LOOSE_B ? 0 : OF_B);  // bytes of a slice that boxes bring
    const bool acts = thread == 0 && MAPPED > 0;
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    if (acts) prefetch(from_a);
    if (acts) prefetch(from_b);
    bool back = false;
    _Pragma("unroll 1") while (walk.next()) {
        const Place tile(g, tiles, walk.number);
        // Parts of tiles run forwards, beside each other.
        const bool down = back && !walk.is_cut();
        const int step = down ? -SLICE : SLICE;
        int k = (down ? walk.last - 1 : walk.first) * SLICE;
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--, k += step) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const a = shared_memory + turn.at * STAGE, *const b = a + OF_A;
            const unsigned int arrived = come_barrier(turn.at);
            if (acts) {
                barrier_expect(arrived, MAPPED);
                UNROLL for (int i = 0; i < BLOCKS; i++) {
                    bring<A_ALONG, TILE_M, CLUSTER_N>(a + i * BLOCK_A, from_a, tile.m, k + i * UNIT, tile.matrix_a, arrived);
                    bring<B_ALONG, TILE_N, CLUSTER_M>(b + i * BLOCK_B, from_b, tile.n, k + i * UNIT, tile.matrix_b, arrived);
                }
            }
            if (LOOSE) {
                __syncwarp();
                UNROLL for (int i = 0; i < BLOCKS; i++) {
                    fetch<A_ALONG, TILE_M>(a + i * BLOCK_A, from_a, tile.ahead_a, tile.m, g.m, k + i * UNIT, g.k, thread);
                    fetch<B_ALONG, TILE_N>(b + i * BLOCK_B, from_b, tile.ahead_b, tile.n, tile.columns, k + i * UNIT, g.k, thread);
                }
                arrive_when_copied(arrived);
            }
            turn.next();
        }
        if (BACKWARDS) back = !back;
    }
    // No thread ends before what it has asked for is there.
    if (LOOSE) {
        cp_async_commit();
        cp_async_wait<0>();
    }
}
