// The pipeline of bulk copies by warps of their own (PATH 2): they fill a ring of stages and write results, and the warps that
// multiply never wait for each other.
//
//   MOVERS warps      ask for tile i + STAGES, when all have multiplied tile i
//   MOVERS more       write C of tile i then, unless it leaves from registers
//   the others        multiply tile i when it has arrived, into one of two buffers that C leaves from
//
// Those who load alone know which tile comes next: they say it with the stage, and those who multiply with the buffer. With TICKETS
// one of them takes its number a tile ahead, from a counter that all blocks share, so that tiles that are moved at a time lie close
// together in device memory; the first STAGES tiles of a block are as far apart as there are blocks. One tile after the last ends
// the block.
//
// A warp issues the copies of its lanes one after the other, some 50 clocks each: a tile of many columns has several such warps.
#pragma once

#include "panel/runs.cuh"

template <typename Given> INLINE void multiply_batch(const Gemm &g, const Scalars &scalars, const Given &tickets) {
    const Tiles tiles(g);
    unsigned char *const ring = shared_memory + AT_RING;
    Which *const which_of_stage = (Which *)(shared_memory + AT_WHICH), *const which_of_buffer = which_of_stage + STAGES;
    // Barriers: the bytes of a stage have arrived; it has been read, and its result is complete; a buffer of results is free.
    const unsigned int arrived = shared_address(shared_memory), done = arrived + 8 * STAGES, left = done + 8 * STAGES;
    const bool loads = threadIdx.x / 32 >= WARPS && threadIdx.x < WORKERS + MOVING, writes = !DIRECT && threadIdx.x >= WORKERS + MOVING;
    const bool asks = threadIdx.x == WORKERS;  // the one who says which tile comes next
    const long long stride_panel = LONG_M ? g.stride_a : g.stride_b, stride_small = LONG_M ? g.stride_b : g.stride_a;
    const void *const end_panel = end_of(tiles.panels(), stride_panel, g.batch, tiles.ld_panel(),
                                         ALONG ? SIZE_K : tiles.length, ALONG ? tiles.length : SIZE_K);
    const void *const end_small = end_of(tiles.smalls(), stride_small, g.batch, SMALL_ROWS, SMALL_COLS, SMALL_ROWS);
    const void *const end_c = end_of(g.c, g.stride_c, g.batch, g.ldc, g.n, g.m);
    // Asks for a tile; true where there is none, which those who wait for the stage are told.
    auto fetch = [&](int to, Which which) {
        const unsigned int barrier = arrived + 8 * to;
        int expected = 0;
        if (tiles.any(which)) {
            const Item x = tiles.item(which);
            unsigned char *const stage = ring + to * STAGE;
            expected = PanelRuns::load(stage, x.panel, tiles.ld_panel(), x.count, tiles.panels(), end_panel, barrier);
            if (!SHARED) expected += SmallRun::load(stage + STAGE_SMALL, x.small, 0, 1, tiles.smalls(), end_small, barrier);
            if (BETA != 0) expected += ResultRuns::load(stage + STAGE_C, x.c, g.ldc, x.count, g.c, end_c, barrier);
        }
        barrier_expect(barrier, expected);
        return !tiles.any(which);
    };
    Tiles ahead = tiles;
    bool over = false;
    if (loads) {
        if (asks) {
            UNROLL for (int i = 0; i < STAGES; i++) {
                barrier_start_for(arrived + 8 * i, MOVING);
                barrier_start_for(done + 8 * i, WORKERS);
            }
            UNROLL for (int i = 0; i < 2; i++) barrier_start_for(left + 8 * i, MOVING);
            barriers_started();
        }
        loaders_sync();
        _Pragma("unroll 1") for (int i = 0; i < STAGES && !over; i++) {
            if (asks) which_of_stage[i] = ahead.which();
            __syncwarp();
            over = fetch(i, ahead.which());
            ahead.next();
        }
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
    auto go_on = [&]() {
        buffer ^= 1;
        if (buffer == 0) parity_left ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
        __syncwarp();  // lanes wait together
    };
    if (loads) {
        unsigned int ticket = 0;
        if constexpr (TICKETS) {
            if (asks) {
                tickets.open();
                ticket = tickets.take();
            }
            __syncwarp();
        }
        _Pragma("unroll 1") for (; !over; go_on()) {
            barrier_wait(done + 8 * now, parity);
            __syncwarp();  // lanes may leave the wait apart
            async_fence();
            if constexpr (TICKETS) {
                if (asks) {
                    which_of_stage[now] = tiles.which(STAGES * gridDim.x + ticket);
                    ticket = tickets.take();
                }
                loaders_sync();
                over = fetch(now, which_of_stage[now]);
            } else {
                if (asks) which_of_stage[now] = ahead.which();
                __syncwarp();
                over = fetch(now, ahead.which());
                ahead.next();
            }
        }
        if constexpr (TICKETS) if (asks) tickets.close();
    } else if (writes) {
        _Pragma("unroll 1") for (;; go_on()) {
            barrier_wait(done + 8 * now, parity);
            __syncwarp();
            const Which which = which_of_buffer[buffer];
            if (!tiles.any(which)) break;
            const Item x = tiles.item(which);
            const unsigned char *const from = shared_memory + AT_OUT + buffer * BYTES_C;
            ResultRuns::store(x.c, from, g.ldc, x.count);
            ResultRuns::store_edges(x.c, from, g.ldc, x.count);
            bulk_read<0>();
            barrier_expect(left + 8 * buffer, 0);
        }
    } else {
        _Pragma("unroll 1") for (bool last = false; !last; go_on()) {
            unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + buffer * BYTES_C;
            barrier_wait(arrived + 8 * now, parity);
            __syncwarp();
            const Which which = which_of_stage[now];
            last = !tiles.any(which);
            const Item x = tiles.item(which);
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
            if constexpr (PACKED && !SHARED) {
                if (!last) pack<WORKERS>(small, SMALL_ROWS, buffer);
                workers_sync();
            }
            if (!DIRECT) {
                barrier_wait(left + 8 * buffer, parity_left);
                if (threadIdx.x == 0) which_of_buffer[buffer] = which;
            }
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
            if (!last) multiply_tile(panel, lead, small, LD_SMALL, SHARED ? 0 : buffer, c, out, lead_c, x, g.ldc, scalars);
            async_fence();
            barrier_expect(done + 8 * now, 0);
        }
    }
}
