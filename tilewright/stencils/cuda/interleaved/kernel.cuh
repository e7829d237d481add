// interleaved: C = alpha * op(A) * op(B) + beta * C for batches whose matrices lie element beside element.
//
//                     matrix  0 1 2 3 4 5 6 7 ...            a thread has LANES neighbouring matrices, a warp
//   A (0, 0)                 |. . . .|. . . .|...            LANES * 32 of them: every access is one run of bytes
//   A (0, 1)                 |. . . .|. . . .|...
//   ...                       thread 0  thread 1
//
// Nothing is transposed: element (i, k) of LANES matrices is one vector, and so is element (k, j); a thread keeps
// ROWS x COLUMNS sums for each of them in registers, and sizes are constants of the compiler, so that loops unroll. Where
// all of C does not fit there, TEAM threads share the matrices, each with another part of C. What several of them read
// comes from the first-level cache (direct.cuh), or through a ring in shared memory (STAGES; ring.cuh, ring_bulk.cuh). Packs of
// few matrices come and go whole (packs.cuh, GROUP). Numbers of 16 bits are multiplied on tensor cores, too (members.cuh, MEMBERS). What becomes of the sums of the others is in result.cuh.
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
#ifndef PACK_SIZE
#define PACK_SIZE 0  // matrices of a pack, if GROUP or MEMBERS
#endif
#ifndef BY_COLUMNS_A
#define BY_COLUMNS_A 0  // whether the elements of a pack of A lie column by column, if GROUP; else row by row
#endif
#ifndef BY_COLUMNS_B
#define BY_COLUMNS_B 0  // the same for B
#endif
#ifndef BY_COLUMNS_C
#define BY_COLUMNS_C 0  // the same for C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef LANES
#define LANES 2  // neighbouring matrices of a thread
#endif
#ifndef STRIDED
#define STRIDED 0  // 1: the matrices of a thread are 32 apart, so that runs may begin at any element
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
#define STAGED 0  // 1: a scattered C leaves through shared memory; 2: by bulk copies from there (sm_90), another C, too
#endif
#ifndef AHEAD
#define AHEAD 0  // 1: a block first asks the second-level cache for all that it will read
#endif
#ifndef STAGES
#define STAGES 0  // stages of a ring in shared memory that A and B come through; 0: from device memory to registers
#endif
#ifndef DEPTH
#define DEPTH 1  // steps along k of a stage
#endif
#ifndef GROUP
#define GROUP 0  // packs of a stage of a ring that whole packs come through (sm_90); 0: none
#endif
#ifndef PADDED
#define PADDED 0  // 1: the packs of a group begin in different banks of shared memory
#endif
#ifndef MEMBERS
#define MEMBERS 0  // matrices of a group that tensor cores multiply (sm_80), of 16-bit types; 0: by multiply-add units
#endif
#ifndef BULK
#define BULK 0  // 1: the rows of the ring come by bulk copies (sm_90)
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks of a ring: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/global.cuh"

constexpr int SLOTS = 32 * WARPS;             // threads side by side
constexpr int THREADS = SLOTS * TEAM;         // of a block
#if !MEMBERS
[[maybe_unused]] constexpr int MATRICES = SLOTS * LANES;  // of a block
#endif
[[maybe_unused]] constexpr int NEXT = STRIDED ? 32 : 1;  // from a matrix of a thread to its next one
constexpr int TILES_N = (SIZE_N + COLUMNS - 1) / COLUMNS;
constexpr int TILES = (SIZE_M + ROWS - 1) / ROWS * TILES_N;
#if STAGED
constexpr int AREA = SIZE_M * SIZE_N;
#endif
#if STAGED && SCATTERED
constexpr int RUN = STRIDED ? AREA : LANES * AREA;  // staged elements of a thread that lie side by side
constexpr int PAD = STAGED == 1 && RUN % 2 == 0;  // after these, so that threads begin in different banks
#endif

static_assert(MEMBERS || STRIDED || ALIGN % (LANES * SIZE) == 0, "lanes-aligned: a vector begins at a multiple of its bytes");
static_assert(TEAM <= TILES, "team-tiles: every thread has a part of C");
static_assert(THREADS <= 1024, "threads: a block has at most 1024 threads");
static_assert(!STAGED || SCATTERED || (STAGED == 2 && BULK && STRIDED && !BETA),
              "staged: a scattered C leaves through shared memory, another one by bulk copies of rows");

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
#if GROUP || BULK
__host__ __device__ constexpr int line(int bytes) { return (bytes + 127) / 128 * 128; }
constexpr int AT_RING = line(8 * STAGES);  // after the barriers of bulk copies
#endif
#if STAGES && !GROUP && !MEMBERS
// Elements of a stage: a row of matrices for each element that A and B have along DEPTH steps, of one that begins anywhere
// with the rest of its first and last vectors.
constexpr int ROW = MATRICES + STRIDED * (16 / SIZE);
constexpr int STAGE = ((SHARED_A ? 0 : SIZE_M) + (SHARED_B ? 0 : SIZE_N)) * DEPTH * ROW;
#endif
#if STAGED && BULK
#define results (shared_memory + AT_RING + STAGES * STAGE * SIZE)  // after the ring
#elif STAGED && STAGES
#define results (shared_memory + STAGES * STAGE * SIZE)
#else
#define results shared_memory
#endif

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
    if constexpr (SHARED) {
        Pack<1> one;
        read_only(one.vector, (decltype(one.vector) const *)from);
        UNROLL for (int lane = 0; lane < COUNT; lane++) x[lane] = conjugated(conj, widened(one.element[0]));
    } else if constexpr (STRIDED) {
        UNROLL for (int lane = 0; lane < COUNT; lane++) {
            Pack<1> one;
            read_only(one.vector, (decltype(one.vector) const *)(from + lane * NEXT));
            x[lane] = conjugated(conj, widened(one.element[0]));
        }
    } else {
        Pack<COUNT> some;
        read_only(some.vector, (decltype(some.vector) const *)from);
        UNROLL for (int lane = 0; lane < COUNT; lane++) x[lane] = conjugated(conj, widened(some.element[lane]));
    }
}

// LANES elements from shared memory; of what all matrices share one, from device memory.
template <bool SHARED> INLINE void take(Element (&x)[LANES], const Stored *from, bool conj) {
    if constexpr (SHARED) {
        load<LANES, true>(x, from, conj);
    } else {
        constexpr int WIDTH = STRIDED ? 1 : LANES;  // of an access
        UNROLL for (int lane = 0; lane < LANES; lane += WIDTH) {
            Pack<WIDTH> some;
            some.vector = *(decltype(some.vector) const *)(from + lane * NEXT);
            UNROLL for (int i = 0; i < WIDTH; i++) x[lane + i] = conjugated(conj, widened(some.element[i]));
        }
    }
}

// Where a matrix of an operand begins; step is 0 for what a pack shares.
INLINE long long place(const Interleaved &g, int matrix, long long step, long long pack) {
    if (!PACKED) return matrix * step;
    return (unsigned)matrix / (unsigned)g.pack * pack + (unsigned)matrix % (unsigned)g.pack * step;
}

template <int COUNT> INLINE void clear(Element (&sum)[ROWS][COLUMNS][COUNT]) {
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < COLUMNS; j++)
            UNROLL for (int lane = 0; lane < COUNT; lane++) sum[i][j][lane] = zero();
}

template <int COUNT>
INLINE void add_products(Element (&sum)[ROWS][COLUMNS][COUNT], const Element (&left)[ROWS][COUNT],
                         const Element (&right)[COLUMNS][COUNT]) {
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < COLUMNS; j++)
            UNROLL for (int lane = 0; lane < COUNT; lane++) multiply_add(sum[i][j][lane], left[i][lane], right[j][lane]);
}

#if !MEMBERS && !GROUP
// The first matrix of this thread in its block.
INLINE int first_slot() {
    const int slot = threadIdx.x % SLOTS;
    return STRIDED ? slot / 32 * (32 * LANES) + slot % 32 : slot * LANES;
}
#endif

#if STRIDED && BULK
// Rows that begin anywhere come and go with the whole vectors of 16 bytes that they begin and end in: so many elements of
// the first lie before the row. Blocks begin at multiples of 16 bytes after the first matrix, so that depends on the element.
INLINE int beside(const void *base, long long row, long long column, int i, int j) {
    return ((unsigned int)(unsigned long long)base / SIZE + i * (unsigned int)row + j * (unsigned int)column) % (16 / SIZE);
}
#elif BULK
INLINE int beside(const void *, long long, long long, int, int) { return 0; }
#endif

#include "interleaved/result.cuh"
#if MEMBERS
#include "interleaved/members.cuh"
#elif GROUP
#include "interleaved/packs.cuh"
#elif BULK
#include "interleaved/ring_bulk.cuh"
#elif STAGES
#include "interleaved/ring.cuh"
#else
#include "interleaved/direct.cuh"
#endif

#if STAGES
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)
#else
#define BOUNDS __launch_bounds__(THREADS)
#endif

extern "C" __global__ void BOUNDS interleaved(const __grid_constant__ Interleaved g) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
#if MEMBERS
    multiply_groups(g, scalars);
#elif GROUP
    multiply_packs(g, scalars);
#elif BULK
    multiply_rows(g, scalars);
#else
    const int before = blockIdx.x * MATRICES;
    multiply_all(g, scalars, before, first_slot(), threadIdx.x / SLOTS);
#if STAGED
    results_written();
    write_back(g, before, min(MATRICES, g.batch - before));
#endif
#endif
}
