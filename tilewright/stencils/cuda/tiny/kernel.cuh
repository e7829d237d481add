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
//                         |                                                read neighbouring elements
//   shared memory     C of the group
//                         |
//   device memory   C |0 1 2 3|...
//
// PATH  2  bulk copies (sm_90) by one thread: operands at equal distances, on addresses that are multiples of 16.
//          Padding and gaps that the compiler knows are copied with the rest and keep their positions in shared
//          memory; those of C are never written: there the result leaves by vectors of all threads. The last
//          matrices, a group at most, are read element by element.
//       1  vectors of 4, 8 or 16 bytes (cp.async, sm_80) by all threads: any leading dimensions, gaps and addresses.
//       0  no staging: tiles are read from and written to device memory, and the first-level cache joins
//          the reads of neighbours.
// An operand that the whole batch shares is copied once. Persistent blocks walk over the groups, so any grid is right.
//
// A batch along several axes (OUTER) is numbered along the innermost one first, whatever the strides of the others are.
// Bulk copies bring pieces of runs along the innermost axis, or several short runs together, wherever they begin, and one
// matrix of an operand that a run shares. Where an operand lies along another axis than C, they bring tiles of two axes, of
// each operand runs along one of them. Elsewhere threads write down where each matrix of a later group lies.
//
// The parts, in this folder: pipeline_*.cuh (a path each), pieces.cuh (runs to and from shared memory), copy.cuh (groups to and
// from it), group.cuh (which tile a thread or warp computes), multiply_*.cuh (the product of one tile), layout.cuh (shared
// memory).
#include "lib/bulk.cuh"
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/nest.cuh"
#include "lib/problem.cuh"
#ifndef SIZE_M
#define SIZE_M 16  // rows of C
#endif
#ifndef SIZE_N
#define SIZE_N 16  // columns of C
#endif
#ifndef SIZE_K
#define SIZE_K 16  // columns of op(A)
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
#define PATH 2  // 0: no staging, 1: copies by vectors (sm_80), 2: bulk copies (sm_90)
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
#ifndef SEVERAL
#define SEVERAL 1  // products of a thread that have one A or one B, which it reads once (PATH 2, OUTER)
#endif
#ifndef DIRECT
#define DIRECT 0  // 1: threads write C to device memory themselves, 0: through shared memory (PATH 2, OUTER: either)
#endif
#ifndef REUSE
#define REUSE 0  // 1: a block walks over neighbouring groups, and what two of them in a row have is brought once (PATH 2, OUTER)
#endif
#ifndef ODD
#define ODD 0  // 1: a thread has all rows of its columns of odd matrices of 16 bits, and reads and writes them by words
#endif
#ifndef TURN
#define TURN 0  // 1: threads of different matrices begin at different rows, columns and k, in different banks
#endif
#ifndef PAD
#define PAD 0  // 1: columns in shared memory are one vector longer than the matrix (PATH 1)
#endif
#ifndef EVICT
#define EVICT 0  // 1: the second-level cache is told that nothing is used again (PATH 2)
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "lib/sync.cuh"
#include "tiny/layout.cuh"

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(ALIGN % SIZE == 0, "element: addresses are multiples of an element's bytes");
static_assert(PATH != 2 || ((FLAT_A || SHARED_A || LEAD_A) && (FLAT_B || SHARED_B || LEAD_B) && (FLAT_C || LEAD_C)),
              "bulk-flat: bulk copies take operands without gaps, or with such as are known to the compiler");
static_assert(PATH != 2 || (STEP_A >= (SHARED_A || RUN_A ? 0 : LD_A * (COLS_A - 1) + ROWS_A) &&
                            STEP_B >= (SHARED_B || RUN_B ? 0 : LD_B * (COLS_B - 1) + ROWS_B) &&
                            STEP_C >= LD_C * (SIZE_N - 1) + SIZE_M),
              "bulk-apart: matrices of a stream do not overlap");
static_assert(!PIECEWISE || ((FLAT_A || SHARED_A) && (FLAT_B || SHARED_B) && FLAT_C),
              "bulk-flat: along several axes bulk copies take runs without gaps");
#if PIECEWISE
static_assert(PIECES <= 16, "bulk-pieces: threads ask for the runs of a group, 16 at most");
static_assert(!TILE || GROUP % (TILE ? TILE : 1) == 0, "bulk-tile: a group is a whole tile of two axes");
#if TILE
static_assert(ASKING <= 32, "bulk-pieces: threads ask for the runs of a tile, 32 at most");
#endif
static_assert(GROUP < 1 << 19, "bulk-pieces: the products of a piece are counted by 19 bits");
#endif
static_assert(!OUTER || !POINTERS, "outer: what lies where an array says lies along no axes");
static_assert(PATH != 2 || !POINTERS, "bulk-stream: matrices at addresses of an array are no stream");
static_assert(PATH != 2 || OUTER || ALIGN == 16, "bulk-aligned: bulk copies begin at multiples of 16 bytes");
static_assert(PATH != 2 || OUTER || ((SHARED_A || GROUP * STEP_A * SIZE % 16 == 0) &&
                                     (SHARED_B || GROUP * STEP_B * SIZE % 16 == 0) && GROUP * STEP_C * SIZE % 16 == 0),
              "bulk-whole: a group is a multiple of 16 bytes");
static_assert(STAGES >= 2 || PATH == 0, "ring: one stage is multiplied while others are filled");
static_assert(ODD == 0 || (PATH != 0 && PAD == 0 && MMA == 0 && SEVERAL == 1 && TURN == 0 && ROWS == SIZE_M && SIZE_N % COLUMNS == 0),
              "odd: threads with one product and all rows of columns that divide C read odd matrices by words");
static_assert(ODD == 0 || (TYPE_BITS == 16 && !COMPLEX && SIZE_M * SIZE_N * SIZE_K % 2 && !TRANS_B && LD_A == ROWS_A &&
                           LD_B == ROWS_B && LD_C == SIZE_M),
              "odd: these are of 16 bits and real, without padding, and B lies along k");
static_assert(PAD == 0 || PATH == 1, "pad: only copies by vectors can leave gaps");
static_assert(EVICT == 0 || PATH == 2, "evict: bulk copies take hints");
static_assert(TURN == 0 || (PATH != 0 && (MMA == 0 || TYPE_BITS == 64)), "turn: threads read shared memory");
static_assert(ACROSS == 0 || (PATH != 0 && MMA == 0), "across: threads read shared memory");
static_assert(SEVERAL == 1 || (PIECEWISE && TURN == 0 && (PAIRS || SHARED_A || SHARED_B || HELD_A || HELD_B || (TILE && (!ALONG_A || !ALONG_B)))),
              "several: bulk copies of runs or tiles, where a thread finds products with one operand, or pairs of tiny ones");
static_assert(!PAIRS || TILES == 1, "paired: a thread has all of both C of a pair");
static_assert(SEVERAL == 1 || (MMA == 0) == (SEVERAL < 8),
              "several-mma: with tensor cores a warp has eight products, else a thread fewer");
static_assert(SEVERAL < 8 || (TYPE_BITS == 16 && !COMPLEX && TILES == 1),
              "stacked: eight products of a warp are of 16 bits and real, and it has all of their C");
static_assert(SEVERAL < 8 || ((SHARED_A || HELD_A) && !TURNED_B) || ((SHARED_B || HELD_B) && !TURNED_A),
              "stacked: they are neighbours in a run, which shares an operand");
static_assert(DIRECT == 0 || PIECEWISE, "direct: bulk copies of runs or tiles have a C that threads can write");
static_assert(REUSE == 0 || PIECEWISE, "reuse-bulk: bulk copies of runs or tiles are spared");
static_assert(MMA == 0 || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(MMA == 0 || PATH != 0, "mma-staged: tensor cores read what passed through shared memory");
static_assert(MMA == 0 || (MMA == 16 || (MMA == 8 && TYPE_BITS == 64)),
              "mma-rows: a tensor-core product has 16 rows, or 8 of float64");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "mma-tile: a tile is whole tensor-core products of 8 columns");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#if PATH == 0
#include "tiny/pipeline_direct.cuh"
#elif PATH == 1
#include "tiny/pipeline_cp_async.cuh"
#elif PIECEWISE && TILE
#include "tiny/pipeline_tiles.cuh"
#elif PIECEWISE
#include "tiny/pipeline_runs.cuh"
#else
#include "tiny/pipeline_bulk.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) tiny(const __grid_constant__ Given given) {
    const Scalars scalars = {scalar(gemm_of(given).alpha), scalar(gemm_of(given).beta)};
    multiply_batch(given, scalars);
}
