// The same of complex numbers: the products of A with the real and with the imaginary parts of B, put together in registers.
//
// Along k a fragment of B has pairs (re, im) in its registers: two of them make one of real parts and one of imaginary parts,
// of k t, t + 4, t + 8 and t + 12 in lane t. Columns of A are read in that order.
#pragma once

// Beyond the end of k both operands are set to zero.
struct PairMask {
    unsigned int word[2];

    INLINE PairMask(int k, int lane) {
        UNROLL for (int h = 0; h < 2; h++) {
            const int left = SIZE_K - (k + 8 * h + lane % 4);
            word[h] = (left > 0 ? 0xffff : 0) | (left > 4 ? 0xffff0000 : 0);
        }
    }
};

template <bool LAST> INLINE void multiply_pairs_step(Sums &real, Sums &other, const Stored *a, const Stored *b, int k, int lane) {
    unsigned int x[FRAGMENTS_M][4];
    const PairMask mask(k, lane);
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
        ldmatrix<true>(x[i][0], x[i][1], x[i][2], x[i][3], a + k * OperandA::LD + 16 * i);
        if (LAST && SIZE_K % 16 != 0) UNROLL for (int e = 0; e < 4; e++) x[i][e] &= mask.word[e / 2];
    }
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) {
        unsigned int y[4], re[2], im[2];
        ldmatrix<false>(y[0], y[1], y[2], y[3], b + 8 * j * OperandB::LD + 2 * k);
        UNROLL for (int h = 0; h < 2; h++) {
            re[h] = __byte_perm(y[2 * h], y[2 * h + 1], 0x5410);
            im[h] = __byte_perm(y[2 * h], y[2 * h + 1], 0x7632);
            if (LAST && SIZE_K % 16 != 0) {
                re[h] &= mask.word[h];
                im[h] &= mask.word[h];
            }
        }
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
            mma_16x8x16(real[i][j], x[i], re[0], re[1]);
            mma_16x8x16(other[i][j], x[i], im[0], im[1]);
        }
    }
}

// Adds i times `other`: the other row of a pair is four lanes further on or back.
INLINE float plus_i_times(float value, float other, int lane) {
    const float swapped = __shfl_xor_sync(0xffffffff, other, 4);
    return lane & 4 ? value + swapped : value - swapped;
}

INLINE void multiply_pairs(Sums &sum, const Stored *a, const Stored *b, int first_m, int first_n, const double *alpha) {
    const int lane = threadIdx.x % 32, row = lane % 8, second = lane / 8 % 2, third = lane / 16;
    Sums other;
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        UNROLL for (int e = 0; e < 4; e++) sum[i][j][e] = other[i][j][e] = 0;
    a += (8 * third + row % 2 * 4 + row / 2) * OperandA::LD + first_m + 8 * second;
    b += (first_n + row) * OperandB::LD + 8 * (lane / 8);
    _Pragma("unroll 1") for (int step = 0; step < PRODUCTS - 1; step++)
        multiply_pairs_step<false>(sum, other, a, b, 16 * step, lane);
    multiply_pairs_step<true>(sum, other, a, b, 16 * (PRODUCTS - 1), lane);
    UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int e = 0; e < 4; e++) {
        float &value = sum[i][j][e];
        value = plus_i_times(value, other[i][j][e], lane);
        if (!ALPHA_ONE) value = plus_i_times(value * (float)alpha[0], value * (float)alpha[1], lane);
    }
}
