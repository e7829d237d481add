// strips: products of groups whose borders lie in device memory, with a short k: nearly outer products, paced by what is written.
//
// What is asked is what `segments` is asked with a split m or n (its kernel.cuh). A lane keeps its rows of A for all of k in
// registers, and goes over the columns of its tile: numbers of B that all lanes of a warp read at one address of shared memory,
// where the warp has had them copied while it multiplied the tile before, sums, and a vector of C that is written. No warp waits
// for another one, so that some write while others multiply.
//
//                    columns of a tile: COLUMNS of B at a time
//                 +--------------------------------
//     lane 0      | RUN rows: A[RUN, K] in registers  ->  C, RUN rows of one column with one store
//     lane 1      | RUN rows
//     ...         |                                      a warp has ROWS / RUN such strips of LANES_M * RUN rows
//                 +--------------------------------
//
// Where C has fewer rows than 32 lanes, the lanes of a warp are several such columns of lanes, side by side.
//
// The parts: operands.cuh (what a lane reads and writes), multiply.cuh (a tile of it), prefetch.cuh (what later tiles read), and
// the borders of groups: few.cuh, where a warp has all of them in its lanes, else those of `segments`.
//
// Requires: addresses, leading dimensions and all strides that are multiples of VEC_A, VEC_B and VEC_C elements, which are 1
// where the contiguous axis of an operand is the one that is split; stored columns of A with VEC_A elements or more, as its first
// ones are read where there are no others. Fewer than 2^31 tiles.
#include "segments/argument.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef AXIS
#define AXIS 1  // what is split: 0: m, 1: n
#endif
#ifndef K
#define K 16  // the whole extent of k
#endif
#ifndef FEW
#define FEW 0  // whether there are so few groups that a warp has all borders in its lanes
#endif
#ifndef VEC_A
#define VEC_A 1  // elements of A that may be read together
#endif
#ifndef VEC_B
#define VEC_B 1  // elements of B that may be read together
#endif
#ifndef VEC_C
#define VEC_C 1  // elements of C that may be written together
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef MMA
#define MMA 0  // whether tensor cores multiply, which 16 bits have
#endif
#ifndef ROWS
#define ROWS 4  // rows of C of a lane
#endif
#ifndef COLUMNS
#define COLUMNS 4  // columns of C of a lane at a time
#endif
#ifndef LANES_M
#define LANES_M 32  // lanes of a warp along m; others beside them have other columns
#endif
#ifndef WARPS
#define WARPS 4  // of a block, one below the other
#endif
#ifndef TILE_N
#define TILE_N 64  // columns of a tile
#endif
#ifndef BLOCKS
#define BLOCKS 2  // resident blocks: persistent blocks per multiprocessor that registers must allow
#endif
#ifndef AHEAD
#define AHEAD 0  // what is read of the tile that comes so many tiles later is asked for; 0: nothing is
#endif
#ifndef ONCE
#define ONCE 0  // whether C is written as what is not used again
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/bulk.cuh"
#include "lib/element.cuh"
#include "lib/global.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr int THREADS = 32 * WARPS, WARP_M = LANES_M * ROWS, BLK_M = WARPS * WARP_M, BLK_N = TILE_N;
constexpr int RUN = VEC_C < ROWS ? VEC_C : ROWS;  // neighbours among the rows of a lane
constexpr int WORD = 16 / SIZE;                    // elements of the widest vector
constexpr int SPLIT = 32 / LANES_M;                // parts of a warp, side by side
constexpr int TURN = COLUMNS * SPLIT;              // columns of a warp at a time
// Columns of B in shared memory lie as they are stored, each (or each k) at a multiple of 16 bytes; a warp has two tiles of them.
constexpr int PITCH = ((B_ALONG ? K : TILE_N) + WORD - 1) / WORD * WORD, OF_B = (B_ALONG ? TILE_N : K) * PITCH;
constexpr int AT_TABLE = MMA ? 0 : WARPS * 2 * OF_B * SIZE;

static_assert(AXIS == 0 || AXIS == 1, "axis: m or n is split");
static_assert(ALPHA_ONE && BETA == 0, "plain: products of groups are neither scaled nor added to C");
static_assert(ROWS % RUN == 0, "rows-whole: a lane writes whole vectors of C");
static_assert(TILE_N % TURN == 0, "columns-whole: a tile is made of whole turns");
static_assert(!MMA || TYPE_BITS == 16, "mma-type: tensor cores take numbers of 16 bits here");
static_assert(!MMA || (LANES_M == 4 && ROWS * SIZE % 4 == 0 && COLUMNS % 2 == 0),
              "mma-lanes: 4 lanes along m have words of C, and all of a warp 16 columns");

#include "lib/sync.cuh"

extern __shared__ __align__(16) unsigned char shared_memory[];

#if FEW
#include "strips/few.cuh"
#else
#include "segments/groups.cuh"
#include "segments/scheduler.cuh"
#endif
#if MMA
#include "strips/multiply_mma.cuh"
#else
#include "strips/multiply.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) strips(const __grid_constant__ Segments g) {
    _Pragma("unroll 1") for (Groups groups(g, *(GroupTable *)(shared_memory + AT_TABLE)); groups.valid(); groups.next())
        multiply_tiles(groups, threadIdx.x / 32, threadIdx.x % 32);
}
