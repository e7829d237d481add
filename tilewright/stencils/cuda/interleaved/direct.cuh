// A and B from device memory to registers, what several threads of a team read by way of the first-level cache.
#pragma once

#if AHEAD
// All rows of A and B that a block reads, line by line.
INLINE void ask_ahead(const Interleaved &g, int before) {
    constexpr int LINE = 128, LINES = (MATRICES * SIZE + LINE - 1) / LINE;
    constexpr int ROWS_A = SHARED_A ? 0 : SIZE_M * SIZE_K, ROWS_B = SHARED_B ? 0 : SIZE_K * SIZE_N;
    for (int at = threadIdx.x; at < (ROWS_A + ROWS_B) * LINES; at += THREADS) {
        const int row = at / LINES, matrix = before + at % LINES * (LINE / SIZE);
        if (matrix >= g.batch) continue;
        const Stored *from;
        if (row < ROWS_A)
            from = (const Stored *)g.a + place(g, matrix, 1, g.pack_a) + row / SIZE_K * g.row_a + row % SIZE_K * g.column_a;
        else
            from = (const Stored *)g.b + place(g, matrix, 1, g.pack_b) + (row - ROWS_A) / SIZE_N * g.row_b +
                   (row - ROWS_A) % SIZE_N * g.column_b;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
    }
}
#endif

// One part of C of COUNT matrices, NEXT apart, from row i0 and column j0 on. What lies outside C is computed of the last
// row and column again.
template <int COUNT>
INLINE void multiply(const Interleaved &g, const Scalars &scalars, int matrix, int slot, int i0, int j0) {
    const Stored *a = (const Stored *)g.a + place(g, matrix, !SHARED_A, g.pack_a);
    const Stored *b = (const Stored *)g.b + place(g, matrix, !SHARED_B, g.pack_b);
    Element sum[ROWS][COLUMNS][COUNT];
    clear(sum);
    _Pragma("unroll UNROLL_K") for (int k = 0; k < SIZE_K; k++) {
        Element left[ROWS][COUNT], right[COLUMNS][COUNT];
        UNROLL for (int i = 0; i < ROWS; i++)
            load<COUNT, SHARED_A>(left[i], a + min(i0 + i, SIZE_M - 1) * g.row_a + k * g.column_a, CONJ_A);
        UNROLL for (int j = 0; j < COLUMNS; j++)
            load<COUNT, SHARED_B>(right[j], b + k * g.row_b + min(j0 + j, SIZE_N - 1) * g.column_b, CONJ_B);
        add_products(sum, left, right);
    }
    put<COUNT, false>(g, scalars, sum, matrix, slot, i0, j0, COUNT);
}

template <int COUNT> INLINE void parts(const Interleaved &g, const Scalars &scalars, int matrix, int slot, int first) {
#if ROWS >= SIZE_M && COLUMNS >= SIZE_N
    multiply<COUNT>(g, scalars, matrix, slot, 0, 0);
#else
    _Pragma("unroll 1") for (int tile = first; tile < TILES; tile += TEAM)
        multiply<COUNT>(g, scalars, matrix, slot, tile / TILES_N * ROWS, tile % TILES_N * COLUMNS);
#endif
}

// All matrices of a block, of which the first is before.
INLINE void multiply_all(const Interleaved &g, const Scalars &scalars, int before, int slot, int team) {
    const int matrix = before + slot;
#if AHEAD
    ask_ahead(g, before);
#endif
    if (matrix + (LANES - 1) * NEXT < g.batch) {
        parts<LANES>(g, scalars, matrix, slot, team);
    } else {
        // The last matrices of the batch, which fill no vector.
        for (int one = 0; matrix + one < g.batch; one += NEXT) parts<1>(g, scalars, matrix + one, slot + one, team);
    }
}
