// The pipeline of vector copies (PATH 1): all threads fill a ring of stages by cp.async and write results by vectors.
#pragma once

#include "panel/copy.cuh"

INLINE void multiply_batch(const Gemm &g, const Scalars &scalars, int) {
    Tiles tiles(g), ahead = tiles;
    unsigned char *const ring = shared_memory + AT_RING;
    auto fetch = [&](int to) {
        if (ahead.any()) {
            const Item x = ahead.item();
            ahead.next();
            unsigned char *const stage = ring + to * STAGE;
            Panel::fetch(stage, x.panel, tiles.ld_panel(), x.count);
            if (!SHARED) Small::fetch(stage + STAGE_SMALL, x.small, tiles.ld_small(), SMALL_COLS);
            if (BETA != 0) Result::fetch(stage + STAGE_C, x.c, g.ldc, x.count);
        }
        cp_async_commit();  // an empty group, too: waits count groups
    };

    // The small operand that the batch shares arrives with the first tile.
    if (SHARED) Small::fetch(shared_memory + AT_SMALL, tiles.smalls(), tiles.ld_small(), SMALL_COLS);
    UNROLL for (int i = 0; i < STAGES - 1; i++) fetch(i);
    int now = 0;
    _Pragma("unroll 1") for (bool first = true; tiles.any(); tiles.next(), first = false) {
        cp_async_wait<STAGES - 2>();
        block_sync();  // all threads see this tile, and the stage before it is free
        fetch(now ? now - 1 : STAGES - 1);
        unsigned char *const stage = ring + now * STAGE;
        const Item x = tiles.item();
        const Stored *const panel = (const Stored *)(stage + Panel::head(x.panel));
        const Stored *const small = (const Stored *)(SHARED ? shared_memory + AT_SMALL : stage + STAGE_SMALL);
        // With beta, the result takes the place of C.
        Stored *const out = (Stored *)((BETA != 0 ? stage + STAGE_C : shared_memory + AT_OUT) + Result::head(x.c));
        if (PACKED && (!SHARED || first)) {
            pack<THREADS>(small, LD_SMALL, 0);
            block_sync();
        }
        multiply_tile(panel, LD_PANEL, small, LD_SMALL, 0, out, out, LD_C, x, g.ldc, scalars);
        if (!DIRECT) {
            block_sync();
            Result::write(x.c, out, g.ldc, x.count);
        }
        now = now + 1 == STAGES ? 0 : now + 1;
    }
}
