// The pipeline of bulk copies (PATH 2): the lanes of one warp fill a ring of stages, whose barriers count the bytes that
// arrived.
//
// What is copied whole is a run (lib/run.cuh): a column along the panel, or all of a tile that is a stream.
#pragma once

#include "panel/runs.cuh"

INLINE void multiply_batch(const Gemm &g, const Scalars &scalars) {
    const Tiles tiles(g);
    unsigned char *const ring = shared_memory + AT_RING;
    const unsigned int barriers = shared_address(shared_memory);
    const long long stride_panel = LONG_M ? g.stride_a : g.stride_b, stride_small = LONG_M ? g.stride_b : g.stride_a;
    const void *const end_panel = end_of(tiles.panels(), stride_panel, g.batch, tiles.ld_panel(),
                                         ALONG ? SIZE_K : tiles.length, ALONG ? tiles.length : SIZE_K);
    const void *const end_small = end_of(tiles.smalls(), stride_small, g.batch, SMALL_ROWS, SMALL_COLS, SMALL_ROWS);
    const void *const end_c = end_of(g.c, g.stride_c, g.batch, g.ldc, g.n, g.m);
    const bool first_warp = threadIdx.x < 32;

    // By the lanes of the first warp, each of which arrives for its own runs.
    auto fetch = [&](int item, int to) {
        if (item >= tiles.items) return;
        const Item x = tiles.at(item);
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        int expected = PanelRuns::load(stage, x.panel, tiles.ld_panel(), x.count, tiles.panels(), end_panel, barrier);
        if (!SHARED) expected += SmallRun::load(stage + STAGE_SMALL, x.small, 0, 1, tiles.smalls(), end_small, barrier);
        if (BETA != 0) expected += ResultRuns::load(stage + STAGE_C, x.c, g.ldc, x.count, g.c, end_c, barrier);
        barrier_expect(barrier, expected);
    };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, 32);
        barriers_started();
    }
    if (SHARED) Small::fetch(shared_memory + AT_SMALL, tiles.smalls(), tiles.ld_small(), SMALL_COLS);
    cp_async_commit();
    cp_async_wait<0>();
    block_sync();
    if (first_warp) _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + i * (int)gridDim.x, i);

    int now = 0, buffer = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (int item = blockIdx.x; item < tiles.items; item += (int)gridDim.x) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + buffer * BYTES_C;
        const Item x = tiles.at(item);
        const int head = ALONG ? 0 : Run(x.panel, 0).head(), head_c = LONG_M ? 0 : Run(x.c, 0).head();
        const Stored *const panel = (const Stored *)(stage + head);
        const unsigned char *const at_small =
            SHARED ? shared_memory + AT_SMALL : stage + STAGE_SMALL + Run(x.small, 0).head();
        const Stored *const small = (const Stored *)at_small;
        const Stored *const c = (const Stored *)(stage + STAGE_C + head_c);
        Stored *const out = (Stored *)(to + head_c);
        barrier_wait(barriers + 8 * now, parity);
        __syncwarp();  // lanes may leave the wait apart
        const auto lead = Lead<(ALONG && UNIT_PANEL < 16), LD_PANEL>::of(x.panel, tiles.ld_panel());
        const auto lead_c = Lead<(LONG_M && UNIT_C < 16), LD_C>::of(x.c, g.ldc);
        multiply_tile(panel, lead, small, LD_SMALL, 0, c, out, lead_c, x, g.ldc, scalars);
        async_fence();
        // The other buffer, which the next tile is written to, has been read.
        if (first_warp && !DIRECT) bulk_read<0>();
        block_sync();  // this one is written, and the stage is free
        if (first_warp) {
            if (!DIRECT) ResultRuns::store(x.c, to, g.ldc, x.count);
            fetch(item + STAGES * (int)gridDim.x, now);
        }
        if (!DIRECT) ResultRuns::store_edges<THREADS>(x.c, to, g.ldc, x.count);
        buffer ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (first_warp && !DIRECT) bulk_done();
}
