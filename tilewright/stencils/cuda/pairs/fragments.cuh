// The factor in registers: fragments of B, 64 columns of C by eight elements along k, which tensor cores see as 16.
//
// Lane 4 r + q of a warp holds of two rows of the factor, r and r + 8, the elements q and q + 4. Rows may be any columns of C, as
// long as results go there. Where B runs along k they are those of four matrices of 8 x 8 halves. Where it runs across k, row r
// + 8 e of warp w is the column below, so that the eight rows and four k that a warp reads at once lie in all banks, and so do
// the eight rows and four columns of a transposed C that it writes at once: 16 bytes c and c ^ 5 of lines that differ in two of
// their last three bits, whichever.
#pragma once

INLINE int column_of(int warp, int e, int r) {
    if (B_ALONG) return warp % 4 * 16 + 8 * e + r;
    return warp % 4 / 2 * 32 + ((warp % 2 * 2 + e) ^ r / 4 * 5) * 4 + r % 4;
}

// The product of (x, y) of A and (u, v) of B, of which one or both may be conjugates, is xu - yv, and xv + yu.
constexpr unsigned int LOW = 0x8000, HIGH = 0x80000000;  // the signs of re and im
constexpr unsigned int SIGNS_RE = CONJ_A == CONJ_B ? HIGH : 0;
constexpr unsigned int SIGNS_IM = (CONJ_B ? LOW : 0) | (CONJ_A ? HIGH : 0);

// Factors of the sums of re and of im, for STEPS products one after the other along k.
struct Fragments {
    unsigned int re[STEPS][4], im[STEPS][4];

    // `of_b`: columns of the group in a slice of B. `first`: of the products of the slice.
    INLINE void load(const unsigned char *of_b, int first, int warp, int lane) {
        const int r = lane / 4, q = lane % 4;
        UNROLL for (int i = 0; i < STEPS; i++) {
            const int step = first + i;
            unsigned int x[4];
            if (B_ALONG) {
                const unsigned char *const line = of_b + (warp % 4 * 16 + lane % 16) * LINE;
                ldmatrix<false>(x[0], x[1], x[2], x[3], line + ((2 * step + lane / 16) ^ lane % 8) * 16);
            } else {
                UNROLL for (int j = 0; j < 4; j++) {
                    const int column = column_of(warp, j % 2, r), k = q + j / 2 * 4;
                    const unsigned char *const line = of_b + column / 32 * SLICE * LINE + (8 * step + k) * LINE;
                    x[j] = *(const unsigned int *)(line + (column % 32 / 4 ^ k) * 16 + column % 4 * 4);
                }
            }
            UNROLL for (int j = 0; j < 4; j++) {
                re[i][j] = signs_flipped<SIGNS_RE>(x[j]);
                im[i][j] = signs_flipped<SIGNS_IM>(halves_swapped(x[j]));
            }
        }
    }

    // Behind the wait for products of these: the compiler does not know that they were read until then, and would put other
    // numbers into their registers.
    INLINE void settled() {
        UNROLL for (int i = 0; i < STEPS; i++)
            UNROLL for (int j = 0; j < 4; j++) asm volatile("" : "+r"(re[i][j]), "+r"(im[i][j])::"memory");
    }
};
