// The results of a thread: words of 16 bytes of columns of C.
#pragma once

constexpr int WORDS_M = ROWS / WORD, RESULTS = WORDS_M * COLUMNS;  // words of a thread
constexpr int AT_ONCE = RESULTS % 4 ? 2 : 4;                       // that are read before the first of them is written

// The thread's first element of C is at (m, n).
INLINE void store(const Product &g, const Sums &sum, int m, int n) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    Stored *const begin = g.c + m + n * g.ldc;
    const int rows = g.m - m, columns = g.n - n;  // from there on
    UNROLL for (int first = 0; first < RESULTS; first += AT_ONCE) {
        Pack<WORD> old[AT_ONCE];
        UNROLL for (int write = BETA == 0; write < 2; write++)
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                const int word = (first + i) % WORDS_M, j = (first + i) / WORDS_M;
                const int down = word * LANES_M * WORD, along = (j / WORD * LANES_N) * WORD + j % WORD;
                Stored *const at = begin + down + along * g.ldc;
                const bool here = along < columns, whole = here && down + WORD <= rows;
                if (!write) {
                    if (whole) global_load(old[i].vector, (const uint4 *)at);
                    else UNROLL for (int e = 0; e < WORD; e++) if (here && down + e < rows) old[i].element[e] = at[e];
                    continue;
                }
                Pack<WORD> out;
                UNROLL for (int e = 0; e < WORD; e++) out.element[e] = scaled(s, sum[word * WORD + e][j], old[i].element[e]);
                if (whole) global_store((uint4 *)at, out.vector);
                else UNROLL for (int e = 0; e < WORD; e++) if (here && down + e < rows) at[e] = out.element[e];
            }
    }
}
