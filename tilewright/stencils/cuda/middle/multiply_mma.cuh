// A warp's part of a tile of C by tensor cores, float64: its sums, and how they are written.
#pragma once

struct Sums {
    static constexpr int HIGH = ROWS / 8, BROAD = COLUMNS / 8, TALL = MMA / 8;
    Element sum[BROAD][HIGH][2];  // 8 x 8 of C: row r, columns 2q and 2q + 1 of lane 4r + q

    INLINE Sums() {
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

    INLINE void add(const Stored *a, const Stored *b, int depth) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        a += first_row(threadIdx.x) + r + q * LD_A;
        b += first_column(threadIdx.x) + r + q * LD_B;
        _Pragma("unroll 2") for (int k = 0; k < depth; k += 4) {
            Element x[HIGH], y[BROAD];
            UNROLL for (int i = 0; i < HIGH; i++) x[i] = conjugated(CONJ_A, a[k * LD_A + i * 8]);
            UNROLL for (int j = 0; j < BROAD; j++) y[j] = conjugated(CONJ_B, b[k * LD_B + j * 8]);
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
    }

    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        const int thread = again(threadIdx.x);
        const int row = first_row(thread) + thread % 32 / 4, column = first_column(thread) + thread % 4 * 2;
        // A tile's distances are narrow.
        const int lead = again((int)ldc), first = row + column * lead;
        auto in = [&](int i, int j, int e) { return row + i * 8 < x.rows && column + j * 8 + e < x.columns; };
        auto at = [&](int i, int j, int e) { return x.c + (first + i * 8 + (j * 8 + e) * lead); };
        UNROLL for (int j = 0; j < BROAD; j++) {
            // What is read of C comes before the first of it is written.
            Element old[HIGH][2];
            if (BETA != 0) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
                if (in(i, j, e)) old[i][e] = *at(i, j, e);
            UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
                if (in(i, j, e)) *at(i, j, e) = scaled(s, sum[j][i][e], BETA != 0 ? old[i][e] : zero());
        }
    }
};
