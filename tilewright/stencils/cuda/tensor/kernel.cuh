// tensor: C = alpha * op(A) * op(B) + beta * C on tensor cores, for batches of matrices up to a few hundred.
//
// A. Abdelfattah, S. Tomov, J. Dongarra, batched half and complex half products on tensor cores: a block's tile of C
// has any size; its threads, DIM_X along the stored columns, fetch stripes of A and B from device memory, offload them
// to shared memory, and are then regrouped into warps, to which the pieces that tensor cores multiply are dealt out.
//
//               BLK_N                  one step: a stripe of A and of B, BLK_K wide
//             +-------+                  STAGES = 1: device memory -> registers (fetch), while the step before it is
//       BLK_K |   B   |                     multiplied; registers -> shared memory (offload): the paper's way
//             +-------+                  STAGES > 1: copies to shared memory, all but one of them on their way
//    BLK_K                             one warp: a rectangle of the tile, BLK_M / WARPS_M rows of it, all in registers
//    +---+    +---+---+                several matrices (GROUP) share a block where they are small
//    | A |    | 0 | 2 |  BLK_M
//    |   |    +---+---+                shared memory: stripes lie as they are stored, rows padded so that what a warp
//    +---+    | 1 | 3 |                  loads together lies in different banks
//             +---+---+                registers: with AHEAD, fragments of the next product are loaded while this one is
//                                      multiplied, across the borders of steps
//
// Blocks stay: each walks over (group of matrices, tile) and (step), and what comes next is fetched across the borders
// of tiles and matrices. Numbers outside of a matrix are zeros in shared memory; nothing outside is read or written.
//
// Where C is read, many words of it are on their way to registers at a time; with EARLY_C to shared memory, all of the
// tile's, while it is multiplied.
//
// Complex products, of (re, im) pairs as they are stored: with SPLIT, stripes become planes of re and of im in shared
// memory, and four real products of planes make one complex product. Without it a pair stays a pair. In half precision a
// pair is one word and two neighbours in k of a real product: (ar, ai) times (br, -bi) is re, times (bi, br) is im. All
// signs, also those of conjugates, are turned in B.
//
// Warp groups (TC 7): four warps multiply together, each with its rows of A in registers, all with the columns of B that the
// warp's part has, which tensor cores read from shared memory by themselves; signs are turned in A.
//
// Requires: addresses, leading dimensions and batch strides of A and B that are multiples of VEC elements, of C of
// VEC_C. Sizes may be anything.
#include "lib/gemm.cuh"

// ---- the problem ----------------------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a real number: 16 or 64
#endif
#ifndef BRAIN
#define BRAIN 0  // whether 16 bits are a bfloat16
#endif
#ifndef COMPLEX
#define COMPLEX 0  // whether an element is a pair (re, im)
#endif
#ifndef TRANS_A
#define TRANS_A 0  // whether A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0  // whether B is stored n x k
#endif
#ifndef CONJ_A
#define CONJ_A 0  // whether A enters conjugated
#endif
#ifndef CONJ_B
#define CONJ_B 0  // whether B enters conjugated
#endif
#ifndef ALPHA_ONE
#define ALPHA_ONE 1  // whether alpha is 1
#endif
#ifndef BETA
#define BETA 0  // 0 (C is not read), 1, or 2: any
#endif

// ---- the parameters of the space --------------------------------------------------------------------------------
#ifndef TC
#define TC 3  // 0: 16x16x16, 1: 32x8x16, 2: 8x32x16 (wmma), 3: 16x8x16, 4: 8x8x4, 5: 16x8x4, 6: 16x8x8 (mma), 7: 64x8x16 (wgmma)
#endif
#ifndef SPLIT
#define SPLIT 0  // whether complex stripes become planes in shared memory
#endif
#ifndef BLK_M
#define BLK_M 64  // rows of a block's tile of C
#endif
#ifndef BLK_N
#define BLK_N 64  // columns of it
#endif
#ifndef BLK_K
#define BLK_K 32  // k of one step
#endif
#ifndef DIM_X
#define DIM_X 8  // threads along the stored columns of A and B while they are read, or what divides them
#endif
#ifndef DIM_Y
#define DIM_Y 16  // threads of a block are DIM_X * DIM_Y
#endif
#ifndef GROUP
#define GROUP 1  // matrices of a block
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps of a matrix along m
#endif
#ifndef STAGES
#define STAGES 2  // steps in shared memory; 1: the next one waits in registers
#endif
#ifndef AHEAD
#define AHEAD 0  // whether fragments of the next product are loaded before this one is multiplied
#endif
#ifndef VEC
#define VEC 8  // elements of one read of A and B from device memory
#endif
#ifndef VEC_C
#define VEC_C 8  // elements of one access to C
#endif
#ifndef EARLY_C
#define EARLY_C 0  // whether what is read of C comes to shared memory while the tile is multiplied
#endif
#ifndef BLOCKS
#define BLOCKS 2  // blocks that stay on a multiprocessor
#endif

// ---- what follows from them ---------------------------------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/bulk.cuh"
#include "lib/global.cuh"
#if TC == 0
#define WMMA_M 16
#elif TC == 1
#define WMMA_M 32
#elif TC == 2
#define WMMA_M 8
#endif
#include "lib/mma.cuh"
#include "lib/fragment.cuh"
#if TC == 7
#include "lib/wgmma.cuh"
#endif

constexpr bool HALVES = TYPE_BITS == 16, WMMA = TC < 3, WGMMA = TC == 7;
constexpr bool PLANES = COMPLEX && SPLIT;             // re and im apart in shared memory
constexpr bool PAIRS = COMPLEX && HALVES && !PLANES;  // a pair is a word, and two k of a real product
constexpr int TC_M = TC == 1 ? 32 : TC == 2 || TC == 4 ? 8 : 16;  // of one warp
constexpr int TC_N = TC == 0 ? 16 : TC == 2 ? 32 : 8;
constexpr int TC_K = TC < 4 || WGMMA ? 16 : TC == 6 ? 8 : 4;
constexpr int STEP = PAIRS ? TC_K / 2 : TC_K;  // elements along k of one product

constexpr int THREADS = DIM_X * DIM_Y, WARPS = THREADS / 32, WARPS_EACH = WARPS / GROUP;  // of one matrix
constexpr int WARPS_N = WARPS_EACH / WARPS_M;
constexpr int WARP_M = BLK_M / WARPS_M, WARP_N = BLK_N / (WARPS_N ? WARPS_N : 1);  // a warp's part of the tile
constexpr int SUBS_M = WARP_M / TC_M, SUBS_N = WARP_N / TC_N;                      // products of tensor cores in it
constexpr int PARTS = COMPLEX && !PAIRS ? 2 : 1;                                   // of a fragment: re and im
constexpr int SUMS = COMPLEX ? 2 : 1;                                              // of an element: re and im
constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;                              // whether stored columns run along k

static_assert(THREADS % 32 == 0, "whole-warps: threads come in warps");
static_assert(WARPS % GROUP == 0, "group-warps: every matrix of a group has as many warps");
static_assert(WARPS_EACH > 0 && WARPS_EACH % WARPS_M == 0, "warps-dealt: the warps of a matrix form a grid over its tile");
static_assert(BLK_M % (TC_M * WARPS_M) == 0, "tile-dealt-m: every warp has whole products along m");
static_assert(BLK_N % (TC_N * WARPS_N) == 0, "tile-dealt-n: every warp has whole products along n");
static_assert(BLK_K % STEP == 0, "step-whole: a step is made of whole products");
static_assert(HALVES ? TC <= 3 || WGMMA : TC >= 3 && !WGMMA, "tc-type: tensor cores multiply this type in this shape");
static_assert(COMPLEX || !SPLIT, "split-complex: only pairs can be split");
static_assert(!WMMA || !COMPLEX || PLANES, "wmma-planes: wmma takes planes, because its fragments hide what is a pair");
static_assert(!PLANES || STAGES == 1, "planes-by-registers: what is split passes through registers");
static_assert(!AHEAD || STAGES > 1, "ahead-copies: what is loaded ahead has been copied to shared memory");
static_assert(!AHEAD || !(WMMA || WGMMA), "ahead-mma: only fragments of mma are loaded ahead by choice");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool HAS_WGMMA = true;
#else
constexpr bool HAS_WGMMA = false;
#endif
static_assert(!WGMMA || HAS_WGMMA, "wgmma-device: warp groups multiply on compute capability 9.0 alone");
static_assert(!WGMMA || WARPS_M % 4 == 0, "wgmma-group: four warps multiply together, one below the other");
static_assert(!WGMMA || (WARP_N % 16 == 0 && WARP_N <= 256 && (WARP_N <= 128 || WARP_N % 64 == 0)),
              "wgmma-columns: warp groups multiply 16 to 128 columns in sixteens, 192, or 256");
static_assert(!WGMMA || (B_ALONG && BLK_K * SIZE == 128), "wgmma-step: tensor cores read B in rows of 128 bytes along k");
static_assert(!WGMMA || VEC * SIZE == 16, "wgmma-words: in rows of B, words of 16 bytes change places");
static_assert(!WGMMA || STAGES >= 3, "wgmma-stages: one step is multiplied, the next is there, others come");
static_assert(!WGMMA || !PLANES, "wgmma-pairs: warp groups multiply pairs as they are");
static_assert(VEC * SIZE <= 16, "access-width: one access moves 16 bytes at most");
static_assert(VEC_C * SIZE <= 16, "access-width-c: one access moves 16 bytes at most");
static_assert(STAGES == 1 || VEC * SIZE >= 4, "copy-width: copies to shared memory move 4 bytes or more");
static_assert(!EARLY_C || BETA, "early-read: nothing of C comes early where it is not read");
static_assert(!EARLY_C || STAGES > 1, "early-copies: C is copied to shared memory where the steps are");
static_assert(!EARLY_C || VEC_C * SIZE >= 4, "early-width: copies to shared memory move 4 bytes or more");
static_assert((A_ALONG ? BLK_K : BLK_M) % VEC == 0, "stripe-a: stored columns of a stripe are whole reads");
static_assert((B_ALONG ? BLK_K : BLK_N) % VEC == 0, "stripe-b: stored columns of a stripe are whole reads");
static_assert(TC != 2 || A_ALONG || BLK_M == 8, "wmma-aligned-a: fragments of wmma begin at multiples of 32 bytes");
static_assert(TC != 1 || B_ALONG || BLK_N == 8, "wmma-aligned-b: fragments of wmma begin at multiples of 32 bytes");

// ---- shared memory ----------------------------------------------------------------------------------------------------
// What lies there: elements, or real numbers in planes.
#if !(COMPLEX && SPLIT)
typedef Stored Kept;
#elif TYPE_BITS == 16
typedef Half Kept;
#else
typedef double Kept;
#endif
constexpr int KEPT = sizeof(Kept);

// The least length from `along` on that leaves `rest` when it is divided by `unit`.
INLINE constexpr int padded(int along, int rest, int unit) { return along + (rest + unit - along % unit) % unit; }

// Elements from one stored column of a stripe to the next. The 8 rows of 16 bytes that ldmatrix loads together are to
// lie in different groups of banks, and so are 8 neighbours of 4 columns, or 4 of 8, that lanes load by themselves.
// Fragments of wmma begin at multiples of 32 bytes.
INLINE constexpr int pitch(bool k_along, int along) {
    return WMMA                    ? padded(along, 16, 32)
           : PAIRS                 ? (k_along ? padded(along, 4, 8) : padded(along, 8, 16))
           : HALVES                ? padded(along, 8, 16)
           : KEPT == 16 && !k_along ? padded(along, 2, 4)
                                   : padded(along, 4, 8);
}

constexpr int PITCH_A = pitch(A_ALONG, A_ALONG ? BLK_K : BLK_M), ACROSS_A = A_ALONG ? BLK_M : BLK_K;
constexpr int PITCH_B = WGMMA ? BLK_K : pitch(B_ALONG, B_ALONG ? BLK_K : BLK_N), ACROSS_B = B_ALONG ? BLK_N : BLK_K;
// What warp groups read begins at multiples of 1024 bytes.
constexpr int PLANE_A = WGMMA ? padded(GROUP * ACROSS_A * PITCH_A, 0, 1024 / KEPT) : GROUP * ACROSS_A * PITCH_A;
constexpr int PLANE_B = GROUP * ACROSS_B * PITCH_B;
constexpr int STAGE_B = (PLANES ? 2 : 1) * PLANE_A, STAGE = STAGE_B + (PLANES ? 2 : 1) * PLANE_B;

// Results of halves are gathered in shared memory, some columns of a warp at a time, so that whole lines are written:
// as halves where nothing is added to them, as float32 where C is. Where lanes hold 4 bytes or more of a column of C, they
// write it themselves.
#define ROUNDED (TYPE_BITS == 16 && !COMPLEX && (TC == 3 || TC == 7) && BETA == 0)
#if ROUNDED
typedef Half Out;
#else
typedef float Out;
#endif
constexpr int OUT_COLUMNS = WMMA ? TC_N : SUBS_N % 2 ? 8 : ROUNDED && SUBS_N % 4 == 0 ? 32 : 16;
constexpr int OUT_PITCH = WARP_M + (WMMA || ROUNDED ? 8 : 4), OUT_PLANE = OUT_PITCH * OUT_COLUMNS;
constexpr int AT_OUT = STAGES * STAGE * KEPT;
constexpr bool GATHERED = WMMA || (HALVES && !COMPLEX);
constexpr int AT_OLD = AT_OUT + (GATHERED ? WARPS * SUMS * OUT_PLANE * (int)sizeof(Out) : 0);  // what is read of C early

template <int COUNT> union Plane {
    typename Words<COUNT * KEPT>::Type word;
    Kept number[COUNT];
    INLINE Plane() {}
};

INLINE void clear(unsigned short &w) { w = 0; }
INLINE void clear(unsigned int &w) { w = 0; }
INLINE void clear(uint2 &w) { w = make_uint2(0, 0); }
INLINE void clear(uint4 &w) { w = make_uint4(0, 0, 0, 0); }

INLINE constexpr int least(int a, int b) { return a < b ? a : b; }
INLINE constexpr int common(int a, int b) { return b ? common(b, a % b) : a; }

INLINE void block_sync() {
    if (WARPS == 1) __syncwarp(); else __syncthreads();
}

// ---- one operand: device memory -> registers -> shared memory, or there at once ---------------------------------------
// FREE is m for A and n for B. A stripe is FREE_BLK by BLK_K for each matrix of the group; its stored columns, one matrix
// after the other, are dealt out to DOWN threads along and ACROSS the others.
// In a stripe that is SWIZZLED, the words of 16 bytes of a stored column of 128 change places: see wgmma.cuh.
template <bool K_ALONG, int FREE_BLK, int PITCH, bool SWIZZLED> struct Stripe {
    static constexpr int ALONG = K_ALONG ? BLK_K : FREE_BLK, COLUMNS = K_ALONG ? FREE_BLK : BLK_K;
    static constexpr int DOWN = common(DIM_X, ALONG / VEC), ACROSS = THREADS / DOWN;
    static constexpr int P = ALONG / VEC / DOWN, Q = (GROUP * COLUMNS + ACROSS - 1) / ACROSS;
    static constexpr bool EVEN = GROUP * COLUMNS % ACROSS == 0;

#if STAGES == 1
    Pack<VEC> piece[P][Q];
#endif
    const Stored *at;            // this thread's first element of the step
    long long leading, matrix;   // elements from one column, and from one matrix, to the next
    int along, across;           // this thread's place
    int free_left, matrices_left;

    INLINE void start(const void *base, long long ld, long long stride, int first_matrix, int batch, int first, int size) {
        along = threadIdx.x % DOWN * VEC;
        across = threadIdx.x / DOWN;
        leading = ld;
        matrix = stride;
        free_left = size - first;
        matrices_left = batch - first_matrix;
        at = (const Stored *)base + first_matrix * stride + (K_ALONG ? first * ld : (long long)first) + along;
        if (GROUP == 1) at += across * ld;
    }

    INLINE const Stored *place(int p, int q) const {
        if (GROUP == 1) return at + p * DOWN * VEC + q * ACROSS * leading;
        const int column = across + q * ACROSS;
        return at + p * DOWN * VEC + column / COLUMNS * matrix + column % COLUMNS * leading;
    }

    INLINE bool inside(int k_left) const {
        return free_left >= FREE_BLK && k_left >= BLK_K && (GROUP == 1 || matrices_left >= GROUP);
    }

    // Elements of a read that there are: none outside of k, which both operands must be zero in.
    INLINE int there(int p, int q, int k_left) const {
        const int column = across + q * ACROSS, c = column % COLUMNS, last = along + p * DOWN * VEC;
        const bool column_there = c < (K_ALONG ? free_left : k_left) && (GROUP == 1 || column / COLUMNS < matrices_left);
        return column_there ? max(0, min(VEC, (K_ALONG ? k_left : free_left) - last)) : 0;
    }

#if STAGES > 1
    // The first elements of a word: a copy that is told to leave out the others is a read of all of it to some tools. A
    // single half passes a register, in time for the barrier that makes the step known to all threads.
    INLINE void fetch_part(int count, const Stored *from, Kept *to) const {
        constexpr int UNIT = SIZE < 4 ? 2 : 1;
        UNROLL for (int v = 0; v < VEC; v += UNIT) {
            const bool there = v + UNIT <= count;
            if (UNIT == 2 && v + 1 == count)
                *(unsigned int *)(to + v) = *(const unsigned short *)(from + v);
            else
                word_load<UNIT * SIZE>(to + v, there ? from + v : at, there ? UNIT * SIZE : 0);
        }
    }
#endif

    template <bool WHOLE> INLINE void fetch_as(int k_left, Kept *stripe) {
        // What is rare is short; of odd sizes all of float64 is not whole, and a word is there or not.
        constexpr int TOGETHER = WHOLE || STAGES == 1 || (VEC == 1 && !HALVES) ? Q : 1;
        _Pragma("unroll (TOGETHER)") for (int q = 0; q < Q; q++) {
            if (!EVEN && across + q * ACROSS >= GROUP * COLUMNS) break;
            UNROLL for (int p = 0; p < P; p++) {
                const int count = WHOLE ? VEC : there(p, q, k_left);
#if STAGES > 1
                const int column = across + q * ACROSS, at_k = along + p * DOWN * VEC;
                Kept *const to = stripe + column * PITCH + (SWIZZLED ? at_k ^ column % 8 * VEC : at_k);
                if (WHOLE || VEC == 1 || count == VEC || count == 0)
                    word_load<VEC * SIZE>(to, count ? place(p, q) : at, count ? VEC * SIZE : 0);
                else
                    fetch_part(count, place(p, q), to);
#else
                if (count == VEC) {
                    global_load(piece[p][q].word, (const typename Words<VEC * SIZE>::Type *)place(p, q));
                } else {
                    clear(piece[p][q].word);
                    UNROLL for (int v = 0; v < VEC; v++) if (v < count) piece[p][q].element[v] = place(p, q)[v];
                }
#endif
            }
        }
    }

    // Asks for a step of which k_left are there, and moves on to the next.
    INLINE void fetch(int k_left, Kept *stripe) {
        if (inside(k_left)) fetch_as<true>(k_left, stripe); else fetch_as<false>(k_left, stripe);
        at += BLK_K * (K_ALONG ? 1 : leading);
    }

#if STAGES == 1
    // What has been fetched; pairs are split where planes are asked for.
    INLINE void offload(Kept *stripe) const {
        UNROLL for (int q = 0; q < Q; q++) {
            if (!EVEN && across + q * ACROSS >= GROUP * COLUMNS) break;
            UNROLL for (int p = 0; p < P; p++) {
                Kept *const to = stripe + (across + q * ACROSS) * PITCH + along + p * DOWN * VEC;
#if COMPLEX && SPLIT
                Plane<VEC> re, im;
                UNROLL for (int v = 0; v < VEC; v++) {
                    re.number[v] = piece[p][q].element[v].re;
                    im.number[v] = piece[p][q].element[v].im;
                }
                *(typename Words<VEC * KEPT>::Type *)to = re.word;
                *(typename Words<VEC * KEPT>::Type *)(to + GROUP * COLUMNS * PITCH) = im.word;
#else
                *(typename Words<VEC * SIZE>::Type *)to = piece[p][q].word;
#endif
            }
        }
    }
#endif
};

typedef Stripe<A_ALONG, BLK_M, PITCH_A, false> StripeA;
typedef Stripe<B_ALONG, BLK_N, PITCH_B, WGMMA> StripeB;

// ---- products ------------------------------------------------------------------------------------------------------------
// A warp's sums: of its products along m and n, the numbers that its lane holds; re and im apart.
typedef Real Sums[SUMS][SUBS_M][SUBS_N][TC_M * TC_N / 32];

#if TC < 3
// Signs of all numbers of a fragment turned.
template <bool YES, int COUNT> INLINE void turn(unsigned int (&to)[COUNT], const unsigned int (&x)[COUNT]) {
    UNROLL for (int i = 0; i < COUNT; i++) to[i] = signs_turned<YES ? 0x80008000u : 0u>(x[i]);
}

INLINE void multiply(Sums &sum, const Kept *a, const Kept *b, int, int) {
    UNROLL for (int k = 0; k < BLK_K; k += TC_K) {
        unsigned int x[PARTS][SUBS_M][WMMA_A];
        UNROLL for (int p = 0; p < PARTS; p++) UNROLL for (int i = 0; i < SUBS_M; i++)
            wmma_load_a<A_ALONG>(x[p][i], a + p * PLANE_A + (A_ALONG ? i * TC_M * PITCH_A + k : k * PITCH_A + i * TC_M), PITCH_A);
        UNROLL for (int j = 0; j < SUBS_N; j++) {
            unsigned int y[PARTS][WMMA_B];
            UNROLL for (int p = 0; p < PARTS; p++)
                wmma_load_b<B_ALONG>(y[p], b + p * PLANE_B + (B_ALONG ? j * TC_N * PITCH_B + k : k * PITCH_B + j * TC_N), PITCH_B);
#if COMPLEX
            unsigned int re[WMMA_B], im[WMMA_B], against[WMMA_B];
            turn<CONJ_A>(re, y[0]);
            turn<CONJ_B>(im, y[1]);
            turn<CONJ_A == CONJ_B>(against, y[1]);
            UNROLL for (int i = 0; i < SUBS_M; i++) {
                wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[0][i], y[0]);
                wmma_multiply<A_ALONG, B_ALONG>(sum[1][i][j], x[0][i], im);
                wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[1][i], against);
                wmma_multiply<A_ALONG, B_ALONG>(sum[1][i][j], x[1][i], re);
            }
#else
            UNROLL for (int i = 0; i < SUBS_M; i++) wmma_multiply<A_ALONG, B_ALONG>(sum[0][i][j], x[0][i], y[0]);
#endif
        }
    }
}
#else
// Fragments are made of blocks of 8 rows of A (or columns of B) by 4 lanes along k. Lane 4 r + t has row r of every block,
// or, in blocks that lanes load by themselves along a stored column, RUN neighbours of it: row RUN r + i of RUN blocks.
#if TYPE_BITS == 16
typedef unsigned int Register;
#else
typedef double Register;
#endif
constexpr int BLOCKS_M = WARP_M / 8, BLOCKS_N = WARP_N / 8;
constexpr int QUADS = HALVES ? 2 : TC_K / 4;  // blocks along k of one product

// Tensor cores want what they take of A in four neighbouring registers, rows r and r + 8 at one k, then at the next: two
// neighbours in a column are half of that as they come, and nothing is moved. What they take of pairs of B has been
// through the change of signs, which puts it anywhere.
INLINE constexpr int run(bool k_along, int blocks, int most) {
    return k_along || (HALVES && !PAIRS)   ? 1
           : PAIRS && blocks % 4 == 0      ? most
           : KEPT <= 8 && blocks % 2 == 0 ? 2
                                          : 1;
}
constexpr int RUN_A = run(A_ALONG, BLOCKS_M, 2), RUN_B = run(B_ALONG, BLOCKS_N, 4);

// Row (or column) of a warp's part that lane row r has of a block.
template <int RUN> INLINE int of_block(int block, int r) { return block / RUN * 8 * RUN + RUN * r + block % RUN; }

template <int COUNT> union Loaded {
    typename Words<COUNT * KEPT>::Type word;
    Register number[COUNT * KEPT / sizeof(Register)];
    INLINE Loaded() {}
};

// IN_PAIRS: both halves of k of one block lie in neighbouring registers, as of B, not one half of two blocks, as of A.
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
                    matrices_load<!K_ALONG>(x[p][n][0], x[p][n][1], x[p][n + 1][0], x[p][n + 1][1], row(n + j / 2, j % 2));
                else
                    matrices_load<!K_ALONG>(x[p][n][0], x[p][n + 1][0], x[p][n][1], x[p][n + 1][1], row(n + j % 2, j / 2));
            if (COUNT % 2)
                matrices_load<!K_ALONG>(x[p][COUNT - 1][0], x[p][COUNT - 1][1], row(COUNT - 1, j % 2));
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
                found.word = *(const typename Words<RUN * KEPT>::Type *)at;
                UNROLL for (int i = 0; i < RUN; i++) UNROLL for (int w = 0; w < WIDE; w++)
                    x[p + w][n + i][h] = found.number[i * WIDE + w];
            }
    }
}

// One product of tensor cores: rows of block (or two blocks) i of A, columns of one block of B.
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
template <bool YES> INLINE Register turned(Register x) { return signs_turned<YES ? 0x80008000u : 0u>(x); }
#else
template <bool YES> INLINE Register turned(Register x) { return YES ? -x : x; }
#endif

// What a warp multiplies at once: STEP elements along k of its rows of A and of its columns of B.
struct Fragments {
    Register x[PARTS][BLOCKS_M][QUADS], y[PARTS][BLOCKS_N][QUADS];

    INLINE void load(const Kept *a, const Kept *b, int k, int lane) {
        fragments_load<A_ALONG, false, BLOCKS_M, RUN_A, PITCH_A, PLANE_A>(x, a + k * (A_ALONG ? 1 : PITCH_A), lane);
        fragments_load<B_ALONG, true, BLOCKS_N, RUN_B, PITCH_B, PLANE_B>(y, b + k * (B_ALONG ? 1 : PITCH_B), lane);
    }
};

INLINE void multiply(Sums &sum, const Fragments &f) {
    UNROLL for (int j = 0; j < BLOCKS_N; j++) {
#if !COMPLEX
        UNROLL for (int i = 0; i < SUBS_M; i++) product(sum[0][i][j], f.x[0], i, f.y[0][j]);
#elif TYPE_BITS == 16 && !SPLIT
        // re of (ar, ai) (br, bi) is their product with (br, -bi), im is that with (bi, br).
        Register re[QUADS], im[QUADS];
        UNROLL for (int h = 0; h < QUADS; h++) {
            re[h] = signs_turned<CONJ_A == CONJ_B ? 0x80000000u : 0u>(f.y[0][j][h]);
            im[h] = signs_turned<(CONJ_B ? 0x8000u : 0u) | (CONJ_A ? 0x80000000u : 0u)>(halves_swapped(f.y[0][j][h]));
        }
        UNROLL for (int i = 0; i < SUBS_M; i++) {
            product(sum[0][i][j], f.x[0], i, re);
            product(sum[1][i][j], f.x[0], i, im);
        }
#else
        Register re[QUADS], im[QUADS], against[QUADS];
        UNROLL for (int h = 0; h < QUADS; h++) {
            re[h] = turned<CONJ_A>(f.y[0][j][h]);
            im[h] = turned<CONJ_B>(f.y[1][j][h]);
            against[h] = turned<CONJ_A == CONJ_B>(f.y[1][j][h]);
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

// A step, of which k_left are there. What follows is zeros: products of float64 take long enough to ask whether to leave
// them out.
INLINE void multiply(Sums &sum, const Kept *a, const Kept *b, int k_left, int lane) {
    UNROLL for (int k = 0; k < BLK_K; k += STEP) {
        if (!HALVES && k > 0 && k >= k_left) break;
        Fragments f;
        f.load(a, b, k, lane);
        multiply(sum, f);
    }
}

#if TC == 7
// What a warp group has of A: for re and im of the sums, 16 rows of each warp and 16 along k. B is read as it lies, so signs
// are turned here: re of (ar, ai) (br, bi) is the product of (ar, -ai) with (br, bi), im is that of (ai, ar).
struct Rows {
    Register x[SUMS][SUBS_M][4];

    INLINE void load(const Kept *a, int lane) {
        Register found[PARTS][BLOCKS_M][QUADS];
        fragments_load<A_ALONG, false, BLOCKS_M, RUN_A, PITCH_A, PLANE_A>(found, a, lane);
        UNROLL for (int i = 0; i < SUBS_M; i++) UNROLL for (int e = 0; e < 4; e++) {
            const Register pair = found[0][2 * i + e % 2][e / 2];
#if COMPLEX
            x[0][i][e] = signs_turned<CONJ_A == CONJ_B ? 0x80000000u : 0u>(pair);
            x[1][i][e] = signs_turned<(CONJ_A ? 0x8000u : 0u) | (CONJ_B ? 0x80000000u : 0u)>(halves_swapped(pair));
#else
            x[0][i][e] = pair;
#endif
        }
    }
    INLINE void multiply(Sums &sum, unsigned long long b) const {
        UNROLL for (int p = 0; p < SUMS; p++) UNROLL for (int i = 0; i < SUBS_M; i++)
            wgmma_16<WARP_N>(&sum[p][i][0][0], x[p][i][0], x[p][i][1], x[p][i][2], x[p][i][3], b);
    }
};
#endif
#endif

// ---- the walk -----------------------------------------------------------------------------------------------------------------
// One group of matrices and one tile after another: what a block works on.
struct Walk {
    static constexpr unsigned int UP = 0x10000;
    unsigned int tile, tiles;        // tiles along m and n as one number: m + UP * n
    unsigned int step_tile;          // from one to the next, so that nothing is divided on the way
    int group, step_group, groups;

    INLINE Walk(const Gemm &g) {
        const int tiles_m = (g.m + BLK_M - 1) / BLK_M, tiles_n = (g.n + BLK_N - 1) / BLK_N, all = tiles_m * tiles_n;
        const int first = blockIdx.x % all, step = gridDim.x % all;
        groups = (g.batch + GROUP - 1) / GROUP;
        group = blockIdx.x / all;
        step_group = gridDim.x / all;
        tiles = tiles_m + UP * tiles_n;
        tile = first % tiles_m + UP * (first / tiles_m);
        step_tile = step % tiles_m + UP * (step / tiles_m);
    }
    INLINE bool there() const { return group < groups; }
    INLINE int first_m() const { return (int)(tile % UP) * BLK_M; }
    INLINE int first_n() const { return (int)(tile / UP) * BLK_N; }
    INLINE void next() {
        group += step_group;
        tile += step_tile;
        if (tile % UP >= tiles % UP) tile += UP - tiles % UP;
        if (tile / UP >= tiles / UP) {
            tile -= tiles / UP * UP;
            group++;
        }
    }
};

// ---- results ---------------------------------------------------------------------------------------------------------------
// A warp's part of C: its first element, the rows and columns that there are from there on, whether there is a matrix.
struct Part {
    Stored *c;
    int rows, columns;
    bool there;
    INLINE Part(const Gemm &g, const Walk &at, int mine, int warp_m, int warp_n) {
        const int matrix = at.group * GROUP + mine, row = at.first_m() + warp_m, column = at.first_n() + warp_n;
        c = (Stored *)g.c + matrix * g.stride_c + row + column * g.ldc;
        rows = g.m - row;
        columns = g.n - column;
        there = GROUP == 1 || matrix < g.batch;
    }
    INLINE bool inside() const { return there && rows >= WARP_M && columns >= WARP_N; }
};

#if !ROUNDED
// The same number, of which the compiler knows nothing: what follows from it is computed where it is used, and does not wait
// in registers.
INLINE long long anew(long long x) {
    asm volatile("" : "+l"(x));
    return x;
}

// Registers for what is read of C: what a block that stays leaves beside sums, addresses and what has been loaded ahead.
#if TC < 3
constexpr int BESIDE = 72;
#else
constexpr int BESIDE = 72 + AHEAD * (int)sizeof(Fragments) / 4;
#endif
constexpr int PROMISED = 65536 / (THREADS * BLOCKS) < 255 ? 65536 / (THREADS * BLOCKS) : 255;
constexpr int LEFT = PROMISED - (int)sizeof(Sums) / 4 - BESIDE, ROOM = LEFT < 8 ? 8 : LEFT < 64 ? LEFT : 64;
// Where there is room, words that are next are read before these are used.
constexpr int SETS = ROOM >= 48 && !EARLY_C ? 2 : 1;

// Of so many words of COUNT elements, those that are read together: few where each has to be asked whether it is there.
template <int COUNT, bool INSIDE> INLINE constexpr int fitting(int words) {
    const int each = COUNT * SIZE < 4 ? 1 : COUNT * SIZE / 4, most = ROOM / SETS / each;
    return most < 1 ? 1 : least(least(most, INSIDE ? 16 : 2), words);
}

// A lane's words of its warp's part of C: of COUNT elements each, at a row and a column, and where in shared memory what is
// read of them early lies, a warp's neighbours side by side.
#if TC < 3 || (TYPE_BITS == 16 && !COMPLEX)
// Of the columns that are gathered together, words go round the lanes; there may be fewer than the last lanes ask for.
struct Mine {
    static constexpr int COUNT = VEC_C, RUNS = WARP_M / COUNT, GATHER = RUNS * OUT_COLUMNS, TURNS = (GATHER + 31) / 32;
    static constexpr int WORDS = WARP_N / OUT_COLUMNS * TURNS;
    int lane;
    INLINE int run(int word) const { return word % TURNS * 32 + lane; }
    INLINE bool there(int word) const { return run(word) < GATHER; }
    INLINE int row(int word) const { return run(word) % RUNS * COUNT; }
    INLINE int column(int word) const { return word / TURNS * OUT_COLUMNS + run(word) / RUNS; }
    INLINE int place(int word) const { return (word / TURNS * GATHER + run(word)) * COUNT; }
};
#else
// Down the rows that a lane has, then the columns.
struct Mine {
    static constexpr int COUNT = VEC_C < RUN_A ? VEC_C : RUN_A, DOWN = BLOCKS_M / COUNT, WORDS = DOWN * BLOCKS_N * 2;
    int lane;
    INLINE bool there(int) const { return true; }
    INLINE int row(int word) const { return of_block<RUN_A>(word % DOWN * COUNT, lane / 4); }
    INLINE int column(int word) const { return of_block<RUN_B>(word / DOWN / 2, lane % 4 * 2 + word / DOWN % 2); }
    INLINE int place(int word) const { return (word * 32 + lane) * COUNT; }
};
#endif

// Asks for a lane's whole words of C, into shared memory. What is not whole is read when it is used.
template <bool INSIDE> INLINE void ask(const Part &part, long long ldc, Stored *early, int lane) {
    constexpr int COUNT = Mine::COUNT;
    const Mine mine = {lane};
    UNROLL for (int word = 0; word < Mine::WORDS; word++) {
        const int row = mine.row(word), column = mine.column(word);
        if (mine.there(word) && (INSIDE || (column < part.columns && part.rows - row >= COUNT)))
            word_load<COUNT * SIZE>(early + mine.place(word), part.c + row + column * ldc, COUNT * SIZE);
    }
}

// COUNT neighbours in a column of C, of which `there` are inside; sum(v) is the v-th sum. A whole word of them has been
// read by look(), long before: reads and writes of device memory keep their order, and each would wait for its own.
template <int COUNT, bool INSIDE> INLINE void look(Pack<COUNT> &old, const Stored *c, int there) {
    if (BETA != 0 && (INSIDE || there >= COUNT)) global_load(old.word, (const typename Words<COUNT * SIZE>::Type *)c);
}

template <int COUNT, bool INSIDE, class Sum>
INLINE void update(Stored *c, const Scalars &s, int there, const Pack<COUNT> &old, const Sum &sum) {
    if (INSIDE || there >= COUNT) {
        Pack<COUNT> out;
        UNROLL for (int v = 0; v < COUNT; v++)
            out.element[v] = narrowed(scaled(s, sum(v), BETA ? widened(old.element[v]) : zero()));
        global_store((typename Words<COUNT * SIZE>::Type *)c, out.word);
    } else {
        UNROLL for (int v = 0; v < COUNT; v++)
            if (v < there) c[v] = narrowed(scaled(s, sum(v), BETA ? widened(c[v]) : zero()));
    }
}

#endif

template <bool INSIDE>
INLINE void store(const Sums &sum, const Part &part, long long ldc, const Scalars &s, Out *out, const Stored *early, int lane) {
    Stored *const c = part.c;
    const int rows = part.rows, columns = part.columns;
#if ROUNDED
    constexpr int RUNS = WARP_M / VEC_C;
    const int q = lane / 8, column = lane % 8;  // of four blocks of 8 by 8, and of this one
    UNROLL for (int first = 0; first < WARP_N; first += OUT_COLUMNS) {
        __syncwarp();  // what was there has been read
        UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j += 2) UNROLL for (int i = 0; i < SUBS_M; i++) {
            constexpr bool TWO = OUT_COLUMNS % 16 == 0;
            unsigned int x[4];
            UNROLL for (int e = 0; e < (TWO ? 4 : 2); e++) {
                const float *const pair = sum[0][i][first / 8 + j + e / 2] + e % 2 * 2;
                x[e] = halves_of(scaled(s, pair[0], zero()), scaled(s, pair[1], zero()));
            }
            Half *const to = out + (j * 8 + (TWO ? q / 2 * 8 : 0) + column) * OUT_PITCH + i * 16 + q % 2 * 8;
            if constexpr (TWO)
                matrices_store_turned(x[0], x[1], x[2], x[3], to);
            else
                matrices_store_turned(x[0], x[1], to);
        }
        __syncwarp();
        _Pragma("unroll (INSIDE ? 8 : 1)") for (int run = lane; run < RUNS * OUT_COLUMNS; run += 32) {
            const int row = run % RUNS * VEC_C, column = run / RUNS, there = rows - row;
            if (!INSIDE && first + column >= columns) continue;
            Pack<VEC_C> found;
            found.word = *(const typename Words<VEC_C * SIZE>::Type *)(out + column * OUT_PITCH + row);
            Stored *const to = c + row + (first + column) * ldc;
            if (INSIDE || there >= VEC_C)
                global_store((typename Words<VEC_C * SIZE>::Type *)to, found.word);
            else
                UNROLL for (int v = 0; v < VEC_C; v++) if (v < there) to[v] = found.element[v];
        }
    }
#elif TC < 3 || (TYPE_BITS == 16 && !COMPLEX)
    constexpr int TURNS = Mine::TURNS;
    constexpr int EACH = fitting<VEC_C, INSIDE>(TURNS), PER = (TURNS + EACH - 1) / EACH, ALL = WARP_N / OUT_COLUMNS * PER;
    const Mine mine = {lane};
    Pack<VEC_C> old[SETS][EACH];
    // Of the words of the columns that are in shared memory together, those of a batch; none where there is none.
    auto word_of = [&](int batch, int i) { return batch / PER * TURNS + batch % PER * EACH + i; };
    auto in_turns = [&](int batch, int i) { return batch % PER * EACH + i < TURNS && mine.there(word_of(batch, i)); };
    auto looks = [&](int batch, Pack<VEC_C> (&old)[EACH]) {
        const long long ld = anew(ldc);
        UNROLL for (int i = 0; i < EACH; i++) {
            const int word = word_of(batch, i), row = mine.row(word), column = mine.column(word);
            if (!in_turns(batch, i) || (!INSIDE && column >= columns)) break;
            if (EARLY_C)
                old[i].word = *(const typename Words<VEC_C * SIZE>::Type *)(early + mine.place(word));
            else
                look<VEC_C, INSIDE>(old[i], c + row + column * ld, rows - row);
        }
    };
    if (BETA != 0 && SETS == 2) looks(0, old[0]);
    UNROLL for (int batch = 0; batch < ALL; batch++) {
        const int next = batch + SETS - 1, first = batch / PER * OUT_COLUMNS;
        if (BETA != 0 && next < ALL) looks(next, old[next % SETS]);
        if (batch % PER == 0) {
            __syncwarp();  // what was there has been read
            UNROLL for (int part = 0; part < SUMS; part++) UNROLL for (int i = 0; i < SUBS_M; i++) {
#if TC < 3
                wmma_store(out + part * OUT_PLANE + i * TC_M, sum[part][i][first / TC_N], OUT_PITCH);
#else
                UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j++) UNROLL for (int e = 0; e < 4; e++)
                    out[(j * 8 + lane % 4 * 2 + e % 2) * OUT_PITCH + i * 16 + e / 2 * 8 + lane / 4] =
                        sum[part][i][first / 8 + j][e];
#endif
            }
            __syncwarp();
        }
        const long long ld = anew(ldc);
        UNROLL for (int i = 0; i < EACH; i++) {
            const int word = word_of(batch, i), row = mine.row(word), column = mine.column(word);
            if (!in_turns(batch, i) || (!INSIDE && column >= columns)) break;
            const float *const from = out + (column - first) * OUT_PITCH + row;
            Real found[SUMS][VEC_C];
            UNROLL for (int part = 0; part < SUMS; part++) {
                if constexpr (VEC_C >= 4) {
                    UNROLL for (int v = 0; v < VEC_C; v += 4) *(float4 *)&found[part][v] = *(const float4 *)(from + part * OUT_PLANE + v);
                } else {
                    UNROLL for (int v = 0; v < VEC_C; v++) found[part][v] = from[part * OUT_PLANE + v];
                }
            }
            update<VEC_C, INSIDE>(c + row + column * ld, s, rows - row, old[batch % SETS][i], [&](int v) {
#if COMPLEX
                return Element{found[0][v], found[1][v]};
#else
                return found[0][v];
#endif
            });
        }
    }
#else
    constexpr int WIDE = Mine::COUNT, DOWN = Mine::DOWN, WORDS = Mine::WORDS, TALL = TC_M / 8;
    constexpr int EACH = fitting<WIDE, INSIDE>(WORDS);
    const Mine mine = {lane}, lane_0 = {0};
    Pack<WIDE> old[SETS][EACH];
    Stored *const to = c + mine.row(0) + mine.column(0) * ldc;
    auto apart = [&](int word, long long ld) { return lane_0.row(word) + lane_0.column(word) * ld; };  // how far from there
    auto looks = [&](int first, Pack<WIDE> (&old)[EACH]) {
        const long long ld = anew(ldc);
        UNROLL for (int i = 0; i < EACH; i++) {
            const int word = first + i;
            if (word >= WORDS) break;
            if (EARLY_C)
                old[i].word = *(const typename Words<WIDE * SIZE>::Type *)(early + mine.place(word));
            else if (INSIDE || mine.column(word) < columns)
                look<WIDE, INSIDE>(old[i], to + apart(word, ld), rows - mine.row(word));
        }
    };
    if (BETA != 0 && SETS == 2) looks(0, old[0]);
    UNROLL for (int first = 0; first < WORDS; first += EACH) {
        const int next = first + (SETS - 1) * EACH;
        if (BETA != 0 && next < WORDS) looks(next, old[next / EACH % SETS]);
        const long long ld = anew(ldc);
        UNROLL for (int i = 0; i < EACH; i++) {
            const int word = first + i;
            if (word >= WORDS) break;
            if (!INSIDE && mine.column(word) >= columns) continue;
            update<WIDE, INSIDE>(to + apart(word, ld), s, rows - mine.row(word), old[first / EACH % SETS][i],
                                 [&](int v) {
                const int j = word / DOWN / 2, block = word % DOWN * WIDE + v;
                const int at = block / TALL, number = block % TALL * 2 + word / DOWN % 2;
#if COMPLEX
                return Element{sum[0][at][j][number], sum[1][at][j][number]};
#else
                return sum[0][at][j][number];
#endif
            });
        }
    }
#endif
}

// ---- the kernel ------------------------------------------------------------------------------------------
extern __shared__ __align__(TC == 7 ? 1024 : 128) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) tensor(const __grid_constant__ Gemm g) {
    Kept *const stages = (Kept *)shared_memory;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int mine = warp / WARPS_EACH, warp_m = warp % WARPS_EACH % WARPS_M * WARP_M;
    const int warp_n = warp % WARPS_EACH / WARPS_M * WARP_N;
    Out *const out = (Out *)(shared_memory + AT_OUT) + warp * SUMS * OUT_PLANE;
    Stored *const early = (Stored *)(shared_memory + AT_OLD) + warp * WARP_M * WARP_N;
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const int steps = max(1, (g.k + BLK_K - 1) / BLK_K);
    // This warp's rows and columns of a stripe.
    const int from_a = mine * ACROSS_A * PITCH_A + (A_ALONG ? warp_m * PITCH_A : warp_m);
    const int from_b = STAGE_B + mine * ACROSS_B * PITCH_B + (B_ALONG ? warp_n * PITCH_B : warp_n);

    StripeA a;
    StripeB b;
    Walk ahead(g), now(g);
    int k_left = 0;  // of the tile that is fetched
    auto fetch = [&](Kept *stage) {
        if (!ahead.there()) return;
        if (k_left <= 0) {
            const int first = ahead.group * GROUP;
            a.start(g.a, g.lda, g.stride_a, first, g.batch, ahead.first_m(), g.m);
            b.start(g.b, g.ldb, g.stride_b, first, g.batch, ahead.first_n(), g.n);
            k_left = g.k;
        }
        a.fetch(k_left, stage);
        b.fetch(k_left, stage + STAGE_B);
        k_left -= BLK_K;
        if (k_left <= 0) ahead.next();
    };

#if STAGES == 1
    fetch(stages);
#else
    // What is loaded ahead frees its stage before it is multiplied: all stages can be on their way.
    int stage = 0;
    UNROLL for (int i = 0; i < STAGES - !AHEAD; i++) {
        fetch(stages + i * STAGE);
        words_commit();
    }
#endif
#if TC == 7
    constexpr int PRODUCTS = BLK_K / STEP;
    Rows rows[PRODUCTS];
    words_wait<STAGES - 2>();
    async_fence();
    block_sync();
    rows[0].load(stages + from_a, lane);
#elif AHEAD
    Fragments fragments[2];
    words_wait<STAGES - 1>();
    block_sync();
    fragments[0].load(stages + from_a, stages + from_b, 0, lane);
#endif
    _Pragma("unroll 1") for (; now.there(); now.next()) {
#if EARLY_C
        // On its way with the step that is asked for next.
        const Part asked(g, now, mine, warp_m, warp_n);
        if (asked.inside()) ask<true>(asked, g.ldc, early, lane);
        else if (asked.there) ask<false>(asked, g.ldc, early, lane);
#endif
        Sums sum;
        UNROLL for (int p = 0; p < SUMS; p++) UNROLL for (int i = 0; i < SUBS_M; i++) UNROLL for (int j = 0; j < SUBS_N; j++)
            UNROLL for (int e = 0; e < TC_M * TC_N / 32; e++) sum[p][i][j][e] = 0;
        _Pragma("unroll 1") for (int step = 0; step < steps; step++) {
#if STAGES == 1
            block_sync();  // the step before this one has been multiplied
            a.offload(stages);
            b.offload(stages + STAGE_B);
            block_sync();
            fetch(stages);
            multiply(sum, stages + from_a, stages + from_b, g.k - step * BLK_K, lane);
#elif TC == 7
            // Tensor cores have all of this step to do while the next one comes and its first rows are loaded. Nothing
            // is on its way across the border of steps, or ptxas would have every product waited for.
            const Kept *const here = stages + stage * STAGE;
            const unsigned long long columns = wgmma_operand(here + from_b);
            UNROLL for (int i = 0; i < PRODUCTS; i++) {
                if (i) rows[i].load(here + from_a + i * STEP * (A_ALONG ? 1 : PITCH_A), lane);
                wgmma_fence();
                rows[i].multiply(sum, columns + 2 * i);
                wgmma_commit();
            }
            words_wait<STAGES - 3>();
            async_fence();
            block_sync();  // the next step is there for all warp groups, and the stage before this one is free
            fetch(stages + (stage ? stage - 1 : STAGES - 1) * STAGE);
            words_commit();  // of nothing, too: groups of words are counted
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            wgmma_wait<PRODUCTS - 1>();
            rows[0].load(stages + stage * STAGE + from_a, lane);
            wgmma_wait<0>();
#elif AHEAD
            Kept *const here = stages + stage * STAGE;
            constexpr int PRODUCTS = BLK_K / STEP;
            UNROLL for (int i = 0; i < PRODUCTS; i++) {
                if (i + 1 < PRODUCTS) {
                    fragments[(i + 1) % 2].load(here + from_a, here + from_b, (i + 1) * STEP, lane);
                } else {
                    words_wait<STAGES - 2>();
                    block_sync();  // the next step is there for all threads, and this stage is free
                    fetch(here);     // first: its addresses and the next fragments need registers, in turns
                    words_commit();  // of nothing, too: groups of words are counted
                    stage = stage + 1 == STAGES ? 0 : stage + 1;
                    fragments[(i + 1) % 2].load(stages + stage * STAGE + from_a, stages + stage * STAGE + from_b, 0, lane);
                }
                multiply(sum, fragments[i % 2]);
            }
            if (PRODUCTS % 2) fragments[0] = fragments[1];
#else
            words_wait<STAGES - 2>();
            block_sync();  // this step is there for all threads, and the stage before it is free
            fetch(stages + (stage ? stage - 1 : STAGES - 1) * STAGE);
            words_commit();  // of nothing, too: groups of words are counted
            Kept *const here = stages + stage * STAGE;
            multiply(sum, here + from_a, here + from_b, g.k - step * BLK_K, lane);
            stage = stage + 1 == STAGES ? 0 : stage + 1;
#endif
        }
#if EARLY_C
        words_wait_but<STAGES - 1>(steps - 1);  // one group of words a step was asked for after C
#endif
        const Part part(g, now, mine, warp_m, warp_n);
        if (part.inside())
            store<true>(sum, part, g.ldc, scalars, out, early, lane);
        else if (part.there)
            store<false>(sum, part, g.ldc, scalars, out, early, lane);
    }
}
