// A and B through a ring in shared memory: DEPTH steps along k of all matrices of a block are copied while earlier ones
// are multiplied, so that each element passes device memory once however many threads read it.
#pragma once

constexpr int COPY = PACKED ? LANES * SIZE : ALIGN;  // bytes of an asynchronous copy
constexpr int STEP_A = SHARED_A ? 0 : SIZE_M * DEPTH, STEP_B = SHARED_B ? 0 : SIZE_N * DEPTH;  // rows of a stage
constexpr int STEPS = (SIZE_K + DEPTH - 1) / DEPTH, ROUNDS = (TILES + TEAM - 1) / TEAM;

static_assert(COPY >= 4, "ring-aligned: copies are of 4 bytes at least");

INLINE void copy(Stored *to, const Stored *from) {
    const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
#if PACKED
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(COPY) : "memory");
#elif ALIGN == 16
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(COPY) : "memory");
#endif
}

// Start the copies of a stage, from step k0 along k on: rows (i, k) of A, then rows (k, j) of B.
INLINE void fill(const Interleaved &g, Stored *stage, int k0, int before) {
    constexpr int EACH = COPY / SIZE, VECTORS = MATRICES / EACH;
    for (int at = threadIdx.x; at < (STEP_A + STEP_B) * VECTORS; at += THREADS) {
        const int row = at / VECTORS, matrix = before + at % VECTORS * EACH;
        const bool of_a = row < STEP_A;
        const int mine = of_a ? row : row - STEP_A, k = k0 + (of_a ? mine % DEPTH : mine / SIZE_N);
        if (k >= SIZE_K || matrix >= g.batch) continue;
        const Stored *from = of_a ? (const Stored *)g.a + place(g, matrix, 1, g.pack_a) + mine / DEPTH * g.row_a + k * g.column_a
                                  : (const Stored *)g.b + place(g, matrix, 1, g.pack_b) + k * g.row_b + mine % SIZE_N * g.column_b;
        Stored *to = stage + row * MATRICES + at % VECTORS * EACH;
        if (matrix + EACH <= g.batch) {
            copy(to, from);
        } else {
            for (int one = 0; matrix + one < g.batch; one++) to[one] = from[one];
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// All matrices of a block, of which the first is before.
INLINE void multiply_all(const Interleaved &g, const Scalars &scalars, int before, int slot, int team) {
    Stored *ring = (Stored *)shared_memory;
    const int matrix = before + slot, count = g.batch - matrix;
    // Of a shared operand what the pack of this thread has; any will do past the end.
    const int known = min(matrix, g.batch - 1);
    const Stored *a = (const Stored *)g.a + place(g, known, 0, g.pack_a);
    const Stored *b = (const Stored *)g.b + place(g, known, 0, g.pack_b);
    _Pragma("unroll 1") for (int round = 0; round < ROUNDS; round++) {
        const int tile = min(round * TEAM + team, TILES - 1);
        const int i0 = tile / TILES_N * ROWS, j0 = tile % TILES_N * COLUMNS;
        Element sum[ROWS][COLUMNS][LANES];
        clear(sum);
        UNROLL for (int stage = 0; stage < STAGES - 1; stage++) fill(g, ring + stage * STAGE, stage * DEPTH, before);
        _Pragma("unroll 1") for (int step = 0; step < STEPS; step++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            // The stage that is filled now was read in the last step, and everybody is done with it.
            __syncthreads();
            fill(g, ring + (step + STAGES - 1) % STAGES * STAGE, (step + STAGES - 1) * DEPTH, before);
            const Stored *stage = ring + step % STAGES * STAGE + slot;
            UNROLL for (int deep = 0; deep < DEPTH; deep++) {
                const int k = step * DEPTH + deep;
                if (SIZE_K % DEPTH && k >= SIZE_K) break;
                Element left[ROWS][LANES], right[COLUMNS][LANES];
                UNROLL for (int i = 0; i < ROWS; i++) {
                    const int row = min(i0 + i, SIZE_M - 1);
                    take<SHARED_A>(left[i], SHARED_A ? a + row * g.row_a + k * g.column_a : stage + (row * DEPTH + deep) * MATRICES, CONJ_A);
                }
                UNROLL for (int j = 0; j < COLUMNS; j++) {
                    const int column = min(j0 + j, SIZE_N - 1);
                    take<SHARED_B>(right[j], SHARED_B ? b + k * g.row_b + column * g.column_b : stage + (STEP_A + deep * SIZE_N + column) * MATRICES, CONJ_B);
                }
                add_products(sum, left, right);
            }
        }
        __syncthreads();
        if (round * TEAM + team >= TILES) continue;
        if (count >= LANES)
            put<LANES, false>(g, scalars, sum, matrix, slot, i0, j0, LANES);
        else if (count > 0)
            put<LANES, true>(g, scalars, sum, matrix, slot, i0, j0, count);
    }
}
