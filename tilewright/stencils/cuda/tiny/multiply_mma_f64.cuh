// The multiplier of float64 tensor cores: one tile of C by one warp, from shared memory.
#pragma once

#include "tiny/multiply_fma.cuh"
#include "tiny/fragments_f64.cuh"

// One instruction, or two: MMA rows of C from as many fragments of 8 rows.
INLINE void multiply_add_fragments(Real *c[], const Real *a, Real b) {
#if MMA == 16
    mma_16x8x4(c[0][0], c[0][1], c[1][0], c[1][1], a[0], a[1], b);
#else
    mma_8x8x4(c[0][0], c[0][1], a[0], b);
#endif
}

// Leading dimensions and out as multiply() takes them; LD_A, LD_B and LD_C say what is known of them.
template <typename LeadA, typename LeadB, typename LeadC, typename Out>
INLINE void multiply_mma(int tile, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, const Stored *c, Out out,
                         LeadC ldc, const Scalars &s) {
    constexpr int FRAGMENTS_M = ROWS / 8, FRAGMENTS_N = COLUMNS / 8, PART = MMA / 8;
    constexpr int TWO = SIZE == 8 ? 2 : 1;
    constexpr int VM = SIZE_M % TWO == 0 && EVEN_C && (TRANS_A || EVEN_A) ? TWO : 1;
    constexpr int VN = TRANS_B && SIZE_N % TWO == 0 && EVEN_B ? TWO : 1;
    // Vectors along k are not used where they would leave the last step half empty.
    constexpr int VK = (TRANS_A || !TRANS_B) && SIZE_K % TWO == 0 && (EVEN_A || !TRANS_A) && (EVEN_B || TRANS_B) &&
                               (SIZE_K % 8 == 0 || SIZE_K % 8 > 4) ? TWO : 1;
    typedef Fragments<FRAGMENTS_M, SIZE_M, TRANS_A, CONJ_A, VM, VK, LD_A> OfA;
    typedef Fragments<FRAGMENTS_N, SIZE_N, !TRANS_B, CONJ_B, VN, VK, LD_B> OfB;
    constexpr int SPAN = larger(OfA::TOGETHER, OfB::TOGETHER), DEPTH = SPAN * VK;
    constexpr int WORK = FRAGMENTS_M * FRAGMENTS_N * DEPTH * (COMPLEX ? 4 : 1), STEPS = ceiling(SIZE_K, 4 * DEPTH);
    constexpr int UNROLLED = WORK * STEPS <= 128 ? STEPS : WORK >= 64 ? 1 : smaller(STEPS, 64 / WORK);
    constexpr bool WHOLE_M = SIZE_M % ROWS == 0, WHOLE_N = SIZE_N % COLUMNS == 0;

    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    const int first_m = tile % TILES_M * ROWS, first_n = tile / TILES_M * COLUMNS;

    Element sum[FRAGMENTS_N][FRAGMENTS_M][2];
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++)
        sum[j][i][0] = sum[j][i][1] = zero();

    _Pragma("unroll UNROLLED") for (int step = 0; step < STEPS; step++) {
        Element x[DEPTH][FRAGMENTS_M], y[DEPTH][FRAGMENTS_N];
        OfA::template read<SPAN>(x, a, lda, first_m, SPAN * step);
        OfB::template read<SPAN>(y, b, ldb, first_n, SPAN * step);
        UNROLL for (int h = 0; h < DEPTH; h++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
            UNROLL for (int i = 0; i < FRAGMENTS_M; i += PART) {
#if COMPLEX
                Real re[PART], im[PART], less[PART], cr[PART][2], ci[PART][2], *to_re[PART], *to_im[PART];
                UNROLL for (int p = 0; p < PART; p++) {
                    re[p] = x[h][i + p].re;
                    im[p] = x[h][i + p].im;
                    less[p] = -im[p];
                    UNROLL for (int e = 0; e < 2; e++) {
                        cr[p][e] = sum[j][i + p][e].re;
                        ci[p][e] = sum[j][i + p][e].im;
                    }
                    to_re[p] = cr[p];
                    to_im[p] = ci[p];
                }
                multiply_add_fragments(to_re, re, y[h][j].re);
                multiply_add_fragments(to_im, re, y[h][j].im);
                multiply_add_fragments(to_re, less, y[h][j].im);
                multiply_add_fragments(to_im, im, y[h][j].re);
                UNROLL for (int p = 0; p < PART; p++) UNROLL for (int e = 0; e < 2; e++)
                    sum[j][i + p][e] = Element{cr[p][e], ci[p][e]};
#else
                Real *to[PART];
                UNROLL for (int p = 0; p < PART; p++) to[p] = sum[j][i + p];
                multiply_add_fragments(to, &x[h][i], y[h][j]);
#endif
            }
    }

    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int e = 0; e < 2; e++)
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
            const int row = first_m + OfA::line(i, r), column = first_n + OfB::line(j, 2 * q + e);
            if ((!WHOLE_M && row >= SIZE_M) || (!WHOLE_N && column >= SIZE_N)) continue;
            const int at = row + column * ldc;
            if (OfA::paired(i)) {
                Pack<VM> old, result;
                if (BETA != 0) old = load<VM>(c + at);
                UNROLL for (int f = 0; f < VM; f++)
                    result.element[f] = scaled(s, sum[j][i + f][e], BETA != 0 ? old.element[f] : zero());
                keep<VM>(out, row, column, ldc, result);
            } else if (i == 0 || !OfA::paired(i - 1)) {
                keep_one(out, row, column, ldc, scaled(s, sum[j][i][e], BETA != 0 ? c[at] : zero()));
            }
        }
}
