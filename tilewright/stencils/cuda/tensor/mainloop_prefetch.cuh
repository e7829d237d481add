// The mainloop of a ring of stages with fragment prefetch (AHEAD 1): while one product along k is multiplied, the
// fragments of the next are loaded, across the borders of k-tiles, tiles and matrices.
#pragma once

struct Mainloop {
    typedef Fragments Prefetched[2];  // of this product and the next
    static constexpr int PRODUCTS = BLK_K / STEP;
    Kept *const stages;
    const int from_a, from_b, lane;
    OperandLoader &loader;
    int stage = 0;
    Prefetched &fragments;

    // A stage is free as soon as its last fragments have been loaded, so all stages can be on their way.
    INLINE Mainloop(OperandLoader &loader, Prefetched &fragments, Kept *stages, const WarpPosition &warp)
        : stages(stages), from_a(warp.from_a), from_b(warp.from_b), lane(warp.lane), loader(loader), fragments(fragments) {
        UNROLL for (int i = 0; i < STAGES; i++) {
            loader.fetch(stages + i * STAGE);
            cp_async_commit();
        }
        cp_async_wait<STAGES - 1>();
        block_sync();
        fragments[0].load(stages + from_a, stages + from_b, 0, lane);
    }

    INLINE void run(Accumulators &sum, int k_tiles, int) {
        _Pragma("unroll 1") for (int tile = 0; tile < k_tiles; tile++) {
            Kept *const here = stages + stage * STAGE;
            UNROLL for (int i = 0; i < PRODUCTS; i++) {
                if (i + 1 < PRODUCTS) {
                    fragments[(i + 1) % 2].load(here + from_a, here + from_b, (i + 1) * STEP, lane);
                } else {
                    cp_async_wait<STAGES - 2>();
                    block_sync();  // all threads see the next k-tile, and this stage is free
                    // The copies come before the fragments: the addresses of the one and the other need registers in turn.
                    loader.fetch(here);
                    cp_async_commit();  // an empty group, too: waits count groups
                    if (++stage == STAGES) stage = 0;
                    fragments[(i + 1) % 2].load(stages + stage * STAGE + from_a, stages + stage * STAGE + from_b, 0, lane);
                }
                multiply(sum, fragments[i % 2]);
            }
            if (PRODUCTS % 2) fragments[0] = fragments[1];
        }
    }
};
