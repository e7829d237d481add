// The pipeline of bulk copies (PATH 2): one thread fills a ring of stages, whose barriers count the bytes that arrived.
#pragma once

#include "chain/copy.cuh"

// Asks for all of a group: operand X and those that follow; of what results take the place (PLACE) or of the others.
template <int X, bool PLACE>
INLINE void fetch_bulk(unsigned char *stage, const Chain &g, long long group, unsigned int barrier) {
    if constexpr (X < INPUTS) {
        constexpr int COUNT = GROUP * step_in(X) * SIZE;
        if constexpr (!once_in(X) && PLACE == (IN_PLACE && X == IN_ADD))
            bulk_load<false>(stage + before(X, false), base_of<X>(g) + group * COUNT, COUNT, barrier, 0);
        fetch_bulk<X + 1, PLACE>(stage, g, group, barrier);
    }
}

CONSTANT int group_bytes() {
    int bytes = 0;
    for (int x = 0; x < INPUTS; x++) bytes += GROUP * step_in(x) * SIZE;
    return bytes;
}

INLINE void multiply_batch(const Chain &g) {
    unsigned char *const ring = shared_memory + AT_RING;
    const int groups = g.batch / GROUP, blocks = gridDim.x;  // whole ones
    const bool leader = threadIdx.x == 0;
    const unsigned int barriers = shared_address(shared_memory);
    auto fetch_group = [&](long long group, int to) {
        if (STAGE == 0 || group >= groups) return;
        barrier_expect(barriers + 8 * to, group_bytes());
        fetch_bulk<0, false>(ring + to * STAGE, g, group, barriers + 8 * to);
#if IN_PLACE
        bulk_read<0>();  // the results that lay here are on their way
        fetch_bulk<0, true>(ring + to * STAGE, g, group, barriers + 8 * to);
#endif
    };
    if (leader) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
        // No other thread reads the stages before the barriers complete, or the barriers before the next line.
        UNROLL for (int i = 0; i < STAGES; i++) fetch_group(blockIdx.x + (long long)i * blocks, i);
    }
    fetch<0, true>(shared_memory + AT_ONCE, g, 0, 1);
    cp_async_commit();
    cp_async_wait<0>();
    block_sync();
    int now = 0, buffer = 0;
    unsigned int parity = 0;
    constexpr int COUNT_OUT = GROUP * MATRIX_OUT * SIZE;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const out =
            IN_PLACE ? ring + now * STAGE + before(IN_ADD, false) : shared_memory + AT_OUT + buffer * BYTES_OUT;
        if (STAGE) barrier_wait(barriers + 8 * now, parity);
        multiply_group(ring + now * STAGE, (Stored *)out, GROUP);
        async_fence();
#if !IN_PLACE
        if (leader) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
#endif
        block_sync();                // this one is written, and the stage is free
        if (leader) {
            bulk_store<false>((unsigned char *)g.out + group * COUNT_OUT, out, COUNT_OUT, 0);
            fetch_group(group + (long long)STAGES * blocks, now);
        }
        buffer ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (leader) bulk_done();
    // The rest, less than a group, by the block whose turn it is, in a stage that nothing is on its way to.
    const int rest = g.batch - groups * GROUP;
    if (rest == 0 || blockIdx.x != groups % blocks) return;
    block_sync();
    unsigned char *const out = shared_memory + (IN_PLACE ? AT_RING + before(IN_ADD, false) : AT_OUT);
    const long long at = (long long)groups * GROUP;
    fetch<0, false>(ring, g, at, rest);
    cp_async_commit();
    cp_async_wait<0>();
    block_sync();
    multiply_group(ring, (Stored *)out, rest);
    block_sync();
    write(g, out, at, rest);
}
