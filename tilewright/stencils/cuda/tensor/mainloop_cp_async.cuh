// The mainloop of a ring of stages: one k-tile is multiplied while cp.async brings those after it.
#pragma once

struct Mainloop {
    struct Prefetched {};  // no fragments
    Kept *const stages;
    const int from_a, from_b, lane;
    OperandLoader &loader;
    int stage = 0;

    INLINE Mainloop(OperandLoader &loader, Prefetched &, Kept *stages, const WarpPosition &warp)
        : stages(stages), from_a(warp.from_a), from_b(warp.from_b), lane(warp.lane), loader(loader) {
        UNROLL for (int i = 0; i < STAGES - 1; i++) {
            loader.fetch(stages + i * STAGE);
            cp_async_commit();
        }
    }

    INLINE void run(Accumulators &sum, int k_tiles, int k) {
        _Pragma("unroll 1") for (int tile = 0; tile < k_tiles; tile++) {
            cp_async_wait<STAGES - 2>();
            block_sync();  // all threads see this k-tile, and the stage before it is free
            loader.fetch(stages + (stage ? stage - 1 : STAGES - 1) * STAGE);
            cp_async_commit();  // an empty group, too: waits count groups
            Kept *const here = stages + stage * STAGE;
            multiply(sum, here + from_a, here + from_b, k - tile * BLK_K, lane);
            if (++stage == STAGES) stage = 0;
        }
    }
};
