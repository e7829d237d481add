// grouped: C_i = alpha_i * op(A_i) * op(B_i) + beta_i * C_i for many products of different sizes, in one launch.
//
// I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications of
// very small matrices" (2018): every matrix passes device memory once, and whole matrices are multiplied in shared
// memory (section 7). What is different here is that no two products need be of one size, so nothing of the sizes
// is known to the compiler, and that blocks which finish early would leave memory idle. Hence:
//
//   device memory   descriptors, the largest product first   |0|1|2|3|4|5|6|7|8|...     64 bytes each
//                        | block b takes one of each row of gridDim, back and forth: all blocks get equal shares,
//                        | and reads its first AHEAD of them when it begins
//   a block              | a counter in shared memory gives the next of them to the team that asks (HAND 1), or
//                        | teams share them back and forth as well, and have theirs read long before (HAND 0)
//   a team of TEAM warps | reads descriptors ahead, and asks for A, B (and C) as long as its ring has room:
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
// column by column in words of 4, 8 or 16 bytes. In shared memory an operand begins as many bytes after a multiple of
// 16 as in device memory. The host's side of the descriptors is in grouped.py.
//
// What bounds it, for 10,000 products with extents of 1 to 32 on 132 multiprocessors: a multiprocessor has 76 of
// them, 250 KB of float32 or complex64 twice that (8 and 15 us at 4.2 TB/s), and each of its four schedulers issues
// one instruction at a time. Of a mean product of float32, all lanes together do 4,500 multiply-adds, 140
// instructions; with what they waste on tiles of 8 x 4 lanes, operands from shared memory, and addresses it is 500,
// and 300 before and after. So 19 products of a scheduler take 15,000 clocks (8 us) when none is lost: instructions
// are as short as memory is, and not to be spent on small change. By tensor cores 16 bits take 100 in place of the
// 500, and what is left is latency: a launch, a descriptor, the first operands and the last results, 4 us in all.
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
#ifndef LANES
#define LANES 8  // lanes of a warp that share a column of C: 4, 8 or 16
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
#define DEPTH 4  // products of a team in its ring
#endif
#ifndef AHEAD
#define AHEAD 96  // descriptors of a block that are read when it begins
#endif
#ifndef HAND
#define HAND 1  // 1: a team asks for its next product, 0: it has one of each TEAMS, back and forth
#endif
#ifndef BLOCKS
#define BLOCKS 1  // blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr int TEAMS = WARPS / TEAM;
constexpr int ACROSS = 32 / LANES;  // lanes that share a row of C
constexpr int WORDS = 16;           // of a descriptor, 4 bytes each
// Descriptors of a team in shared memory. One that takes the place of another arrives with the operands that are asked
// for next, and these have been waited for DEPTH products later.
constexpr int SLOTS = 2 * DEPTH;
// The smaller tiles where there is not one of each size.
constexpr int HALF_M = MMA ? 2 : (ROWS + 1) / 2, HALF_N = COLUMNS <= 4 ? 2 : 4;

// Shared memory: barriers, descriptors of what is in the rings, what hands out products, descriptors that were read
// when the block began, the rings.
constexpr int AT_QUEUE = 8 * TEAMS * DEPTH;
constexpr int AT_HAND = AT_QUEUE + 4 * WORDS * TEAMS * SLOTS;
constexpr int AT_AHEAD = (AT_HAND + 16 + 8 * TEAMS + 127) / 128 * 128;
constexpr int AT_RING = AT_AHEAD + 4 * WORDS * AHEAD;

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(WARPS % TEAM == 0, "teams: all warps of a block belong to whole teams");
static_assert(TEAM == 1 || TEAMS <= 15, "team-barriers: a block has fifteen barriers for its teams");
static_assert(LARGEST <= RING && RING % 16 == 0, "ring: a team's ring has room for the largest product");
static_assert(LANES == 4 || LANES == 8 || LANES == 16, "lanes: 4, 8 or 16 lanes share a column");
static_assert(!MMA || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(!MMA || (LANES == 8 && ROWS % 2 == 0 && COLUMNS % 2 == 0),
              "mma-tile: a tile is whole tensor-core products of 16 rows and 8 columns");
static_assert(AHEAD % 2 == 0, "ahead: rings begin at multiples of 128 bytes");
static_assert(AHEAD == 0 || HAND == 1, "ahead: a team that knows its products has their descriptors to itself");
static_assert(DEPTH == 2 || DEPTH == 4 || DEPTH == 8, "depth: a ring has places for 2, 4 or 8 products");

// The one argument; grouped.py packs it.
struct Products {
    const unsigned int *list;  // descriptors
    const double *scalars;     // (alpha, beta) of every product as four numbers, or null: they are these:
    double alpha[2], beta[2];
    int count, unused;
};
static_assert(sizeof(Products) == 56, "grouped.py packs 56 bytes");

// Words of a descriptor. Leading dimensions may be negative; those in shared memory have 8 bits each, as m, n and k.
enum Word {
    ADDRESSES = 0,   // of A, B and C: three times two words
    LEADING = 6,     // lda, ldb, ldc in elements
    EXTENTS = 9,     // m, n << 8, k << 16
    SHARED_LD = 10,  // of A, B << 8, C << 16
    COPIES = 11,     // 4 bits for each operand: 0: without gaps; else log2 of the bytes of a word
    CHUNKS_AB = 12,  // multiples of 16 bytes that A takes in the ring, and B << 16
    CHUNKS_C = 13,   // C, and what is set aside for all << 16; C takes none where it is not read
    NUMBER = 14,     // whose scalars are meant
    PLACE = 15,      // where it begins in the ring: written here
};

// ---- teams --------------------------------------------------------------------------------------
INLINE void team_sync(int team) {
    if (TEAM == 1) __syncwarp();
    else if (TEAMS == 1) __syncthreads();
    else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(32 * TEAM) : "memory");
}

// Until all but the last few of this thread's groups of words have arrived; few is less than DEPTH.
INLINE void words_wait_but(int few) {
    if (few == 0) words_wait<0>();
    else if (few == 1 || DEPTH == 2) words_wait<1>();
    else if (few == 2) words_wait<2>();
    else if (few == 3 || DEPTH == 4) words_wait<3>();
    else if (few == 4) words_wait<4>();
    else if (few == 5) words_wait<5>();
    else if (few == 6) words_wait<6>();
    else words_wait<7>();
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
        if (left > 0) word_load<BYTES>(to + word * BYTES, from + word * BYTES, left < BYTES ? left : BYTES);
        column += down;
        word += over;
        if (word >= in_column) {
            word -= in_column;
            column++;
        }
    }
}

// A whole line.
INLINE void line_load(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

// The next place in the list of a block, told to one thread.
INLINE int next_place(int *counter) {
    int place;
    // Not as a sum, for which the compiler would first count who else asks.
    asm volatile("atom.shared.inc.u32 %0, [%1], -1;" : "=r"(place) : "r"(shared_address(counter)) : "memory");
    return place;
}

// The 16-byte lines that hold an operand without gaps, of which the first may begin before it: whatever lies there is
// of the same line, and nobody looks at it. The last one is copied as far as the operand goes.
struct Lines {
    const unsigned char *from;
    int bytes;
};

INLINE Lines lines_of(unsigned int low, unsigned int high, int bytes) {
    const int before = (int)low & 15;
    return Lines{(const unsigned char *)((unsigned long long)high << 32 | (low - before)), bytes ? bytes + before : 0};
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
    // A and B have been read. Later, this would wait for the stores.
    if (BULK && BETA == 0) async_fence();
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
    // Kept in a register: the compiler would work it out anew wherever it is used.
    unsigned int window = shared_address(shared_memory);
    asm volatile("" : "+r"(window));
    unsigned char *const shared = (unsigned char *)__cvta_shared_to_generic(window);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int team = warp / TEAM, member = warp % TEAM;  // the warp's number in its team
    const int thread = threadIdx.x - team * 32 * TEAM;   // the thread's
    const int blocks = gridDim.x, block = blockIdx.x;
    unsigned int *const queue = (unsigned int *)(shared + AT_QUEUE) + WORDS * SLOTS * team;
    int *const hand = (int *)(shared + AT_HAND);
    int *const told = (int *)(shared + AT_HAND + 16) + 2 * team;
    unsigned char *const ring = shared + AT_RING + team * RING;
    const unsigned int barriers = window + 8 * DEPTH * team;

    if (BULK && thread < DEPTH) {
        barrier_start(barriers + 8 * thread);
        barriers_started();
    }
    if (threadIdx.x == 0) *hand = TEAMS;

    // This block's products: one of each row of the list, back and forth.
    auto nth = [&](int i) { return i * blocks + (i & 1 ? blocks - 1 - block : block); };
    // Descriptors come from far: the first AHEAD of a block at once, and none of them is waited for later.
    unsigned int *const ahead = (unsigned int *)(shared + AT_AHEAD);
    for (int at = 4 * threadIdx.x; at < WORDS * AHEAD; at += 4 * THREADS) {
        const int which = nth(at / WORDS);
        if (which < g.count) word_load<16>(ahead + at, g.list + (long long)which * WORDS + at % WORDS, 16);
    }
    // Those of a team whose products are known: the first SLOTS of them, and later another one for each that is done.
    auto order = [&](int i) { return nth(i * TEAMS + (i & 1 ? TEAMS - 1 - team : team)); };
    auto describe = [&](int i, int quarter) {
        const int which = order(i);
        if (which < g.count)
            line_load(queue + i % SLOTS * WORDS + 4 * quarter, g.list + (long long)which * WORDS + 4 * quarter);
    };
    if (HAND == 0)
        for (int at = thread; at < 4 * SLOTS; at += 32 * TEAM) describe(at / 4, at % 4);
    if (AHEAD || HAND == 0) {
        words_commit();
        words_wait<0>();
    }
    __syncthreads();

    int turn = team, asked = 0;
    int next = nth(turn);
    unsigned int words = 0;  // of the next product's descriptor, one in each of the first lanes
    auto read = [&]() {
        if (HAND == 0 || next >= g.count || lane >= WORDS) return;
        if (turn < AHEAD) words = ahead[turn * WORDS + lane];
        else words = __ldg(g.list + (long long)next * WORDS + lane);
    };
    read();

    int put = 0, done = 0;     // products put into the ring, and products done
    int head = 0, tail = 0;    // bytes: where the next product begins, and where the oldest one does
    unsigned int phases = 0;   // of the barriers, a bit each
    _Pragma("unroll 1") while (true) {
        // ---- ask for as many products as there is room for
        _Pragma("unroll 1") while (next < g.count && put - done < DEPTH) {
            const int slot = put % DEPTH;
            unsigned int *const d = queue + put % SLOTS * WORDS;
            if (HAND) {
                if (member == 0 && lane < WORDS) d[lane] = words;
                team_sync(team);
            }
            const unsigned int chunks_ab = d[CHUNKS_AB], chunks_c = d[CHUNKS_C];
            const int bytes = (int)(chunks_c >> 16) * 16;
            int place = head;
            if (put == done) {
                place = tail = 0;
            } else if (head > tail) {
                if (head + bytes > RING) {
                    if (bytes >= tail) break;
                    place = 0;
                }
            } else if (head + bytes >= tail) {
                break;
            }
            if (thread == 0) d[PLACE] = (unsigned int)place;
            const unsigned int extents = d[EXTENTS], copies = d[COPIES];
            const int m = extents & 255, n = extents >> 8 & 255, k = extents >> 16 & 255;
            const int after_a = (int)(chunks_ab & 0xffff) * 16, after_b = after_a + (int)(chunks_ab >> 16) * 16;
            const bool reads = BETA != 0 && (chunks_c & 0xffff) != 0;
            unsigned char *const here = ring + place;
            auto lines = [&](int which, int elements) {
                return lines_of(d[ADDRESSES + 2 * which], d[ADDRESSES + 2 * which + 1],
                                copies >> 4 * which & 15 ? 0 : elements * SIZE);
            };
            const Lines a = lines(0, m * k), b = lines(1, k * n), c = lines(2, reads ? m * n : 0);
            if (BULK && thread == 0)
                barrier_expect(barriers + 8 * slot, (a.bytes & ~15) + (b.bytes & ~15) + (c.bytes & ~15));
            if (!BULK) {
                auto fetch = [&](unsigned char *to, const Lines &x) {
                    const unsigned char *from = x.from + 16 * thread;
                    to += 16 * thread;
                    _Pragma("unroll 1") for (int left = x.bytes - 16 * thread; left >= 16; left -= 16 * 32 * TEAM) {
                        line_load(to, from);
                        from += 16 * 32 * TEAM;
                        to += 16 * 32 * TEAM;
                    }
                };
                fetch(here, a);
                fetch(here + after_a, b);
                if (BETA) fetch(here + after_b, c);
            } else {
                __syncwarp();
            }
            // Each of the first threads has one operand: its last line, and the bulk copy.
            if (thread < (BETA ? 3 : 2)) {
                const Lines x = thread == 0 ? a : thread == 1 ? b : c;
                unsigned char *const to = here + (thread == 0 ? 0 : thread == 1 ? after_a : after_b);
                const int whole = x.bytes & ~15;
                if (x.bytes & 15) word_load<16>(to + whole, x.from + whole, x.bytes & 15);
                if (BULK && whole) bulk_load<false>(to, x.from, whole, barriers + 8 * slot, 0);
            }
            if (copies != 0) {
                const unsigned int shared_ld = d[SHARED_LD];
                _Pragma("unroll 1") for (int which = 0; which < (BETA ? 3 : 2); which++) {
                    const int copy = copies >> 4 * which & 15;
                    if (copy == 0 || (which < 2 ? k == 0 : !reads)) continue;
                    const unsigned int low = d[ADDRESSES + 2 * which], high = d[ADDRESSES + 2 * which + 1];
                    Operand x;
                    x.from = (const unsigned char *)((unsigned long long)high << 32 | low);
                    x.to = here + (which == 0 ? 0 : which == 1 ? after_a : after_b) + ((int)low & 15);
                    x.rows = which == 0 ? (TRANS_A ? k : m) : which == 1 ? (TRANS_B ? n : k) : m;
                    x.columns = which == 0 ? (TRANS_A ? m : k) : which == 1 ? (TRANS_B ? k : n) : n;
                    const long long step = (long long)(int)d[LEADING + which] * SIZE;
                    const int step_here = (int)(shared_ld >> 8 * which & 255) * SIZE;
                    if (copy == 4) fetch_columns<16>(x, step, step_here, thread);
                    else if (copy == 3) fetch_columns<8>(x, step, step_here, thread);
                    else fetch_columns<4>(x, step, step_here, thread);
                }
            }
            words_commit();
            head = place + bytes;
            put++;
            // ---- and learn of another
            if (HAND == 0) {
                next = order(put);
                continue;
            }
            if (TEAM == 1) {
                if (lane == 0) turn = next_place(hand);
                turn = __shfl_sync(0xffffffffu, turn, 0);
            } else {
                // Two places in turns: what was told last is still being read.
                if (thread == 0) told[asked] = next_place(hand);
                team_sync(team);
                turn = told[asked];
                asked ^= 1;
            }
            next = nth(turn);
            read();
        }
        if (put == done) break;

        // ---- multiply the oldest
        const int slot = done % DEPTH;
        words_wait_but(put - done - 1);
        if (BULK) {
            barrier_wait(barriers + 8 * slot, phases >> slot & 1);
            phases ^= 1u << slot;
        }
        team_sync(team);
        const unsigned int *const d = queue + done % SLOTS * WORDS;
        const unsigned int extents = d[EXTENTS], shared_ld = d[SHARED_LD], chunks_ab = d[CHUNKS_AB], chunks_c = d[CHUNKS_C];
        const int place = d[PLACE], after_a = place + (int)(chunks_ab & 0xffff) * 16;
        const int after_b = after_a + (int)(chunks_ab >> 16) * 16;
        Tile t;
        t.m = extents & 255;
        const int n = extents >> 8 & 255;
        t.k = extents >> 16 & 255;
        t.lda = shared_ld & 255;
        t.ldb = shared_ld >> 8 & 255;
        t.ldo = shared_ld >> 16 & 255;
        t.ldc = (int)d[LEADING + 2];
        t.reads = (chunks_c & 0xffff) != 0;
        t.a = (const Stored *)(ring + place + (d[ADDRESSES] & 15));
        t.b = (const Stored *)(ring + after_a + (d[ADDRESSES + 2] & 15));
        t.old = (const Stored *)(ring + after_b + (d[ADDRESSES + 4] & 15));
        // Known to be global, lest stores are compiled for memory of any kind.
        t.c = (Stored *)__cvta_global_to_generic((unsigned long long)d[ADDRESSES + 5] << 32 | d[ADDRESSES + 4]);
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
        if (t.n > 0) multiply_all(t, lane, s);
        if (BULK && BETA != 0) async_fence();
        team_sync(team);
        if (HAND == 0 && thread < 4) describe(done + SLOTS, thread);
        done++;
        if (done < put) tail = (int)queue[done % SLOTS * WORDS + PLACE];
    }
}
