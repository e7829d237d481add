// grouped: C_i = alpha_i * op(A_i) * op(B_i) + beta_i * C_i for many products of different sizes, in one launch.
//
// I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications of
// very small matrices" (2018): every matrix passes device memory once, and whole matrices are multiplied in shared
// memory (section 7). What is different here is that no two products need be of one size, so nothing of the sizes
// is known to the compiler, and that blocks which finish early would leave memory idle. Hence:
//
//   device memory   descriptors, the largest product first   |0|1|2|3|4|5|6|7|8|...     64 bytes each
//                        | block b takes one of each row of gridDim, back and forth: all blocks get equal shares
//   a block              | a counter in shared memory gives the next of them to the team that asks (HAND 1)
//   a team of TEAM warps | reads descriptors ahead, and asks for A, B (and C) as long as its ring has room:
//
//   shared memory   ring of a team  |A B C|A B C|A B|  at most DEPTH products, each with the bytes that it needs
//                        |
//   registers       a warp: LANES x (32 / LANES) lanes, each with up to ROWS x COLUMNS elements of C; which of the
//                        |  tiles with fewer rows and columns is run depends on the size of the product
//   device memory   C_i
//
// How an operand is copied is written in its descriptor: without gaps, as one stream of bytes (BULK 1: one bulk
// copy, and words for what hangs over at both ends of the 16-byte lines), or column by column in words of 4, 8
// or 16 bytes. In shared memory an operand begins as many bytes after a multiple of 16 as in device memory.
// The host's side of the descriptors is in grouped.py.
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
#ifndef HAND
#define HAND 1  // 1: a team asks for its next product, 0: it has every TEAMS-th
#endif
#ifndef BLOCKS
#define BLOCKS 1  // blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr int TEAMS = WARPS / TEAM;
constexpr int ACROSS = 32 / LANES;  // lanes that share a row of C
constexpr int WORDS = 16;           // of a descriptor, 4 bytes each

// Shared memory: barriers, descriptors of what is in the rings, what hands out products, the rings.
constexpr int AT_QUEUE = 8 * TEAMS * DEPTH;
constexpr int AT_HAND = AT_QUEUE + 4 * WORDS * TEAMS * DEPTH;
constexpr int AT_RING = (AT_HAND + 16 + 8 * TEAMS + 127) / 128 * 128;

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(WARPS % TEAM == 0, "teams: all warps of a block belong to whole teams");
static_assert(TEAM == 1 || TEAMS <= 15, "team-barriers: a block has fifteen barriers for its teams");
static_assert(LARGEST <= RING && RING % 16 == 0, "ring: a team's ring has room for the largest product");
static_assert(LANES == 4 || LANES == 8 || LANES == 16, "lanes: 4, 8 or 16 lanes share a column");
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
    CHUNKS_C = 13,   // C, and all three << 16; C takes none where it is not read
    NUMBER = 14,     // whose scalars are meant
    PLACE = 15,      // where it begins in the ring: written here
};

// ---- teams --------------------------------------------------------------------------------------
INLINE void team_sync(int team) {
    if (TEAM == 1) __syncwarp();
    else if (TEAMS == 1) __syncthreads();
    else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(32 * TEAM) : "memory");
}

// Until all but the last few of this thread's groups of words have arrived.
INLINE void words_wait_but(int few) {
    switch (few) {
        case 0: words_wait<0>(); break;
        case 1: words_wait<1>(); break;
        case 2: words_wait<2>(); break;
        case 3: words_wait<3>(); break;
        case 4: words_wait<4>(); break;
        case 5: words_wait<5>(); break;
        case 6: words_wait<6>(); break;
        default: words_wait<7>(); break;
    }
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
    _Pragma("unroll 2") while (column < x.columns) {
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

// One lane's part of the bytes of up to three operands without gaps that no 16-byte line holds whole: lanes 8 i to
// 8 i + 3 have what comes before the first line of operand i, the next four what comes after the last.
struct Ends {
    const unsigned char *from;
    int line, lines;  // bytes to the first whole line, and bytes of whole lines
    int at, left;     // this lane's word, and the bytes of it that are to be copied
};

INLINE Ends ends_of(const unsigned char *from, int bytes, int lane) {
    const int before = (int)((unsigned long long)from & 15), line = (16 - before) & 15;
    const int lines = bytes > line ? (bytes - line) & ~15 : 0;
    Ends e;
    e.from = from;
    e.line = line;
    e.lines = lines;
    const bool tail = lane & 4;
    // Words begin at multiples of 4 bytes: elements of 16 bits are copied with what lies before them.
    const int begin = tail ? line + lines : -(before & 3), end = tail || bytes < line ? bytes : line;
    e.at = begin + 4 * (lane & 3);
    e.left = min(end - e.at, 4);
    if (bytes <= 0 || (tail && bytes <= line)) e.left = 0;
    return e;
}

// ---- the product of one warp --------------------------------------------------------------------
struct Tile {
    const Stored *a, *b, *old;  // in shared memory; old is not looked at where C is not read
    int lda, ldb, ldo;
    Stored *c;
    long long ldc;
    int m, n, k;  // of what this warp computes
    bool reads;
};

// Rows and columns from at_m and at_n on, TILE_M * LANES by TILE_N * ACROSS of them at most.
template <int TILE_M, int TILE_N> INLINE void multiply(const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    const int lane_m = at_m + lane % LANES, lane_n = at_n + lane / LANES;
    const int step_a = TRANS_A ? 1 : t.lda, step_b = TRANS_B ? t.ldb : 1;
    // What lies outside the matrix is read from its last row and column, and not stored. Only the last row of a
    // tile can lie outside, and only the last two columns.
    int row[TILE_M], column[TILE_N];
    UNROLL for (int i = 0; i < TILE_M; i++) {
        const int r = lane_m + i * LANES;
        row[i] = (i == TILE_M - 1 ? min(r, t.m - 1) : r) * (TRANS_A ? t.lda : 1);
    }
    UNROLL for (int j = 0; j < TILE_N; j++) {
        const int q = lane_n + j * ACROSS;
        column[j] = (j >= TILE_N - 2 ? min(q, t.n - 1) : q) * (TRANS_B ? 1 : t.ldb);
    }
    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();
    const Stored *a = t.a, *b = t.b;
    _Pragma("unroll DEEP") for (int p = 0; p < t.k; p++) {
        Element x[TILE_M], y[TILE_N];
        UNROLL for (int i = 0; i < TILE_M; i++) x[i] = conjugated(CONJ_A, widened(a[row[i]]));
        UNROLL for (int j = 0; j < TILE_N; j++) y[j] = conjugated(CONJ_B, widened(b[column[j]]));
        UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
            multiply_add(sum[j][i], x[i], y[j]);
        a += step_a;
        b += step_b;
    }
    // One pointer that moves on: an address for each column would take the registers of the sums.
    Stored *c = t.c + lane_n * t.ldc + lane_m;
    const Stored *old = t.old + lane_n * t.ldo + lane_m;
    const bool last_row = lane_m + (TILE_M - 1) * LANES < t.m;
    UNROLL for (int j = 0; j < TILE_N; j++) {
        if (j < TILE_N - 2 || lane_n + j * ACROSS < t.n) {
            UNROLL for (int i = 0; i < TILE_M; i++) {
                if (i < TILE_M - 1 || last_row) {
                    const Element before = BETA != 0 && t.reads ? widened(old[i * LANES]) : zero();
                    c[i * LANES] = narrowed(scaled(s, sum[j][i], before));
                }
            }
        }
        c += ACROSS * t.ldc;
        old += ACROSS * t.ldo;
    }
}

template <int TILE_M> INLINE void multiply_columns(int tile_n, const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    if (tile_n <= 2 || COLUMNS <= 2) multiply<TILE_M, 2>(t, at_m, at_n, lane, s);
    else if (tile_n <= 4 || COLUMNS <= 4) multiply<TILE_M, COLUMNS < 4 ? 2 : 4>(t, at_m, at_n, lane, s);
    else if (tile_n <= 6) multiply<TILE_M, COLUMNS < 6 ? 2 : 6>(t, at_m, at_n, lane, s);
    else multiply<TILE_M, COLUMNS < 8 ? 2 : 8>(t, at_m, at_n, lane, s);
}

// All of what a warp computes, in tiles of nearly the same size.
INLINE void multiply_all(const Tile &t, int lane, const Scalars &s) {
    const int down = (t.m + LANES - 1) / LANES, over = (t.n + ACROSS - 1) / ACROSS;
    const int times_m = (down + ROWS - 1) / ROWS, times_n = (over + COLUMNS - 1) / COLUMNS;
    const int tile_m = (down + times_m - 1) / times_m, wide = (over + times_n - 1) / times_n;
    const int tile_n = wide + (wide & 1);
    _Pragma("unroll 1") for (int j = 0; j < times_n; j++) {
        // The last tile is moved back into the matrix, so that its rows and columns are there.
        const int at_n = max(min(j * tile_n * ACROSS, t.n - tile_n * ACROSS), 0);
        _Pragma("unroll 1") for (int i = 0; i < times_m; i++) {
            const int at_m = max(min(i * tile_m * LANES, t.m - tile_m * LANES), 0);
            if (tile_m <= 1) multiply_columns<1>(tile_n, t, at_m, at_n, lane, s);
            else if (tile_m == 2 || ROWS <= 2) multiply_columns<ROWS < 2 ? 1 : 2>(tile_n, t, at_m, at_n, lane, s);
            else if (tile_m == 3 || ROWS <= 3) multiply_columns<ROWS < 3 ? 1 : 3>(tile_n, t, at_m, at_n, lane, s);
            else multiply_columns<ROWS < 4 ? 1 : 4>(tile_n, t, at_m, at_n, lane, s);
        }
    }
}

extern __shared__ __align__(128) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) grouped(const __grid_constant__ Products g) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int team = warp / TEAM, member = warp % TEAM;  // the warp's number in its team
    const int thread = threadIdx.x - team * 32 * TEAM;   // the thread's
    const int blocks = gridDim.x, block = blockIdx.x;
    unsigned int *const queue = (unsigned int *)(shared_memory + AT_QUEUE) + WORDS * DEPTH * team;
    int *const hand = (int *)(shared_memory + AT_HAND);
    int *const told = (int *)(shared_memory + AT_HAND + 16) + 2 * team;
    unsigned char *const ring = shared_memory + AT_RING + team * RING;
    const unsigned int barriers = shared_address(shared_memory) + 8 * DEPTH * team;

    if (BULK && thread < DEPTH) {
        barrier_start(barriers + 8 * thread);
        barriers_started();
    }
    if (threadIdx.x == 0) *hand = TEAMS;
    __syncthreads();

    // This block's products: one of each row of the list, back and forth.
    auto nth = [&](int i) { return i * blocks + (i & 1 ? blocks - 1 - block : block); };
    int turn = team, asked = 0;
    int next = nth(turn);
    unsigned int words = 0;  // of the next product's descriptor, one in each of the first lanes
    auto read = [&]() {
        if (next < g.count && lane < WORDS) words = __ldg(g.list + (long long)next * WORDS + lane);
    };
    auto word = [&](int which) { return __shfl_sync(0xffffffffu, words, which); };
    read();

    int put = 0, done = 0;     // products put into the ring, and products done
    int head = 0, tail = 0;    // bytes: where the next product begins, and where the oldest one does
    unsigned int phases = 0;   // of the barriers, a bit each
    _Pragma("unroll 1") while (true) {
        // ---- ask for as many products as there is room for
        _Pragma("unroll 1") while (next < g.count && put - done < DEPTH) {
            const unsigned int chunks_ab = word(CHUNKS_AB), chunks_c = word(CHUNKS_C);
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
            const int slot = put % DEPTH;
            const unsigned int extents = word(EXTENTS), shared_ld = word(SHARED_LD), copies = word(COPIES);
            const int m = extents & 255, n = extents >> 8 & 255, k = extents >> 16 & 255;
            const int after_a = place + (int)(chunks_ab & 0xffff) * 16, after_b = after_a + (int)(chunks_ab >> 16) * 16;
            if (member == 0) {
                // Each eight lanes know their operand; the last eight have none.
                const int which = min(lane >> 3, 2);
                const unsigned long long low = word(2 * which), high = word(2 * which + 1);
                const bool reads = lane < 24 && (which < 2 ? k != 0 : (chunks_c & 0xffff) != 0);
                const int bytes_here =
                    !reads || (copies >> 4 * which & 15) ? 0 : (which == 0 ? m * k : which == 1 ? k * n : m * n) * SIZE;
                const unsigned char *const from = (const unsigned char *)(high << 32 | low);
                unsigned char *const to = ring + (which == 0 ? place : which == 1 ? after_a : after_b) + ((int)low & 15);
                const Ends e = ends_of(from, bytes_here, lane);
                if (e.left > 0) word_load<4>(to + e.at, from + e.at, e.left);
                if (BULK) {
                    const unsigned int barrier = barriers + 8 * slot;
                    const int all = __shfl_sync(0xffffffffu, e.lines, 0) + __shfl_sync(0xffffffffu, e.lines, 8) +
                                    __shfl_sync(0xffffffffu, e.lines, 16);
                    if (lane == 0) barrier_expect(barrier, all);
                    __syncwarp();
                    if ((lane & 7) == 0 && e.lines > 0)
                        bulk_load<false>(to + e.line, from + e.line, e.lines, barrier, 0);
                }
                if (lane < WORDS) queue[slot * WORDS + lane] = lane == PLACE ? (unsigned int)place : words;
            }
            _Pragma("unroll 1") for (int which = 0; which < (BETA ? 3 : 2); which++) {
                const int copy = copies >> 4 * which & 15;
                if ((BULK && copy == 0) || (which < 2 ? k == 0 : (chunks_c & 0xffff) == 0)) continue;
                const unsigned long long low = word(2 * which), high = word(2 * which + 1);
                Operand x;
                x.from = (const unsigned char *)(high << 32 | low);
                x.to = ring + (which == 0 ? place : which == 1 ? after_a : after_b) + ((int)low & 15);
                x.rows = which == 0 ? (TRANS_A ? k : m) : which == 1 ? (TRANS_B ? n : k) : m;
                x.columns = which == 0 ? (TRANS_A ? m : k) : which == 1 ? (TRANS_B ? k : n) : n;
                const long long step = (long long)(int)word(LEADING + which) * SIZE;
                const int here = (int)(shared_ld >> 8 * which & 255) * SIZE;
                if (copy == 4) fetch_columns<16>(x, step, here, thread);
                else if (copy == 3) fetch_columns<8>(x, step, here, thread);
                else if (copy == 2) fetch_columns<4>(x, step, here, thread);
                else if (!BULK) {
                    const Ends e = ends_of(x.from, x.rows * x.columns * SIZE, 0);
                    for (int at = e.line + 16 * thread; at < e.line + e.lines; at += 16 * 32 * TEAM)
                        word_load<16>(x.to + at, x.from + at, 16);
                }
            }
            words_commit();
            head = place + bytes;
            put++;
            // ---- and learn of another
            if (HAND == 0) {
                turn += TEAMS;
            } else if (TEAM == 1) {
                if (lane == 0) turn = atomicAdd(hand, 1);
                turn = __shfl_sync(0xffffffffu, turn, 0);
            } else {
                // Two places in turns: what was told last is still being read.
                if (thread == 0) told[asked] = atomicAdd(hand, 1);
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
        const unsigned int *const d = queue + slot * WORDS;
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
        t.c = (Stored *)((unsigned long long)d[ADDRESSES + 5] << 32 | d[ADDRESSES + 4]);
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
        if (BULK) async_fence();
        team_sync(team);
        done++;
        if (done < put) tail = (int)queue[done % DEPTH * WORDS + PLACE];
    }
}
