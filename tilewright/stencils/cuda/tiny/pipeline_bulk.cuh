// The pipeline of bulk copies (PATH 2): one thread fills a ring of stages, whose barriers count the bytes that arrived.
#pragma once

#include "tiny/copy.cuh"

INLINE void multiply_batch(const Given &g, const Scalars &scalars) {
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
    const int groups = (g.batch - BEYOND) / GROUP;
    const bool leader = threadIdx.x == 0;
    const unsigned int barriers = shared_address(shared_memory);
    const unsigned long long policy = EVICT ? evict_first() : 0;
    auto fetch = [&](long long group, int to) {
        if (group >= groups) return;
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        constexpr int COUNT_A = GROUP * STEP_A * SIZE, COUNT_B = GROUP * STEP_B * SIZE, COUNT_C = GROUP * STEP_C * SIZE;
        barrier_expect(barrier, COUNT_A + COUNT_B + (BETA || PARTLY ? COUNT_C : 0));
        if (!SHARED_A) bulk_load<EVICT>(stage, a + group * GROUP * STEP_A, COUNT_A, barrier, policy);
        if (!SHARED_B) bulk_load<EVICT>(stage + STAGE_B, b + group * GROUP * STEP_B, COUNT_B, barrier, policy);
        if (BETA) bulk_load<EVICT>(stage + STAGE_C, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
        if (PARTLY) bulk_load<EVICT>(shared_memory + AT_WASTE, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
    };
    if (leader) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
        // No other thread reads the stages before the barriers complete, or the barriers before the next line.
        UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i);
    }
    block_sync();
    // The rest, a group at most, is multiplied in device memory.
    const int done = groups * GROUP;
    multiply_in_place<1, 1>(g, done, g.batch - done, blockIdx.x * THREADS + threadIdx.x, blocks * THREADS, scalars);
    int now = 0, out = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + out * BYTES_C;
        barrier_wait(barriers + 8 * now, parity);
        multiply_group(a_of(stage), b_of(stage), (const Stored *)(stage + STAGE_C), (Stored *)to, GROUP, scalars);
        async_fence();
        if (leader && !LEAD_C) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();                           // this one is written, and the stage is free
        if (leader) {
            if (!LEAD_C) bulk_store<EVICT>(c + group * GROUP * STEP_C, to, GROUP * STEP_C * SIZE, policy);
            fetch(group + (long long)STAGES * blocks, now);
        }
        // The other buffer is free when all threads are at the next barrier.
        if (LEAD_C) write_columns((unsigned char *)(c + group * GROUP * STEP_C), to);
        out ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (leader && !LEAD_C) bulk_read<0>();
}
