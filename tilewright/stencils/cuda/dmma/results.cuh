// The results of a warp: 16 bytes of a thread, which are two neighbours of a column of C, or one complex number.
#pragma once

constexpr int RESULTS = LEFT_ROWS * RIGHT_COLUMNS * 4 / WORD;  // words of 16 bytes of a thread
constexpr int AT_ONCE = RESULTS % 4 ? 2 : 4;                   // that are read before the first of them is written

// A word: where it lies behind the first one of its thread, and its sums.
struct Result {
    int m, n;
    Element sum[WORD];

    INLINE Result(const Sums &sums, int number) {
        const int product = number / (4 / WORD), which = number % (4 / WORD);
        const int row = product / RIGHT_COLUMNS, column = product % RIGHT_COLUMNS;
        const double *const x = sums[0][row][column];
#if COMPLEX
        m = 16 * row + which / 2 * 8;
        n = 8 * column + which % 2;
        sum[0] = Element{x[which], sums[1][row][column][which]};
#else
        // Neighbours of a column of C are two rows of the fragment, or two columns.
        m = LEFT_A ? 16 * row : 8 * column;
        n = LEFT_A ? 8 * column + which : 16 * row + (LEFT_ALONG ? 8 : 1) * which;
        sum[0] = x[LEFT_A ? which : 2 * which];
        sum[1] = x[LEFT_A ? 2 + which : 2 * which + 1];
#endif
    }
};

// A word of a column; where columns begin at multiples of 8 bytes alone, number by number.
INLINE void load_word(Pack<WORD> &word, const Stored *from) {
    if (LOOSE_C) UNROLL for (int e = 0; e < WORD; e++) word.element[e] = from[e];
    else global_load(word.vector, (const uint4 *)from);
}
INLINE void store_word(Stored *to, const Pack<WORD> &word) {
    if (LOOSE_C) UNROLL for (int e = 0; e < WORD; e++) to[e] = word.element[e];
    else global_store((uint4 *)to, word.vector);
}

// The warp's part of C begins at (m, n).
INLINE void store(const Product &g, const Sums &sums, int m, int n, int r, int q) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    m += COMPLEX ? r : 2 * (LEFT_A ? r : q);
    n += LEFT_A ? 2 * q : LEFT_ALONG ? r : 2 * r;
    Stored *const begin = g.c + m + n * g.ldc;
    const int rows = g.m - m, columns = g.n - n;  // from there on; of a word that is cut off the first element is in C
    UNROLL for (int first = 0; first < RESULTS; first += AT_ONCE) {
        Pack<WORD> old[AT_ONCE];
        if (BETA != 0) UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const Result at(sums, first + i);
            const Stored *const from = begin + at.m + at.n * g.ldc;
            if (at.m + WORD <= rows && at.n < columns) load_word(old[i], from);
            else if (at.m < rows && at.n < columns) old[i].element[0] = *from;
        }
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const Result result(sums, first + i);
            Pack<WORD> out;
            UNROLL for (int e = 0; e < WORD; e++) out.element[e] = scaled(s, result.sum[e], old[i].element[e]);
            Stored *const to = begin + result.m + result.n * g.ldc;
            if (result.m + WORD <= rows && result.n < columns) store_word(to, out);
            else if (result.m < rows && result.n < columns) *to = out.element[0];
        }
    }
}
