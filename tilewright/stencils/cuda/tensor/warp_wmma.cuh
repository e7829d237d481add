// What a warp multiplies by wmma: its rows of a k-tile of A and its columns of one of B, all products along k.
//
// The order of numbers in a fragment of wmma is the hardware's secret, so planes are multiplied, not pairs, and the signs
// of whole fragments are flipped for conjugates.
#pragma once

#include "tensor/accumulators.cuh"

constexpr int FRAGMENT_REGISTERS = 0;  // of a prefetched fragment: none is

// A fragment with the signs of all its numbers flipped.
template <bool YES, int COUNT> INLINE void flip(unsigned int (&to)[COUNT], const unsigned int (&x)[COUNT]) {
    UNROLL for (int i = 0; i < COUNT; i++) to[i] = signs_flipped<YES ? 0x80008000u : 0u>(x[i]);
}

INLINE void multiply(Accumulators &sum, const Kept *a, const Kept *b, int, int) {
    UNROLL for (int k = 0; k < BLK_K; k += TC_K) {
        unsigned int x[PARTS][SUBS_M][WMMA_A];
        UNROLL for (int p = 0; p < PARTS; p++) UNROLL for (int i = 0; i < SUBS_M; i++)
            wmma_load_a<A_ALONG>(x[p][i], a + p * PLANE_A + (A_ALONG ? i * TC_M * PITCH_A + k : k * PITCH_A + i * TC_M), PITCH_A);
        UNROLL for (int j = 0; j < SUBS_N; j++) {
            unsigned int y[PARTS][WMMA_B];
            UNROLL for (int p = 0; p < PARTS; p++)
                wmma_load_b<B_ALONG>(y[p], b + p * PLANE_B + (B_ALONG ? j * TC_N * PITCH_B + k : k * PITCH_B + j * TC_N), PITCH_B);
#if COMPLEX
            unsigned int re[WMMA_B], im[WMMA_B], against[WMMA_B];
            flip<CONJ_A>(re, y[0]);
            flip<CONJ_B>(im, y[1]);
            flip<CONJ_A == CONJ_B>(against, y[1]);
            UNROLL for (int i = 0; i < SUBS_M; i++) {
                wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[0][i], y[0]);
                wmma_multiply<A_ALONG, B_ALONG>(sum[1][i][j], x[0][i], im);
                wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[1][i], against);
                wmma_multiply<A_ALONG, B_ALONG>(sum[1][i][j], x[1][i], re);
            }
#else
            UNROLL for (int i = 0; i < SUBS_M; i++) wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[0][i], y[0]);
#endif
        }
    }
}
