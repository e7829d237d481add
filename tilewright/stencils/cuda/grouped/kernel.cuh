// grouped: C_i = alpha_i * op(A_i) * op(B_i) + beta_i * C_i for many products of different sizes, in one launch.
//
// I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications of
// very small matrices" (2018): every matrix passes device memory once, and whole matrices are multiplied in shared
// memory (section 7). What is different here is that no two products need be of one size, so nothing of the sizes
// is known to the compiler, and that blocks which finish early would leave memory idle. Hence:
//
//   device memory   descriptors, 64 bytes each   |0|1|2|3|4|5|6|7|8|...   a few of middle size, then the largest first
//                        | block b takes one of each row of gridDim, back and forth: all blocks get equal shares
//   a block              | a counter in shared memory gives the next of them to the team that asks
//   a team of TEAM warps | asks for A, B (and C) as long as its ring has room, and reads the next descriptor then:
//
//   shared memory   ring of a team  |A B C|A B C|A B|  at most DEPTH products, each with the bytes that it needs
//                        |
//   registers       a warp: LANES x (32 / LANES) lanes, each with up to ROWS x COLUMNS elements of C, by tensor
//                        |  cores (MMA 1) or not; smaller products are run by smaller tiles: by one of each size
//                        |  (FINE 1), of each number of rows (FINE 2), or by halves (FINE 0), whose few instructions
//                        |  stay in the cache
//   device memory   C_i
//
// How an operand is copied is written in its descriptor: without gaps, as 16-byte lines (BULK 1: one bulk copy), or
// column by column in words of 4, 8 or 16 bytes. Lines are copied whole, also those that an operand shares with what
// lies before it or with another matrix of the list after it; of what else lies there nothing is read. In shared memory
// an operand begins as many bytes after a multiple of 16 as in device memory. The host's side of the descriptors is in
// grouped.py.
//
// What bounds it, for 10,000 products with extents of 1 to 32 on 132 multiprocessors: a multiprocessor has 76 of
// them, 250 KB of float32 or complex64 twice that (8 and 15 us at 4.2 TB/s), and each of its four schedulers issues
// one instruction at a time. Of a mean product of float32, all lanes together do 4,500 multiply-adds, 140
// instructions; with what they waste on tiles of 8 x 4 lanes, operands from shared memory, and addresses it is 500,
// and 300 before and after. So 19 products of a scheduler take 15,000 clocks (8 us) when none is lost: instructions
// are as short as memory is, and not to be spent on small change: whatever the host can work out is in the descriptor.
// By tensor cores 16 bits take 100 in place of the 500, and what is left is latency: a launch, a descriptor, the first
// operands and the last results, 4 us in all.
#include "lib/bulk.cuh"

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 32  // of a real number: 16, 32 or 64
#endif
#ifndef COMPLEX
#define COMPLEX 0  // whether an element is a pair (re, im)
#endif
#if TYPE_BITS == 16
#ifndef BRAIN
#define BRAIN 0  // whether numbers of 16 bits are bfloat16
#endif
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
#define ALPHA_ONE 1  // whether alpha is 1 in all products
#endif
#ifndef BETA
#define BETA 0  // 0 (C is not read), 1, or 2: any, and then that of each product says whether C is read
#endif
#ifndef LARGEST
#define LARGEST 8448  // bytes of shared memory that the largest product takes
#endif
#ifndef LARGEST_M
#define LARGEST_M 32  // most rows of a C
#endif
#ifndef LARGEST_N
#define LARGEST_N 32  // most columns of a C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef BULK
#define BULK 1  // 1: operands without gaps by bulk copies (sm_90), 0: by words of 16 bytes (sm_80)
#endif
#ifndef ROWS
#define ROWS 4  // most rows of C that a lane computes at a time
#endif
#ifndef COLUMNS
#define COLUMNS 8  // most columns of C that a lane computes at a time
#endif
#ifndef DEEP
#define DEEP 2  // steps of k in one turn of the loop
#endif
#ifndef FINE
#define FINE 0  // 1: a tile for each number of rows and columns, 2: for each of rows, 0: whole tiles and halves
#endif
#ifndef MMA
#define MMA 0  // 1: tensor cores multiply (float64 and 16 bits)
#endif
#ifndef TEAM
#define TEAM 1  // warps that share a product
#endif
#ifndef WARPS
#define WARPS 16  // warps of a block
#endif
#ifndef RING
#define RING 13440  // bytes of shared memory of a team
#endif
#ifndef DEPTH
#define DEPTH 2  // products of a team in its ring: 2 or 4
#endif
#ifndef BLOCKS
#define BLOCKS 1  // blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr int TEAMS = WARPS / TEAM;
constexpr int LANES = 8, ACROSS = 32 / LANES;  // lanes that share a column of C, and a row
constexpr int WORDS = 16;                     // of a descriptor, 4 bytes each
constexpr int OPERANDS = BETA ? 3 : 2;        // that are read
// The smaller tiles where there is not one of each size.
constexpr int HALF_M = MMA ? 2 : (ROWS + 1) / 2, HALF_N = COLUMNS <= 4 ? 2 : 4;

// Shared memory: barriers, descriptors of what is in the rings, what hands out products, the rings.
constexpr int AT_QUEUE = (8 * TEAMS * DEPTH + 15) / 16 * 16;
constexpr int AT_HAND = AT_QUEUE + 4 * WORDS * TEAMS * DEPTH;
constexpr int AT_RING = (AT_HAND + 16 + 8 * TEAMS + 127) / 128 * 128;

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(WARPS % TEAM == 0, "teams: all warps of a block belong to whole teams");
static_assert(TEAM == 1 || TEAMS <= 15, "team-barriers: a block has fifteen barriers for its teams");
static_assert(LARGEST <= RING && RING % 16 == 0, "ring: a team's ring has room for the largest product");
static_assert(!MMA || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(!MMA || (ROWS % 2 == 0 && COLUMNS % 2 == 0),
              "mma-tile: a tile is whole tensor-core products of 16 rows and 8 columns");
static_assert(DEPTH == 2 || DEPTH == 4, "depth: a ring has places for 2 or 4 products");

// The one argument; grouped.py packs it.
struct Products {
    const unsigned int *list;  // descriptors
    const double *scalars;     // (alpha, beta) of every product as four numbers, or null: they are these:
    double alpha[2], beta[2];
    int count, unused;
};
static_assert(sizeof(Products) == 56, "grouped.py packs 56 bytes");

// Words of a descriptor: four for each of A, B and C, then those below. Leading dimensions may be negative; those in
// shared memory have 8 bits each, as m, n and k.
enum Word {
    ADDRESS = 0,     // of an operand: two words
    REGION = 2,      // multiples of 16 bytes that it takes in the ring, and << 13 where it begins there, in bytes from
                     // the begin of the product; C takes none where it is not read
    LEADING = 3,     // its leading dimension in elements
    EXTENTS = 12,    // m, n << 8, k << 16
    SHARED_LD = 13,  // of A, B << 8, C << 16
    ROOM = 14,       // multiples of 16 bytes that are set aside for all, and << 16 how each of them is copied, 4 bits:
                     // 0: whole lines; 1: lines, of the last one what is the operand's; else log2 of the bytes of a
                     // word
    NUMBER = 15,     // whose scalars are meant
};

// ---- teams --------------------------------------------------------------------------------------
INLINE void team_sync(int team) {
    if (TEAM == 1) __syncwarp();
    else if (TEAMS == 1) __syncthreads();
    else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(32 * TEAM) : "memory");
}

// Until the kernels before this one in its stream are done, if it was launched before; the next one may be launched.
INLINE void after_others() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- copies -------------------------------------------------------------------------------------
struct Operand {
    const unsigned char *from;
    unsigned char *to;  // as many bytes after a multiple of 16
    int rows, columns;  // as it is stored; columns 0 where it is not read
};

// Columns of an operand by words of BYTES bytes. Elements of 16 bits that begin within a word of 4 are copied with
// what lies before them in that word, which belongs to no column in shared memory.
template <int BYTES>
INLINE void fetch_columns(const Operand &x, long long step, int step_here, int first) {
    const int bytes = x.rows * SIZE;
    const int in_column = TYPE_BITS == 16 && !COMPLEX && BYTES == 4 ? (bytes + 5) / 4 : bytes / BYTES;
    const int down = 32 * TEAM / in_column, over = 32 * TEAM % in_column;
    int column = first / in_column, word = first % in_column;
    _Pragma("unroll 1") while (column < x.columns) {
        const unsigned char *from = x.from + column * step;
        unsigned char *to = x.to + column * step_here;
        int left = bytes - word * BYTES;
        if (TYPE_BITS == 16 && !COMPLEX && BYTES == 4) {
            const int before = (int)((unsigned long long)from & 2);
            from -= before;
            to -= before;
            left += before;
        }
        // What is left of a word is one half.
        if (left >= BYTES) word_load<BYTES>(to + word * BYTES, from + word * BYTES, BYTES);
        else if (left > 0) word_load<2>(to + word * BYTES, from + word * BYTES, 2);
        column += down;
        word += over;
        if (word >= in_column) {
            word -= in_column;
            column++;
        }
    }
}

// Bytes that divide every address, and that a copy by itself can have.
constexpr int SMALLEST = TYPE_BITS == 16 ? 2 : 4;

// A whole line.
INLINE void line_load(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

// The next place in the list of a block, told to one thread. It counts up to most, for the compiler, before it adds a
// number that it knows, counts who else asks.
INLINE int next_place(unsigned int counter, int most) {
    int place;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(place) : "r"(counter), "r"(most) : "memory");
    return place;
}

// A barrier that each of some threads arrives at, with what it asked for.
INLINE void barrier_start_for(unsigned int barrier, int threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- the product of one warp --------------------------------------------------------------------
struct Tile {
    const Stored *a, *b, *old;  // in shared memory; old is not looked at where C is not read
    int lda, ldb, ldo;
    Stored *c;
    long long ldc;
    int m, n, k;   // of what this warp computes
    bool reads;
};

#if MMA
constexpr int STEP_K = TYPE_BITS == 16 ? 16 : 4;

// A lane holds row lane / 4 of a fragment of A and column lane / 4 of one of B; of C, that row and columns
// 2 (lane % 4) and the next one. What is outside of k is zero, in both operands: it may be no number.
template <int TILE_M, int TILE_N>
INLINE void multiply_step(Element (&sum)[TILE_N][TILE_M], const Stored *a, const Stored *b, const int (&row)[TILE_M],
                          const int (&column)[TILE_N / 2], int step_a, int step_b, int left) {
#if TYPE_BITS == 64
    Element x[TILE_M], y[TILE_N / 2];
    UNROLL for (int i = 0; i < TILE_M; i++) x[i] = left > 0 ? conjugated(CONJ_A, a[row[i]]) : zero();
    UNROLL for (int j = 0; j < TILE_N / 2; j++) y[j] = left > 0 ? conjugated(CONJ_B, b[column[j]]) : zero();
    auto rows_16 = [](Real &c0, Real &c1, Real &c2, Real &c3, Real a0, Real a1, Real b0) {
#if __CUDA_ARCH__ >= 900
        mma_16x8x4(c0, c1, c2, c3, a0, a1, b0);
#else
        mma_8x8x4(c0, c1, a0, b0);
        mma_8x8x4(c2, c3, a1, b0);
#endif
    };
    UNROLL for (int j = 0; j < TILE_N; j += 2) UNROLL for (int i = 0; i < TILE_M; i += 2) {
        Element &c0 = sum[j][i], &c1 = sum[j + 1][i], &c2 = sum[j][i + 1], &c3 = sum[j + 1][i + 1];
#if COMPLEX
        const Element a0 = x[i], a1 = x[i + 1], b0 = y[j / 2];
        rows_16(c0.re, c1.re, c2.re, c3.re, a0.re, a1.re, b0.re);
        rows_16(c0.im, c1.im, c2.im, c3.im, a0.re, a1.re, b0.im);
        rows_16(c0.re, c1.re, c2.re, c3.re, -a0.im, -a1.im, b0.im);
        rows_16(c0.im, c1.im, c2.im, c3.im, a0.im, a1.im, b0.re);
#else
        rows_16(c0, c1, c2, c3, x[i], x[i + 1], y[j / 2]);
#endif
    }
#else
    // Words of two k: the first two of a lane, and those 8 further. Complex numbers have one for each part.
    constexpr int PARTS = COMPLEX ? 2 : 1;
    unsigned int x[PARTS][2][TILE_M], y[PARTS][2][TILE_N / 2];
    auto load = [&](unsigned int *re, unsigned int *im, const Stored *from, int step, int at, bool conj) {
        const bool first = at < left, second = at + 1 < left;
#if COMPLEX
        const unsigned int *const words = (const unsigned int *)from;
        const unsigned int u = first ? words[at * step] : 0, v = second ? words[(at + 1) * step] : 0;
        *re = __byte_perm(u, v, 0x5410);
        *im = __byte_perm(u, v, 0x7632) ^ (conj ? 0x80008000u : 0u);
#else
        const unsigned int u = first ? from[at * step] : 0, v = second ? from[(at + 1) * step] : 0;
        *re = __byte_perm(u, v, 0x5410);
#endif
    };
    UNROLL for (int h = 0; h < 2; h++) {
        UNROLL for (int i = 0; i < TILE_M; i++) load(&x[0][h][i], &x[PARTS - 1][h][i], a + row[i], step_a, 8 * h, CONJ_A);
        UNROLL for (int j = 0; j < TILE_N / 2; j++)
            load(&y[0][h][j], &y[PARTS - 1][h][j], b + column[j], step_b, 8 * h, CONJ_B);
    }
    UNROLL for (int j = 0; j < TILE_N; j += 2) UNROLL for (int i = 0; i < TILE_M; i += 2) {
        Element &c0 = sum[j][i], &c1 = sum[j + 1][i], &c2 = sum[j][i + 1], &c3 = sum[j + 1][i + 1];
        auto rows_16 = [&](float &s0, float &s1, float &s2, float &s3, int part_a, unsigned int signs, int part_b) {
            const unsigned int w[4] = {x[part_a][0][i] ^ signs, x[part_a][0][i + 1] ^ signs, x[part_a][1][i] ^ signs,
                                       x[part_a][1][i + 1] ^ signs};
            float s[4] = {s0, s1, s2, s3};
            mma_16x8x16(s, w, y[part_b][0][j / 2], y[part_b][1][j / 2]);
            s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
        };
#if COMPLEX
        rows_16(c0.re, c1.re, c2.re, c3.re, 0, 0, 0);
        rows_16(c0.im, c1.im, c2.im, c3.im, 0, 0, 1);
        rows_16(c0.re, c1.re, c2.re, c3.re, 1, 0x80008000u, 1);
        rows_16(c0.im, c1.im, c2.im, c3.im, 1, 0, 0);
#else
        rows_16(c0, c1, c2, c3, 0, 0, 0);
#endif
    }
#endif
}
#endif

// Rows and columns from at_m and at_n on, TILE_M * LANES by TILE_N * ACROSS of them at most.
template <int TILE_M, int TILE_N> INLINE void multiply(const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    // Rows and columns of a lane that are in the matrix for sure: a smaller tile would have been taken.
    constexpr int SURE_M = FINE ? TILE_M - (MMA ? 2 : 1) : TILE_M > HALF_M ? HALF_M : 0;
    constexpr int SURE_N = FINE == 1 ? TILE_N - 2 : TILE_N > HALF_N ? HALF_N : 0;
    const int step_a = TRANS_A ? 1 : t.lda, step_b = TRANS_B ? t.ldb : 1;
    // What lies outside the matrix is not stored. Where neighbours are a step apart it is read from its last row or
    // column; where they lie side by side, from what comes next, for which a product has room.
    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();
    const Stored *a = t.a, *b = t.b;
#if MMA
    const int lane_m = at_m + lane / 4, lane_n = at_n + 2 * (lane % 4);
    constexpr int NEXT_0 = 1, NEXT_1 = 7;  // columns from an even column of a lane to its next one, and from there
    int row[TILE_M], column[TILE_N / 2];
    UNROLL for (int i = 0; i < TILE_M; i++) {
        const int r = lane_m + 8 * i;
        row[i] = !TRANS_A ? 8 * i : (i < SURE_M ? r : min(r, t.m - 1)) * t.lda;
    }
    UNROLL for (int j = 0; j < TILE_N / 2; j++) {
        const int q = at_n + lane / 4 + 8 * j;
        column[j] = TRANS_B ? 8 * j : (2 * j < SURE_N ? q : min(q, t.n - 1)) * t.ldb;
    }
    const int lane_k = lane % 4 * (TYPE_BITS == 16 ? 2 : 1);
    a += lane_k * step_a + (TRANS_A ? 0 : lane_m);
    b += lane_k * step_b + (TRANS_B ? at_n + lane / 4 : 0);
    int p = 0;
    auto step = [&]() {
        multiply_step<TILE_M, TILE_N>(sum, a, b, row, column, step_a, step_b, STEP_K);
        a += STEP_K * step_a;
        b += STEP_K * step_b;
    };
    _Pragma("unroll 1") for (; p + DEEP * STEP_K <= t.k; p += DEEP * STEP_K) UNROLL for (int q = 0; q < DEEP; q++) step();
    if (DEEP > 1) _Pragma("unroll 1") for (; p + STEP_K <= t.k; p += STEP_K) step();
    if (p < t.k) multiply_step<TILE_M, TILE_N>(sum, a, b, row, column, step_a, step_b, t.k - p - lane_k);
#else
    const int lane_m = at_m + lane % LANES, lane_n = at_n + lane / LANES;
    constexpr int NEXT_0 = ACROSS, NEXT_1 = ACROSS;
    int row[TILE_M], column[TILE_N];
    UNROLL for (int i = 0; i < TILE_M; i++) {
        const int r = lane_m + i * LANES;
        row[i] = !TRANS_A ? i * LANES : (i < SURE_M ? r : min(r, t.m - 1)) * t.lda;
    }
    UNROLL for (int j = 0; j < TILE_N; j++) {
        const int q = lane_n + j * ACROSS;
        column[j] = TRANS_B ? j * ACROSS : (j < SURE_N ? q : min(q, t.n - 1)) * t.ldb;
    }
    if (!TRANS_A) a += lane_m;
    if (TRANS_B) b += lane_n;
    auto step = [&]() {
        Element x[TILE_M], y[TILE_N];
        UNROLL for (int i = 0; i < TILE_M; i++) x[i] = conjugated(CONJ_A, widened(a[row[i]]));
        UNROLL for (int j = 0; j < TILE_N; j++) y[j] = conjugated(CONJ_B, widened(b[column[j]]));
        UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
            multiply_add(sum[j][i], x[i], y[j]);
        a += step_a;
        b += step_b;
    };
    int p = 0;
    _Pragma("unroll 1") for (; p + DEEP <= t.k; p += DEEP) UNROLL for (int q = 0; q < DEEP; q++) step();
    if (DEEP > 1) _Pragma("unroll 1") for (; p < t.k; p++) step();
#endif
    // Pointers that move on: an address for each column would take the registers of the sums.
    const Stored *old = t.old + lane_n * t.ldo + lane_m;
    bool in_rows[TILE_M];
    UNROLL for (int i = 0; i < TILE_M; i++) in_rows[i] = i < SURE_M || lane_m + i * LANES < t.m;
    Stored *c = t.c + lane_n * t.ldc + lane_m;
    UNROLL for (int j = 0; j < TILE_N; j++) {
        const bool in_columns = j < SURE_N || lane_n + j / 2 * (NEXT_0 + NEXT_1) + j % 2 * NEXT_0 < t.n;
        UNROLL for (int i = 0; i < TILE_M; i++) {
            const bool inside = in_rows[i] && in_columns;
            const Element before = BETA != 0 && t.reads && inside ? widened(old[i * LANES]) : zero();
            const Stored out = narrowed(scaled(s, sum[j][i], before));
            if (inside) c[i * LANES] = out;
        }
        const int next = j % 2 ? NEXT_1 : NEXT_0;
        c += next * t.ldc;
        old += next * t.ldo;
    }
}

template <int TILE_M>
INLINE void multiply_columns(int tile_n, const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    if (FINE != 1) {
        if (tile_n <= HALF_N) multiply<TILE_M, HALF_N>(t, at_m, at_n, lane, s);
        else multiply<TILE_M, COLUMNS>(t, at_m, at_n, lane, s);
    } else if (tile_n <= 2 || COLUMNS <= 2) multiply<TILE_M, 2>(t, at_m, at_n, lane, s);
    else if (tile_n <= 4 || COLUMNS <= 4) multiply<TILE_M, COLUMNS < 4 ? 2 : 4>(t, at_m, at_n, lane, s);
    else if (tile_n <= 6) multiply<TILE_M, COLUMNS < 6 ? 2 : 6>(t, at_m, at_n, lane, s);
    else multiply<TILE_M, COLUMNS < 8 ? 2 : 8>(t, at_m, at_n, lane, s);
}

INLINE void multiply_tile(int tile_m, int tile_n, const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    if (!FINE || MMA) {
        if (tile_m <= HALF_M) multiply_columns<HALF_M>(tile_n, t, at_m, at_n, lane, s);
        else multiply_columns<ROWS>(tile_n, t, at_m, at_n, lane, s);
    } else if (tile_m <= 1) multiply_columns<1>(tile_n, t, at_m, at_n, lane, s);
    else if (tile_m == 2 || ROWS <= 2) multiply_columns<ROWS < 2 ? 1 : 2>(tile_n, t, at_m, at_n, lane, s);
    else if (tile_m == 3 || ROWS <= 3) multiply_columns<ROWS < 3 ? 1 : 3>(tile_n, t, at_m, at_n, lane, s);
    else multiply_columns<ROWS < 4 ? 1 : 4>(tile_n, t, at_m, at_n, lane, s);
}

// What one tile covers.
constexpr int MOST_M = ROWS * LANES, MOST_N = COLUMNS * ACROSS;

// All of what a warp computes, in tiles of nearly the same size.
INLINE void multiply_all(const Tile &t, int lane, const Scalars &s) {
    const int down = (t.m + LANES - 1) / LANES, over = (t.n + ACROSS - 1) / ACROSS;
    if (LARGEST_M <= MOST_M && LARGEST_N <= MOST_N) {
        multiply_tile(down, over, t, 0, 0, lane, s);
        return;
    }
    const int times_m = (down + ROWS - 1) / ROWS, times_n = (over + COLUMNS - 1) / COLUMNS;
    // A division takes longer than a small product.
    auto share = [](int all, int times, bool few) {
        return !few ? (all + times - 1) / times : times == 1 ? all : (all + 1) / 2;
    };
    int tile_m = share(down, times_m, LARGEST_M <= 2 * MOST_M), tile_n = share(over, times_n, LARGEST_N <= 2 * MOST_N);
    if (FINE == 1) tile_n += tile_n & 1;
    else tile_n = tile_n <= HALF_N ? HALF_N : COLUMNS;
    if (!FINE || MMA) tile_m = tile_m <= HALF_M ? HALF_M : ROWS;
    _Pragma("unroll 1") for (int j = 0; j < times_n; j++) {
        // The last tile is moved back into the matrix, so that its rows and columns are there.
        const int at_n = max(min(j * tile_n * ACROSS, t.n - tile_n * ACROSS), 0);
        _Pragma("unroll 1") for (int i = 0; i < times_m; i++) {
            const int at_m = max(min(i * tile_m * LANES, t.m - tile_m * LANES), 0);
            multiply_tile(tile_m, tile_n, t, at_m, at_n, lane, s);
        }
    }
}

extern __shared__ __align__(128) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) grouped(const __grid_constant__ Products g) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int team = warp / TEAM, member = warp % TEAM;  // the warp's number in its team
    int thread = threadIdx.x - team * 32 * TEAM;         // the thread's
    const int most = g.count | 1 << 30;                  // more than all teams ask for
    // Kept in registers: the compiler would work them out anew wherever they are used.
    int blocks = gridDim.x, block = blockIdx.x;
    const unsigned int *list = g.list + thread;
    const unsigned int window = shared_address(shared_memory);
    unsigned int barriers = window + 8 * DEPTH * team, queue_at = window + AT_QUEUE + 4 * WORDS * DEPTH * team;
    unsigned int ring_at = window + AT_RING + team * RING, hand = window + AT_HAND;
    asm volatile("" : "+r"(barriers), "+r"(queue_at), "+r"(ring_at), "+r"(hand), "+r"(blocks), "+r"(block),
                 "+l"(list), "+r"(thread));
    unsigned int *const queue = (unsigned int *)__cvta_shared_to_generic(queue_at);
    unsigned char *const ring = (unsigned char *)__cvta_shared_to_generic(ring_at);
    int *const told = (int *)(shared_memory + AT_HAND + 16) + 2 * team;

    // This block's products: one of each row of the list, back and forth. Descriptors are read long before.
    auto nth = [&](int i) { return i * blocks + (i & 1 ? blocks - 1 - block : block); };
    int next = nth(team), asked = 0;
    unsigned int words = 0;  // of the next product's descriptor, one in each of the first lanes
    auto read = [&]() {
        if (next < g.count && thread < WORDS) words = __ldg(list + (long long)next * WORDS);
    };
    read();
    if (BULK && thread < DEPTH) {
        barrier_start_for(barriers + 8 * thread, OPERANDS);
        barriers_started();
    }
    if (threadIdx.x == 0) *(int *)(shared_memory + AT_HAND) = TEAMS;
    __syncthreads();
    // Where launches may overlap, all so far runs while the kernel before ends: descriptors are no kernel's results.
    after_others();

    unsigned int put = 0, done = 0;   // products put into the ring, and products done
    unsigned int head = 0, tail = 0;  // bytes: where the next product begins, and where the oldest one does
    unsigned long long later = 0;     // where the others do: 16 bits for each, in multiples of 16 bytes
    _Pragma("unroll 1") while (true) {
        // ---- ask for as many products as there is room for
        _Pragma("unroll 1") while (next < g.count && put - done < DEPTH) {
            const unsigned int slot = put % DEPTH;
            unsigned int *const d = queue + slot * WORDS;
            if (thread < WORDS) d[thread] = words;
            team_sync(team);
            const unsigned int room = d[ROOM], copies = room >> 16;
            const unsigned int bytes = (room & 0xffff) * 16;
            if (put == done) head = tail = 0;
            unsigned int place = head;
            if (head + bytes > (head < tail ? tail - 16 : RING)) {
                if (head < tail || bytes >= tail) break;
                place = 0;
            }
            if (put == done) tail = place;
            else if (DEPTH == 2) later = place / 16;
            else later |= (unsigned long long)(place / 16) << 16 * (put - done - 1);
            unsigned char *const here = ring + place;
            // ---- learn of another, whose descriptor is read below
            int turn = 0;
            if (TEAM == 1 && thread == 0) turn = next_place(hand, most);
            // Two places in turns: what was told last is still being read.
            if (TEAM > 1 && thread == 0) told[asked] = next_place(hand, most);
            // The 16-byte lines that hold an operand, of which the first may begin before it and the last one end
            // after it: nobody looks at what lies there.
            auto lines = [&](const uint4 &x, int which) {
                const unsigned int copy = copies >> 4 * which & 15;
                return copy > 1 ? 0u : ((x.z & 8191) - copy) * 16;
            };
            auto source = [&](const uint4 &x) {
                return (const unsigned char *)((unsigned long long)x.y << 32 | (x.x & ~15u));
            };
            auto target = [&](const uint4 &x) { return here + (x.z >> 13 & ~15u); };
            if (BULK) {
                if (thread < OPERANDS) {
                    const uint4 x = ((const uint4 *)d)[thread];
                    const int count = lines(x, thread);
                    barrier_expect(barriers + 8 * slot, count);
                    if (count) bulk_load<false>(target(x), source(x), count, barriers + 8 * slot, 0);
                }
            } else {
                UNROLL for (int which = 0; which < OPERANDS; which++) {
                    const uint4 x = ((const uint4 *)d)[which];
                    const unsigned char *from = source(x) + 16 * thread;
                    unsigned char *to = target(x) + 16 * thread;
                    const int count = lines(x, which);
                    _Pragma("unroll 1") for (int at = 16 * thread; at < count; at += 16 * 32 * TEAM) {
                        line_load(to, from);
                        from += 16 * 32 * TEAM;
                        to += 16 * 32 * TEAM;
                    }
                }
            }
            if (copies != 0) {
                const unsigned int extents = d[EXTENTS], shared_ld = d[SHARED_LD];
                const int m = extents & 255, n = extents >> 8 & 255, k = extents >> 16 & 255;
                _Pragma("unroll 1") for (int which = 0; which < OPERANDS; which++) {
                    const int copy = copies >> 4 * which & 15;
                    if (copy == 0 || (d[4 * which + REGION] & 8191) == 0) continue;
                    const unsigned int low = d[4 * which + ADDRESS], high = d[4 * which + ADDRESS + 1];
                    Operand x;
                    x.from = (const unsigned char *)((unsigned long long)high << 32 | low);
                    x.to = here + (d[4 * which + REGION] >> 13);
                    x.rows = which == 0 ? (TRANS_A ? k : m) : which == 1 ? (TRANS_B ? n : k) : m;
                    x.columns = which == 0 ? (TRANS_A ? m : k) : which == 1 ? (TRANS_B ? k : n) : n;
                    if (copy == 1) {
                        const int end = (int)(low & 15) + x.rows * x.columns * SIZE, last = end - (end & 15) - (low & 15);
                        const int at = SMALLEST * thread;
                        if (at < (end & 15)) word_load<SMALLEST>(x.to + last + at, x.from + last + at, SMALLEST);
                        continue;
                    }
                    const long long step = (long long)(int)d[4 * which + LEADING] * SIZE;
                    const int step_here = (int)(shared_ld >> 8 * which & 255) * SIZE;
                    if (copy == 4) fetch_columns<16>(x, step, step_here, thread);
                    else if (copy == 3) fetch_columns<8>(x, step, step_here, thread);
                    else fetch_columns<4>(x, step, step_here, thread);
                }
                if (BULK) words_commit();
            }
            if (!BULK) words_commit();
            head = place + bytes;
            put++;
            if (TEAM == 1) {
                turn = __shfl_sync(0xffffffffu, turn, 0);
            } else {
                team_sync(team);
                turn = told[asked];
                asked ^= 1;
            }
            next = nth(turn);
            read();
        }
        if (put == done) break;

        // ---- multiply the oldest
        const unsigned int slot = done % DEPTH;
        const unsigned int *const d = queue + slot * WORDS;
        const unsigned int extents = d[EXTENTS], shared_ld = d[SHARED_LD];
        const bool by_words = d[ROOM] >> 16 != 0;
        const unsigned char *const here = ring + tail;
        Tile t;
        t.m = extents & 255;
        const int n = extents >> 8 & 255;
        t.k = extents >> 16 & 255;
        t.lda = shared_ld & 255;
        t.ldb = shared_ld >> 8 & 255;
        t.ldo = shared_ld >> 16 & 255;
        t.ldc = (int)d[8 + LEADING];
        t.reads = (d[8 + REGION] & 8191) != 0;
        t.a = (const Stored *)(here + (d[REGION] >> 13));
        t.b = (const Stored *)(here + (d[4 + REGION] >> 13));
        t.old = (const Stored *)(here + (d[8 + REGION] >> 13));
        // Known to be global, lest stores are compiled for memory of any kind.
        t.c = (Stored *)__cvta_global_to_generic((unsigned long long)d[8 + ADDRESS + 1] << 32 | d[8 + ADDRESS]);
        if (!BULK || by_words) {
            words_wait_but<DEPTH - 1>(BULK ? 0 : (int)(put - done) - 1);
            team_sync(team);
        }
        if (BULK) barrier_wait(barriers + 8 * slot, done / DEPTH & 1);
        // The warps of a team share the columns.
        const int each = (n + TEAM - 1) / TEAM, from = member * each;
        t.n = min(n - from, each);
        t.b += from * (TRANS_B ? 1 : t.ldb);
        t.old += from * t.ldo;
        t.c += from * t.ldc;
        Scalars s;
        if ((!ALPHA_ONE || BETA == 2) && g.scalars != nullptr) {
            const double *const own = g.scalars + 4ll * d[NUMBER];
            s.alpha = scalar(own);
            s.beta = scalar(own + 2);
        } else {
            s.alpha = scalar(g.alpha);
            s.beta = scalar(g.beta);
        }
        if (TEAM == 1 || t.n > 0) multiply_all(t, lane, s);
        // Bulk copies may take the place of what a thread wrote itself. What was only read is in registers by now.
        if (BULK && by_words) async_fence();
        team_sync(team);
        done++;
        tail = (unsigned int)(later & 0xffff) * 16;
        if (DEPTH > 2) later >>= 16;
    }
}
