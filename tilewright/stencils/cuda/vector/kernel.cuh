// vector: C = alpha * op(A) * op(B) + beta * C where C is a column or a row: batches of matrices times vectors.
//
// The matrix is read once, so memory sets the pace, and nothing of it is used twice: it goes from device memory into registers and
// through no shared memory. Words of 16 bytes are read wherever columns begin. Runs (the stored columns of the matrix) that lie
// TEAMS apart begin at the same place in a word, so that what belongs together meets without a shift:
//
//   ALONG    a run is multiplied with the vector and is an element of C: lanes of a team read a run side by side,
//            and add what they have by shuffles;
//   across   a run is multiplied with an element of the vector and is a part of C: lanes of a team have a word each of a
//            tile of rows of C, teams have every TEAMS-th run, and what they have is added in shared memory.
//
//   device memory   run 0  |..|word|word|word|..|        team 0, RUNS of them at a time, WORDS a lane
//                   run 1    |..|word|word|word|..|      team 1
//                   ...
//                   run T  |..|word|word|word|..|        team 0: CLASSES divides TEAMS, so it begins where run 0 does
//
// Sums are added in an order that config and sizes alone decide. A block has one tile of C, which are numbered through all matrices;
// where there are few of them, the blocks of a cluster have a share of its k each, and read each other's sums.
//
// The parts: layout.cuh (which operand is the matrix, teams, how words are read), along.cuh, across.cuh (a form each).
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef ROW
#define ROW 0  // 0: C is a column and A the matrix, 1: C is a row and B the matrix
#endif
#ifndef UNIT
#define UNIT 16  // bytes that divide the address of every stored column of the matrix
#endif
#ifndef UNIT_RUN
#define UNIT_RUN 1  // a power of two that divides the elements of a run
#endif
#ifndef HELD
#define HELD 0  // ALONG: whether the lanes of a team have all words of a run at once
#endif
#ifndef UNIT_X
#define UNIT_X 16  // bytes that divide the address of every vector, where its elements are neighbours
#endif
#ifndef STRIDED
#define STRIDED 0  // whether they are none
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef LANES
#define LANES 32  // of a team, which read a run side by side
#endif
#ifndef RUNS
#define RUNS 2  // runs that a team reads at a time
#endif
#ifndef WORDS
#define WORDS 2  // words of each of them that a lane reads at a time
#endif
#ifndef WARPS
#define WARPS 4  // warps of a block
#endif
#ifndef TURNS
#define TURNS 1  // ALONG: how often a team takes RUNS runs
#endif
#ifndef SPLIT
#define SPLIT 1  // blocks of a cluster that share the k of a tile
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#define ALONG (ROW ? !TRANS_B : TRANS_A)  // whether runs are along the sum
#include "lib/element.cuh"
#include "lib/sizes.cuh"
#include "lib/span.cuh"
#include "lib/cluster.cuh"
#include "lib/sync.cuh"
#include "vector/layout.cuh"

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(32 % LANES == 0, "lanes: a warp is whole teams");
static_assert(TEAMS % CLASSES == 0, "classes: the runs of a team begin at the same place in a word");
static_assert(32 % RUNS == 0, "runs: halves of lanes go on with halves of them");
static_assert(ALONG || TURNS == 1, "turns-once: a team reads all runs where they lie across the sum");

// ---- the kernel ---------------------------------------------------------------------------------
#if ALONG
#include "vector/along.cuh"
#else
#include "vector/across.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) vector(const __grid_constant__ Gemm g) {
    const Product product(g);
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    // Near the ends of the whole operand a word may lie outside of it: its elements are read one by one there.
    if (EVEN || product.inside)
        multiply<true>(product, scalars);
    else
        multiply<false>(product, scalars);
}
