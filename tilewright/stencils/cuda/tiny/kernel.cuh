// tiny: C = alpha * op(A) * op(B) + beta * C for large batches of matrices so small that memory sets the pace.
//
// I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix
// multiplications of very small matrices" (2018), section 7: one block computes all of C of several matrices
// (their aggregation), each matrix passes device memory once, sizes are constants of the compiler. What later
// devices add is that the batch is a stream of bytes: groups of whole matrices are copied into a ring in shared
// memory while earlier ones are multiplied, and the products leave through shared memory again.
//
//   device memory   A |0 1 2 3|4 5 6 7|...|   B |0 1 2 3|4 5 6 7|...|      GROUP matrices at a time
//                         |                         |
//   shared memory     stage 0 [A | B | C]   stage 1 [A | B | C] ...        STAGES of them on their way
//                         |
//   registers         a thread: ROWS x COLUMNS of the C of one matrix      every few-th group of rows and of
//                     (MMA: a warp, by tensor cores)                       columns, so that neighbouring threads
//                         |                                                read neighbouring words
//   shared memory     C of the group
//                         |
//   device memory   C |0 1 2 3|...
//
// PATH  2  bulk copies (sm_90) by one thread: operands that lie evenly, on addresses that are multiples of 16.
//          Padding and gaps of a known rhythm come with the rest and lie in shared memory as they do in device
//          memory; those of C are never written: there the result leaves by words of all threads. The last
//          matrices, a group at most, are read element by element.
//       1  words of 4, 8 or 16 bytes (sm_80) by all threads: any leading dimensions, gaps and addresses.
//       0  no staging: tiles are read from and written to device memory, and the first-level cache joins
//          what neighbours read.
// An operand that the whole batch shares is copied once. Blocks walk over the groups, so any grid is right.
#include "lib/bulk.cuh"
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 32  // of a real number: 16 (computed with in float32), 32 or 64
#endif
#ifndef BRAIN
#define BRAIN 0  // whether 16 bits are a bfloat16
#endif
#ifndef COMPLEX
#define COMPLEX 0  // whether an element is a pair (re, im)
#endif
#ifndef SIZE_M
#define SIZE_M 16  // rows of C
#endif
#ifndef SIZE_N
#define SIZE_N 16  // columns of C
#endif
#ifndef SIZE_K
#define SIZE_K 16  // columns of op(A)
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
#ifndef ALIGN
#define ALIGN 16  // bytes that divide the addresses of A, B and C
#endif
#ifndef FLAT_A
#define FLAT_A 1  // whether the batch of A has no gaps
#endif
#ifndef FLAT_B
#define FLAT_B 1  // the same for B
#endif
#ifndef FLAT_C
#define FLAT_C 1  // and for C
#endif
#ifndef SHARED_A
#define SHARED_A 0  // whether there is one A for the whole batch
#endif
#ifndef SHARED_B
#define SHARED_B 0  // the same for B
#endif
#ifndef POINTERS
#define POINTERS 0  // whether A, B and C are arrays of addresses, one for each matrix
#endif
#ifndef UNIT_A
#define UNIT_A 16  // bytes, at most 16, that divide the address of every stored column of A
#endif
#ifndef UNIT_B
#define UNIT_B 16  // the same for B
#endif
#ifndef UNIT_C
#define UNIT_C 16  // and for C
#endif
#ifndef LEAD_A
#define LEAD_A 0  // leading dimension of A, if there is padding and it is a constant of the compiler
#endif
#ifndef LEAD_B
#define LEAD_B 0  // the same for B
#endif
#ifndef LEAD_C
#define LEAD_C 0  // and for C
#endif
#ifndef NEXT_A
#define NEXT_A 0  // elements from one A to the next, where LEAD_A is given
#endif
#ifndef NEXT_B
#define NEXT_B 0  // the same for B
#endif
#ifndef NEXT_C
#define NEXT_C 0  // and for C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef PATH
#define PATH 2  // 0: no staging, 1: copies by words (sm_80), 2: bulk copies (sm_90)
#endif
#ifndef MMA
#define MMA 0  // rows of a tensor-core product, 8 or 16 (float64 on sm_90, 16 bits); 0: multiply-add units
#endif
#ifndef ROWS
#define ROWS 4  // rows of C that a thread computes (MMA: a warp)
#endif
#ifndef COLUMNS
#define COLUMNS 4  // columns of C that a thread computes (MMA: a warp)
#endif
#ifndef WARPS
#define WARPS 2  // warps of a block
#endif
#ifndef GROUP
#define GROUP 4  // matrices of a stage
#endif
#ifndef STAGES
#define STAGES 3  // groups in shared memory, all but one of them on their way
#endif
#ifndef ACROSS
#define ACROSS 0  // 1: neighbouring threads work on neighbouring matrices, 0: on tiles of the same one
#endif
#ifndef TURN
#define TURN 0  // 1: threads of different matrices begin at different rows, columns and k, in different banks
#endif
#ifndef PAD
#define PAD 0  // 1: columns in shared memory are one read longer than the matrix (PATH 1)
#endif
#ifndef EVICT
#define EVICT 0  // 1: the second-level cache is told that nothing is used again (PATH 2)
#endif
#ifndef BLOCKS
#define BLOCKS 1  // blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"

#define CONSTANT __host__ __device__ constexpr

constexpr int THREADS = 32 * WARPS;

CONSTANT int ceiling(int a, int b) { return (a + b - 1) / b; }
CONSTANT int smaller(int a, int b) { return a < b ? a : b; }
CONSTANT int padded(int bytes) { return ceiling(bytes, 128) * 128; }

// Bytes of the widest word, at most 16, that divides both.
CONSTANT int word(int a, int b) {
    int w = 16;
    while (a % w || b % w) w /= 2;
    return w;
}
// Elements of the widest word that divides an alignment and two numbers of elements.
CONSTANT int vector(int unit, int extent, int tile) {
    int v = 16 / SIZE;
    while (v > 1 && (unit % (v * SIZE) || extent % v || tile % v)) v /= 2;
    return v;
}

// Matrices as they are stored, and as they lie in shared memory: leading dimensions and steps in elements.
constexpr int ROWS_A = TRANS_A ? SIZE_K : SIZE_M, COLS_A = TRANS_A ? SIZE_M : SIZE_K;
constexpr int ROWS_B = TRANS_B ? SIZE_N : SIZE_K, COLS_B = TRANS_B ? SIZE_K : SIZE_N;
CONSTANT int skewed(int rows) { return rows + (PAD ? vector(16, rows, rows) : 0); }
CONSTANT int between(int lead, int rows) { return PATH == 2 && lead ? lead : skewed(rows); }
CONSTANT int apart(int lead, int next, int packed) { return PATH == 2 && lead ? next : packed; }
constexpr int LD_A = between(LEAD_A, ROWS_A), LD_B = between(LEAD_B, ROWS_B), LD_C = between(LEAD_C, SIZE_M);
constexpr int STEP_A = SHARED_A ? 0 : apart(LEAD_A, NEXT_A, LD_A * COLS_A);
constexpr int STEP_B = SHARED_B ? 0 : apart(LEAD_B, NEXT_B, LD_B * COLS_B);
constexpr int STEP_C = apart(LEAD_C, NEXT_C, LD_C * SIZE_N);
#if MMA
// Whether all columns in shared memory begin at multiples of two elements.
constexpr bool EVEN_A = LD_A % 2 == 0 && STEP_A % 2 == 0, EVEN_B = LD_B % 2 == 0 && STEP_B % 2 == 0;
constexpr bool EVEN_C = LD_C % 2 == 0 && STEP_C % 2 == 0;
#endif
#if PATH != 0
constexpr int BYTES_A = padded((SHARED_A ? LD_A * COLS_A : GROUP * STEP_A) * SIZE);
constexpr int BYTES_B = padded((SHARED_B ? LD_B * COLS_B : GROUP * STEP_B) * SIZE);
constexpr int BYTES_C = padded(GROUP * STEP_C * SIZE);
// Shared memory: barriers, operands of the whole batch, the ring, and results on their way out.
constexpr int AT_A = PATH == 2 ? padded(8 * STAGES) : 0;
constexpr int AT_B = AT_A + (SHARED_A ? BYTES_A : 0);
constexpr int AT_RING = AT_B + (SHARED_B ? BYTES_B : 0);
constexpr int STAGE_B = SHARED_A ? 0 : BYTES_A, STAGE_C = STAGE_B + (SHARED_B ? 0 : BYTES_B);
constexpr int STAGE = STAGE_C + (BETA ? BYTES_C : 0);
constexpr int AT_OUT = AT_RING + STAGES * STAGE;
#endif
#if PATH == 2
// A sector of 32 bytes that is written in part must be read some time. Where C is written by words of 2 or 4 bytes, that
// costs least when C comes with A and B, as it does with a beta; nobody looks at it, and all groups of it go to one place.
constexpr bool PARTLY =
    BETA == 0 && LEAD_C && UNIT_C <= 4 && (SIZE_M * SIZE % 32 || LEAD_C * SIZE % 32 || NEXT_C * SIZE % 32);
constexpr int AT_WASTE = AT_OUT + 2 * BYTES_C;
#endif
#if PATH == 1
// With POINTERS: addresses of the matrices of groups whose turn comes later, those of C last.
constexpr int AT_LISTS = AT_OUT + (BETA ? 0 : BYTES_C);
constexpr int LISTS = 2 * STAGES - 1, LIST = 3 * GROUP * 8;
#endif

constexpr int TILES_M = ceiling(SIZE_M, ROWS), TILES = TILES_M * ceiling(SIZE_N, COLUMNS);
constexpr int SLOTS = MMA ? WARPS : THREADS;  // who computes tiles

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(ALIGN % SIZE == 0, "element: addresses are multiples of an element's bytes");
static_assert(PATH != 2 || ((FLAT_A || SHARED_A || LEAD_A) && (FLAT_B || SHARED_B || LEAD_B) && (FLAT_C || LEAD_C)),
              "bulk-flat: bulk copies take operands without gaps, or with such as are known to the compiler");
static_assert(PATH != 2 || (STEP_A >= (SHARED_A ? 0 : LD_A * (COLS_A - 1) + ROWS_A) &&
                            STEP_B >= (SHARED_B ? 0 : LD_B * (COLS_B - 1) + ROWS_B) &&
                            STEP_C >= LD_C * (SIZE_N - 1) + SIZE_M),
              "bulk-apart: matrices of a stream do not overlap");
static_assert(PATH != 2 || !POINTERS, "bulk-stream: what lies where an array says is no stream");
static_assert(PATH != 2 || ALIGN == 16, "bulk-aligned: bulk copies begin at multiples of 16 bytes");
static_assert(PATH != 2 || ((SHARED_A || GROUP * STEP_A * SIZE % 16 == 0) &&
                            (SHARED_B || GROUP * STEP_B * SIZE % 16 == 0) && GROUP * STEP_C * SIZE % 16 == 0),
              "bulk-whole: a group is a multiple of 16 bytes");
static_assert(STAGES >= 2 || PATH == 0, "ring: one stage is multiplied while others are filled");
static_assert(PAD == 0 || PATH == 1, "pad: only copies by words can leave gaps");
static_assert(EVICT == 0 || PATH == 2, "evict: bulk copies take hints");
static_assert(TURN == 0 || (PATH != 0 && MMA == 0), "turn: threads read shared memory");
static_assert(ACROSS == 0 || (PATH != 0 && MMA == 0), "across: threads read shared memory");
static_assert(MMA == 0 || (TYPE_BITS != 32 && PATH != 0),
              "mma-type: tensor cores take float64 and 16 bits from shared memory");
static_assert(MMA == 0 || (MMA == 16 || (MMA == 8 && TYPE_BITS == 64)),
              "mma-rows: a tensor-core product has 16 rows, or 8 of float64");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "mma-tile: a tile is whole tensor-core products of 8 columns");

// ---- words: elements as the hardware moves them -------------------------------------------------------------
template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.word = *(const typename Words<COUNT * SIZE>::Type *)from;
    return out;
}

template <int COUNT> INLINE void store(Stored *to, const Pack<COUNT> &x) {
    *(typename Words<COUNT * SIZE>::Type *)to = x.word;
}

// ---- one tile by one thread -----------------------------------------------------------------------------------
// Tile number tile of the matrices at a, b, c and out, with leading dimensions of type Step. AT_ONCE_A, _B and _C:
// bytes that divide the address of every stored column. turn: where this thread begins, if TURNED.
template <int TILE_M, int TILE_N, int AT_ONCE_A, int AT_ONCE_B, int AT_ONCE_C, bool TURNED, typename Step>
INLINE void multiply(int tile, int turn, const Stored *a, Step lda, const Stored *b, Step ldb, const Stored *c,
                     Stored *out, Step ldc, const Scalars &s) {
    // Words along k where that is how both or one of them lie, and along the free index of the other.
    constexpr int VK_A = TRANS_A ? vector(AT_ONCE_A, SIZE_K, SIZE_K) : 16;
    constexpr int VK_B = TRANS_B ? 16 : vector(AT_ONCE_B, SIZE_K, SIZE_K);
    constexpr int VK = TRANS_B && !TRANS_A ? 1 : smaller(VK_A, VK_B);
    constexpr int VM = vector(smaller(AT_ONCE_C, TRANS_A ? 16 : AT_ONCE_A), SIZE_M, TILE_M);
    constexpr int VN = TRANS_B ? vector(AT_ONCE_B, SIZE_N, TILE_N) : 1;
    constexpr int PIECES_M = TILE_M / VM, PIECES_N = TILE_N / VN, STEPS = SIZE_K / VK;
    constexpr int ACROSS_M = ceiling(SIZE_M, TILE_M), ACROSS_N = ceiling(SIZE_N, TILE_N);
    constexpr bool WHOLE_M = ACROSS_M * TILE_M == SIZE_M, WHOLE_N = ACROSS_N * TILE_N == SIZE_N;
    constexpr int COST = TILE_M * TILE_N * VK * (COMPLEX ? 4 : 1);
    constexpr int AHEAD = COST * STEPS <= 512 ? STEPS : COST >= 256 ? 1 : smaller(STEPS, 256 / COST);

    const int tile_m = tile % ACROSS_M, tile_n = tile / ACROSS_M;
    // First row and column of this thread's pieces, which go round from where its turn begins.
    int row[PIECES_M], column[PIECES_N];
    const int turn_m = TURNED ? turn / STEPS % PIECES_M : 0, turn_n = TURNED ? turn / STEPS % PIECES_N : 0;
    UNROLL for (int i = 0; i < PIECES_M; i++) {
        const int p = i + turn_m;
        row[i] = ((p < PIECES_M ? p : p - PIECES_M) * ACROSS_M + tile_m) * VM;
    }
    UNROLL for (int j = 0; j < PIECES_N; j++) {
        const int p = j + turn_n;
        column[j] = ((p < PIECES_N ? p : p - PIECES_N) * ACROSS_N + tile_n) * VN;
    }
    // What lies outside the matrix is read from its last piece and not stored.
    auto row_in = [&](int i) { return WHOLE_M ? row[i] : min(row[i], SIZE_M - VM); };
    auto column_in = [&](int j) { return WHOLE_N ? column[j] : min(column[j], SIZE_N - VN); };

    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();

    int now = TURNED ? turn % STEPS : 0;
    _Pragma("unroll AHEAD") for (int step = 0; step < STEPS; step++) {
        const int k = (TURNED ? now : step) * VK;
        Pack<VK> along_a[TRANS_A ? TILE_M : 1], along_b[TRANS_B ? 1 : TILE_N];
        if (TRANS_A) UNROLL for (int i = 0; i < TILE_M; i++)
            along_a[TRANS_A ? i : 0] = load<VK>(a + k + (row_in(i / VM) + i % VM) * lda);
        if (!TRANS_B) UNROLL for (int j = 0; j < TILE_N; j++)
            along_b[TRANS_B ? 0 : j] = load<VK>(b + k + (column_in(j / VN) + j % VN) * ldb);
        UNROLL for (int q = 0; q < VK; q++) {
            Element x[TILE_M], y[TILE_N];
            UNROLL for (int i = 0; i < TILE_M; i += VM) {
                Pack<VM> piece;
                if (!TRANS_A) piece = load<VM>(a + row_in(i / VM) + (k + q) * lda);
                UNROLL for (int e = 0; e < VM; e++)
                    x[i + e] = conjugated(
                        CONJ_A, widened(TRANS_A ? along_a[TRANS_A ? i + e : 0].element[q] : piece.element[e]));
            }
            UNROLL for (int j = 0; j < TILE_N; j += VN) {
                Pack<VN> piece;
                if (TRANS_B) piece = load<VN>(b + column_in(j / VN) + (k + q) * ldb);
                UNROLL for (int e = 0; e < VN; e++)
                    y[j + e] = conjugated(
                        CONJ_B, widened(TRANS_B ? piece.element[e] : along_b[TRANS_B ? 0 : j + e].element[q]));
            }
            UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
                multiply_add(sum[j][i], x[i], y[j]);
        }
        if (TURNED) now = now + 1 == STEPS ? 0 : now + 1;
    }

    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i += VM) {
        const int at_m = row[i / VM], at_n = column[j / VN] + j % VN;
        if ((WHOLE_M || at_m < SIZE_M) && (WHOLE_N || at_n < SIZE_N)) {
            Pack<VM> old;
            if (BETA != 0) old = load<VM>(c + at_m + at_n * ldc);
            Element result[VM];
            UNROLL for (int e = 0; e < VM; e++)
                result[e] = scaled(s, sum[j][i + e], BETA != 0 ? widened(old.element[e]) : zero());
            store<VM>(out + at_m + at_n * ldc, packed(result));
        }
    }
}

// ---- one tile by one warp on tensor cores of float64 ---------------------------------------------------------------
#if MMA && TYPE_BITS == 64
// MMA rows of products from as many fragments of 8 rows.
INLINE void multiply_add_fragments(Real *c[], const Real *a, Real b) {
#if MMA == 16
    mma_16x8x4(c[0][0], c[0][1], c[1][0], c[1][1], a[0], a[1], b);
#else
    mma_8x8x4(c[0][0], c[0][1], a[0], b);
#endif
}

// A lane holds row lane / 4 and k lane % 4 of a fragment of A, and so of B; of C, row lane / 4 and columns
// 2 (lane % 4) and the next. Which rows, columns and k these are is free as long as all three agree: where a word
// is two elements, a lane takes neighbours, which then belong to two fragments.
INLINE void multiply_mma(int tile, const Stored *a, const Stored *b, const Stored *c, Stored *out,
                         const Scalars &s) {
    constexpr int FRAGMENTS_M = ROWS / 8, FRAGMENTS_N = COLUMNS / 8, PART = MMA / 8;
    constexpr int TWO = SIZE == 8 ? 2 : 1;
    constexpr int VM = SIZE_M % TWO == 0 && EVEN_C && (TRANS_A || EVEN_A) ? TWO : 1;
    constexpr int VN = TRANS_B && SIZE_N % TWO == 0 && EVEN_B ? TWO : 1;
    // Not where the last step would be half empty for it.
    constexpr int VK = (TRANS_A || !TRANS_B) && SIZE_K % TWO == 0 && (EVEN_A || !TRANS_A) && (EVEN_B || TRANS_B) &&
                               (SIZE_K % 8 == 0 || SIZE_K % 8 > 4) ? TWO : 1;
    constexpr int WORK = FRAGMENTS_M * FRAGMENTS_N * VK * (COMPLEX ? 4 : 1), STEPS = ceiling(SIZE_K, 4 * VK);
    constexpr int AHEAD = WORK * STEPS <= 128 ? STEPS : WORK >= 64 ? 1 : smaller(STEPS, 64 / WORK);
    constexpr bool WHOLE_M = SIZE_M % ROWS == 0, WHOLE_N = SIZE_N % COLUMNS == 0;

    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    const int first_m = tile % TILES_M * ROWS, first_n = tile / TILES_M * COLUMNS;
    // Fragments t and t + 1 share words if both are there.
    auto place = [](int v, int t, int count, int i) { return v == 2 && (t | 1) < count ? t / 2 * 16 + 2 * i + t % 2 : 8 * t + i; };
    auto paired = [](int v, int t, int count) { return v == 2 && t % 2 == 0 && t + 1 < count; };

    Element sum[FRAGMENTS_N][FRAGMENTS_M][2];
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++)
        sum[j][i][0] = sum[j][i][1] = zero();

    _Pragma("unroll AHEAD") for (int step = 0; step < STEPS; step++) {
        const int k = (step * 4 + q) * VK;
        // Beyond the end of k both operands are zero: what lies there may be anything, NaN included.
        const bool in = SIZE_K % (4 * VK) == 0 || k < SIZE_K;
        Element x[VK][FRAGMENTS_M], y[VK][FRAGMENTS_N];
        UNROLL for (int h = 0; h < VK; h++) {
            UNROLL for (int i = 0; i < FRAGMENTS_M; i++) x[h][i] = zero();
            UNROLL for (int j = 0; j < FRAGMENTS_N; j++) y[h][j] = zero();
        }
        if (in) {
#if TRANS_A
            UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
                const int row = min(first_m + place(VM, i, FRAGMENTS_M, r), SIZE_M - 1);
                const Pack<VK> piece = load<VK>(a + k + row * LD_A);
                UNROLL for (int h = 0; h < VK; h++) x[h][i] = conjugated(CONJ_A, piece.element[h]);
            }
#else
            UNROLL for (int h = 0; h < VK; h++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
                const int row = first_m + place(VM, i, FRAGMENTS_M, r);
                if (paired(VM, i, FRAGMENTS_M)) {
                    const Pack<VM> piece = load<VM>(a + min(row, SIZE_M - VM) + (k + h) * LD_A);
                    UNROLL for (int e = 0; e < VM; e++) x[h][i + e] = conjugated(CONJ_A, piece.element[e]);
                } else if (i == 0 || !paired(VM, i - 1, FRAGMENTS_M)) {
                    x[h][i] = conjugated(CONJ_A, a[min(row, SIZE_M - 1) + (k + h) * LD_A]);
                }
            }
#endif
#if TRANS_B
            UNROLL for (int h = 0; h < VK; h++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++) {
                const int column = first_n + place(VN, j, FRAGMENTS_N, r);
                if (paired(VN, j, FRAGMENTS_N)) {
                    const Pack<VN> piece = load<VN>(b + min(column, SIZE_N - VN) + (k + h) * LD_B);
                    UNROLL for (int e = 0; e < VN; e++) y[h][j + e] = conjugated(CONJ_B, piece.element[e]);
                } else if (j == 0 || !paired(VN, j - 1, FRAGMENTS_N)) {
                    y[h][j] = conjugated(CONJ_B, b[min(column, SIZE_N - 1) + (k + h) * LD_B]);
                }
            }
#else
            UNROLL for (int j = 0; j < FRAGMENTS_N; j++) {
                const int column = min(first_n + place(VN, j, FRAGMENTS_N, r), SIZE_N - 1);
                const Pack<VK> piece = load<VK>(b + k + column * LD_B);
                UNROLL for (int h = 0; h < VK; h++) y[h][j] = conjugated(CONJ_B, piece.element[h]);
            }
#endif
        }
        UNROLL for (int h = 0; h < VK; h++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
            UNROLL for (int i = 0; i < FRAGMENTS_M; i += PART) {
#if COMPLEX
                Real re[PART], im[PART], less[PART], cr[PART][2], ci[PART][2], *to_re[PART], *to_im[PART];
                UNROLL for (int p = 0; p < PART; p++) {
                    re[p] = x[h][i + p].re;
                    im[p] = x[h][i + p].im;
                    less[p] = -im[p];
                    UNROLL for (int e = 0; e < 2; e++) {
                        cr[p][e] = sum[j][i + p][e].re;
                        ci[p][e] = sum[j][i + p][e].im;
                    }
                    to_re[p] = cr[p];
                    to_im[p] = ci[p];
                }
                multiply_add_fragments(to_re, re, y[h][j].re);
                multiply_add_fragments(to_im, re, y[h][j].im);
                multiply_add_fragments(to_re, less, y[h][j].im);
                multiply_add_fragments(to_im, im, y[h][j].re);
                UNROLL for (int p = 0; p < PART; p++) UNROLL for (int e = 0; e < 2; e++)
                    sum[j][i + p][e] = Element{cr[p][e], ci[p][e]};
#else
                Real *to[PART];
                UNROLL for (int p = 0; p < PART; p++) to[p] = sum[j][i + p];
                multiply_add_fragments(to, &x[h][i], y[h][j]);
#endif
            }
    }

    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int e = 0; e < 2; e++)
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
            const int row = first_m + place(VM, i, FRAGMENTS_M, r), column = first_n + place(VN, j, FRAGMENTS_N, 2 * q + e);
            if ((!WHOLE_M && row >= SIZE_M) || (!WHOLE_N && column >= SIZE_N)) continue;
            const int at = row + column * LD_C;
            if (paired(VM, i, FRAGMENTS_M)) {
                Pack<VM> old, result;
                if (BETA != 0) old = load<VM>(c + at);
                UNROLL for (int f = 0; f < VM; f++)
                    result.element[f] = scaled(s, sum[j][i + f][e], BETA != 0 ? old.element[f] : zero());
                store<VM>(out + at, result);
            } else if (i == 0 || !paired(VM, i - 1, FRAGMENTS_M)) {
                out[at] = scaled(s, sum[j][i][e], BETA != 0 ? c[at] : zero());
            }
        }
}
#endif

// ---- one tile by one warp on tensor cores of 16 bits --------------------------------------------------------------
#if MMA && TYPE_BITS == 16
// A word of an operand holds two k of a row or column: two numbers, or one complex number, whose product is then a
// real one of twice the k. With r = lane / 4 and q = lane % 4, a lane holds rows r and r + 8 of a fragment of A,
// column r of one of B, two words of each; of C, columns 2q and 2q + 1. Which rows, columns and k these are is free
// as long as all agree, and decides which banks of shared memory are asked at once:
//   k         RUN words of a lane are neighbours; where they are so in memory (WIDE), they are read at once
//   rows      PAIR_M: rows 2r and 2r + 1, one word of a column of A or C (two words of complex numbers)
//   columns   PAIR_N: columns 2r and 2r + 1 of two fragments, where B is stored n x k; else neighbours in a
//             fragment are SPREAD columns apart
// Lanes with q > 1 exchange the order of two loads or stores (FLIP) where all would ask for the same banks.
constexpr int UNIT_K = COMPLEX ? 1 : 2;  // k of a word
constexpr int SPAN = 8 * UNIT_K;          // k of a product
constexpr int PRODUCTS = ceiling(SIZE_K, SPAN);
constexpr int FRAGMENTS_M = ROWS / 16, FRAGMENTS_N = COLUMNS / 8;
constexpr bool PAIR_M = EVEN_C && (TRANS_A || EVEN_A);
constexpr bool PAIR_N = TRANS_B && EVEN_B && FRAGMENTS_N % 2 == 0;

// Words along k that divide a stored column and begin at multiples of themselves.
CONSTANT int deep(int ld, int step) {
    return ld % (16 * UNIT_K) == 0 && step % (16 * UNIT_K) == 0 && SIZE_K % (16 * UNIT_K) == 0 ? 4
           : ld % (8 * UNIT_K) == 0 && step % (8 * UNIT_K) == 0 && SIZE_K % (8 * UNIT_K) == 0  ? 2
                                                                                               : 1;
}
CONSTANT bool crowded(int ld) { return COMPLEX ? ld % 8 == 0 && ld % 32 : ld % 16 == 0 && ld % 64; }

// How often a bank is asked for different words, where lanes begin at q * per_q + r * per_r elements.
CONSTANT int turns(int per_q, int per_r) {
    int most = 0;
    for (int bank = 0; bank < 32; bank++) {
        int count = 0;
        for (int lane = 0; lane < 32; lane++) {
            const int word = (lane % 4 * per_q + lane / 4 * per_r) * SIZE / 4;
            bool fresh = word % 32 == bank;
            for (int before = 0; before < lane && fresh; before++)
                fresh = (before % 4 * per_q + before / 4 * per_r) * SIZE / 4 != word;
            count += fresh;
        }
        most = count > most ? count : most;
    }
    return most;
}
// First k of word h that a lane holds for a product.
CONSTANT int k_of(int run, int product, int h, int q) {
    return UNIT_K * (run == 1   ? 8 * product + 4 * h + q
                     : run == 2 ? 8 * product + 2 * q + h
                                : 16 * (product / 2) + 4 * q + 2 * (product % 2) + h);
}
// The same for all loads and stores of a tile, with runs of so many words and columns so far apart. A word that
// is not there for all lanes costs about two such turns more.
CONSTANT int all_turns(int run, int spread) {
    const int k = run * UNIT_K, words = 2 * PRODUCTS - (run == 1 && SIZE_K % SPAN && SIZE_K % SPAN <= SPAN / 2);
    int ragged = 0;
    for (int word = 0; word < words; word++) ragged += k_of(run, word / 2, word % 2, 3) + UNIT_K > SIZE_K;
    const int rows = PAIR_M ? 2 : 1;
    const int a = TRANS_A ? turns(k, LD_A * rows) : turns(k * LD_A, rows);
    const int b = TRANS_B ? turns(k * LD_B, spread) : turns(k, LD_B * spread);
    return words * (2 * FRAGMENTS_M * a + FRAGMENTS_N * b) + ragged * (2 * FRAGMENTS_M + FRAGMENTS_N) * 2 +
           (BETA ? 2 : 1) * 4 * FRAGMENTS_M * FRAGMENTS_N * turns(2 * spread * LD_C, rows);
}
CONSTANT int best_run() {
    int best = 1, least = all_turns(1, 1);
    for (int run = 1; run <= (PRODUCTS % 2 ? 2 : 4); run *= 2)
        for (int spread = 1; spread <= FRAGMENTS_N; spread += FRAGMENTS_N > 1 ? FRAGMENTS_N - 1 : 1)
            if (all_turns(run, spread) < least) {
                least = all_turns(run, spread);
                best = run;
            }
    return best;
}

constexpr int WIDE = TRANS_A && !TRANS_B ? smaller(deep(LD_A, STEP_A), deep(LD_B, STEP_B))
                     : TRANS_A           ? deep(LD_A, STEP_A)
                     : !TRANS_B          ? deep(LD_B, STEP_B)
                                         : COMPLEX && SIZE_K % 8 == 0 ? 2 : 1;
constexpr int RUN = WIDE > 1 ? WIDE : best_run();
constexpr int SPREAD = !PAIR_N && FRAGMENTS_N > 1 && all_turns(RUN, FRAGMENTS_N) < all_turns(RUN, 1) ? FRAGMENTS_N : 1;
constexpr int TOGETHER = RUN == 4 ? 2 : 1;  // products whose operands come together
constexpr bool LAST_HALF = RUN == 1 && SIZE_K % SPAN != 0 && SIZE_K % SPAN <= SPAN / 2;  // the last product has half the k

// Beyond the end of k both operands are zero: what lies there may be anything, NaN included.
INLINE unsigned int inside(unsigned int word, int k) {
    if (SIZE_K % SPAN == 0) return word;
    if (COMPLEX) return k < SIZE_K ? word : 0;
    return k + 1 < SIZE_K ? word : k < SIZE_K ? word & 0xffff : 0;
}

INLINE unsigned int pair_of(const Stored *low, const Stored *high) {
    return *(const unsigned short *)low | (unsigned int)*(const unsigned short *)high << 16;
}

// The words of a lane along a stored column, for the TOGETHER products from product on.
template <bool EVEN> INLINE void along_k(unsigned int (&words)[TOGETHER][2], const Stored *column, int product, int q, bool half) {
    if (WIDE > 1) {
        const Pack<WIDE * UNIT_K> piece = load<WIDE * UNIT_K>(column + k_of(RUN, product, 0, q));
        UNROLL for (int s = 0; s < TOGETHER; s++) UNROLL for (int h = 0; h < 2; h++)
            words[s][h] = piece.words[WIDE > 1 ? 2 * s + h : 0];
    } else UNROLL for (int s = 0; s < TOGETHER; s++) UNROLL for (int h = 0; h < 2; h++) {
        words[s][h] = 0;
        if (h == 1 && half) continue;
        const int k = k_of(RUN, product + s, h, q), at = min(k, (SIZE_K - 1) / UNIT_K * UNIT_K);
        const Stored *const from = column + at;
        words[s][h] = inside(COMPLEX || EVEN ? load<UNIT_K>(from).words[0]
                                             : pair_of(from, column + min(at + 1, SIZE_K - 1)), k);
    }
}

// The words of a lane at two rows (columns) f and g that are neighbours if PAIRED, across stored columns.
template <int LD, int FREE, bool PAIRED>
INLINE void across_k(unsigned int &at_f, unsigned int &at_g, const Stored *x, int f, int g, int k, int flip) {
    // Outside the matrix anything will do: it is not stored.
    f = min(f, PAIRED ? (FREE - 1) / 2 * 2 : FREE - 1);
    g = min(g, FREE - 1);
    const Stored *const first = x + min(k + flip, SIZE_K - 1) * LD;
#if COMPLEX
    if (PAIRED) {
        const Pack<2> both = load<2>(first + f);
        at_f = both.words[0];
        at_g = both.words[1];
    } else {
        at_f = load<1>(first + f).words[0];
        at_g = load<1>(first + g).words[0];
    }
#else
    const Stored *const second = x + min(k + 1 - flip, SIZE_K - 1) * LD;
    if (PAIRED) {
        const unsigned int w0 = load<2>(first + f).words[0], w1 = load<2>(second + f).words[0];
        at_f = __byte_perm(w0, w1, flip ? 0x1054 : 0x5410);
        at_g = __byte_perm(w0, w1, flip ? 0x3276 : 0x7632);
    } else {
        at_f = pair_of(first + f, second + f);
        at_g = pair_of(first + g, second + g);
    }
#endif
    at_f = inside(at_f, k);
    at_g = inside(at_g, k);
}

// The same for both words of each of the TOGETHER products.
template <int LD, int FREE, bool PAIRED>
INLINE void across(unsigned int (&at_f)[TOGETHER][2], unsigned int (&at_g)[TOGETHER][2], const Stored *x, int f, int g,
                   int product, int q, bool half) {
    const int flip = crowded(LD) && PAIRED ? q / 2 : 0;
    UNROLL for (int s = 0; s < TOGETHER; s++) {
        at_f[s][1] = at_g[s][1] = 0;
        if (COMPLEX && crowded(LD) && PAIRED && RUN > 1) {
            across_k<LD, FREE, PAIRED>(at_f[s][0], at_g[s][0], x, f, g, k_of(RUN, product + s, 0, q) + flip, 0);
            across_k<LD, FREE, PAIRED>(at_f[s][1], at_g[s][1], x, f, g, k_of(RUN, product + s, 1, q) - flip, 0);
            const unsigned int f0 = at_f[s][0], g0 = at_g[s][0];
            at_f[s][0] = flip ? at_f[s][1] : f0;
            at_f[s][1] = flip ? f0 : at_f[s][1];
            at_g[s][0] = flip ? at_g[s][1] : g0;
            at_g[s][1] = flip ? g0 : at_g[s][1];
        } else {
            across_k<LD, FREE, PAIRED>(at_f[s][0], at_g[s][0], x, f, g, k_of(RUN, product + s, 0, q), COMPLEX ? 0 : flip);
            if (!half)
                across_k<LD, FREE, PAIRED>(at_f[s][1], at_g[s][1], x, f, g, k_of(RUN, product + s, 1, q), COMPLEX ? 0 : flip);
        }
    }
}

INLINE void multiply_mma(int tile, const Stored *a, const Stored *b, const Stored *c, Stored *out, const Scalars &s) {
    constexpr int PARTS = COMPLEX ? 2 : 1;
    constexpr int WORK = FRAGMENTS_M * FRAGMENTS_N * TOGETHER * PARTS, STEPS = ceiling(PRODUCTS, TOGETHER);
    constexpr int AHEAD = WORK * STEPS <= 128 ? STEPS : WORK >= 64 ? 1 : smaller(STEPS, 64 / WORK);
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    const int first_m = tile % TILES_M * ROWS, first_n = tile / TILES_M * COLUMNS;
    auto row_of = [&](int i, int e) { return first_m + 16 * i + (PAIR_M ? 2 * r + e : r + 8 * e); };
    auto column_of = [&](int j, int x) { return first_n + (PAIR_N         ? 16 * (j / 2) + 2 * x + j % 2
                                                         : SPREAD > 1 ? SPREAD * x + j
                                                                      : 8 * j + x); };

    float sum[PARTS][FRAGMENTS_N][FRAGMENTS_M][4];
    UNROLL for (int p = 0; p < PARTS; p++) UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) UNROLL for (int e = 0; e < 4; e++) sum[p][j][i][e] = 0;

    _Pragma("unroll AHEAD") for (int step = 0; step < STEPS; step++) {
        const int product = step * TOGETHER;
        const bool half = LAST_HALF && step == STEPS - 1;
        unsigned int x[FRAGMENTS_M][2][TOGETHER][2], y[FRAGMENTS_N][TOGETHER][2];
        UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
#if TRANS_A
            UNROLL for (int e = 0; e < 2; e++)
                along_k<EVEN_A>(x[i][e], a + min(row_of(i, e), SIZE_M - 1) * LD_A, product, q, half);
#else
            across<LD_A, SIZE_M, PAIR_M>(x[i][0], x[i][1], a, row_of(i, 0), row_of(i, 1), product, q, half);
#endif
        }
#if TRANS_B
        UNROLL for (int j = 0; j < FRAGMENTS_N; j += 2) {
            unsigned int none[TOGETHER][2];
            // An odd last fragment has no partner: its words are read twice, which the compiler sees.
            const int with = j + 1 < FRAGMENTS_N ? j + 1 : j;
            across<LD_B, SIZE_N, PAIR_N>(y[j], j + 1 < FRAGMENTS_N ? y[with] : none, b, column_of(j, r), column_of(with, r),
                                         product, q, half);
        }
#else
        UNROLL for (int j = 0; j < FRAGMENTS_N; j++)
            along_k<EVEN_B>(y[j], b + min(column_of(j, r), SIZE_N - 1) * LD_B, product, q, half);
#endif
        UNROLL for (int t = 0; t < TOGETHER; t++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++) {
            unsigned int w[4] = {x[i][0][t][0], x[i][1][t][0], x[i][0][t][1], x[i][1][t][1]};
            if (CONJ_A) UNROLL for (int e = 0; e < 4; e++) w[e] ^= 0x80000000u;
            UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int p = 0; p < PARTS; p++) {
                unsigned int v[2] = {y[j][t][0], y[j][t][1]};
                // (re, im) times (re, -im) is the real part, times (im, re) the imaginary one.
                if (COMPLEX) UNROLL for (int h = 0; h < 2; h++)
                    v[h] = p == 0 ? v[h] ^ (CONJ_B ? 0 : 0x80000000u) : __byte_perm(v[h], 0, 0x1032) ^ (CONJ_B ? 0x8000u : 0);
                if (half) mma_16x8x8(sum[p][j][i], w[0], w[1], v[0]);
                else mma_16x8x16(sum[p][j][i], w, v[0], v[1]);
            }
        }
    }

    const int flip = crowded(LD_C) && PAIR_M ? q / 2 : 0;
    UNROLL for (int j = 0; j < FRAGMENTS_N; j++) UNROLL for (int i = 0; i < FRAGMENTS_M; i++)
        UNROLL for (int turn = 0; turn < 2; turn++) {
            const int column = column_of(j, 2 * q + (turn ^ flip)), row = row_of(i, 0), other = row_of(i, 1);
            if (SIZE_N % COLUMNS != 0 && column >= SIZE_N) continue;
            Element value[2];
            UNROLL for (int e = 0; e < 2; e++) {
                float part[PARTS];
                UNROLL for (int p = 0; p < PARTS; p++)
                    part[p] = flip ? sum[p][j][i][2 * e + 1 - turn] : sum[p][j][i][2 * e + turn];
#if COMPLEX
                value[e] = Element{part[0], part[1]};
#else
                value[e] = part[0];
#endif
            }
            if (PAIR_M) {
                if (SIZE_M % ROWS != 0 && row >= SIZE_M) continue;
                Pack<2> old;
                if (BETA != 0) old = load<2>(c + row + column * LD_C);
                UNROLL for (int e = 0; e < 2; e++)
                    value[e] = scaled(s, value[e], BETA != 0 ? widened(old.element[e]) : zero());
                store<2>(out + row + column * LD_C, packed(value));
            } else {
                UNROLL for (int e = 0; e < 2; e++) {
                    const int at = (e ? other : row) + column * LD_C;
                    if ((e ? other : row) < SIZE_M)
                        out[at] = narrowed(scaled(s, value[e], BETA != 0 ? widened(c[at]) : zero()));
                }
            }
        }
}
#endif

// ---- one group ----------------------------------------------------------------------------------------------------
INLINE void block_sync() {
    if (WARPS == 1) __syncwarp(); else __syncthreads();
}

// The products of count matrices in shared memory.
INLINE void multiply_group(const Stored *a, const Stored *b, const Stored *c, Stored *out, int count, const Scalars &s) {
    const int items = (ACROSS ? GROUP : count) * TILES;
    _Pragma("unroll 1") for (int item = threadIdx.x / (THREADS / SLOTS); item < items; item += SLOTS) {
        const int matrix = ACROSS ? item % GROUP : item / TILES, tile = ACROSS ? item / GROUP : item % TILES;
        if (ACROSS && matrix >= count) continue;
        const Stored *from_a = a + matrix * STEP_A, *from_b = b + matrix * STEP_B;
#if MMA
        multiply_mma(tile, from_a, from_b, c + matrix * STEP_C, out + matrix * STEP_C, s);
#else
        multiply<ROWS, COLUMNS, word(LD_A * SIZE, STEP_A * SIZE), word(LD_B * SIZE, STEP_B * SIZE),
                 word(LD_C * SIZE, STEP_C * SIZE), TURN>(tile, matrix, from_a, LD_A, from_b, LD_B, c + matrix * STEP_C,
                                                         out + matrix * STEP_C, LD_C, s);
#endif
    }
}

// Matrices of an operand in device memory, STORED_ROWS x STORED_COLS each.
template <int STORED_ROWS, int STORED_COLS, bool FLAT, bool ONCE> struct Matrices {
    static INLINE const Stored *at(const void *base, long long stride, int matrix) {
        if (POINTERS && !ONCE) return ((const Stored *const *)base)[matrix];
        return (const Stored *)base + (ONCE ? 0 : matrix * (FLAT ? (long long)STORED_ROWS * STORED_COLS : stride));
    }
};

typedef Matrices<ROWS_A, COLS_A, FLAT_A, SHARED_A> MatricesA;
typedef Matrices<ROWS_B, COLS_B, FLAT_B, SHARED_B> MatricesB;
typedef Matrices<SIZE_M, SIZE_N, FLAT_C, false> MatricesC;

// The products of matrices first to first + count - 1 in device memory; this thread takes each step-th tile.
template <int TILE_M, int TILE_N> INLINE void multiply_there(const Gemm &g, int first, int count, int from, int step, const Scalars &s) {
    constexpr int HERE = ceiling(SIZE_M, TILE_M) * ceiling(SIZE_N, TILE_N);
    const long long lda = FLAT_A ? ROWS_A : g.lda, ldb = FLAT_B ? ROWS_B : g.ldb, ldc = FLAT_C ? SIZE_M : g.ldc;
    _Pragma("unroll 1") for (int item = from; item < count * HERE; item += step) {
        const int matrix = first + item / HERE;
        const Stored *const a = MatricesA::at(g.a, g.stride_a, matrix), *const b = MatricesB::at(g.b, g.stride_b, matrix);
        Stored *const c = (Stored *)MatricesC::at(g.c, g.stride_c, matrix);
        multiply<TILE_M, TILE_N, UNIT_A, UNIT_B, UNIT_C, false>(item % HERE, 0, a, lda, b, ldb, c, c, ldc, s);
    }
}

// ---- copies by all threads of the block ------------------------------------------------------------------------------
// Word after word of column after column of matrix after matrix: this thread's words are THREADS apart, and it goes
// from one to the next with additions alone.
template <int WORDS, int OF_MATRIX> struct Walk {
    int word = threadIdx.x % WORDS, column = threadIdx.x / WORDS % OF_MATRIX, matrix = threadIdx.x / (WORDS * OF_MATRIX);
    bool next_column = false, next_matrix = false;  // whether the last step was beyond the end of one

    INLINE void go() {
        word += THREADS % WORDS;
        next_column = THREADS % WORDS != 0 && word >= WORDS;
        if (next_column) word -= WORDS;
        column += THREADS / WORDS % OF_MATRIX + next_column;
        next_matrix = (THREADS / WORDS % OF_MATRIX != 0 || THREADS % WORDS != 0) && column >= OF_MATRIX;
        if (next_matrix) column -= OF_MATRIX;
        matrix += THREADS / (WORDS * OF_MATRIX) + next_matrix;
    }
    // Bytes from the first word to this one, where words, columns and matrices are so far apart; and of the last step.
    template <typename Bytes> INLINE Bytes place(Bytes per_word, Bytes per_column, Bytes per_matrix) const {
        return word * per_word + column * per_column + matrix * per_matrix;
    }
    template <typename Bytes> INLINE Bytes gone(Bytes per_word, Bytes per_column, Bytes per_matrix) const {
        Bytes bytes = THREADS % WORDS * per_word + THREADS / WORDS % OF_MATRIX * per_column +
                      THREADS / (WORDS * OF_MATRIX) * per_matrix;
        if (next_column) bytes += per_column - WORDS * per_word;
        if (next_matrix) bytes += per_matrix - OF_MATRIX * per_column;
        return bytes;
    }
};

// Distances in device memory: small where the compiler knows them.
template <bool KNOWN> struct Distance { typedef int Type; };
template <> struct Distance<false> { typedef long long Type; };

// A group as it is stored, in the largest pieces without gaps: all MATRICES of it, whole matrices, or columns.
template <int STORED_ROWS, int STORED_COLS, int LD, bool FLAT, int UNIT, int LEAD, int NEXT, int MATRICES> struct Group {
    typedef Matrices<STORED_ROWS, STORED_COLS, FLAT, false> There;
    static constexpr bool WHOLE = FLAT && LD == STORED_ROWS, ONE_PIECE = WHOLE && !POINTERS;
    static constexpr int COLUMN = (WHOLE ? STORED_COLS : 1) * STORED_ROWS * SIZE, COLUMNS_OF_IT = WHOLE ? 1 : STORED_COLS;
    static constexpr int MATRIX = STORED_ROWS * STORED_COLS * SIZE;
    static constexpr int WORD = ONE_PIECE ? word(ALIGN, MATRICES * MATRIX) : word(WHOLE ? ALIGN : UNIT, COLUMN);
    static constexpr int IN_COLUMN = (ONE_PIECE ? MATRICES * MATRIX : COLUMN) / WORD;
    static constexpr int COUNT = ONE_PIECE ? IN_COLUMN : IN_COLUMN * COLUMNS_OF_IT * MATRICES;
    static constexpr int AT_ONCE = smaller(ceiling(COUNT, THREADS), 4);
    typedef typename Distance<(LEAD || FLAT)>::Type Far;
    typedef typename Words<WORD>::Type Word;

    // Some words of a thread: bytes into shared memory, addresses in device memory, and bytes that are there, which
    // are fewer than WORD, or none, behind the last matrix.
    struct Some {
        int here[AT_ONCE], bytes[AT_ONCE];
        const unsigned char *there[AT_ONCE];
    };

    // Calls act with all of this thread's words of matrices first to first + count - 1, AT_ONCE at a time, so that
    // nothing waits for each of them alone.
    template <typename Act> static INLINE void each(const void *base, long long ld, long long stride, int first, int count, Act act) {
        Some some;
        if (ONE_PIECE) {
            const unsigned char *const from = (const unsigned char *)There::at(base, stride, first);
            _Pragma("unroll 1") for (int w = threadIdx.x; w < COUNT; w += AT_ONCE * THREADS) {
                UNROLL for (int i = 0; i < AT_ONCE; i++) {
                    some.here[i] = (w + i * THREADS) * WORD;
                    some.there[i] = from + some.here[i];
                    some.bytes[i] = smaller(count * MATRIX - some.here[i], WORD);
                }
                act(some);
            }
        } else {
            constexpr int HERE_COLUMN = LD * SIZE, HERE_MATRIX = LD * STORED_COLS * SIZE;
            const Far per_column = (LEAD ? LEAD : FLAT ? STORED_ROWS : (Far)ld) * SIZE;
            const Far per_matrix = POINTERS ? 0 : (LEAD ? NEXT : FLAT ? STORED_ROWS * STORED_COLS : (Far)stride) * SIZE;
            const unsigned char *const from = (const unsigned char *)(POINTERS ? base : There::at(base, stride, first));
            const int words = count * (IN_COLUMN * COLUMNS_OF_IT);
            Walk<IN_COLUMN, COLUMNS_OF_IT> walk;
            int here = walk.place(WORD, HERE_COLUMN, HERE_MATRIX);
            Far there = walk.place((Far)WORD, per_column, per_matrix);
            _Pragma("unroll 1") for (int w = threadIdx.x; w < COUNT; w += AT_ONCE * THREADS) {
                UNROLL for (int i = 0; i < AT_ONCE; i++) {
                    some.bytes[i] = w + i * THREADS < words ? WORD : 0;
                    some.here[i] = here;
                    // With POINTERS base is a list of addresses in shared memory, of which any will do for no bytes.
                    const int matrix = COUNT % (AT_ONCE * THREADS) ? min(walk.matrix, MATRICES - 1) : walk.matrix;
                    some.there[i] = (POINTERS ? (const unsigned char *)There::at(base, 0, first + matrix) : from) + there;
                    walk.go();
                    here += walk.gone(WORD, HERE_COLUMN, HERE_MATRIX);
                    there += walk.gone((Far)WORD, per_column, per_matrix);
                }
                act(some);
            }
        }
    }

    static INLINE void fetch(unsigned char *to, const void *from, long long ld, long long stride, int first, int count) {
        each(from, ld, stride, first, count, [&](const Some &some) {
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                if (some.bytes[i] == WORD) word_load<WORD>(to + some.here[i], some.there[i], WORD);
                // Nothing is asked for behind the last matrix, not even as a part of a word that is not copied.
                else if (ONE_PIECE) _Pragma("unroll 1") for (int at = 0; at < some.bytes[i]; at += SIZE)
                    *(Stored *)(to + some.here[i] + at) = *(const Stored *)(some.there[i] + at);
            }
        });
    }

    static INLINE void write(const void *to, const unsigned char *from, long long ld, long long stride, int first, int count) {
        each(to, ld, stride, first, count, [&](const Some &some) {
            Word word[AT_ONCE];
            UNROLL for (int i = 0; i < AT_ONCE; i++)
                if (some.bytes[i] == WORD) word[i] = *(const Word *)(from + some.here[i]);
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                unsigned char *const at = (unsigned char *)some.there[i];
                if (some.bytes[i] == WORD) *(Word *)at = word[i];
                else if (ONE_PIECE) _Pragma("unroll 1") for (int e = 0; e < some.bytes[i]; e += SIZE)
                    *(Stored *)(at + e) = *(const Stored *)(from + some.here[i] + e);
            }
        });
    }
};

typedef Group<ROWS_A, COLS_A, LD_A, FLAT_A, UNIT_A, LEAD_A, NEXT_A, GROUP> GroupA;
typedef Group<ROWS_B, COLS_B, LD_B, FLAT_B, UNIT_B, LEAD_B, NEXT_B, GROUP> GroupB;
typedef Group<SIZE_M, SIZE_N, LD_C, FLAT_C, UNIT_C, LEAD_C, NEXT_C, GROUP> GroupC;

// A group of C from shared memory, where it lies as in device memory: the columns and nothing between them.
INLINE void write_columns(unsigned char *to, const unsigned char *from) {
    constexpr int WORDS = ceiling(SIZE_M * SIZE, UNIT_C), REST = SIZE_M * SIZE % UNIT_C;
    typedef typename Words<UNIT_C>::Type Word;
    Walk<WORDS, SIZE_N> walk;
    int at = walk.place(UNIT_C, LD_C * SIZE, STEP_C * SIZE);
    _Pragma("unroll 4") for (int w = threadIdx.x; w < GROUP * SIZE_N * WORDS; w += THREADS) {
        if (REST == 0 || walk.word != WORDS - 1) {
            *(Word *)(to + at) = *(const Word *)(from + at);
        } else {
            if (REST & 8) *(uint2 *)(to + at) = *(const uint2 *)(from + at);
            if (REST & 4) *(unsigned int *)(to + at + REST / 8 * 8) = *(const unsigned int *)(from + at + REST / 8 * 8);
            if (REST & 2)
                *(unsigned short *)(to + at + REST / 4 * 4) = *(const unsigned short *)(from + at + REST / 4 * 4);
        }
        walk.go();
        at += walk.gone(UNIT_C, LD_C * SIZE, STEP_C * SIZE);
    }
}

// What the whole batch shares, element by element.
template <int STORED_ROWS, int STORED_COLS, int LD> INLINE void fetch_once(unsigned char *to, const void *from, long long ld) {
    for (int i = threadIdx.x; i < STORED_ROWS * STORED_COLS; i += THREADS) {
        const int row = i % STORED_ROWS, column = i / STORED_ROWS;
        ((Stored *)to)[row + column * LD] = ((const Stored *)from)[row + column * ld];
    }
}

extern __shared__ __align__(128) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) tiny(const __grid_constant__ Gemm g) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const int blocks = gridDim.x;
#if PATH == 0
    const int groups = g.batch / GROUP + (g.batch % GROUP != 0);
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        const int first = (int)group * GROUP;
        multiply_there<ROWS, COLUMNS>(g, first, min(GROUP, g.batch - first), threadIdx.x, THREADS, scalars);
    }
#else
    unsigned char *const ring = shared_memory + AT_RING;
    if (SHARED_A) fetch_once<ROWS_A, COLS_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (SHARED_B) fetch_once<ROWS_B, COLS_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    // The operands of the group in a stage.
    auto a_of = [&](unsigned char *stage) { return (const Stored *)(SHARED_A ? shared_memory + AT_A : stage); };
    auto b_of = [&](unsigned char *stage) { return (const Stored *)(SHARED_B ? shared_memory + AT_B : stage + STAGE_B); };
#if PATH == 1
    const int groups = g.batch / GROUP + (g.batch % GROUP != 0);
    const void *list_a = g.a, *list_b = g.b, *list_c = g.c;
    // Addresses come so early that matrices need not wait for them: those of the group that is 2 STAGES - 2 ahead.
    auto fetch_list = [&](long long group, int to) {
        if (!POINTERS || group >= groups) return;
        unsigned char *const list = shared_memory + AT_LISTS + to * LIST;
        const int first = (int)group * GROUP, count = min(GROUP, g.batch - first);
        _Pragma("unroll 1") for (int i = threadIdx.x; i < count; i += THREADS) {
            if (!SHARED_A) word_load<8>(list + 8 * i, (const void *const *)g.a + first + i, 8);
            if (!SHARED_B) word_load<8>(list + 8 * (GROUP + i), (const void *const *)g.b + first + i, 8);
            word_load<8>(list + 8 * (2 * GROUP + i), (const void *const *)g.c + first + i, 8);
        }
    };
    // The operands of a group: with POINTERS, from the list number by.
    auto at_list = [&](int by) {
        if (!POINTERS) return;
        const unsigned char *const list = shared_memory + AT_LISTS + by * LIST;
        list_a = list;
        list_b = list + 8 * GROUP;
        list_c = list + 16 * GROUP;
    };
    auto fetch = [&](long long group, int to, int by) {
        if (group < groups) {
            unsigned char *const stage = ring + to * STAGE;
            const int first = (int)group * GROUP, count = min(GROUP, g.batch - first), from = POINTERS ? 0 : first;
            at_list(by);
            if (!SHARED_A) GroupA::fetch(stage, list_a, g.lda, g.stride_a, from, count);
            if (!SHARED_B) GroupB::fetch(stage + STAGE_B, list_b, g.ldb, g.stride_b, from, count);
            if (BETA != 0) GroupC::fetch(stage + STAGE_C, list_c, g.ldc, g.stride_c, from, count);
        }
        words_commit();  // of nothing, too: groups of words are counted
    };
    if (POINTERS) {
        _Pragma("unroll 1") for (int i = 0; i < LISTS - 1; i++) fetch_list(blockIdx.x + (long long)i * blocks, i);
        words_commit();
        words_wait<0>();
        block_sync();
    }
    UNROLL for (int i = 0; i < STAGES - 1; i++) fetch(blockIdx.x + (long long)i * blocks, i, i);
    int now = 0, list = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        words_wait<STAGES - 2>();
        block_sync();  // this group is there for all threads, and the stage before it is free
        fetch_list(group + (long long)(LISTS - 1) * blocks, list ? list - 1 : LISTS - 1);
        fetch(group + (long long)(STAGES - 1) * blocks, now ? now - 1 : STAGES - 1,
              list + STAGES - 1 < LISTS ? list + STAGES - 1 : list - STAGES);
        unsigned char *const stage = ring + now * STAGE;
        // With beta, the result takes the place of C.
        unsigned char *const out = BETA != 0 ? stage + STAGE_C : shared_memory + AT_OUT;
        const int first = (int)group * GROUP, count = min(GROUP, g.batch - first);
        multiply_group(a_of(stage), b_of(stage), (const Stored *)out, (Stored *)out, count, scalars);
        block_sync();
        at_list(list);
        GroupC::write(list_c, out, g.ldc, g.stride_c, POINTERS ? 0 : first, count);
        now = now + 1 == STAGES ? 0 : now + 1;
        list = list + 1 == LISTS ? 0 : list + 1;
    }
#else
    const Stored *const a = (const Stored *)g.a, *const b = (const Stored *)g.b;
    Stored *const c = (Stored *)g.c;
    // Whole ones; what lies behind the last column of the batch is not ours to read.
    constexpr bool BEYOND = (!SHARED_A && LEAD_A) || (!SHARED_B && LEAD_B) || ((BETA || PARTLY) && LEAD_C);
    const int groups = (g.batch - BEYOND) / GROUP;
    const bool leader = threadIdx.x == 0;
    const unsigned int barriers = shared_address(shared_memory);
    const unsigned long long policy = EVICT ? evict_first() : 0;
    auto fetch = [&](long long group, int to) {
        if (group >= groups) return;
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        constexpr int COUNT_A = GROUP * STEP_A * SIZE, COUNT_B = GROUP * STEP_B * SIZE, COUNT_C = GROUP * STEP_C * SIZE;
        barrier_expect(barrier, COUNT_A + COUNT_B + (BETA || PARTLY ? COUNT_C : 0));
        if (!SHARED_A) bulk_load<EVICT>(stage, a + group * GROUP * STEP_A, COUNT_A, barrier, policy);
        if (!SHARED_B) bulk_load<EVICT>(stage + STAGE_B, b + group * GROUP * STEP_B, COUNT_B, barrier, policy);
        if (BETA) bulk_load<EVICT>(stage + STAGE_C, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
        if (PARTLY) bulk_load<EVICT>(shared_memory + AT_WASTE, c + group * GROUP * STEP_C, COUNT_C, barrier, policy);
    };
    if (leader) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
        // Nobody else looks at the stages before the barriers say so, or at the barriers before the next line.
        UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i);
    }
    block_sync();
    // A group at most is left over.
    const int done = groups * GROUP;
    multiply_there<1, 1>(g, done, g.batch - done, blockIdx.x * THREADS + threadIdx.x, blocks * THREADS, scalars);
    int now = 0, out = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + out * BYTES_C;
        barrier_wait(barriers + 8 * now, parity);
        multiply_group(a_of(stage), b_of(stage), (const Stored *)(stage + STAGE_C), (Stored *)to, GROUP, scalars);
        async_fence();
        if (leader && !LEAD_C) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();                           // this one is written, and the stage is free
        if (leader) {
            if (!LEAD_C) bulk_store<EVICT>(c + group * GROUP * STEP_C, to, GROUP * STEP_C * SIZE, policy);
            fetch(group + (long long)STAGES * blocks, now);
        }
        // The other buffer is free when all threads are at the next barrier.
        if (LEAD_C) write_columns((unsigned char *)(c + group * GROUP * STEP_C), to);
        out ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (leader && !LEAD_C) bulk_done();
#endif
#endif
}
