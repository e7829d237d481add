// What a thread has summed on its way to C: vectors of neighbouring matrices, single elements, or shared memory and from
// there matrix by matrix.
#pragma once

#if STAGED
#if STAGED == 2
#include "lib/bulk.cuh"
#endif

// The results of all threads of a block are in shared memory, for bulk copies, too.
INLINE void results_written() {
#if STAGED == 2
    async_fence();
#endif
    __syncthreads();
}

#if SCATTERED
// Where an element lies in shared memory, numbered matrix by matrix and row by row.
INLINE int staged(int element) { return PAD ? element + element / RUN : element; }

// The results of a block to where they belong: as one run, or words of 16 bytes, where C has no gaps, else
// element by element.
INLINE void write_back(const Interleaved &g, int before, int count) {
    constexpr int WORD = 16 / SIZE;
    const Stored *from = (const Stored *)results;
    int done = 0;
    Stored *run = (Stored *)g.c + (long long)before * AREA;
    const bool dense = g.step_c == AREA && g.column_c == 1 && (g.row_c == SIZE_N || SIZE_M == 1);
#if STAGED == 2
    if (dense && (unsigned long long)run % 16 == 0 && count == MATRICES) {
        if (threadIdx.x == 0) bulk_store<false>(run, from, MATRICES * AREA * SIZE, 0);
        // A block that stays goes on meanwhile, and waits before it writes the next results.
        if (!BULK && threadIdx.x == 0) bulk_read<0>();
        return;
    }
#endif
    if (!PACKED && dense && (unsigned long long)run % 16 == 0) {
        for (int word = threadIdx.x; word < count * AREA / WORD; word += THREADS) {
            Pack<WORD> some;
            UNROLL for (int i = 0; i < WORD; i++) some.element[i] = from[staged(word * WORD + i)];
            global_store((decltype(some.vector) *)run + word, some.vector);
        }
        done = count * AREA / WORD * WORD;
    }
    // Neighbouring threads write neighbouring elements where C lies by rows or by columns.
    const bool by_rows = g.column_c <= g.row_c;
    for (int at = done + threadIdx.x; at < count * AREA; at += THREADS) {
        const int which = at / AREA, element = at % AREA;
        const int i = by_rows ? element / SIZE_N : element % SIZE_M, j = by_rows ? element % SIZE_N : element / SIZE_M;
        ((Stored *)g.c)[place(g, before + which, g.step_c, g.pack_c) + i * g.row_c + j * g.column_c] =
            from[staged(which * AREA + i * SIZE_N + j)];
    }
}
#else
// Where the row of an element lies in shared memory, and in it the first matrix of a block.
INLINE int staged_row(const Interleaved &g, int i, int j) {
    return (i * SIZE_N + j) * ROW + beside(g.c, g.row_c, g.column_c, i, j);
}

// The rows of results of a block to where they belong: whole vectors by one bulk copy a row, and
// elements of the vectors that rows begin and end in one by one.
INLINE void write_back(const Interleaved &g, int before, int count) {
    constexpr int EACH = 16 / SIZE;
    const Stored *const from = (const Stored *)results;
    Stored *const c = (Stored *)g.c + before;
    if (count < MATRICES) {
        for (int at = threadIdx.x; at < AREA * count; at += THREADS) {
            const int i = at / count / SIZE_N, j = at / count % SIZE_N, matrix = at % count;
            c[i * g.row_c + j * g.column_c + matrix] = from[staged_row(g, i, j) + matrix];
        }
        return;
    }
    for (int row = threadIdx.x % 32 * (THREADS / 32) + threadIdx.x / 32; row < AREA; row += THREADS) {
        const int i = row / SIZE_N, j = row % SIZE_N, at = staged_row(g, i, j), first = at % EACH;
        const int skipped = first ? EACH - first : 0;
        bulk_store<false>(c + i * g.row_c + j * g.column_c + skipped, from + at + skipped,
                          (MATRICES - (first ? EACH : 0)) * SIZE, 0);
    }
    if (EACH > 1) {
        for (int v = threadIdx.x; v < AREA * EACH; v += THREADS) {
            const int i = v / EACH / SIZE_N, j = v / EACH % SIZE_N, at = staged_row(g, i, j), first = at % EACH, one = v % EACH;
            if (!first) continue;
            // Those before the first whole vector, then those after the last.
            const int matrix = one < EACH - first ? one : MATRICES - EACH + one;
            c[i * g.row_c + j * g.column_c + matrix] = from[at + matrix];
        }
    }
}
#endif
#endif

// The sums of COUNT matrices, NEXT apart, from row i0 and column j0 on. Only the first count matrices from the
// first one on are there if PARTIAL. What lies outside C is written nowhere.
template <int COUNT, bool PARTIAL>
INLINE void put(const Interleaved &g, const Scalars &scalars, const Element (&sum)[ROWS][COLUMNS][COUNT], int matrix,
                int slot, int i0, int j0, int count) {
    Stored *c = (Stored *)g.c + place(g, matrix, SCATTERED ? g.step_c : 1, g.pack_c);
    UNROLL for (int i = 0; i < ROWS; i++) {
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            if (i0 + i >= SIZE_M || j0 + j >= SIZE_N) continue;
            Stored *to = c + (i0 + i) * g.row_c + (j0 + j) * g.column_c;
            if constexpr (SCATTERED || PARTIAL || STRIDED) {
                UNROLL for (int lane = 0; lane < COUNT; lane++) {
                    if (PARTIAL && lane * NEXT >= count) continue;
#if STAGED && !SCATTERED
                    Stored *here = (Stored *)results + staged_row(g, i0 + i, j0 + j) + slot + lane * NEXT;
#elif STAGED
                    Stored *here = (Stored *)results + staged((slot + lane * NEXT) * AREA + (i0 + i) * SIZE_N + j0 + j);
#elif SCATTERED
                    Stored *here = to - place(g, matrix, g.step_c, g.pack_c) + place(g, matrix + lane * NEXT, g.step_c, g.pack_c);
#else
                    Stored *here = to + lane * NEXT;
#endif
                    const Element result[1] = {scaled(scalars, sum[i][j][lane], BETA ? widened(*here) : zero())};
                    *here = packed<1>(result).element[0];
                }
            } else {
                typedef typename Vector<COUNT * SIZE>::Type Wide;
                Element result[COUNT];
                Pack<COUNT> old;
                if (BETA) global_load(old.vector, (Wide *)to);
                UNROLL for (int lane = 0; lane < COUNT; lane++)
                    result[lane] = scaled(scalars, sum[i][j][lane], BETA ? widened(old.element[lane]) : zero());
                global_store((Wide *)to, packed<COUNT>(result).vector);
            }
        }
    }
}
