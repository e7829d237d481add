// The results of a warp: 16 bytes of a thread, which are two neighbours of a column of C, or one complex number.
#pragma once

constexpr int RESULTS = LEFT_ROWS * RIGHT_COLUMNS * 4 / WORD;  // words of 16 bytes of a thread
constexpr int AT_ONCE = RESULTS < 4 ? RESULTS : 4;             // that are read before the first of them is written

// A word: where it lies in C, and its sums.
struct Result {
    int m, n;
    Element sum[WORD];

    INLINE Result(const Sums &sums, int number, int first_m, int first_n, int r, int q) {
        const int product = number / (4 / WORD), which = number % (4 / WORD);
        const int row = product / RIGHT_COLUMNS, column = product % RIGHT_COLUMNS;
        const double *const x = sums[0][row][column];
#if COMPLEX
        m = first_m + 16 * row + r + which / 2 * 8;
        n = first_n + 8 * column + 2 * q + which % 2;
        sum[0] = Element{x[which], sums[1][row][column][which]};
#else
        // Neighbours of a column of C are two rows of the fragment, or two columns.
        m = first_m + (LEFT_A ? 16 * row + 2 * r : 8 * column + 2 * q);
        n = first_n + (LEFT_A ? 8 * column + 2 * q + which : 16 * row + (LEFT_ALONG ? r + 8 * which : 2 * r + which));
        sum[0] = x[LEFT_A ? which : 2 * which];
        sum[1] = x[LEFT_A ? 2 + which : 2 * which + 1];
#endif
    }

    INLINE Stored *place(const Product &g) const { return g.c + m + n * g.ldc; }
    INLINE bool inside(const Product &g) const { return m < g.m && n < g.n; }
    INLINE bool whole(const Product &g) const { return m + WORD <= g.m; }  // else its first element alone is in C
};

INLINE void store(const Product &g, const Sums &sums, int first_m, int first_n, int r, int q) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int first = 0; first < RESULTS; first += AT_ONCE) {
        Pack<WORD> old[AT_ONCE];
        if (BETA != 0) UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const Result result(sums, first + i, first_m, first_n, r, q);
            if (!result.inside(g)) continue;
            if (result.whole(g)) global_load(old[i].vector, (const uint4 *)result.place(g));
            else old[i].element[0] = *result.place(g);
        }
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const Result result(sums, first + i, first_m, first_n, r, q);
            if (!result.inside(g)) continue;
            Pack<WORD> out;
            UNROLL for (int e = 0; e < WORD; e++) out.element[e] = scaled(s, result.sum[e], old[i].element[e]);
            if (result.whole(g)) global_store((uint4 *)result.place(g), out.vector);
            else *result.place(g) = out.element[0];
        }
    }
}
