// A and B through a ring in shared memory that bulk copies fill (sm_90): a row of neighbouring matrices is one copy, which one
// lane asks for. Persistent blocks walk over the batch, and the ring runs on from the last step along k of one group of
// matrices to the first of the next, so that memory is never waited for but at the beginning.
#pragma once

#include "lib/bulk.cuh"

constexpr int STEP_A = SHARED_A ? 0 : SIZE_M * DEPTH, STEP_B = SHARED_B ? 0 : SIZE_N * DEPTH;  // rows of a stage
constexpr int STEPS = (SIZE_K + DEPTH - 1) / DEPTH;

static_assert(!PACKED && TEAM == TILES && (ALIGN == 16 || STRIDED),
              "bulk-rows: rows of one pack, aligned to 16 bytes or strided, and a thread for all of C");

// Where the row of an element begins, of the matrices from `before` on.
INLINE const Stored *row_of(const Interleaved &g, int row, int step, int before) {
    const bool of_a = row < STEP_A;
    const int mine = of_a ? row : row - STEP_A, k = step * DEPTH + (of_a ? mine % DEPTH : mine / SIZE_N);
    if (SIZE_K % DEPTH && k >= SIZE_K) return nullptr;
    return before + (of_a ? (const Stored *)g.a + mine / DEPTH * g.row_a + k * g.column_a
                          : (const Stored *)g.b + k * g.row_b + mine % SIZE_N * g.column_b);
}

// Bulk copies take their operands from registers that a warp has together, so lanes ask for theirs one after another: rows
// are dealt to all warps.
INLINE int first_row() { return threadIdx.x % 32 * (THREADS / 32) + threadIdx.x / 32; }

#if STRIDED
// By all threads: asks for step `step` along k of `count` matrices.
INLINE void fill(const Interleaved &g, Stored *stage, int step, int before, int count, unsigned int barrier) {
    constexpr int EACH = (SHARED_A ? 0 : SIZE_M) + (SHARED_B ? 0 : SIZE_N), WHOLE = ROW * SIZE;
    if (before + ROW <= g.batch) {
        if (threadIdx.x == 0) barrier_expect(barrier, min(DEPTH, SIZE_K - step * DEPTH) * EACH * WHOLE);
        __syncwarp();
        for (int row = first_row(); row < STEP_A + STEP_B; row += THREADS) {
            const unsigned char *const from = (const unsigned char *)row_of(g, row, step, before);
            if (from) bulk_load<false>(stage + row * ROW, from - (unsigned long long)from % 16, WHOLE, barrier, 0);
        }
    } else if (threadIdx.x < 32) {
        // Nothing is read beyond the last vector that is full: the elements after it are copied one by one.
        const int lane = threadIdx.x;
        int bytes = 0;
        for (int row = lane; row < STEP_A + STEP_B; row += 32) {
            const Stored *const from = row_of(g, row, step, before);
            if (!from) continue;
            const int first = (int)((unsigned long long)from % 16) / SIZE, end = first + count;
            const int full = end * SIZE / 16 * 16;
            bytes += full;
            for (int at = max(first, full / SIZE); at < end; at++) stage[row * ROW + at] = from[at - first];
        }
        UNROLL for (int half = 16; half; half /= 2) bytes += __shfl_xor_sync(~0u, bytes, half);
        async_fence();  // a later copy into this stage comes after these stores
        __syncwarp();
        if (lane == 0) barrier_expect(barrier, bytes);
        __syncwarp();
        for (int row = lane; row < STEP_A + STEP_B; row += 32) {
            const unsigned char *const from = (const unsigned char *)row_of(g, row, step, before);
            if (!from) continue;
            const int first = (int)((unsigned long long)from % 16), full = (first + count * SIZE) / 16 * 16;
            if (full) bulk_load<false>(stage + row * ROW, from - first, full, barrier, 0);
        }
    }
}
#else
// By all threads: asks for step `step` along k of `count` matrices.
INLINE void fill(const Interleaved &g, Stored *stage, int step, int before, int count, unsigned int barrier) {
    constexpr int EACH = (SHARED_A ? 0 : SIZE_M) + (SHARED_B ? 0 : SIZE_N);
    if (threadIdx.x == 0) barrier_expect(barrier, min(DEPTH, SIZE_K - step * DEPTH) * EACH * count * SIZE);
    __syncwarp();
    for (int row = first_row(); row < STEP_A + STEP_B; row += THREADS) {
        const Stored *const from = row_of(g, row, step, before);
        if (from) bulk_load<false>(stage + row * ROW, from, count * SIZE, barrier, 0);
    }
}
#endif

INLINE void multiply_rows(const Interleaved &g, const Scalars &scalars) {
    const int groups = (g.batch + MATRICES - 1) / MATRICES, blocks = gridDim.x;
    const int slot = first_slot(), team = threadIdx.x / SLOTS;
    const int i0 = team / TILES_N * ROWS, j0 = team % TILES_N * COLUMNS;
    const unsigned int barriers = shared_address(shared_memory);
    Stored *const ring = (Stored *)(shared_memory + AT_RING);
    // The step that is asked for next, and where it goes.
    long long asked = blockIdx.x;
    int asked_step = 0;
    auto fill_next = [&](int to) {
        if (asked >= groups) return;
        const int before = asked * MATRICES;
        fill(g, ring + to * STAGE, asked_step, before, min(MATRICES, g.batch - before), barriers + 8 * to);
        if (++asked_step == STEPS) {
            asked_step = 0;
            asked += blocks;
        }
    };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
    }
    __syncthreads();
    UNROLL for (int i = 0; i < STAGES; i++) fill_next(i);
    int now = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        const int before = group * MATRICES, matrix = before + slot, count = g.batch - matrix;
        Element sum[ROWS][COLUMNS][LANES];
        clear(sum);
        _Pragma("unroll 1") for (int step = 0; step < STEPS; step++) {
            const Stored *const stage = ring + now * STAGE + slot;
            barrier_wait(barriers + 8 * now, parity);
            UNROLL for (int deep = 0; deep < DEPTH; deep++) {
                const int k = step * DEPTH + deep;
                if (SIZE_K % DEPTH && k >= SIZE_K) break;
                Element left[ROWS][LANES], right[COLUMNS][LANES];
                UNROLL for (int i = 0; i < ROWS; i++) {
                    const int row = min(i0 + i, SIZE_M - 1);
                    take<SHARED_A>(left[i], SHARED_A ? (const Stored *)g.a + row * g.row_a + k * g.column_a
                                                     : stage + (row * DEPTH + deep) * ROW + beside(g.a, g.row_a, g.column_a, row, k), CONJ_A);
                }
                UNROLL for (int j = 0; j < COLUMNS; j++) {
                    const int column = min(j0 + j, SIZE_N - 1);
                    take<SHARED_B>(right[j], SHARED_B ? (const Stored *)g.b + k * g.row_b + column * g.column_b
                                                      : stage + (STEP_A + deep * SIZE_N + column) * ROW + beside(g.b, g.row_b, g.column_b, k, column), CONJ_B);
                }
                add_products(sum, left, right);
            }
#if STAGED == 2
            if (step == STEPS - 1) bulk_read<0>();  // the last results are on their way
#endif
            __syncthreads();  // everybody is done with this stage
            fill_next(now);
            if (++now == STAGES) {
                now = 0;
                parity ^= 1;
            }
        }
        if (count > (LANES - 1) * NEXT)
            put<LANES, false>(g, scalars, sum, matrix, slot, i0, j0, LANES);
        else if (count > 0)
            put<LANES, true>(g, scalars, sum, matrix, slot, i0, j0, count);
#if STAGED
        results_written();
        // The barriers of the next steps keep its results from overtaking these.
        write_back(g, before, min(MATRICES, g.batch - before));
#endif
    }
#if STAGED == 2
    bulk_read<0>();
#endif
}
