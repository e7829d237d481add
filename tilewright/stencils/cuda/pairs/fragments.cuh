// The factor in registers: fragments of one operand, 64 columns (of A: rows) of C by eight elements along k, which tensor cores
// see as 16; and the products of a slice. The other operand lies along k in shared memory.
//
// Lane 4 r + q of a warp holds of two rows of the factor, r and r + 8, the elements q and q + 4. Rows may be any columns of C, as
// long as results go there. Where the operand runs along k they are those of four matrices of 8 x 8 halves. Where it runs across
// k, row r + 8 e of warp w is the column below, so that the eight rows and four k that a warp reads at once lie in all banks, and
// so do the eight rows and four columns of a transposed C that it writes at once: 16 bytes c and c ^ 5 of lines that differ in
// two of their last three bits, whichever.
//
// What is included after it is known whether the operand in registers runs along k and is conjugated (FACTOR_ALONG,
// FACTOR_CONJ), whether the other one is (OTHER_CONJ), and STEPS, the products along k whose fragments come at once.
#pragma once

INLINE int column_of(int warp, int e, int r) {
    if (FACTOR_ALONG) return warp % 4 * 16 + 8 * e + r;
    return warp % 4 / 2 * 32 + ((warp % 2 * 2 + e) ^ r / 4 * 5) * 4 + r % 4;
}

// The product of (u, v) in registers and (x, y), of which one or both may be conjugates, is xu - yv, and xv + yu.
constexpr unsigned int LOW = 0x8000, HIGH = 0x80000000;  // the signs of re and im
constexpr unsigned int SIGNS_RE = FACTOR_CONJ == OTHER_CONJ ? HIGH : 0;
constexpr unsigned int SIGNS_IM = (FACTOR_CONJ ? LOW : 0) | (OTHER_CONJ ? HIGH : 0);

// Factors of the sums of re and of im, for STEPS products one after the other along k.
struct Fragments {
    unsigned int re[STEPS][4], im[STEPS][4];

    // `from`: columns of the group in a slice. `first`: of the products of the slice.
    INLINE void load(const unsigned char *from, int first, int warp, int lane) {
        const int r = lane / 4, q = lane % 4;
        UNROLL for (int i = 0; i < STEPS; i++) {
            const int step = first + i;
            unsigned int x[4];
            if (FACTOR_ALONG) {
                const unsigned char *const line = from + (warp % 4 * 16 + lane % 16) * LINE;
                ldmatrix<false>(x[0], x[1], x[2], x[3], line + ((2 * step + lane / 16) ^ lane % 8) * 16);
            } else {
                UNROLL for (int j = 0; j < 4; j++) {
                    const int column = column_of(warp, j % 2, r), k = q + j / 2 * 4;
                    const unsigned char *const line = from + column / 32 * SLICE * LINE + (8 * step + k) * LINE;
                    x[j] = *(const unsigned int *)(line + (column % 32 / 4 ^ k) * 16 + column % 4 * 4);
                }
            }
            UNROLL for (int j = 0; j < 4; j++) {
                re[i][j] = signs_flipped<SIGNS_RE>(x[j]);
                im[i][j] = signs_flipped<SIGNS_IM>(halves_swapped(x[j]));
            }
        }
    }

    // Sets what is behind the first `left` elements of the slice along k to zero.
    INLINE void cut(int first, int left, int lane) {
        UNROLL for (int i = 0; i < STEPS; i++)
            UNROLL for (int j = 0; j < 4; j++)
                if (8 * (first + i) + lane % 4 + j / 2 * 4 >= left) re[i][j] = im[i][j] = 0;
    }

    // Behind the wait for products of these: the compiler does not know that they were read until then, and would put other
    // numbers into their registers.
    INLINE void settled() {
        UNROLL for (int i = 0; i < STEPS; i++)
            UNROLL for (int j = 0; j < 4; j++) asm volatile("" : "+r"(re[i][j]), "+r"(im[i][j])::"memory");
    }
};

constexpr int SETS = LINE / 32 / STEPS;  // sets of fragments of a slice

// The products of a slice by 64 columns of the factor, added to the sums of re and of im unless it is the first one. One set of
// fragments is loaded while products of the other one go on; `leave` is called when those of the slice before are done. With
// CUTS what is behind the first `left` elements of the slice may be anything.
template <int COLUMNS, bool CUTS, class Leave>
INLINE void multiply_pairs(float *re, float *im, Fragments (&fragments)[2], const unsigned char *from, unsigned long long other,
                           int slice, int left, int warp, int lane, const Leave &leave) {
    UNROLL for (int set = 0; set < SETS; set++) {
        Fragments &some = fragments[set % 2];
        some.load(from, set * STEPS, warp, lane);
        if (CUTS && left < SLICE) some.cut(set * STEPS, left, lane);
        wgmma_fence();
        UNROLL for (int i = 0; i < STEPS; i++) {
            const int step = set * STEPS + i;
            wgmma_16_lanes<COLUMNS>(re, some.re[i], other + step * 2, slice | step);
            wgmma_16_lanes<COLUMNS>(im, some.im[i], other + step * 2, slice | step);
        }
        wgmma_commit();
        wgmma_wait<1>();
        fragments[(set + 1) % 2].settled();
        if (set == 0 && slice > 0) leave();
    }
}
