// The pipeline of vector copies (PATH 1): all threads fill a ring of stages by cp.async and write results by vectors.
#pragma once

#include "chain/copy.cuh"

INLINE void multiply_batch(const Chain &g) {
    unsigned char *const ring = shared_memory + AT_RING;
    const int groups = ceiling(g.batch, GROUP), blocks = gridDim.x;
    auto fetch_group = [&](long long group, int to) {
        if (group < groups) {
            const long long at = group * GROUP;
            fetch<0, false>(ring + to * STAGE, g, at, (int)min((long long)GROUP, g.batch - at));
        }
        cp_async_commit();  // an empty group, too: waits count groups
    };
    // What the whole batch shares arrives with the first group.
    fetch<0, true>(shared_memory + AT_ONCE, g, 0, 1);
    UNROLL for (int i = 0; i < STAGES - 1; i++) fetch_group(blockIdx.x + (long long)i * blocks, i);
    int now = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        cp_async_wait<STAGES - 2>();
        block_sync();  // all threads see this group, and the stage before it and the last results are free
        fetch_group(group + (long long)(STAGES - 1) * blocks, now ? now - 1 : STAGES - 1);
        const long long at = group * GROUP;
        const int count = (int)min((long long)GROUP, g.batch - at);
        unsigned char *const out = IN_PLACE ? ring + now * STAGE + before(IN_ADD, false) : shared_memory + AT_OUT;
        multiply_group(ring + now * STAGE, (Stored *)out, count);
        block_sync();
        write(g, out, at, count);
        now = now + 1 == STAGES ? 0 : now + 1;
    }
}
