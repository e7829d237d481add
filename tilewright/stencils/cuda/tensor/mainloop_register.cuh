// The mainloop of one stage (STAGES 1): the next k-tile waits in registers while this one is multiplied.
#pragma once

struct Mainloop {
    struct Prefetched {};  // no fragments
    Kept *const stage;
    const int from_a, from_b, lane;
    OperandLoader &loader;

    INLINE Mainloop(OperandLoader &loader, Prefetched &, Kept *stages, const WarpPosition &warp)
        : stage(stages), from_a(warp.from_a), from_b(warp.from_b), lane(warp.lane), loader(loader) {
        loader.fetch(stage);
    }

    INLINE void run(Accumulators &sum, int k_tiles, int k) {
        _Pragma("unroll 1") for (int tile = 0; tile < k_tiles; tile++) {
            block_sync();  // the k-tile before this one has been multiplied
            loader.offload(stage);
            block_sync();
            loader.fetch(stage);
            multiply(sum, stage + from_a, stage + from_b, k - tile * BLK_K, lane);
        }
    }
};
