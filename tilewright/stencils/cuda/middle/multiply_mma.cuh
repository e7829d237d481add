// A warp's part of a tile of C by tensor cores, float64: its sums, and how they are written.
#pragma once

// Lanes of a quarter (16 bytes) or half (8 bytes) of a warp that ask for the same bank, at most, where lane 4r + q reads
// number r * by_row + q * by_k.
CONSTANT int conflicts(int by_row, int by_k) {
    int most = 0;
    for (int bank = 0; bank < 128 / SIZE; bank++) {
        int here = 0;
        for (int lane = 0; lane < 128 / SIZE; lane++) here += (lane / 4 * by_row + lane % 4 * by_k) % (128 / SIZE) == bank;
        most = larger(most, here);
    }
    return most;
}
// Which k a lane has is free as long as both operands agree: lanes are so many k apart that they read other banks.
CONSTANT int apart_in_k() {
    constexpr int ROW_A = TRANS_A ? LD_A : 1, K_A = TRANS_A ? 1 : LD_A, COLUMN_B = TRANS_B ? 1 : LD_B, K_B = TRANS_B ? LD_B : 1;
    int best = 1, least = 1 << 20;
    for (int by = 1; by <= (WHOLE ? 4 : 1); by *= 2) {
        const int count = ROWS * conflicts(ROW_A, by * K_A) + COLUMNS * conflicts(COLUMN_B, by * K_B);
        if (count < least) {
            least = count;
            best = by;
        }
    }
    return best;
}

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

    static constexpr int APART = apart_in_k(), WHOLE_STEPS = WHOLE ? SIZE_K / (4 * APART) * APART : 0;

    INLINE void add(const Stored *a, const Stored *b, int depth) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        a += (first_row(threadIdx.x) + r) * ROW_A;
        b += (first_column(threadIdx.x) + r) * COLUMN_B;
        if constexpr (WHOLE) {
            const Stored *x = a + q * APART * K_A, *y = b + q * APART * K_B;
            _Pragma("unroll 1") for (int k = 0; k < WHOLE_STEPS; k += APART, x += 4 * APART * K_A, y += 4 * APART * K_B)
                UNROLL for (int h = 0; h < APART; h++) add_four(x + h * K_A, y + h * K_B, true);
            // Memory beyond the last k may hold anything: both operands are zero there.
            a += (WHOLE_STEPS * 4 + q) * K_A;
            b += (WHOLE_STEPS * 4 + q) * K_B;
            UNROLL for (int k = WHOLE_STEPS * 4; k < SIZE_K; k += 4, a += 4 * K_A, b += 4 * K_B) add_four(a, b, k + q < SIZE_K);
        } else {
            a += q * K_A;
            b += q * K_B;
            _Pragma("unroll 2") for (int k = 0; k < depth; k += 4) add_four(a + k * K_A, b + k * K_B, true);
        }
    }

    // Adds four k, of which this lane has one, or has none.
    INLINE void add_four(const Stored *a, const Stored *b, bool in) {
        {
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
    }

    // Of eight columns of C those of this lane's sums, or element after element along the rows.
    static constexpr int COUNT = EXCHANGED ? ROWS / 4 : 2 * HIGH;
    struct Places {
        int lane, rows, columns, lead;  // a tile's distances are narrow
        Stored *first;

        INLINE Places(const Item &x, long long ldc) {
            const int thread = again(threadIdx.x), top = first_row(thread), left = first_column(thread);
            lane = thread % 32;
            lead = again((int)ldc);
            first = x.c + (top + left * lead);
            rows = x.rows - top;
            columns = x.columns - left;
        }
        INLINE int row(int n) const { return EXCHANGED ? (lane + 32 * n) % ROWS : n / 2 * 8 + lane / 4; }
        INLINE int column(int n) const { return EXCHANGED ? (lane + 32 * n) / ROWS : lane % 4 * 2 + n % 2; }
        INLINE bool in(int n, int j) const { return row(n) < rows && column(n) + j * 8 < columns; }
        INLINE Stored *at(int n, int j) const { return first + (row(n) + (column(n) + j * 8) * lead); }
    };
    static INLINE Stored *room() { return (Stored *)(shared_memory + AT_EXCHANGE + threadIdx.x / 32 * EXCHANGE); }
    static INLINE int place(int i, int e) {
        const int lane = threadIdx.x % 32;
        return (lane % 4 * 2 + e) * LD_EXCHANGE + i * 8 + lane / 4;
    }

    // Sums begin with what C has: all of it is asked for at once, and none of it when the result is written.
    INLINE void read(const Item &x, long long ldc, const Scalars &s) {
        Places places(x, ldc);
        UNROLL for (int j = 0; j < BROAD; j++) {
            places.lane = again(places.lane);
            UNROLL for (int n = 0; n < COUNT; n++)
                if (places.in(n, j)) sum[j][n / 2][n % 2] = *places.at(n, j);
        }
        if (EXCHANGED) UNROLL for (int j = 0; j < BROAD; j++) {
            UNROLL for (int n = 0; n < COUNT; n++)
                room()[places.column(n) * LD_EXCHANGE + places.row(n)] = sum[j][n / 2][n % 2];
            __syncwarp();
            UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) sum[j][i][e] = room()[place(i, e)];
            __syncwarp();
        }
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
            sum[j][i][e] = scaled(s, zero(), sum[j][i][e]);
    }

    // Puts the result into shared memory, which has what is read of C.
    INLINE void keep(Stored *c, const Scalars &s) const {
        const int top = first_row(threadIdx.x) + threadIdx.x % 32 / 4, left = first_column(threadIdx.x) + threadIdx.x % 4 * 2;
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) {
            if (top + i * 8 >= SIZE_M || left + j * 8 + e >= SIZE_N) continue;
            Stored *const at = c + (top + i * 8 + (left + j * 8 + e) * SIZE_M);
            *at = scaled(s, sum[j][i][e], BETA != 0 ? *at : zero());
        }
    }

    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        constexpr bool READS = BETA != 0 && !BEGINS;
        constexpr int AT_ONCE = COMPLEX ? 4 : 8;
        Places places(x, ldc);
        UNROLL for (int j = 0; j < BROAD; j++) {
            if (EXCHANGED) {
                UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) room()[place(i, e)] = sum[j][i][e];
                __syncwarp();
            }
            places.lane = again(places.lane);
            UNROLL for (int first = 0; first < COUNT; first += AT_ONCE) {
                // What is read of C comes before the first of it is written.
                Element old[AT_ONCE];
                if (READS) UNROLL for (int n = 0; n < AT_ONCE; n++)
                    if (first + n < COUNT && places.in(first + n, j)) old[n] = *places.at(first + n, j);
                UNROLL for (int n = first; n < smaller(first + AT_ONCE, COUNT); n++) {
                    const int in_room = places.column(n) * LD_EXCHANGE + places.row(n);
                    const Element own = EXCHANGED ? room()[in_room] : sum[j][n / 2][n % 2];
                    if (places.in(n, j))
                        *places.at(n, j) = BEGINS ? own : scaled(s, own, READS ? old[n - first] : zero());
                }
            }
            if (EXCHANGED) __syncwarp();
        }
    }
};
