// ffma: C = alpha * op(A) * op(B) + beta * C for one large product in float32, by warps with roles, without tensor cores.
//
// One warp loads and eight multiply: what loads and waits takes no slots of those that multiply, and registers go from the warp
// group that loads to those that hold sums. Slices come as boxes of tensors in which neighbours in m, or in n, are neighbours.
//
//   device memory    A, B                                                             C
//                      |  one box of each operand and slice; what is complex, or lies   ^  16 bytes of a thread
//                      |  along k and is not TURNED in shared memory by the warps that  |
//                      |  loading leaves idle, is packed before, into the workspace     |
//                      v                                                               |
//   shared memory    ring of STAGES slices of DEPTH along k                            |
//                      |  16 bytes of a thread, a step ahead of their products         |
//   registers        ROWS x COLUMNS sums of a thread, LANES_M of a warp's lanes in m --+
//
// Lanes that differ in bit 1 of their number have the same rows and those that differ in bit 0 the same columns, or the reverse,
// so that what 8 lanes read together is in few words of 16 bytes. Blocks are persistent; tiles of C are in bands of columns.
//
// Requires: stored columns at multiples of 16 bytes, and a k of at least 1. Fewer than 2^31 tiles.
//
// A complex tile is summed one part after the other, of real numbers: the first one waits in the workspace.
//
// The parts: layout.cuh (shared memory), packs.cuh (operands that are packed), loads.cuh, turn.cuh, multiply.cuh, results.cuh;
// tiles.cuh and parts.cuh are those of warpgroup.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 32  // of a real number
#endif
#include "lib/problem.cuh"
#ifndef BATCHED
#define BATCHED 0  // whether there are several products
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef ROWS
#define ROWS 8  // of C that a thread sums
#endif
#ifndef COLUMNS
#define COLUMNS 16  // of C that a thread sums
#endif
#ifndef LANES_M
#define LANES_M 8  // lanes of a warp side by side in m: 4 or 8
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps side by side in m, of eight
#endif
#ifndef DEPTH
#define DEPTH 16  // elements along k of a slice
#endif
#ifndef STAGES
#define STAGES 5  // slices in shared memory
#endif
#ifndef A_FIRST
#define A_FIRST (ROWS <= COLUMNS)  // whether numbers of A are read before those of B: so the compiler finds other registers
#endif
#ifndef PRODUCTS
#define PRODUCTS (COMPLEX ? 4 : 1)  // real ones that a product of complex matrices is made of: 4, or 3 of sums of parts
#endif
#ifndef TURNED
#define TURNED 0  // whether real operands that lie along k are turned in shared memory, and not packed
#endif
#ifndef OVERLAP
#define OVERLAP 0  // programmatic dependent launch: whether blocks make ready while the kernel before this one ends
#endif
#ifndef CUT
#define CUT 0  // whether tiles are cut along k: the host says which, and who has how much of them
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/global.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"
#include "lib/turned.cuh"

constexpr int WARPS = 8, LANES_N = 32 / LANES_M;
constexpr int TILE_M = ROWS * LANES_M * WARPS_M, TILE_N = COLUMNS * LANES_N * (WARPS / WARPS_M);  // of C
// Whether A, and B, are packed or turned: those that lie along k, and complex ones.
#define ARRANGE_A (TRANS_A || COMPLEX)
#define ARRANGE_B (!TRANS_B || COMPLEX)
#define PACK_A (ARRANGE_A && !TURNED)
#define PACK_B (ARRANGE_B && !TURNED)
constexpr bool PACKED = PACK_A || PACK_B, TURN_A = ARRANGE_A && TURNED, TURN_B = ARRANGE_B && TURNED;
constexpr int FOUR = 4;                        // real numbers of a word of 16 bytes
constexpr int CLUSTER_K = 1;                   // no blocks share the slices of a tile
constexpr int SLICE = DEPTH;                   // what tiles.cuh calls it
constexpr int MOST = 2048;                     // multiply-adds of a thread that the instruction cache holds
constexpr int STEPS = ROWS * COLUMNS * DEPTH > MOST ? MOST / (ROWS * COLUMNS) : DEPTH;  // along k that are written out
constexpr int CLUSTER_M = 1, CLUSTER_N = 1, CLUSTER = 1;  // blocks share nothing
// Registers of warps that load, turn or pack, and of those that sum: where tiles are cut, warps that turn count more, and found no room for it
// beside 64 sums, with which there are registers to spare.
constexpr bool COUNTS = TURNED && CUT && ROWS * COLUMNS == 64;
constexpr int SHARING = COUNTS ? 88 : COMPLEX || TURNED ? 56 : PACKED ? 40 : 24, SUMMING = COUNTS ? 208 : COMPLEX || TURNED ? 224 : PACKED ? 232 : 240;

static_assert(TYPE_BITS == 32, "type: float32, real or complex");
static_assert((!ARRANGE_A || TILE_M % 32 == 0) && (!ARRANGE_B || TILE_N % 32 == 0), "packs: a warp packs or turns 32 rows of a tile");
static_assert(!TURNED || (!COMPLEX && DEPTH == 32), "turned: real numbers are turned 32 along k at once");
static_assert(!PACKED || STAGES * DEPTH * (TILE_M + TILE_N) >= 12 * 32 * 33, "room: each warp packs a piece in the ring");
static_assert(COMPLEX ? PRODUCTS == 3 || PRODUCTS == 4 : PRODUCTS == 1, "products: of complex numbers four, or three");
static_assert(!BATCHED || !(PACKED || CUT), "batch: what is packed, and what is cut, is of one product");
static_assert(!COMPLEX || !CUT, "whole: parts of complex tiles do not meet");
static_assert(LANES_M == 4 || LANES_M == 8, "lanes: four and eight of them have what others read");
static_assert(ROWS * COLUMNS <= 128, "sums: a thread holds no more than 128");
static_assert(ROWS % FOUR == 0 && COLUMNS % FOUR == 0, "words: a thread reads words of 16 bytes");
static_assert(TILE_M <= 256 && TILE_N <= 256, "box: a line of a box has up to 256 numbers");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");
static_assert(STEPS % 8 == 0 && DEPTH % STEPS == 0, "steps: fragments are in two places by turns, and lines in eight orders");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "lib/product.cuh"
#include "ffma/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "warpgroup/place.cuh"
#include "ffma/packs.cuh"
#include "ffma/loads.cuh"
#include "ffma/turn.cuh"
#include "warpgroup/parts.cuh"
#include "ffma/results.cuh"
#include "ffma/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
ffma(const __grid_constant__ Product g, const __grid_constant__ Packs packs, const __grid_constant__ Cut cut
#if !PACK_A
     , const __grid_constant__ TensorMap map_a
#endif
#if !PACK_B
     , const __grid_constant__ TensorMap map_b
#endif
) {
#if PACK_A
    const TensorMap map_a = {};
#endif
#if PACK_B
    const TensorMap map_b = {};
#endif
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    __syncthreads();  // all threads know the barriers
    // Who comes next may make ready, too. What kernels before this one wrote is there behind the wait.
    if (OVERLAP) asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
    pack(g, packs, cut, warp, lane);
    if (warp >= WARPS) {
        registers_given<SHARING>();
        if (warp == WARPS) come(g, cut, packs, map_a, map_b, lane == 0);
        else if (TURNED) turn_slices(g, cut, warp - WARPS - 1, lane);
    } else {
        registers_taken<SUMMING>();
        multiply_tiles(g, packs, cut, warp, lane);
    }
}
