// A warp's part of a tile of C by tensor cores, float64, from shared memory.
#pragma once

struct Products {
    // Elements from one row of op(A), column of op(B) and k to the next.
    static constexpr int ROW_A = TRANS_A ? LD_A : 1, K_A = TRANS_A ? 1 : LD_A;
    static constexpr int COLUMN_B = TRANS_B ? 1 : LD_B, K_B = TRANS_B ? LD_B : 1;
    static constexpr int HIGH = ROWS / 8, BROAD = COLUMNS / 8, TALL = MMA / 8;
    Element sum[BROAD][HIGH][2];  // 8 x 8 of C: row r, columns 2q and 2q + 1 of lane 4r + q

    INLINE Products() {
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
            sum[j][i][e] = zero();
    }
    static INLINE int first_row(int thread) { return thread / 32 % PARTS_M * ROWS; }
    static INLINE int first_column(int thread) { return thread / 32 / PARTS_M * COLUMNS; }

    static INLINE void product(Real *(&c)[TALL], const Real (&a)[TALL], Real b) {
#if MMA == 16
        mma_16x8x4(c[0][0], c[0][1], c[1][0], c[1][1], a[0], a[1], b);
#else
        mma_8x8x4(c[0][0], c[0][1], a[0], b);
#endif
    }

    // Adds four k, of which this lane has one; or none, where both operands are zero.
    INLINE void add_four(const Stored *a, const Stored *b, bool in = true) {
        Element x[HIGH], y[BROAD];
        UNROLL for (int i = 0; i < HIGH; i++) x[i] = in ? conjugated(CONJ_A, a[i * 8 * ROW_A]) : zero();
        UNROLL for (int j = 0; j < BROAD; j++) y[j] = in ? conjugated(CONJ_B, b[j * 8 * COLUMN_B]) : zero();
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i += TALL) {
#if COMPLEX
            Real re[TALL], im[TALL], less[TALL], cr[TALL][2], ci[TALL][2], *to_re[TALL], *to_im[TALL];
            UNROLL for (int t = 0; t < TALL; t++) {
                re[t] = x[i + t].re;
                im[t] = x[i + t].im;
                less[t] = -im[t];
                UNROLL for (int e = 0; e < 2; e++) {
                    cr[t][e] = sum[j][i + t][e].re;
                    ci[t][e] = sum[j][i + t][e].im;
                }
                to_re[t] = cr[t];
                to_im[t] = ci[t];
            }
            product(to_re, re, y[j].re);
            product(to_im, re, y[j].im);
            product(to_re, less, y[j].im);
            product(to_im, im, y[j].re);
            UNROLL for (int t = 0; t < TALL; t++) UNROLL for (int e = 0; e < 2; e++) sum[j][i + t][e] = Element{cr[t][e], ci[t][e]};
#else
            Real *to[TALL], part[TALL];
            UNROLL for (int t = 0; t < TALL; t++) {
                to[t] = sum[j][i + t];
                part[t] = x[i + t];
            }
            product(to, part, y[j]);
#endif
        }
    }
};
