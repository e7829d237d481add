// A part of C by one warp: fragments of both operands by ldmatrix, and the sums to where C is kept.
#pragma once

constexpr int FRAGMENTS_M = ROWS / 16, FRAGMENTS_N = COLUMNS / 8;

// Neighbours in a fragment are SPREAD columns of C apart, where B lies along k and these are an odd number: lanes that write
// results then write to different banks in most cases, also where columns of C are a whole number of all banks and one.
constexpr int SPREAD = !PAIRS && !TRANS_B && FRAGMENTS_N % 2 == 1 && FRAGMENTS_N > 1 && UNIT_C < 8 ? FRAGMENTS_N : 1;
constexpr int NEXT = SPREAD > 1 ? 1 : 8;  // columns from one fragment to the next

// Of C: fragments of 16 x 8, as mma.cuh says what a lane holds.
typedef float Sums[FRAGMENTS_M][FRAGMENTS_N][4];

// Beyond the end of k both operands are set to zero: shared memory may hold anything there, NaN included.
struct Mask {
    unsigned int word[2];  // of k 2q and 2q + 1, and of those 8 further

    INLINE Mask(int k, int lane) {
        UNROLL for (int h = 0; h < 2; h++) {
            const int left = SIZE_K - (k + 8 * h + lane % 4 * 2);
            word[h] = left > 1 ? 0xffffffff : left > 0 ? 0xffff : 0;
        }
    }
};

// Adds the products of 16 k from k on. A lane says where its row of 16 bytes of four 8 x 8 blocks begins.
template <bool LAST> INLINE void multiply_step(Sums &sum, const Stored *a, const Stored *b, int k, int lane) {
    unsigned int x[FRAGMENTS_M][4], y[FRAGMENTS_N][2];
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++)
        ldmatrix<!TRANS_A>(x[i][0], x[i][1], x[i][2], x[i][3],
                           a + (TRANS_A ? 16 * i * OperandA::LD + k : k * OperandA::LD + 16 * i));
    UNROLL for (int j = 0; j < FRAGMENTS_N; j += 2) {
        const Stored *const from = b + (TRANS_B ? k * OperandB::LD + 8 * j : NEXT * j * OperandB::LD + k);
        if (j + 1 < FRAGMENTS_N)
            ldmatrix<TRANS_B>(y[j][0], y[j][1], y[j + 1 < FRAGMENTS_N ? j + 1 : j][0], y[j + 1 < FRAGMENTS_N ? j + 1 : j][1],
                              from);
        else
            ldmatrix<TRANS_B>(y[j][0], y[j][1], from);
    }
    if (LAST && SIZE_K % 16 != 0) {
        const Mask mask(k, lane);
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int e = 0; e < 4; e++) x[i][e] &= mask.word[e / 2];
        UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int h = 0; h < 2; h++) y[j][h] &= mask.word[h];
    }
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        mma_16x8x16(sum[i][j], x[i], y[j][0], y[j][1]);
}

INLINE void multiply(Sums &sum, const Stored *a, const Stored *b, int first_m, int first_n) {
    const int lane = threadIdx.x % 32, row = lane % 8, second = lane / 8 % 2, third = lane / 16;
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        UNROLL for (int e = 0; e < 4; e++) sum[i][j][e] = 0;
    // Blocks of A come by rows first, those of B by k first.
    const int m = first_m + 8 * second, n = first_n + NEXT * third;
    a += TRANS_A ? (m + row) * OperandA::LD + 8 * third : (8 * third + row) * OperandA::LD + m;
    b += TRANS_B ? (8 * second + row) * OperandB::LD + n : (n + SPREAD * row) * OperandB::LD + 8 * second;
    // Fragments of two products at a time: the next one's are loaded while these are multiplied.
    _Pragma("unroll 2") for (int step = 0; step < PRODUCTS - 1; step++) multiply_step<false>(sum, a, b, 16 * step, lane);
    multiply_step<true>(sum, a, b, 16 * (PRODUCTS - 1), lane);
}

// Writes the results that lie in C, of so many columns, which is there already where it is read: what is read of a fragment comes first, as
// each store might change what the next load finds, for all that the compiler knows. (Two fragments at a time spilled.)
INLINE void keep(const Sums &sum, Stored *out, int first_m, int first_n, int columns, const Scalars &s) {
    const int lane = threadIdx.x % 32, row = first_m + lane / 4, column = first_n + lane % 4 * 2 * SPREAD;
    Stored *const to = out + row + column * SIZE_M;
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
        auto at = [&](int e) { return 16 * i + e / 2 * 8 + (NEXT * j + e % 2 * SPREAD) * SIZE_M; };
        auto inside = [&](int e) {
            return (SIZE_M % ROWS == 0 || row + 16 * i + e / 2 * 8 < SIZE_M) &&
                   ((TILE_N % COLUMNS == 0 && LAST_N == TILE_N) || column + NEXT * j + e % 2 * SPREAD < columns);
        };
        Element old[4];
        if (BETA != 0) UNROLL for (int e = 0; e < 4; e++) if (inside(e)) old[e] = widened(to[at(e)]);
        UNROLL for (int e = 0; e < 4; e++)
            if (inside(e)) to[at(e)] = narrowed(scaled(s, sum[i][j][e], BETA != 0 ? old[e] : zero()));
    }
}

// The same where columns of C begin with a word of 16 bytes, by whole words: those outside of C go behind it.
INLINE void keep_words(const Sums &sum, Stored *out, int first_m, int first_n, int columns, const Scalars &s) {
    const int lane = threadIdx.x % 32, block = lane / 8;
    Stored *const outside = (Stored *)(shared_memory + AT_C + BYTES_C) + lane * WORD;
    UNROLL for (int j = 0; j < FRAGMENTS_N; j += 2) UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
        const bool two = j + 1 < FRAGMENTS_N;
        const int row = first_m + 16 * i + block % 2 * 8, column = first_n + 8 * j + (two ? block / 2 * 8 : 0) + lane % 8;
        Stored *const at = row < SIZE_M && column < columns ? out + row + column * LD_C : outside;
        unsigned int old[4] = {}, x[4];
        if (BETA != 0) {
            if (two) ldmatrix<true>(old[0], old[1], old[2], old[3], at);
            else ldmatrix<true>(old[0], old[1], at);
        }
        UNROLL for (int e = 0; e < (two ? 4 : 2); e++) {
            const float *const pair = &sum[i][j + (two ? e / 2 : 0)][e % 2 * 2];
            x[e] = halves_of(scaled(s, pair[0], real_of((Half)old[e])), scaled(s, pair[1], real_of((Half)(old[e] >> 16))));
        }
        if (two) stmatrix_transposed(x[0], x[1], x[2], x[3], at);
        else stmatrix_transposed(x[0], x[1], at);
    }
}
