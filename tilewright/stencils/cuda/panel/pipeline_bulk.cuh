// The pipeline of bulk copies by warps of their own (PATH 2): they fill a ring of stages and write results, and the warps that
// multiply never wait for each other.
//
//   MOVERS warps      ask for tile i + STAGES, when all have multiplied tile i
//   MOVERS more       write C of tile i then, unless it leaves from registers
//   the others        multiply tile i when it has arrived, into one of two buffers that C leaves from
//
// A warp issues the copies of its lanes one after the other, some 50 clocks each: a tile of many columns has several such warps.
#pragma once

#include "panel/runs.cuh"

INLINE void multiply_batch(const Gemm &g, const Scalars &scalars) {
    Tiles tiles(g), ahead = tiles;
    unsigned char *const ring = shared_memory + AT_RING;
    // Barriers: the bytes of a stage have arrived; it has been read, and its result is complete; a buffer of results is free.
    const unsigned int arrived = shared_address(shared_memory), done = arrived + 8 * STAGES, left = done + 8 * STAGES;
    const bool loads = threadIdx.x / 32 >= WARPS && threadIdx.x < WORKERS + MOVING, writes = !DIRECT && threadIdx.x >= WORKERS + MOVING;
    const long long stride_panel = LONG_M ? g.stride_a : g.stride_b, stride_small = LONG_M ? g.stride_b : g.stride_a;
    const void *const end_panel = end_of(tiles.panels(), stride_panel, g.batch, tiles.ld_panel(),
                                         ALONG ? SIZE_K : tiles.length, ALONG ? tiles.length : SIZE_K);
    const void *const end_small = end_of(tiles.smalls(), stride_small, g.batch, SMALL_ROWS, SMALL_COLS, SMALL_ROWS);
    const void *const end_c = end_of(g.c, g.stride_c, g.batch, g.ldc, g.n, g.m);
    auto fetch = [&](int to) {
        if (!ahead.any()) return;
        const Item x = ahead.item();
        ahead.next();
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = arrived + 8 * to;
        int expected = PanelRuns::load(stage, x.panel, tiles.ld_panel(), x.count, tiles.panels(), end_panel, barrier);
        if (!SHARED) expected += SmallRun::load(stage + STAGE_SMALL, x.small, 0, 1, tiles.smalls(), end_small, barrier);
        if (BETA != 0) expected += ResultRuns::load(stage + STAGE_C, x.c, g.ldc, x.count, g.c, end_c, barrier);
        barrier_expect(barrier, expected);
    };
    if (loads) {
        if (threadIdx.x == WORKERS) {
            UNROLL for (int i = 0; i < STAGES; i++) {
                barrier_start_for(arrived + 8 * i, MOVING);
                barrier_start_for(done + 8 * i, WORKERS);
            }
            UNROLL for (int i = 0; i < 2; i++) barrier_start_for(left + 8 * i, MOVING);
            barriers_started();
        }
        loaders_sync();
        _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fetch(i);
    }
    if (SHARED) {
        if constexpr (PACKED) pack<THREADS>(tiles.smalls(), tiles.ld_small(), 0);
        else Small::fetch(shared_memory + AT_SMALL, tiles.smalls(), tiles.ld_small(), SMALL_COLS);
        cp_async_commit();
        cp_async_wait<0>();
    }
    __syncthreads();

    int now = 0, buffer = 0;
    unsigned int parity = 0, parity_left = 1;  // both buffers are free at first
    _Pragma("unroll 1") for (; tiles.any(); tiles.next()) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + buffer * BYTES_C;
        const Item x = tiles.item();
        if (loads || writes) {
            barrier_wait(done + 8 * now, parity);
            __syncwarp();  // lanes may leave the wait apart
        }
        if (loads) {
            async_fence();
            fetch(now);
        } else if (writes) {
            ResultRuns::store(x.c, to, g.ldc, x.count);
            ResultRuns::store_edges(x.c, to, g.ldc, x.count);
            bulk_read<0>();
            barrier_expect(left + 8 * buffer, 0);
        } else {
            const int head = ALONG && !PANEL_RUN ? 0 : Run(x.panel, 0).head(), head_c = LONG_M && !ONE_RUN ? 0 : Run(x.c, 0).head();
            const Stored *const panel = (const Stored *)(stage + head);
            const unsigned char *const at_small =
                SHARED ? shared_memory + AT_SMALL : stage + STAGE_SMALL + Run(x.small, 0).head();
            const Stored *const small = (const Stored *)at_small;
            const Stored *const c = (const Stored *)(stage + STAGE_C + head_c);
#if ONE_RUN
            const Staged out = {(Stored *)(to + head_c), x.count};
#else
            Stored *const out = (Stored *)(to + head_c);
#endif
            barrier_wait(arrived + 8 * now, parity);
            __syncwarp();
            if constexpr (PACKED && !SHARED) {
                pack<WORKERS>(small, SMALL_ROWS, buffer);
                workers_sync();
            }
            if (!DIRECT) barrier_wait(left + 8 * buffer, parity_left);
            __syncwarp();
#if PANEL_RUN
            const int lead = tiles.length;
#else
            const auto lead = Lead<(ALONG && UNIT_PANEL < 16), LD_PANEL>::of(x.panel, tiles.ld_panel());
#endif
#if ONE_RUN
            const int lead_c = tiles.length;
#else
            const auto lead_c = Lead<(LONG_M && UNIT_C < 16), LD_C>::of(x.c, g.ldc);
#endif
            multiply_tile(panel, lead, small, LD_SMALL, SHARED ? 0 : buffer, c, out, lead_c, x, g.ldc, scalars);
            async_fence();
            barrier_expect(done + 8 * now, 0);
        }
        buffer ^= 1;
        if (buffer == 0) parity_left ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
}
