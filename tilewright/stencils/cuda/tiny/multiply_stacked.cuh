// The multiplier of 16-bit tensor cores for several products at a time that share an operand: all of C of SEVERAL = 8 products
// by one warp, from shared memory.
//
// The eight columns of a fragment are one column (or row) of each of the eight products, so that none of them are wasted and
// none are cut, whatever the extents are. What is shared is read once and stays in registers as the other factor: where it is
// B, the product is that of the transposes. With r = lane / 4 and q = lane % 4 a lane holds rows r and r + 8 of the shared
// operand, reads one product's column, and holds the results of two others (lib/mma.cuh).
#pragma once

#include "tiny/multiply_mma_f16.cuh"

// Where the products of a lane are: what is shared, the operand of the product that it reads, and the two whose results it has.
struct Stacked {
    const Stored *shared, *mine, *c[2];
    Stored *out[2];
    bool there[2];
};

// The product of a fragment's column: neighbouring lanes write results of neighbouring products, whose banks are further
// apart than those of products with other columns.
INLINE int stacked_product(int column) { return column % 2 * (SEVERAL / 2) + column / 2; }

// Elements k and k + 1 of a row or column, DEPTH elements apart in memory.
template <int DEPTH, bool EVEN> INLINE unsigned int pair_at(const Stored *line, int k) {
    const int at = min(k, (SIZE_K - 1) / 2 * 2);
    const Stored *const from = line + at * DEPTH;
    return inside(DEPTH == 1 && EVEN ? load<2>(from).words[0] : pair_of(from, line + min(at + 1, SIZE_K - 1) * DEPTH), k);
}

// The most lines of so many registers each that divide all lines and fit in 64 registers.
CONSTANT int lines_ahead(int lines, int registers) {
    int found = 1;
    for (int count = 2; count <= lines; count++)
        if (lines % count == 0 && count * registers <= 64) found = count;
    return found;
}

// Computes C of the products. ONE_A: they share A, else B.
template <bool ONE_A> INLINE void multiply_stacked(const Stacked &of, const Scalars &s) {
    constexpr int FIXED = ONE_A ? SIZE_M : SIZE_N, FREE = ONE_A ? SIZE_N : SIZE_M;
    // Elements from one row of op(A), or column of op(B), to the next, and from one k to the next.
    constexpr int LINE_A = TRANS_A ? LD_A : 1, DEPTH_A = TRANS_A ? 1 : LD_A, LINE_B = TRANS_B ? 1 : LD_B, DEPTH_B = TRANS_B ? LD_B : 1;
    constexpr int LINE_FIXED = ONE_A ? LINE_A : LINE_B, DEPTH_FIXED = ONE_A ? DEPTH_A : DEPTH_B;
    constexpr int LINE_FREE = ONE_A ? LINE_B : LINE_A, DEPTH_FREE = ONE_A ? DEPTH_B : DEPTH_A;
    constexpr bool EVEN_FIXED = ONE_A ? EVEN_A : EVEN_B, EVEN_FREE = ONE_A ? EVEN_B : EVEN_A;
    constexpr int NEXT_FIXED = ONE_A ? 1 : LD_C, NEXT_FREE = ONE_A ? LD_C : 1;
    constexpr int STEPS = ceiling(SIZE_K, 16), FRAGMENTS = ceiling(FIXED, 16), WORK = STEPS * FRAGMENTS;
    constexpr bool HALF = SIZE_K % 16 != 0 && SIZE_K % 16 <= 8;  // the last product has half the k
    // Lines whose operands are read before the first result is written, which might lie where they do.
    constexpr int AHEAD = lines_ahead(FREE, 2 * STEPS + 4 * FRAGMENTS);
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;

    unsigned int x[FRAGMENTS][STEPS][4];
    UNROLL for (int i = 0; i < FRAGMENTS; i++) UNROLL for (int step = 0; step < STEPS; step++) UNROLL for (int e = 0; e < 4; e++) {
        const Stored *const line = of.shared + min(16 * i + r + e % 2 * 8, FIXED - 1) * LINE_FIXED;
        x[i][step][e] = HALF && step == STEPS - 1 && e > 1
                            ? 0 : pair_at<DEPTH_FIXED, EVEN_FIXED>(line, 16 * step + e / 2 * 8 + 2 * q);
    }
    _Pragma("unroll 1") for (int first = 0; first < FREE; first += AHEAD) {
        unsigned int y[AHEAD][STEPS][2];
        UNROLL for (int line = 0; line < AHEAD; line++) UNROLL for (int step = 0; step < STEPS; step++) UNROLL for (int h = 0; h < 2; h++)
            y[line][step][h] = h && HALF && step == STEPS - 1
                                   ? 0 : pair_at<DEPTH_FREE, EVEN_FREE>(of.mine + (first + line) * LINE_FREE, 16 * step + 8 * h + 2 * q);
        float sum[AHEAD][FRAGMENTS][4];
        UNROLL for (int line = 0; line < AHEAD; line++) UNROLL for (int i = 0; i < FRAGMENTS; i++) {
            UNROLL for (int e = 0; e < 4; e++) sum[line][i][e] = 0;
            UNROLL for (int step = 0; step < STEPS; step++) {
                if (HALF && step == STEPS - 1) mma_16x8x8(sum[line][i], x[i][step][0], x[i][step][1], y[line][step][0]);
                else mma_16x8x16(sum[line][i], x[i][step], y[line][step][0], y[line][step][1]);
            }
        }
        UNROLL for (int line = 0; line < AHEAD; line++) UNROLL for (int i = 0; i < FRAGMENTS; i++) UNROLL for (int e = 0; e < 4; e++) {
            const int fixed = 16 * i + r + e / 2 * 8, at = fixed * NEXT_FIXED + (first + line) * NEXT_FREE;
            if (fixed < FIXED && of.there[e % 2])
                of.out[e % 2][at] = narrowed(scaled(s, sum[line][i][e], BETA != 0 ? widened(of.c[e % 2][at]) : zero()));
        }
    }
}
