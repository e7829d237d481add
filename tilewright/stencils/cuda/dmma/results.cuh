// The results of a warp: 16 bytes of a thread, which are two neighbours of a column of C, or one complex number.
#pragma once

#include "lib/guarded.cuh"

constexpr int RESULTS = LEFT_ROWS * RIGHT_COLUMNS * 4 / WORD;  // words of 16 bytes of a thread
constexpr int AT_ONCE = RESULTS % 4 ? 2 : 4;                   // that are read before the first of them is written
// Sums begin with C where nothing scales them: it is asked for at once, while the first slice comes, and not in turns behind the last one.
constexpr bool BEGINS = BETA != 0 && ALPHA_ONE, READS = BETA != 0 && !BEGINS;

// A word: where it lies behind the first one of its thread, and its sums.
struct Result {
    int m, n, row, column, which;

    INLINE Result(int number) : which(number % (4 / WORD)) {
        const int product = number / (4 / WORD);
        row = product / RIGHT_COLUMNS;
        column = product % RIGHT_COLUMNS;
        if (COMPLEX) {
            m = 16 * row + which / 2 * 8;
            n = 8 * column + which % 2;
        } else {
            // Neighbours of a column of C are two rows of the fragment, or two columns.
            m = LEFT_A ? 16 * row : 8 * column;
            n = LEFT_A ? 8 * column + which : 16 * row + (LEFT_ALONG ? 8 : 1) * which;
        }
    }

    // Real numbers of an element: of complex ones the real part, and the imaginary one.
    INLINE double &number(Sums &sums, int element, int part) const {
        return sums[part][row][column][COMPLEX ? which : LEFT_A ? 2 * element + which : 2 * which + element];
    }
    INLINE Element get(Sums &sums, int element) const {
#if COMPLEX
        return Element{number(sums, element, 0), number(sums, element, 1)};
#else
        return number(sums, element, 0);
#endif
    }
};

// Where the results of a thread are, whose warp has the part of a tile that begins at (m, n).
struct Results {
    Stored *begin;
    long long ldc;
    int rows, columns;  // from there on; of a word that is cut off the first element is in C

    INLINE Results(const Product &g, const Place &tile, int m, int n, int r, int q) : ldc(g.ldc) {
        m += tile.m + (COMPLEX ? r : 2 * (LEFT_A ? r : q));
        n += tile.n + (LEFT_A ? 2 * q : LEFT_ALONG ? r : 2 * r);
        begin = tile.c + m + n * ldc;
        rows = g.m - m;
        columns = tile.columns - n;
    }
    INLINE Stored *at(const Result &result) const { return begin + result.m + result.n * ldc; }

    // A word of a column; where columns begin at multiples of 8 bytes alone, number by number.
    INLINE void load(Pack<WORD> &word, const Result &result) const {
        const Stored *const from = at(result);
        if (result.m + WORD <= rows && result.n < columns) {
            if (LOOSE_C) UNROLL for (int e = 0; e < WORD; e++) word.element[e] = from[e];
            else global_load(word.vector, (const uint4 *)from);
        } else if (result.m < rows && result.n < columns) {
            word.element[0] = *from;
        }
    }
    INLINE void store(const Result &result, const Pack<WORD> &word) const {
        Stored *const to = at(result);
        if (result.m + WORD <= rows && result.n < columns) {
            if (LOOSE_C) UNROLL for (int e = 0; e < WORD; e++) to[e] = word.element[e];
            else global_store((uint4 *)to, word.vector);
        } else if (result.m < rows && result.n < columns) {
            *to = word.element[0];
        }
    }
};

INLINE void begin(const Product &g, const Results &results, Sums &sums) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int i = 0; i < RESULTS; i++) {
        const Result result(i);
        const double *const from = (const double *)results.at(result);
        UNROLL for (int e = 0; e < WORD; e++) {
            const bool there = result.m + e < results.rows && result.n < results.columns;
            UNROLL for (int part = 0; part < NUMBERS; part++)
                guarded_load(result.number(sums, e, part), from + e * NUMBERS + part, there);
        }
    }
    if (BETA == 2) UNROLL for (int i = 0; i < RESULTS; i++) {
        const Result result(i);
        UNROLL for (int e = 0; e < WORD; e++) {
            const Element x = scaled(s, zero(), result.get(sums, e));
#if COMPLEX
            result.number(sums, e, 0) = x.re;
            result.number(sums, e, 1) = x.im;
#else
            result.number(sums, e, 0) = x;
#endif
        }
    }
}

INLINE void store(const Product &g, const Results &results, Sums &sums) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int first = 0; first < RESULTS; first += AT_ONCE) {
        Pack<WORD> old[AT_ONCE];
        if (READS) UNROLL for (int i = 0; i < AT_ONCE; i++) results.load(old[i], Result(first + i));
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const Result result(first + i);
            Pack<WORD> out;
            UNROLL for (int e = 0; e < WORD; e++) {
                const Element sum = result.get(sums, e);
                out.element[e] = BEGINS ? sum : scaled(s, sum, old[i].element[e]);
            }
            results.store(result, out);
        }
    }
}
