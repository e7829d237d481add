// What a warp multiplies by mma.sync: fragments of its rows of A and of its columns of B.
//
// A fragment is made of blocks of 8 rows of A (or columns of B) by 4 lanes along k. Lane 4 r + t holds row r of every
// block; where lanes read along a stored column by themselves, it holds RUN neighbours of the column instead: rows
// RUN r + i of RUN blocks.
#pragma once

#include "tensor/accumulators.cuh"

#if TYPE_BITS == 16
typedef unsigned int Register;
#else
typedef double Register;
#endif
constexpr int BLOCKS_M = WARP_M / 8, BLOCKS_N = WARP_N / 8;
constexpr int QUADS = HALVES ? 2 : TC_K / 4;  // blocks along k of one product

// Tensor cores take A from four neighbouring registers, rows r and r + 8 at one k, then at the next: two neighbours in a
// column are half of that as they are read, and no register is moved. Pairs of B pass through instructions that flip
// signs, which write any register, so their runs may be longer.
INLINE constexpr int run(bool k_along, int blocks, int most) {
    return k_along || (HALVES && !PAIRS)   ? 1
           : PAIRS && blocks % 4 == 0      ? most
           : KEPT <= 8 && blocks % 2 == 0 ? 2
                                          : 1;
}
constexpr int RUN_A = run(A_ALONG, BLOCKS_M, 2), RUN_B = run(B_ALONG, BLOCKS_N, 4);

// The row (or column) of a warp's part that lanes with row r hold of a block.
template <int RUN> INLINE int of_block(int block, int r) { return block / RUN * 8 * RUN + RUN * r + block % RUN; }

template <int COUNT> union Loaded {
    typename Vector<COUNT * KEPT>::Type vector;
    Register number[COUNT * KEPT / sizeof(Register)];
    INLINE Loaded() {}
};

// The order of registers: k-halves of one 8-row block adjacent (IN_PAIRS, as B is taken), or those of two blocks
// interleaved (as A is).
template <bool K_ALONG, bool IN_PAIRS, int COUNT, int RUN, int PITCH, int PLANE>
INLINE void fragments_load(Register (&x)[PARTS][COUNT][QUADS], const Kept *from, int lane) {
#if TYPE_BITS == 16
    if constexpr (K_ALONG || !PAIRS) {
        constexpr int QUAD_K = PAIRS ? 4 : 8;  // elements along k of one block
        const int i = lane % 8, j = lane / 8;
        UNROLL for (int p = 0; p < (PLANES ? 2 : 1); p++) {
            const Kept *const plane = from + p * PLANE;
            auto row = [&](int block, int quad) {
                return K_ALONG ? plane + (block * 8 + i) * PITCH + quad * QUAD_K
                               : plane + (quad * 8 + i) * PITCH + block * 8;
            };
            UNROLL for (int n = 0; n + 1 < COUNT; n += 2)
                if (IN_PAIRS)
                    ldmatrix<!K_ALONG>(x[p][n][0], x[p][n][1], x[p][n + 1][0], x[p][n + 1][1], row(n + j / 2, j % 2));
                else
                    ldmatrix<!K_ALONG>(x[p][n][0], x[p][n + 1][0], x[p][n][1], x[p][n + 1][1], row(n + j % 2, j / 2));
            if (COUNT % 2)
                ldmatrix<!K_ALONG>(x[p][COUNT - 1][0], x[p][COUNT - 1][1], row(COUNT - 1, j % 2));
        }
    } else
#endif
    {
        constexpr int WIDE = KEPT / sizeof(Register);  // 2 where an element is re and im
        const int r = lane / 4, t = lane % 4;
        UNROLL for (int p = 0; p < (PLANES ? 2 : 1); p++) UNROLL for (int n = 0; n < COUNT; n += RUN)
            UNROLL for (int h = 0; h < QUADS; h++) {
                const Kept *const at = from + p * PLANE + (K_ALONG ? (n * 8 + r) * PITCH + h * 4 + t
                                                                   : (h * 4 + t) * PITCH + n * 8 + RUN * r);
                Loaded<RUN> found;
                found.vector = *(const typename Vector<RUN * KEPT>::Type *)at;
                UNROLL for (int i = 0; i < RUN; i++) UNROLL for (int w = 0; w < WIDE; w++)
                    x[p + w][n + i][h] = found.number[i * WIDE + w];
            }
    }
}

// One tensor-core instruction: rows of block (or two blocks) i of A, columns of one block of B.
INLINE void product(Real *c, const Register (&a)[BLOCKS_M][QUADS], int i, const Register (&b)[QUADS]) {
#if TYPE_BITS == 16
    mma_16x8x16(c, a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], b[0], b[1]);
#elif TC == 4
    mma_8x8x4(c[0], c[1], a[i][0], b[0]);
#else
    double x[QUADS][2];
    UNROLL for (int h = 0; h < QUADS; h++) UNROLL for (int q = 0; q < 2; q++) x[h][q] = a[2 * i + q][h];
    mma_16x8<QUADS>(c, x, b);
#endif
}

#if TYPE_BITS == 16
template <bool YES> INLINE Register negated(Register x) { return signs_flipped<YES ? 0x80008000u : 0u>(x); }
#else
template <bool YES> INLINE Register negated(Register x) { return YES ? -x : x; }
#endif

// What a warp multiplies at once: STEP elements along k of its rows of A and of its columns of B.
struct Fragments {
    Register x[PARTS][BLOCKS_M][QUADS], y[PARTS][BLOCKS_N][QUADS];

    INLINE void load(const Kept *a, const Kept *b, int k, int lane) {
        fragments_load<A_ALONG, false, BLOCKS_M, RUN_A, PITCH_A, PLANE_A>(x, a + k * (A_ALONG ? 1 : PITCH_A), lane);
        fragments_load<B_ALONG, true, BLOCKS_N, RUN_B, PITCH_B, PLANE_B>(y, b + k * (B_ALONG ? 1 : PITCH_B), lane);
    }
};

INLINE void multiply(Accumulators &sum, const Fragments &f) {
    UNROLL for (int j = 0; j < BLOCKS_N; j++) {
#if !COMPLEX
        UNROLL for (int i = 0; i < SUBS_M; i++) product(sum[0][i][j], f.x[0], i, f.y[0][j]);
#elif TYPE_BITS == 16 && !SPLIT
        // re of (ar, ai) (br, bi) is their product with (br, -bi), im is that with (bi, br).
        Register re[QUADS], im[QUADS];
        UNROLL for (int h = 0; h < QUADS; h++) {
            re[h] = signs_flipped<CONJ_A == CONJ_B ? 0x80000000u : 0u>(f.y[0][j][h]);
            im[h] = signs_flipped<(CONJ_B ? 0x8000u : 0u) | (CONJ_A ? 0x80000000u : 0u)>(halves_swapped(f.y[0][j][h]));
        }
        UNROLL for (int i = 0; i < SUBS_M; i++) {
            product(sum[0][i][j], f.x[0], i, re);
            product(sum[1][i][j], f.x[0], i, im);
        }
#else
        Register re[QUADS], im[QUADS], against[QUADS];
        UNROLL for (int h = 0; h < QUADS; h++) {
            re[h] = negated<CONJ_A>(f.y[0][j][h]);
            im[h] = negated<CONJ_B>(f.y[1][j][h]);
            against[h] = negated<CONJ_A == CONJ_B>(f.y[1][j][h]);
        }
        UNROLL for (int i = 0; i < SUBS_M; i++) {
            product(sum[0][i][j], f.x[0], i, f.y[0][j]);
            product(sum[1][i][j], f.x[0], i, im);
            product(sum[0][i][j], f.x[1], i, against);
            product(sum[1][i][j], f.x[1], i, re);
        }
#endif
    }
}

constexpr int FRAGMENT_REGISTERS = sizeof(Fragments) / 4;

// Multiplies a k-tile, of which k_left are inside the matrix and the rest is zeros. Instructions of float64 take so long
// that a test whether to leave them out pays.
INLINE void multiply(Accumulators &sum, const Kept *a, const Kept *b, int k_left, int lane) {
    UNROLL for (int k = 0; k < BLK_K; k += STEP) {
        if (!HALVES && k > 0 && k >= k_left) break;
        Fragments f;
        f.load(a, b, k, lane);
        multiply(sum, f);
    }
}
