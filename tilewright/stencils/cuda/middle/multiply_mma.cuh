// A warp's part of a tile of C by tensor cores, float64: its sums, and how they are written.
#pragma once

struct Sums {
    // Elements from one row of op(A), column of op(B) and k to the next.
    static constexpr int ROW_A = TRANS_A ? LD_A : 1, K_A = TRANS_A ? 1 : LD_A;
    static constexpr int COLUMN_B = TRANS_B ? 1 : LD_B, K_B = TRANS_B ? LD_B : 1;
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
        a += (first_row(threadIdx.x) + r) * ROW_A + q * K_A;
        b += (first_column(threadIdx.x) + r) * COLUMN_B + q * K_B;
        _Pragma("unroll 2") for (int k = 0; k < depth; k += 4) {
            Element x[HIGH], y[BROAD];
            UNROLL for (int i = 0; i < HIGH; i++) x[i] = conjugated(CONJ_A, a[k * K_A + i * 8 * ROW_A]);
            UNROLL for (int j = 0; j < BROAD; j++) y[j] = conjugated(CONJ_B, b[k * K_B + j * 8 * COLUMN_B]);
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
        const int thread = again(threadIdx.x), lane = thread % 32, r = lane / 4, q = lane % 4;
        // A tile's distances are narrow.
        const int top = first_row(thread), left = first_column(thread), lead = again((int)ldc);
        Stored *const to = x.c + (top + left * lead);
        const int rows = x.rows - top, columns = x.columns - left;
        Stored *const room = (Stored *)(shared_memory + AT_EXCHANGE + thread / 32 * EXCHANGE);
        // Of eight columns: those of this lane's sums, or element after element along the rows.
        constexpr int COUNT = EXCHANGED ? ROWS / 4 : 2 * HIGH, AT_ONCE = COMPLEX ? 4 : 8;
        UNROLL for (int j = 0; j < BROAD; j++) {
            if (EXCHANGED) {
                UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
                    room[(2 * q + e) * LD_EXCHANGE + i * 8 + r] = sum[j][i][e];
                __syncwarp();
            }
            const int here = again(lane);
            auto row = [&](int n) { return EXCHANGED ? (here + 32 * n) % ROWS : n / 2 * 8 + r; };
            auto column = [&](int n) { return EXCHANGED ? (here + 32 * n) / ROWS : 2 * q + n % 2; };
            auto in = [&](int n) { return row(n) < rows && column(n) + j * 8 < columns; };
            auto at = [&](int n) { return to + (row(n) + (column(n) + j * 8) * lead); };
            UNROLL for (int first = 0; first < COUNT; first += AT_ONCE) {
                // What is read of C comes before the first of it is written.
                Element old[AT_ONCE];
                if (BETA != 0) UNROLL for (int n = 0; n < AT_ONCE; n++)
                    if (first + n < COUNT && in(first + n)) old[n] = *at(first + n);
                UNROLL for (int n = first; n < smaller(first + AT_ONCE, COUNT); n++) {
                    const Element own = EXCHANGED ? room[column(n) * LD_EXCHANGE + row(n)] : sum[j][n / 2][n % 2];
                    if (in(n)) *at(n) = scaled(s, own, BETA != 0 ? old[n - first] : zero());
                }
            }
            if (EXCHANGED) __syncwarp();
        }
    }
};
