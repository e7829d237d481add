// The multiplier of 16-bit tensor cores: a part of C in the registers of each warp, as fragments of 16 x 8.
#pragma once

struct Sums {
    // A register of an operand is two numbers that are neighbours in k, or one complex number: its product is a real one of
    // twice the k, once for the real and once for the imaginary part.
    static constexpr int PAIR = COMPLEX ? 1 : 2, STEP = 8 * PAIR, KINDS = COMPLEX ? 2 : 1;
    static constexpr int HIGH = ROWS / 16, WIDE = COLUMNS / 8;
    static constexpr bool EVEN_A = ALONG_A && UNIT_A % 4 == 0 && UNIT_K % 2 == 0;
    static constexpr bool EVEN_B = ALONG_B && UNIT_B % 4 == 0 && UNIT_K % 2 == 0;

    static constexpr int WORK = KINDS * HIGH * WIDE, UNROLLED = WORK <= 4 ? 4 : WORK <= 12 ? 2 : 1;

    float sum[KINDS][WIDE][HIGH][4];
    int first_m, first_n;  // of this warp's part

    INLINE Sums() {
        const int part = threadIdx.x / 32 % TEAM;
        first_m = part % ACROSS_M * ROWS;
        first_n = part / ACROSS_M * COLUMNS;
    }
    INLINE void clear() {
        UNROLL for (int p = 0; p < KINDS; p++) UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < HIGH; i++)
            UNROLL for (int e = 0; e < 4; e++) sum[p][j][i][e] = 0;
    }

    // A register of row (column) `at` from k on. Beyond the end of k it is zero: memory may hold anything there.
    template <bool ALONG, bool EVEN, bool WHOLE, typename Lead>
    static INLINE unsigned int pair(const Stored *from, Lead ld, int at, int k, int count) {
        if (!WHOLE && k >= count) return 0;
        const Stored *const here = from + (ALONG ? at * ld + k : k * ld + at);
#if COMPLEX
        return *(const unsigned int *)here;
#else
        if constexpr (EVEN) return *(const unsigned int *)here;
        const unsigned int low = *here, high = WHOLE || k + 1 < count ? from[ALONG ? at * ld + k + 1 : (k + 1) * ld + at] : 0;
        return low | high << 16;
#endif
    }

    template <typename LeadA, typename LeadB>
    INLINE void add(int group, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, int count) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        int k = group * STEP;
        _Pragma("unroll UNROLLED") for (; k + STEP <= count; k += GROUPS * STEP) step<true>(a, lda, b, ldb, r, k + PAIR * q, 0);
        if (k < count) step<false>(a, lda, b, ldb, r, k + PAIR * q, count);
    }

    // A whole step asks for no comparisons.
    template <bool WHOLE, typename LeadA, typename LeadB>
    INLINE void step(const Stored *a, LeadA lda, const Stored *b, LeadB ldb, int r, int k, int count) {
        unsigned int x[HIGH][4], y[WIDE][2];
        UNROLL for (int h = 0; h < 2; h++) {
            UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int s = 0; s < 2; s++) {
                // Of a tile with few rows there is no second half.
                if (ACROSS_M == 1 && 16 * i + 8 * s >= TILE_M) {
                    x[i][s + 2 * h] = 0;
                    continue;
                }
                const int row = smaller(first_m + 16 * i + 8 * s + r, TILE_M - 1);
                x[i][s + 2 * h] = pair<ALONG_A, EVEN_A, WHOLE>(a, lda, row, k + 4 * PAIR * h, count) ^ (CONJ_A ? 0x80000000u : 0);
            }
            UNROLL for (int j = 0; j < WIDE; j++) {
                const int column = smaller(first_n + 8 * j + r, TILE_N - 1);
                y[j][h] = pair<ALONG_B, EVEN_B, WHOLE>(b, ldb, column, k + 4 * PAIR * h, count);
            }
        }
        UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int p = 0; p < KINDS; p++) {
            unsigned int v[2] = {y[j][0], y[j][1]};
            // (re, im) times (re, -im) is the real part, times (im, re) the imaginary one.
            if (COMPLEX) UNROLL for (int h = 0; h < 2; h++)
                v[h] = p == 0 ? v[h] ^ (CONJ_B ? 0 : 0x80000000u) : __byte_perm(v[h], 0, 0x1032) ^ (CONJ_B ? 0x8000u : 0);
            UNROLL for (int i = 0; i < HIGH; i++) mma_16x8x16(sum[p][j][i], x[i], v[0], v[1]);
        }
    }

    INLINE void gather() {}
    template <typename Act> INLINE void each(Act act) const {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 4; e++) {
            const int row = first_m + 16 * i + e / 2 * 8 + r, column = first_n + 8 * j + 2 * q + e % 2;
#if COMPLEX
            const Element value = {sum[0][j][i][e], sum[1][j][i][e]};
#else
            const Element value = sum[0][j][i][e];
#endif
            if (row < TILE_M && column < TILE_N) act(row, column, value);
        }
    }
};
