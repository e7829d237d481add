// The multiplier of float64 tensor cores: a part of C in the registers of each warp, as fragments of 8 x 8.
#pragma once

struct Sums {
    static constexpr int HIGH = ROWS / 8, WIDE = COLUMNS / 8, WORK = HIGH * WIDE * (COMPLEX ? 4 : 1), UNROLLED = WORK <= 4 ? 4 : WORK <= 16 ? 2 : 1;

    Element sum[WIDE][HIGH][2];
    int first_m, first_n;  // of this warp's part

    INLINE Sums() {
        const int part = threadIdx.x / 32 % TEAM;
        first_m = part % ACROSS_M * ROWS;
        first_n = part / ACROSS_M * COLUMNS;
    }
    INLINE void clear() {
        UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < HIGH; i++) sum[j][i][0] = sum[j][i][1] = zero();
    }

    static INLINE void product(Real *const c[], const Real *a, Real b) {
#if MMA == 16
        mma_16x8x4(c[0][0], c[0][1], c[1][0], c[1][1], a[0], a[1], b);
#else
        mma_8x8x4(c[0][0], c[0][1], a[0], b);
#endif
    }

    template <typename LeadA, typename LeadB>
    INLINE void add(int group, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, int count) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        int k = group * 4;
        _Pragma("unroll UNROLLED") for (; k + 4 <= count; k += GROUPS * 4) step<true>(a, lda, b, ldb, r, k + q, count);
        if (k < count) step<false>(a, lda, b, ldb, r, k + q, count);
    }

    // Beyond the end of k both operands are zero: memory may hold anything there, NaN included.
    template <bool WHOLE, typename LeadA, typename LeadB>
    INLINE void step(const Stored *a, LeadA lda, const Stored *b, LeadB ldb, int r, int k, int count) {
        const bool in = WHOLE || k < count;
        Element x[HIGH], y[WIDE];
        UNROLL for (int i = 0; i < HIGH; i++) {
            const int row = smaller(first_m + 8 * i + r, TILE_M - 1);
            x[i] = in ? conjugated(CONJ_A, ALONG_A ? a[row * lda + k] : a[k * lda + row]) : zero();
        }
        UNROLL for (int j = 0; j < WIDE; j++) {
            const int column = smaller(first_n + 8 * j + r, TILE_N - 1);
            y[j] = in ? conjugated(CONJ_B, ALONG_B ? b[column * ldb + k] : b[k * ldb + column]) : zero();
        }
        UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < HIGH; i += MMA / 8) multiply(sum[j] + i, x + i, y[j]);
    }

    // MMA rows of C from as many fragments.
    static INLINE void multiply(Element (*c)[2], const Element *x, Element y) {
        constexpr int PART = MMA / 8;
#if COMPLEX
        Real re[PART][2], im[PART][2], a_re[PART], a_im[PART], less[PART], *to_re[PART], *to_im[PART];
        UNROLL for (int p = 0; p < PART; p++) {
            UNROLL for (int e = 0; e < 2; e++) {
                re[p][e] = c[p][e].re;
                im[p][e] = c[p][e].im;
            }
            a_re[p] = x[p].re;
            a_im[p] = x[p].im;
            less[p] = -x[p].im;
            to_re[p] = re[p];
            to_im[p] = im[p];
        }
        product(to_re, a_re, y.re);
        product(to_im, a_re, y.im);
        product(to_re, less, y.im);
        product(to_im, a_im, y.re);
        UNROLL for (int p = 0; p < PART; p++) UNROLL for (int e = 0; e < 2; e++) c[p][e] = Element{re[p][e], im[p][e]};
#else
        Real *to[PART];
        UNROLL for (int p = 0; p < PART; p++) to[p] = c[p];
        product(to, x, y);
#endif
    }

    INLINE void gather() {}
    template <typename Act> INLINE void each(Act act) const {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) {
            const int row = first_m + 8 * i + r, column = first_n + 8 * j + 2 * q + e;
            if (row < TILE_M && column < TILE_N) act(row, column, sum[j][i][e]);
        }
    }
};
