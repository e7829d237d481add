// The pipeline of bulk copies (PATH 2): one thread fills a ring of stages, whose barriers count the bytes that arrived.
#pragma once

#include "tiny/copy.cuh"

INLINE void multiply_batch(const Given &given, const Scalars &scalars) {
    const Gemm &g = gemm_of(given);
    const int blocks = gridDim.x;
    unsigned char *const ring = shared_memory + AT_RING;
    if (SHARED_A) fetch_once<ROWS_A, COLS_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (SHARED_B) fetch_once<ROWS_B, COLS_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    // The operands of the group in a stage.
    auto a_of = [&](unsigned char *stage) { return (const Stored *)(SHARED_A ? shared_memory + AT_A : stage); };
    auto b_of = [&](unsigned char *stage) { return (const Stored *)(SHARED_B ? shared_memory + AT_B : stage + STAGE_B); };
    const Stored *const a = (const Stored *)g.a, *const b = (const Stored *)g.b;
    Stored *const c = (Stored *)g.c;
    // Only whole groups; memory behind the last column of the batch must not be read.
    constexpr bool BEYOND = (!SHARED_A && LEAD_A) || (!SHARED_B && LEAD_B) || ((BETA || PARTLY) && LEAD_C);
    const int groups = OUTER ? groups_of(given) : (g.batch - BEYOND) / GROUP;
    const bool leader = threadIdx.x == 0;
    const unsigned int barriers = shared_address(shared_memory);
    const unsigned long long policy = EVICT ? evict_first() : 0;
    // Along several axes: the products of a group, which ends where its run does, and elements before its C.
    auto products_of = [&](const Place &at) { return min(GROUP, run_of(given) - at.inner * GROUP); };
    auto before_c = [&](const Place &at) { return at.c + (long long)at.inner * GROUP * STEP_C; };
    auto fetch_of_run = [&](long long group, int to) {
        const Place at = place(given, (unsigned int)group);
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        if (leader) {
            const int count = products_of(at);
            const long long first = (long long)at.inner * GROUP;
            barrier_expect(barrier, count * (STEP_A + STEP_B + (BETA ? STEP_C : 0)) * SIZE);
            if (!ONCE_A) bulk_load<EVICT>(stage, a + at.a + first * STEP_A, count * STEP_A * SIZE, barrier, policy);
            if (!ONCE_B) bulk_load<EVICT>(stage + STAGE_B, b + at.b + first * STEP_B, count * STEP_B * SIZE, barrier, policy);
            if (BETA) bulk_load<EVICT>(stage + STAGE_C, c + before_c(at), count * STEP_C * SIZE, barrier, policy);
        }
        if (RUN_A) fetch_by_warp<ROWS_A, COLS_A, LD_A, FLAT_A, UNIT_A>(stage, a + at.a, g.lda);
        if (RUN_B) fetch_by_warp<ROWS_B, COLS_B, LD_B, FLAT_B, UNIT_B>(stage + STAGE_B, b + at.b, g.ldb);
        if (RUN_A || RUN_B) arrive_when_copied(barrier);
    };
    auto fetch = [&](long long group, int to) {
        if (group >= groups) return;
        if (OUTER) return fetch_of_run(group, to);
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        constexpr int COUNT_A = GROUP * STEP_A * SIZE, COUNT_B = GROUP * STEP_B * SIZE, COUNT_C = GROUP * STEP_C * SIZE;
        barrier_expect(barrier, COUNT_A + COUNT_B + (BETA || PARTLY ? COUNT_C : 0));
        if (!SHARED_A) bulk_load<EVICT>(stage, a + group * GROUP * STEP_A, COUNT_A, barrier, policy);
        if (!SHARED_B) bulk_load<EVICT>(stage + STAGE_B, b + group * GROUP * STEP_B, COUNT_B, barrier, policy);
        if (BETA) bulk_load<EVICT>(stage + STAGE_C, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
        if (PARTLY) bulk_load<EVICT>(shared_memory + AT_WASTE, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
    };
    // What a run shares is copied by the lanes of the first warp, each of which arrives.
    constexpr bool BY_WARP = RUN_A || RUN_B;
    if (BY_WARP && threadIdx.x < 32) {
        if (leader) {
            UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, 33);
            barriers_started();
        }
        __syncwarp();
        UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i);
    }
    if (leader && !BY_WARP) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
        // No other thread reads the stages before the barriers complete, or the barriers before the next line.
        UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i);
    }
    block_sync();
    // The rest, a group at most, is multiplied in device memory.
    const int done = groups * GROUP;
    if (!OUTER) multiply_in_place<1, 1>(given, done, g.batch - done, blockIdx.x * THREADS + threadIdx.x, blocks * THREADS, scalars);
    int now = 0, out = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + out * BYTES_C;
        barrier_wait(barriers + 8 * now, parity);
        const Place at = OUTER ? place(given, (unsigned int)group) : Place{0, 0, 0, 0};
        const int count = OUTER ? products_of(at) : GROUP;
        multiply_group(a_of(stage), b_of(stage), (const Stored *)(stage + STAGE_C), (Stored *)to, count, scalars);
        async_fence();
        if (leader && !LEAD_C) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();                           // this one is written, and the stage is free
        if (leader) {
            Stored *const there = OUTER ? c + before_c(at) : c + group * GROUP * STEP_C;
            if (!LEAD_C) bulk_store<EVICT>(there, to, count * STEP_C * SIZE, policy);
            if (!BY_WARP) fetch(group + (long long)STAGES * blocks, now);
        }
        if (BY_WARP && threadIdx.x < 32) fetch(group + (long long)STAGES * blocks, now);
        // The other buffer is free when all threads are at the next barrier.
        if (LEAD_C) write_columns((unsigned char *)(c + group * GROUP * STEP_C), to);
        out ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (leader && !LEAD_C) bulk_done();
}
