// The multiplier of 16-bit tensor cores for several products at a time that share an operand: all of C of SEVERAL = 8 products
// by one warp, from shared memory.
//
// What is shared is read once and stays in registers as the left factor: where it is B, the product is that of the transposes.
// The eight columns of a fragment are eight rows of one product's A, which lie next to each other, or where fewer are left,
// and of B always, one column (or row) of each of the eight products. So no column is wasted, whatever the extents are. With
// r = lane / 4 and q = lane % 4 a lane holds rows r and r + 8 of the shared operand, reads the fragment's column r, and
// holds the results of columns 2q and 2q + 1 (lib/mma.cuh).
#pragma once

#include "tiny/multiply_mma_f16.cuh"

// Where the products of a warp are: what is shared, and the other operand and the results of each. They are neighbours in a run,
// of which there may be fewer than eight: their operands are MINE elements apart, and results STEP_C.
template <int MINE> struct Neighbours {
    const Stored *shared, *first, *first_c;
    Stored *first_out;
    int count;
    // What is not there is computed of the last one's memory, and not stored.
    INLINE const Stored *mine(int o) const { return first + min(o, count - 1) * MINE; }
    INLINE const Stored *c(int o) const { return first_c + o * STEP_C; }
    INLINE Stored *out(int o) const { return first_out + o * STEP_C; }
    INLINE bool there(int o) const { return o < count; }
};

// The same of eight neighbours.
template <int MINE> struct Eight : Neighbours<MINE> {
    INLINE Eight(const Neighbours<MINE> &of) : Neighbours<MINE>(of) {}
    INLINE const Stored *mine(int o) const { return this->first + o * MINE; }
    INLINE bool there(int) const { return true; }
};

// One of eight values that a lane has in registers.
template <typename Value> INLINE Value one_of(const Value (&x)[SEVERAL], int which) {
    Value found = x[0];
    UNROLL for (int o = 1; o < SEVERAL; o++) found = which == o ? x[o] : found;
    return found;
}

// The product of a fragment's column: neighbouring lanes write results of neighbouring products, whose banks are further
// apart than those of products with other columns.
CONSTANT int stacked_product(int column) { return column % 2 * (SEVERAL / 2) + column / 2; }

// Elements k and k + NEXT of a row or column, DEPTH elements apart in memory; zero beyond the end of k.
template <int DEPTH, bool EVEN, int NEXT> INLINE unsigned int pair_at(const Stored *line, int k) {
    if (NEXT == 1 && DEPTH == 1 && EVEN) return inside(load<2>(line + min(k, (SIZE_K - 1) / 2 * 2)).words[0], k);
    const unsigned int word = pair_of(line + min(k, SIZE_K - 1) * DEPTH, line + min(k + NEXT, SIZE_K - 1) * DEPTH);
    return k + NEXT < SIZE_K ? word : k < SIZE_K ? word & 0xffff : 0;
}

// The most lines of so many registers each that divide all lines and fit in 64 registers.
CONSTANT int lines_ahead(int lines, int registers) {
    int found = 1;
    for (int count = 2; count <= lines; count++)
        if (lines % count == 0 && count * registers <= 64) found = count;
    return found;
}

// Computes C of the products. ONE_A: they share A, else B.
template <bool ONE_A, typename Where> struct MultiplyStacked {
    static constexpr int FIXED = ONE_A ? SIZE_M : SIZE_N, FREE = ONE_A ? SIZE_N : SIZE_M;
    // Elements from one row of op(A), or column of op(B), to the next, and from one k to the next.
    static constexpr int LINE_A = TRANS_A ? LD_A : 1, DEPTH_A = TRANS_A ? 1 : LD_A;
    static constexpr int LINE_B = TRANS_B ? 1 : LD_B, DEPTH_B = TRANS_B ? LD_B : 1;
    static constexpr int LINE_FIXED = ONE_A ? LINE_A : LINE_B, DEPTH_FIXED = ONE_A ? DEPTH_A : DEPTH_B;
    static constexpr int LINE_FREE = ONE_A ? LINE_B : LINE_A, DEPTH_FREE = ONE_A ? DEPTH_B : DEPTH_A;
    static constexpr bool EVEN_FIXED = ONE_A ? EVEN_A : EVEN_B, EVEN_FREE = ONE_A ? EVEN_B : EVEN_A;
    static constexpr int NEXT_FIXED = ONE_A ? 1 : LD_C, NEXT_FREE = ONE_A ? LD_C : 1;
    static constexpr int STEPS = ceiling(SIZE_K, 16), FRAGMENTS = ceiling(FIXED, 16), REGISTERS = 2 * STEPS + 4 * FRAGMENTS;
    // Which two k a register holds is free. Where they do not come by one word, neighbouring lanes read neighbours.
    static constexpr int NEXT = DEPTH_FREE == 1 && EVEN_FREE ? 1 : 4;
    static constexpr bool HALF = SIZE_K % 16 != 0 && SIZE_K % 16 <= 8;  // the last product has half the k
    // Fragments of one product, and lines that are left over for fragments of all.
    static constexpr int WHOLE = ONE_A ? 0 : FREE / 8, LEFT = FREE - 8 * WHOLE;
    // Whether the last fragment of what is shared has one row more than eight: all lanes hold it then.
    static constexpr bool ALONE = FIXED % 16 == 9;

    const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4, lane_k = NEXT == 1 ? 2 * q : q;
    const Where &of;
    const Scalars &s;
    unsigned int x[FRAGMENTS][STEPS][4];

    INLINE MultiplyStacked(const Where &of, const Scalars &s) : of(of), s(s) {
        UNROLL for (int i = 0; i < FRAGMENTS; i++) UNROLL for (int step = 0; step < STEPS; step++)
            UNROLL for (int e = 0; e < 4; e++) {
                const Stored *const line = of.shared + min(16 * i + r + e % 2 * 8, FIXED - 1) * LINE_FIXED;
                x[i][step][e] = HALF && step == STEPS - 1 && e > 1
                                    ? 0 : pair_at<DEPTH_FIXED, EVEN_FIXED, NEXT>(line, 16 * step + e / 2 * 8 + lane_k);
            }
    }

    // Reads column r of a fragment.
    INLINE void read(unsigned int (&y)[STEPS][2], const Stored *column) {
        UNROLL for (int step = 0; step < STEPS; step++) UNROLL for (int h = 0; h < 2; h++)
            y[step][h] = h && HALF && step == STEPS - 1 ? 0 : pair_at<DEPTH_FREE, EVEN_FREE, NEXT>(column, 16 * step + 8 * h + lane_k);
    }

    INLINE void multiply(float (&sum)[FRAGMENTS][4], const unsigned int (&y)[STEPS][2]) {
        UNROLL for (int i = 0; i < FRAGMENTS; i++) {
            UNROLL for (int e = 0; e < 4; e++) sum[i][e] = 0;
            UNROLL for (int step = 0; step < STEPS; step++) {
                if (HALF && step == STEPS - 1) mma_16x8x8(sum[i], x[i][step][0], x[i][step][1], y[step][0]);
                else mma_16x8x16(sum[i], x[i][step], y[step][0], y[step][1]);
            }
        }
    }

    INLINE void write(Stored *out, const Stored *c, int fixed, int line, float value, bool there) {
        const int at = fixed * NEXT_FIXED + line * NEXT_FREE;
        if (there) out[at] = narrowed(scaled(s, value, BETA != 0 ? widened(c[at]) : zero()));
    }

    // Fragments of eight lines of a product, all products ahead of the first result, which might lie where they do.
    INLINE void whole(int first) {
        constexpr int AHEAD = lines_ahead(SEVERAL, REGISTERS);
        _Pragma("unroll") for (int begin = 0; begin < SEVERAL; begin += AHEAD) {
            unsigned int y[AHEAD][STEPS][2];
            float sum[AHEAD][FRAGMENTS][4];
            UNROLL for (int o = 0; o < AHEAD; o++) read(y[o], of.mine(begin + o) + (first + r) * LINE_FREE);
            UNROLL for (int o = 0; o < AHEAD; o++) multiply(sum[o], y[o]);
            UNROLL for (int o = 0; o < AHEAD; o++) UNROLL for (int i = 0; i < FRAGMENTS; i++)
                UNROLL for (int e = 0; e < 4; e++) {
                    const int fixed = 16 * i + r + e / 2 * 8;
                    const bool last = ALONE && AHEAD == SEVERAL && i == FRAGMENTS - 1 && e > 1;
                    if (!last)
                        write(of.out(begin + o), of.c(begin + o), fixed, first + 2 * q + e % 2, sum[o][i][e],
                              fixed < FIXED && of.there(begin + o));
                }
            if (ALONE && AHEAD == SEVERAL) UNROLL for (int e = 2; e < 4; e++) {
                float all[SEVERAL];
                UNROLL for (int o = 0; o < SEVERAL; o++) all[o] = sum[o < AHEAD ? o : 0][FRAGMENTS - 1][e];
                // Lanes of row r write the last row of product r.
                write(of.out(r), of.c(r), FIXED - 1, first + 2 * q + e % 2, one_of(all, r), of.there(r));
            }
        }
    }

    // Fragments of one line of each product.
    INLINE void left(int begin) {
        constexpr int AHEAD = lines_ahead(LEFT ? LEFT : 1, REGISTERS);
        const Stored *const mine = of.mine(stacked_product(r)), *c[2];
        Stored *out[2];
        bool there[2];
        UNROLL for (int e = 0; e < 2; e++) {
            const int product = stacked_product(2 * q + e);
            out[e] = of.out(product);
            c[e] = of.c(product);
            there[e] = of.there(product);
        }
        _Pragma("unroll 1") for (int first = begin; first < FREE; first += AHEAD) {
            unsigned int y[AHEAD][STEPS][2];
            float sum[AHEAD][FRAGMENTS][4];
            UNROLL for (int line = 0; line < AHEAD; line++) read(y[line], mine + (first + line) * LINE_FREE);
            UNROLL for (int line = 0; line < AHEAD; line++) multiply(sum[line], y[line]);
            UNROLL for (int line = 0; line < AHEAD; line++) UNROLL for (int i = 0; i < FRAGMENTS; i++)
                UNROLL for (int e = 0; e < 4; e++) {
                    const int fixed = 16 * i + r + e / 2 * 8;
                    const bool last = ALONE && AHEAD >= SEVERAL && line < SEVERAL && i == FRAGMENTS - 1 && e > 1;
                    if (!last) write(out[e % 2], c[e % 2], fixed, first + line, sum[line][i][e], fixed < FIXED && there[e % 2]);
                }
            if (ALONE && AHEAD >= SEVERAL) UNROLL for (int e = 2; e < 4; e++) {
                float all[SEVERAL];
                UNROLL for (int line = 0; line < SEVERAL; line++) all[line] = sum[line < AHEAD ? line : 0][FRAGMENTS - 1][e];
                // Lanes of row r write the last row of line r.
                write(out[e % 2], c[e % 2], FIXED - 1, first + r, one_of(all, r), there[e % 2]);
            }
        }
    }

    INLINE void all() {
        _Pragma("unroll 1") for (int fragment = 0; fragment < WHOLE; fragment++) whole(8 * fragment);
        if (LEFT) left(8 * WHOLE);
    }
};
