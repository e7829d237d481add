// The multiplier of 16-bit tensor cores: one tile of C by one warp, from shared memory.
#pragma once

#include "tiny/multiply_fma.cuh"

// A register (a word of 32 bits) of an operand holds two k of a row or column: two numbers, or one complex number, whose
// product is then a real one of twice the k. With r = lane / 4 and q = lane % 4, a lane holds rows r and r + 8 of a
// fragment of A, column r of one of B, two words of each; of C, columns 2q and 2q + 1. Which rows, columns and k these
// are is free as long as all agree, and decides which banks of shared memory are read at once:
//   k         RUN words of a lane are neighbours; where they are so in memory (WIDE), one vector brings them
//   rows      PAIR_M: rows 2r and 2r + 1, one word of a column of A or C (two words of complex numbers)
//   columns   PAIR_N: columns 2r and 2r + 1 of two fragments, where B is stored n x k; else neighbours in a
//             fragment are SPREAD columns apart
// Lanes with q > 1 exchange the order of two loads or stores (flip) where all would read the same banks.
constexpr int UNIT_K = COMPLEX ? 1 : 2;  // k of a word
constexpr int SPAN = 8 * UNIT_K;          // k of a product
constexpr int PRODUCTS = ceiling(SIZE_K, SPAN);
constexpr int FRAGMENTS_M = ROWS / 16, FRAGMENTS_N = COLUMNS / 8;
constexpr bool PAIR_M = EVEN_C && (TRANS_A || EVEN_A);
constexpr bool PAIR_N = TRANS_B && EVEN_B && FRAGMENTS_N % 2 == 0;

// Words along k that divide a stored column and begin at multiples of themselves.
CONSTANT int deep(int ld, int step) {
    return ld % (16 * UNIT_K) == 0 && step % (16 * UNIT_K) == 0 && SIZE_K % (16 * UNIT_K) == 0 ? 4
           : ld % (8 * UNIT_K) == 0 && step % (8 * UNIT_K) == 0 && SIZE_K % (8 * UNIT_K) == 0  ? 2
                                                                                               : 1;
}
CONSTANT bool crowded(int ld) { return COMPLEX ? ld % 8 == 0 && ld % 32 : ld % 16 == 0 && ld % 64; }

// The bank conflicts of one load: how many different words one bank serves, where lanes begin at q * per_q + r * per_r
// elements.
CONSTANT int conflicts(int per_q, int per_r) {
    int most = 0;
    for (int bank = 0; bank < 32; bank++) {
        int count = 0;
        for (int lane = 0; lane < 32; lane++) {
            const int word = (lane % 4 * per_q + lane / 4 * per_r) * SIZE / 4;
            bool fresh = word % 32 == bank;
            for (int before = 0; before < lane && fresh; before++)
                fresh = (before % 4 * per_q + before / 4 * per_r) * SIZE / 4 != word;
            count += fresh;
        }
        most = count > most ? count : most;
    }
    return most;
}
// The first k of word h that a lane holds for a product.
CONSTANT int k_of(int run, int product, int h, int q) {
    return UNIT_K * (run == 1   ? 8 * product + 4 * h + q
                     : run == 2 ? 8 * product + 2 * q + h
                                : 16 * (product / 2) + 4 * q + 2 * (product % 2) + h);
}
// The same for all loads and stores of a tile, with runs of so many words and columns so far apart. A word that only some
// lanes have costs about two conflicts more.
CONSTANT int all_conflicts(int run, int spread) {
    const int k = run * UNIT_K, words = 2 * PRODUCTS - (run == 1 && SIZE_K % SPAN && SIZE_K % SPAN <= SPAN / 2);
    int ragged = 0;
    for (int word = 0; word < words; word++) ragged += k_of(run, word / 2, word % 2, 3) + UNIT_K > SIZE_K;
    const int rows = PAIR_M ? 2 : 1;
    const int a = TRANS_A ? conflicts(k, LD_A * rows) : conflicts(k * LD_A, rows);
    const int b = TRANS_B ? conflicts(k * LD_B, spread) : conflicts(k, LD_B * spread);
    return words * (2 * FRAGMENTS_M * a + FRAGMENTS_N * b) + ragged * (2 * FRAGMENTS_M + FRAGMENTS_N) * 2 +
           (BETA ? 2 : 1) * 4 * FRAGMENTS_M * FRAGMENTS_N * conflicts(2 * spread * LD_C, rows);
}
CONSTANT int best_run() {
    int best = 1, least = all_conflicts(1, 1);
    for (int run = 1; run <= (PRODUCTS % 2 ? 2 : 4); run *= 2)
        for (int spread = 1; spread <= FRAGMENTS_N; spread += FRAGMENTS_N > 1 ? FRAGMENTS_N - 1 : 1)
            if (all_conflicts(run, spread) < least) {
                least = all_conflicts(run, spread);
                best = run;
            }
    return best;
}

constexpr int WIDE = TRANS_A && !TRANS_B ? smaller(deep(LD_A, APART_A), deep(LD_B, APART_B))
                     : TRANS_A           ? deep(LD_A, APART_A)
                     : !TRANS_B          ? deep(LD_B, APART_B)
                                         : COMPLEX && SIZE_K % 8 == 0 ? 2 : 1;
constexpr int RUN = WIDE > 1 ? WIDE : best_run();
constexpr int SPREAD = !PAIR_N && FRAGMENTS_N > 1 && all_conflicts(RUN, FRAGMENTS_N) < all_conflicts(RUN, 1) ? FRAGMENTS_N : 1;
constexpr int TOGETHER = RUN == 4 ? 2 : 1;  // products whose operands come together
constexpr bool LAST_HALF = RUN == 1 && SIZE_K % SPAN != 0 && SIZE_K % SPAN <= SPAN / 2;  // the last product has half the k

// Beyond the end of k both operands are set to zero: memory may hold anything there, NaN included.
INLINE unsigned int inside(unsigned int word, int k) {
    if (SIZE_K % SPAN == 0) return word;
    if (COMPLEX) return k < SIZE_K ? word : 0;
    return k + 1 < SIZE_K ? word : k < SIZE_K ? word & 0xffff : 0;
}

INLINE unsigned int pair_of(const Stored *low, const Stored *high) {
    return *(const unsigned short *)low | (unsigned int)*(const unsigned short *)high << 16;
}

// The words of a lane along a stored column, for the TOGETHER products from product on.
template <bool EVEN> INLINE void along_k(unsigned int (&words)[TOGETHER][2], const Stored *column, int product, int q, bool half) {
    if (WIDE > 1) {
        const Pack<WIDE * UNIT_K> piece = load<WIDE * UNIT_K>(column + k_of(RUN, product, 0, q));
        UNROLL for (int s = 0; s < TOGETHER; s++) UNROLL for (int h = 0; h < 2; h++)
            words[s][h] = piece.words[WIDE > 1 ? 2 * s + h : 0];
    } else UNROLL for (int s = 0; s < TOGETHER; s++) UNROLL for (int h = 0; h < 2; h++) {
        words[s][h] = 0;
        if (h == 1 && half) continue;
        const int k = k_of(RUN, product + s, h, q), at = min(k, (SIZE_K - 1) / UNIT_K * UNIT_K);
        const Stored *const from = column + at;
        words[s][h] = inside(COMPLEX || EVEN ? load<UNIT_K>(from).words[0]
                                             : pair_of(from, column + min(at + 1, SIZE_K - 1)), k);
    }
}

// A row or column of the matrix, the last one for those outside, which are not stored; parts have EACH.
template <int FREE, int EACH> INLINE int inside_of(int f) { return FREE % EACH == 0 ? f : min(f, FREE - 1); }

// The words of a lane at two rows (columns) f and g that are neighbours if PAIRED, across stored columns. Parts have EACH rows.
template <int FREE, int EACH, bool PAIRED, typename Lead>
INLINE void across_k(unsigned int &at_f, unsigned int &at_g, const Stored *x, Lead ld, int f, int g, int k, int flip) {
    // Outside the matrix any row or column will do: none is stored. Where parts divide it there are none, and the places of all
    // rows are numbers that instructions hold.
    if (FREE % EACH != 0) {
        f = min(f, PAIRED ? (FREE - 1) / 2 * 2 : FREE - 1);
        g = min(g, FREE - 1);
    }
    const Stored *const first = x + min(k + flip, SIZE_K - 1) * ld;
#if COMPLEX
    if (PAIRED) {
        const Pack<2> both = load<2>(first + f);
        at_f = both.words[0];
        at_g = both.words[1];
    } else {
        at_f = load<1>(first + f).words[0];
        at_g = load<1>(first + g).words[0];
    }
#else
    const Stored *const second = x + min(k + 1 - flip, SIZE_K - 1) * ld;
    if (PAIRED) {
        const unsigned int w0 = load<2>(first + f).words[0], w1 = load<2>(second + f).words[0];
        at_f = __byte_perm(w0, w1, flip ? 0x1054 : 0x5410);
        at_g = __byte_perm(w0, w1, flip ? 0x3276 : 0x7632);
    } else {
        at_f = pair_of(first + f, second + f);
        at_g = pair_of(first + g, second + g);
    }
#endif
    at_f = inside(at_f, k);
    at_g = inside(at_g, k);
}

// The same for both words of each of the TOGETHER products.
template <int LD, int FREE, int EACH, bool PAIRED, typename Lead>
INLINE void across(unsigned int (&at_f)[TOGETHER][2], unsigned int (&at_g)[TOGETHER][2], const Stored *x, Lead ld, int f,
                   int g, int product, int q, bool half) {
    const int flip = crowded(LD) && PAIRED ? q / 2 : 0;
    UNROLL for (int s = 0; s < TOGETHER; s++) {
        at_f[s][1] = at_g[s][1] = 0;
        if (COMPLEX && crowded(LD) && PAIRED && RUN > 1) {
            across_k<FREE, EACH, PAIRED>(at_f[s][0], at_g[s][0], x, ld, f, g, k_of(RUN, product + s, 0, q) + flip, 0);
            across_k<FREE, EACH, PAIRED>(at_f[s][1], at_g[s][1], x, ld, f, g, k_of(RUN, product + s, 1, q) - flip, 0);
            const unsigned int f0 = at_f[s][0], g0 = at_g[s][0];
            at_f[s][0] = flip ? at_f[s][1] : f0;
            at_f[s][1] = flip ? f0 : at_f[s][1];
            at_g[s][0] = flip ? at_g[s][1] : g0;
            at_g[s][1] = flip ? g0 : at_g[s][1];
        } else {
            across_k<FREE, EACH, PAIRED>(at_f[s][0], at_g[s][0], x, ld, f, g, k_of(RUN, product + s, 0, q), COMPLEX ? 0 : flip);
            if (!half)
                across_k<FREE, EACH, PAIRED>(at_f[s][1], at_g[s][1], x, ld, f, g, k_of(RUN, product + s, 1, q), COMPLEX ? 0 : flip);
        }
    }
}

// Rows and columns of C, in a part that begins at `first`, that a lane has of a fragment.
INLINE int row_of(int first, int i, int e) {
    const int r = threadIdx.x % 32 / 4;
    return first + 16 * i + (PAIR_M ? 2 * r + e : r + 8 * e);
}
INLINE int column_of(int first, int j, int x) {
    return first + (PAIR_N ? 16 * (j / 2) + 2 * x + j % 2 : SPREAD > 1 ? SPREAD * x + j : 8 * j + x);
}

// Fragments of A and of B for the TOGETHER products of a step: words of rows 2 i and 2 i + 1, and of columns.
typedef unsigned int RowWords[2 * FRAGMENTS_M][TOGETHER][2];
typedef unsigned int ColumnWords[FRAGMENTS_N][TOGETHER][2];
constexpr int MMA_STEPS = ceiling(PRODUCTS, TOGETHER), MMA_PARTS = COMPLEX ? 2 : 1;
INLINE bool half_of(int step) { return LAST_HALF && step == MMA_STEPS - 1; }

template <typename Lead> INLINE void load_rows(RowWords &x, const Stored *a, Lead lda, int first, int step) {
    const int q = threadIdx.x % 4, product = step * TOGETHER;
    const bool half = half_of(step);
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
#if TRANS_A
        UNROLL for (int e = 0; e < 2; e++)
            along_k<EVEN_A>(x[2 * i + e], a + inside_of<SIZE_M, ROWS>(row_of(first, i, e)) * lda, product, q, half);
#else
        across<LD_A, SIZE_M, ROWS, PAIR_M>(x[2 * i], x[2 * i + 1], a, lda, row_of(first, i, 0), row_of(first, i, 1), product, q, half);
#endif
    }
}

template <typename Lead> INLINE void load_columns(ColumnWords &y, const Stored *b, Lead ldb, int first, int step) {
    const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4, product = step * TOGETHER;
    const bool half = half_of(step);
#if TRANS_B
    UNROLL for (int j = 0; j < FRAGMENTS_N; j += 2) {
        unsigned int none[TOGETHER][2];
        // An odd last fragment has no partner: its words are read twice, which the compiler sees.
        const int with = j + 1 < FRAGMENTS_N ? j + 1 : j;
        across<LD_B, SIZE_N, COLUMNS, PAIR_N>(y[j], j + 1 < FRAGMENTS_N ? y[with] : none, b, ldb, column_of(first, j, r),
                                     column_of(first, with, r), product, q, half);
    }
#else
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        along_k<EVEN_B>(y[j], b + inside_of<SIZE_N, COLUMNS>(column_of(first, j, r)) * ldb, product, q, half);
#endif
}

typedef float Sums[MMA_PARTS][FRAGMENTS_N][FRAGMENTS_M][4];
INLINE void clear(Sums &sum) {
    UNROLL for (int p = 0; p < MMA_PARTS; p++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int e = 0; e < 4; e++) sum[p][j][i][e] = 0;
}

INLINE void add_step(Sums &sum, const RowWords &x, const ColumnWords &y, bool half) {
    UNROLL for (int t = 0; t < TOGETHER; t++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
        unsigned int w[4] = {x[2 * i][t][0], x[2 * i + 1][t][0], x[2 * i][t][1], x[2 * i + 1][t][1]};
        if (CONJ_A) UNROLL for (int e = 0; e < 4; e++) w[e] ^= 0x80000000u;
        UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int p = 0; p < MMA_PARTS; p++) {
            unsigned int v[2] = {y[j][t][0], y[j][t][1]};
            // (re, im) times (re, -im) is the real part, times (im, re) the imaginary one.
            if (COMPLEX) UNROLL for (int h = 0; h < 2; h++)
                v[h] = p == 0 ? v[h] ^ (CONJ_B ? 0 : 0x80000000u) : __byte_perm(v[h], 0, 0x1032) ^ (CONJ_B ? 0x8000u : 0);
            if (half) mma_16x8x8(sum[p][j][i], w[0], w[1], v[0]);
            else mma_16x8x16(sum[p][j][i], w, v[0], v[1]);
        }
    }
}

// Where a lane's sums of a fragment go: two columns, of rows that are PAIRED or 8 apart.
struct Destination {
    int row, other, column;  // the second row, too
    INLINE Destination(int first_m, int first_n, int i, int j, int order) {
        row = row_of(first_m, i, 0);
        other = row_of(first_m, i, 1);
        column = column_of(first_n, j, 2 * (threadIdx.x % 4) + order);
    }
    INLINE bool in_column() const { return SIZE_N % COLUMNS == 0 || column < SIZE_N; }
    static INLINE bool in_row(int row) { return SIZE_M % ROWS == 0 || row < SIZE_M; }
};

// Writes the sums of a part that begins at this row and column of C. Leading dimensions and out as multiply() takes them.
//
// What is read of C comes first, of TOGETHER_C fragments: for all that the compiler knows a store changes what the next load finds, so that
// each would wait for the one before. And nothing branches: lanes outside of C neither load nor store.
template <typename LeadC, typename Out>
INLINE void keep_sums(const Sums &sum, int first_m, int first_n, const Stored *c, Out out, LeadC ldc, const Scalars &s) {
    constexpr int FRAGMENTS = FRAGMENTS_M * FRAGMENTS_N;
    // Registers beside the sums and some 40 others: each of four schedulers has 512 for a lane of all its warps.
    constexpr int ROOM_C = 512 / ceiling(THREADS / 32 * BLOCKS, 4) - 4 * FRAGMENTS * MMA_PARTS - 40;
    constexpr int TOGETHER_C = smaller(FRAGMENTS, smaller(4, larger(1, ROOM_C / (8 * MMA_PARTS))));
    const int flip = crowded(LD_C) && PAIR_M ? threadIdx.x % 4 / 2 : 0;
    UNROLL for (int f = 0; f < FRAGMENTS; f += TOGETHER_C) {
        Element old[TOGETHER_C][2][2];
        if (BETA != 0)
            UNROLL for (int t = 0; t < TOGETHER_C && f + t < FRAGMENTS; t++) UNROLL for (int order = 0; order < 2; order++) {
                const Destination at(first_m, first_n, (f + t) % FRAGMENTS_M, (f + t) / FRAGMENTS_M, order ^ flip);
                const Stored *const from = c + at.column * ldc;
                if (!at.in_column()) continue;
                if (PAIR_M) {
                    if (!at.in_row(at.row)) continue;
                    const Pack<2> both = load<2>(from + at.row);
                    UNROLL for (int e = 0; e < 2; e++) old[t][order][e] = widened(both.element[e]);
                } else {
                    if (at.in_row(at.row)) old[t][order][0] = widened(from[at.row]);
                    if (at.in_row(at.other)) old[t][order][1] = widened(from[at.other]);
                }
            }
        UNROLL for (int t = 0; t < TOGETHER_C && f + t < FRAGMENTS; t++) UNROLL for (int order = 0; order < 2; order++) {
            const int i = (f + t) % FRAGMENTS_M, j = (f + t) / FRAGMENTS_M;
            const Destination at(first_m, first_n, i, j, order ^ flip);
            Element value[2];
            UNROLL for (int e = 0; e < 2; e++) {
                float part[MMA_PARTS];
                UNROLL for (int p = 0; p < MMA_PARTS; p++)
                    part[p] = flip ? sum[p][j][i][2 * e + 1 - order] : sum[p][j][i][2 * e + order];
#if COMPLEX
                value[e] = Element{part[0], part[1]};
#else
                value[e] = part[0];
#endif
                value[e] = scaled(s, value[e], BETA != 0 ? old[t][order][e] : zero());
            }
            if (!at.in_column()) continue;
            if (PAIR_M) {
                if (at.in_row(at.row)) keep<2>(out, at.row, at.column, ldc, packed(value));
            } else {
                if (at.in_row(at.row)) keep_one(out, at.row, at.column, ldc, narrowed(value[0]));
                if (at.in_row(at.other)) keep_one(out, at.other, at.column, ldc, narrowed(value[1]));
            }
        }
    }
}

// Leading dimensions and out as multiply() takes them; LD_A, LD_B and LD_C say what is known of them.
template <typename LeadA, typename LeadB, typename LeadC, typename Out>
INLINE void multiply_mma(int tile, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, const Stored *c, Out out,
                         LeadC ldc, const Scalars &s) {
    constexpr int WORK = FRAGMENTS_M * FRAGMENTS_N * TOGETHER * MMA_PARTS;
    constexpr int UNROLLED = WORK * MMA_STEPS <= 128 ? MMA_STEPS : WORK >= 64 ? 1 : smaller(MMA_STEPS, 64 / WORK);
    const int first_m = tile % TILES_M * ROWS, first_n = tile / TILES_M * COLUMNS;
    Sums sum;
    clear(sum);
    _Pragma("unroll UNROLLED") for (int step = 0; step < MMA_STEPS; step++) {
        RowWords x;
        ColumnWords y;
        load_rows(x, a, lda, first_m, step);
        load_columns(y, b, ldb, first_n, step);
        add_step(sum, x, y, half_of(step));
    }
    keep_sums(sum, first_m, first_n, c, out, ldc, s);
}
