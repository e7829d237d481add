// split: C = alpha * op(A) * op(B) + beta * C for batches of float32, by tensor cores that multiply bfloat16.
//
// A float32 is the sum of three bfloat16 of 8 bits each, or nearly that of two, so a product of two is a sum of products of these
// parts, which tensor cores add up in float32 (lib/split.cuh). Where emulated writes the parts of a large product to device memory
// first, here warps of their own split what they read, and leave it in the ring from which warp groups multiply:
//
//   device memory    A, B: float32, columns begin anywhere          C: float32, the same
//                      |  two warp groups, a slice ahead              ^  32 neighbours of a column at a time
//                      v                                            |
//   registers        numbers, then their parts                      |
//                      |                                            |
//   shared memory    ring of STAGES slices of a plane of A and B    |
//                      |  wgmma                                     |
//   registers        sums: two other warp groups have half of the columns of a tile each
//
// So nothing but C is written, and a tile of it costs the splitting of all that it is made of: where tiles are few to a product,
// as in batches, that is less than it takes to write the parts and to read them again.
//
// Blocks are persistent. The tiles of a batch are those of one matrix, in which products stand side by side, whole tiles each.
//
// Infinities and NaN are parts by themselves, so that they come out as in float32, but for the product of two infinities, which is
// NaN. Parts below 2^-133 are nothing.
//
// Requires: a k of at least 1. Fewer than 2^31 columns of the tiles of all products.
//
// The parts: layout.cuh (shared memory), place.cuh (which product), operands.cuh (splitting), of emulated multiply.cuh and results.cuh,
// and of warpgroup tiles.cuh (their order).

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of what tensor cores multiply
#endif
#ifndef BRAIN
#define BRAIN 1
#endif
#ifndef TERMS
#define TERMS 6  // products of bfloat16 that make one of float32: 6 of three parts each, or 3 of two
#endif
#ifndef PAIRS
#define PAIRS 0  // whether numbers are complex, pairs of real ones, which tensor cores multiply
#endif
#ifndef WIDE_A
#define WIDE_A 0  // whether stored columns of A are whole words of 16 bytes, and begin at such ones
#endif
#ifndef WIDE_B
#define WIDE_B 0  // the same of B
#endif
#include "lib/problem.cuh"

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C
#endif
#ifndef STAGES
#define STAGES 6  // slices of planes in shared memory, of 64 along k
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/fragment.cuh"
#include "lib/global.cuh"
#include "lib/mma.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"
#include "lib/split.cuh"
#include "lib/wgmma.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr int PARTS_OF = PAIRS ? 2 : 1;                // real numbers of one
constexpr int TILE_N = 128, GROUP_N = TILE_N / 2;      // columns of a tile of C, half of them in each group
constexpr int CLUSTER_M = 1, CLUSTER_N = 1, CLUSTER = 1, CLUSTER_K = 1;  // blocks share nothing
#define CUT 0                                          // no tile is cut along k

static_assert(TYPE_BITS == 16 && BRAIN && !COMPLEX, "type: float32 by bfloat16");
static_assert(TERMS == 6 || TERMS == 3, "terms: products of three parts, or of two");
static_assert(TILE_M == 64 || TILE_M == 128, "tile-m: a thread holds no more than 64 sums twice");
static_assert(STAGES > PLANES, "ring: planes of a slice are there together while the next one comes");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "split/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "split/place.cuh"
#include "split/operands.cuh"
#include "emulated/results.cuh"
#include "warpgroup/parts.cuh"
#include "emulated/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1) split(const __grid_constant__ Product g, const __grid_constant__ Cut cut) {
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    __syncthreads();  // all threads know the barriers
    if (warp >= WARPS) {
        registers_given<112>();
        split_slices(g, cut);
    } else {
        registers_taken<144>();
        multiply_tiles(g, cut, warp, lane);
    }
}
