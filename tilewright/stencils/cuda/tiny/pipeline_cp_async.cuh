// The pipeline of vector copies (PATH 1): all threads fill a ring of stages by cp.async and write results by vectors.
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
    const int groups = g.batch / GROUP + (g.batch % GROUP != 0);
    const void *list_a = g.a, *list_b = g.b, *list_c = g.c;
    // Addresses are loaded, or found, so early that no matrix waits for them: those of the group that comes 2 STAGES - 2 later.
    auto fetch_list = [&](long long group, int to) {
        if (!LISTED || group >= groups) return;
        unsigned char *const list = shared_memory + AT_LISTS + to * LIST;
        const int first = (int)group * GROUP, count = min(GROUP, g.batch - first);
        _Pragma("unroll 1") for (int i = threadIdx.x; i < count; i += THREADS) {
#if OUTER
            const Place at = place(given, first + i);
            const Stored **const here = (const Stored **)list + i;
            if (!SHARED_A) here[0] = (const Stored *)g.a + at.a + at.inner * g.stride_a;
            if (!SHARED_B) here[GROUP] = (const Stored *)g.b + at.b + at.inner * g.stride_b;
            here[2 * GROUP] = (const Stored *)g.c + at.c + at.inner * g.stride_c;
#else
            if (!SHARED_A) cp_async<8>(list + 8 * i, (const void *const *)g.a + first + i, 8);
            if (!SHARED_B) cp_async<8>(list + 8 * (GROUP + i), (const void *const *)g.b + first + i, 8);
            cp_async<8>(list + 8 * (2 * GROUP + i), (const void *const *)g.c + first + i, 8);
#endif
        }
    };
    // Chooses the operands of a group: where matrices are LISTED, those of list number `by`.
    auto at_list = [&](int by) {
        if (!LISTED) return;
        const unsigned char *const list = shared_memory + AT_LISTS + by * LIST;
        list_a = list;
        list_b = list + 8 * GROUP;
        list_c = list + 16 * GROUP;
    };
    auto fetch = [&](long long group, int to, int by) {
        if (group < groups) {
            unsigned char *const stage = ring + to * STAGE;
            const int first = (int)group * GROUP, count = min(GROUP, g.batch - first), from = LISTED ? 0 : first;
            at_list(by);
            if (!SHARED_A) GroupA::fetch(stage, list_a, g.lda, g.stride_a, from, count);
            if (!SHARED_B) GroupB::fetch(stage + STAGE_B, list_b, g.ldb, g.stride_b, from, count);
            if (BETA != 0) GroupC::fetch(stage + STAGE_C, list_c, g.ldc, g.stride_c, from, count);
        }
        cp_async_commit();  // an empty group, too: waits count groups
    };
    if (LISTED) {
        _Pragma("unroll 1") for (int i = 0; i < LISTS - 1; i++) fetch_list(blockIdx.x + (long long)i * blocks, i);
        cp_async_commit();
        cp_async_wait<0>();
        block_sync();
    }
    UNROLL for (int i = 0; i < STAGES - 1; i++) fetch(blockIdx.x + (long long)i * blocks, i, i);
    int now = 0, list = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        cp_async_wait<STAGES - 2>();
        block_sync();  // all threads see this group, and the stage before it is free
        fetch_list(group + (long long)(LISTS - 1) * blocks, list ? list - 1 : LISTS - 1);
        fetch(group + (long long)(STAGES - 1) * blocks, now ? now - 1 : STAGES - 1,
              list + STAGES - 1 < LISTS ? list + STAGES - 1 : list - STAGES);
        unsigned char *const stage = ring + now * STAGE;
        // With beta, the result takes the place of C.
        unsigned char *const out = BETA != 0 ? stage + STAGE_C : shared_memory + AT_OUT;
        const int first = (int)group * GROUP, count = min(GROUP, g.batch - first);
        multiply_group(a_of(stage), b_of(stage), (const Stored *)out, (Stored *)out, count, scalars,
                       (const unsigned long long *)(shared_memory + AT_LISTS + list * LIST));
        block_sync();
        at_list(list);
        GroupC::write(list_c, out, g.ldc, g.stride_c, LISTED ? 0 : first, count);
        now = now + 1 == STAGES ? 0 : now + 1;
        list = list + 1 == LISTS ? 0 : list + 1;
    }
}
