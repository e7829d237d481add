// interleaved: C = alpha * op(A) * op(B) + beta * C for batches whose matrices lie element beside element.
//
//                     matrix  0 1 2 3 4 5 6 7 ...            a thread has LANES neighbouring matrices, a warp
//   A (0, 0)                 |. . . .|. . . .|...            LANES * 32 of them: every access is one run of bytes
//   A (0, 1)                 |. . . .|. . . .|...
//   ...                       thread 0  thread 1
//
// Nothing is transposed and nothing staged: element (i, k) of LANES matrices is one vector, and so is element (k, j); a
// thread keeps ROWS x COLUMNS sums for each of them in registers, and sizes are constants of the compiler, so that loops
// unroll. Where all of C does not fit there, TEAM threads share the matrices, each with another part of C, and what
// several of them read comes from the first-level cache.
//
// Rows and columns lie at any distance, so a transpose costs nothing. An operand that all matrices share (SHARED_A,
// SHARED_B) is read by all threads at one address. A C whose matrices lie apart (SCATTERED) is written through shared
// memory (STAGED), whole matrices one after the other.
#include "lib/problem.cuh"
#ifndef SIZE_M
#define SIZE_M 3  // rows of C
#endif
#ifndef SIZE_N
#define SIZE_N 3  // columns of C
#endif
#ifndef SIZE_K
#define SIZE_K 3  // columns of op(A)
#endif
#ifndef ALIGN
#define ALIGN 16  // bytes that divide the address of every run of matrices side by side
#endif
#ifndef PACKED
#define PACKED 0  // whether there are several packs of matrices; else the batch is one
#endif
#ifndef SHARED_A
#define SHARED_A 0  // whether the matrices of a pack have one A
#endif
#ifndef SHARED_B
#define SHARED_B 0  // the same for B
#endif
#ifndef SCATTERED
#define SCATTERED 0  // whether the matrices of C are not interleaved
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef LANES
#define LANES 2  // neighbouring matrices of a thread
#endif
#ifndef ROWS
#define ROWS 3  // rows of C that a thread computes at a time
#endif
#ifndef COLUMNS
#define COLUMNS 3  // columns of C that a thread computes at a time
#endif
#ifndef TEAM
#define TEAM 1  // threads that share the same matrices
#endif
#ifndef WARPS
#define WARPS 4  // warps of neighbouring matrices in a block
#endif
#ifndef UNROLL_K
#define UNROLL_K 4  // steps along k whose loads are written out together
#endif
#ifndef STAGED
#define STAGED 0  // 1: a scattered C leaves through shared memory
#endif
#ifndef AHEAD
#define AHEAD 0  // 1: a block first asks the second-level cache for all that it will read
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/global.cuh"

constexpr int SLOTS = 32 * WARPS;             // threads side by side
constexpr int THREADS = SLOTS * TEAM;         // of a block
constexpr int MATRICES = SLOTS * LANES;       // of a block
constexpr int TILES_N = (SIZE_N + COLUMNS - 1) / COLUMNS;
constexpr int TILES = (SIZE_M + ROWS - 1) / ROWS * TILES_N;
#if STAGED
constexpr int AREA = SIZE_M * SIZE_N;
constexpr int PAD = 1 - LANES * AREA % 2;     // after the staged C of a thread, so that threads begin in different banks
#endif

static_assert(ALIGN % (LANES * SIZE) == 0, "lanes-aligned: a vector begins at a multiple of its bytes");
static_assert(TEAM <= TILES, "team-tiles: every thread has a part of C");
static_assert(THREADS <= 1024, "threads: a block has at most 1024 threads");
static_assert(!STAGED || SCATTERED, "staged: only a scattered C leaves through shared memory");

// Strides count elements. Matrix b begins b / pack * pack_x + b % pack * (its own step) after the first.
struct Interleaved {
    const void *a, *b;
    void *c;
    long long row_a, row_b, row_c;
    long long column_a, column_b, column_c;
    long long pack_a, pack_b, pack_c;
    long long step_c;
    int batch, pack;
    double alpha[2], beta[2];
};

extern __shared__ __align__(16) unsigned char shared_memory[];

// COUNT neighbouring elements, through the cache for what nobody writes: A and B share no byte with C.
INLINE void read_only(unsigned short &x, const unsigned short *from) {
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(x) : "l"(from));
}
INLINE void read_only(unsigned int &x, const unsigned int *from) {
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(x) : "l"(from));
}
INLINE void read_only(uint2 &x, const uint2 *from) {
    asm("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from));
}
INLINE void read_only(uint4 &x, const uint4 *from) {
    asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from));
}

template <int COUNT, bool SHARED> INLINE void load(Element (&x)[COUNT], const Stored *from, bool conj) {
    if (SHARED) {
        Pack<1> one;
        read_only(one.vector, (decltype(one.vector) const *)from);
        UNROLL for (int lane = 0; lane < COUNT; lane++) x[lane] = conjugated(conj, widened(one.element[0]));
    } else {
        Pack<COUNT> some;
        read_only(some.vector, (decltype(some.vector) const *)from);
        UNROLL for (int lane = 0; lane < COUNT; lane++) x[lane] = conjugated(conj, widened(some.element[lane]));
    }
}

// Where a matrix of an operand begins; step is 0 for what a pack shares.
INLINE long long place(const Interleaved &g, int matrix, long long step, long long pack) {
    if (!PACKED) return matrix * step;
    return (unsigned)matrix / (unsigned)g.pack * pack + (unsigned)matrix % (unsigned)g.pack * step;
}

#if STAGED
// Where an element lies in shared memory, numbered matrix by matrix and row by row.
INLINE int staged(int element) { return PAD ? element + element / (LANES * AREA) : element; }

// The results of a block to where they belong: as words of 16 bytes where C has no gaps, else element by element.
INLINE void write_back(const Interleaved &g, int before, int count) {
    constexpr int WORD = 16 / SIZE;
    const Stored *from = (const Stored *)shared_memory;
    int done = 0;
    Stored *run = (Stored *)g.c + (long long)before * AREA;
    const bool dense = g.step_c == AREA && g.column_c == 1 && (g.row_c == SIZE_N || SIZE_M == 1);
    if (!PACKED && dense && (unsigned long long)run % 16 == 0) {
        for (int word = threadIdx.x; word < count * AREA / WORD; word += THREADS) {
            Pack<WORD> some;
            UNROLL for (int i = 0; i < WORD; i++) some.element[i] = from[staged(word * WORD + i)];
            global_store((decltype(some.vector) *)run + word, some.vector);
        }
        done = count * AREA / WORD * WORD;
    }
    // Neighbouring threads write neighbouring elements where C lies by rows or by columns.
    const bool by_rows = g.column_c <= g.row_c;
    for (int at = done + threadIdx.x; at < count * AREA; at += THREADS) {
        const int which = at / AREA, element = at % AREA;
        const int i = by_rows ? element / SIZE_N : element % SIZE_M, j = by_rows ? element % SIZE_N : element / SIZE_M;
        ((Stored *)g.c)[place(g, before + which, g.step_c, g.pack_c) + i * g.row_c + j * g.column_c] =
            from[staged(which * AREA + i * SIZE_N + j)];
    }
}
#endif

#if AHEAD
// All rows of A and B that a block reads, line by line.
INLINE void ask_ahead(const Interleaved &g, int before) {
    constexpr int LINE = 128, LINES = (MATRICES * SIZE + LINE - 1) / LINE;
    constexpr int ROWS_A = SHARED_A ? 0 : SIZE_M * SIZE_K, ROWS_B = SHARED_B ? 0 : SIZE_K * SIZE_N;
    for (int at = threadIdx.x; at < (ROWS_A + ROWS_B) * LINES; at += THREADS) {
        const int row = at / LINES, matrix = before + at % LINES * (LINE / SIZE);
        if (matrix >= g.batch) continue;
        const Stored *from;
        if (row < ROWS_A)
            from = (const Stored *)g.a + place(g, matrix, 1, g.pack_a) + row / SIZE_K * g.row_a + row % SIZE_K * g.column_a;
        else
            from = (const Stored *)g.b + place(g, matrix, 1, g.pack_b) + (row - ROWS_A) / SIZE_N * g.row_b +
                   (row - ROWS_A) % SIZE_N * g.column_b;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
    }
}
#endif

// One part of C of COUNT neighbouring matrices, from row i0 and column j0 on. What lies outside C is computed of the last
// row and column again, and written nowhere.
template <int COUNT>
INLINE void multiply(const Interleaved &g, const Scalars &scalars, int matrix, int slot, int i0, int j0) {
    const Stored *a = (const Stored *)g.a + place(g, matrix, !SHARED_A, g.pack_a);
    const Stored *b = (const Stored *)g.b + place(g, matrix, !SHARED_B, g.pack_b);
    Stored *c = (Stored *)g.c + place(g, matrix, SCATTERED ? g.step_c : 1, g.pack_c);
    Element sum[ROWS][COLUMNS][COUNT];
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < COLUMNS; j++)
            UNROLL for (int lane = 0; lane < COUNT; lane++) sum[i][j][lane] = zero();
    _Pragma("unroll UNROLL_K") for (int k = 0; k < SIZE_K; k++) {
        Element left[ROWS][COUNT], right[COLUMNS][COUNT];
        UNROLL for (int i = 0; i < ROWS; i++)
            load<COUNT, SHARED_A>(left[i], a + min(i0 + i, SIZE_M - 1) * g.row_a + k * g.column_a, CONJ_A);
        UNROLL for (int j = 0; j < COLUMNS; j++)
            load<COUNT, SHARED_B>(right[j], b + k * g.row_b + min(j0 + j, SIZE_N - 1) * g.column_b, CONJ_B);
        UNROLL for (int i = 0; i < ROWS; i++)
            UNROLL for (int j = 0; j < COLUMNS; j++)
                UNROLL for (int lane = 0; lane < COUNT; lane++)
                    multiply_add(sum[i][j][lane], left[i][lane], right[j][lane]);
    }
    UNROLL for (int i = 0; i < ROWS; i++) {
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            if (i0 + i >= SIZE_M || j0 + j >= SIZE_N) continue;
            Element result[COUNT];
#if SCATTERED
            UNROLL for (int lane = 0; lane < COUNT; lane++) {
                result[lane] = scaled(scalars, sum[i][j][lane], zero());
                const Stored stored = packed<1>(*(const Element(*)[1])&result[lane]).element[0];
#if STAGED
                ((Stored *)shared_memory)[staged((slot + lane) * AREA + (i0 + i) * SIZE_N + j0 + j)] = stored;
#else
                ((Stored *)g.c)[place(g, matrix + lane, g.step_c, g.pack_c) + (i0 + i) * g.row_c +
                                (j0 + j) * g.column_c] = stored;
#endif
            }
#else
            typedef typename Vector<COUNT * SIZE>::Type Wide;
            Wide *to = (Wide *)(c + (i0 + i) * g.row_c + (j0 + j) * g.column_c);
            Pack<COUNT> old;
            if (BETA) global_load(old.vector, to);
            UNROLL for (int lane = 0; lane < COUNT; lane++)
                result[lane] = scaled(scalars, sum[i][j][lane], BETA ? widened(old.element[lane]) : zero());
            global_store(to, packed<COUNT>(result).vector);
#endif
        }
    }
}

template <int COUNT> INLINE void parts(const Interleaved &g, const Scalars &scalars, int matrix, int slot, int first) {
#if ROWS >= SIZE_M && COLUMNS >= SIZE_N
    multiply<COUNT>(g, scalars, matrix, slot, 0, 0);
#else
    _Pragma("unroll 1") for (int tile = first; tile < TILES; tile += TEAM)
        multiply<COUNT>(g, scalars, matrix, slot, tile / TILES_N * ROWS, tile % TILES_N * COLUMNS);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) interleaved(const __grid_constant__ Interleaved g) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const int before = blockIdx.x * MATRICES, slot = threadIdx.x % SLOTS * LANES, team = threadIdx.x / SLOTS;
    const int matrix = before + slot;
#if AHEAD
    ask_ahead(g, before);
#endif
    if (matrix + LANES <= g.batch) {
        parts<LANES>(g, scalars, matrix, slot, team);
    } else {
        // The last matrices of the batch, which fill no vector.
        for (int one = 0; matrix + one < g.batch; one++) parts<1>(g, scalars, matrix + one, slot + one, team);
    }
#if STAGED
    __syncthreads();
    write_back(g, before, min(MATRICES, g.batch - before));
#endif
}
