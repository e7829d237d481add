// emulated: C = alpha * op(A) * op(B) + beta * C for one large product of float32, by tensor cores that multiply bfloat16.
//
// A float32 is the sum of three bfloat16 of 8 bits each, or nearly that of two, so a product of two is a sum of products of these
// parts, which tensor cores add up in float32. Of nine products of three parts the six largest are made (TERMS = 6), of four products
// of two parts three: what is left out is below 2^-23, or 2^-14, of the whole.
//
//   device memory    A, B: float32, columns begin anywhere         C: float32, the same
//                      |  all threads of all blocks                  ^  32 neighbours of a column at a time
//                      v                                            |
//   workspace        PLANES of A and B: first, second, third parts  |
//                      |  boxes of 64 along k                       |
//                      v                                            |
//   shared memory    ring of STAGES slices of a plane of A and B    |
//                      |  wgmma                                     |
//   registers        sums: two warp groups have half of the columns of a tile each, the third one loads
//
// Each plane of a slice comes once and is multiplied with all that it meets, so that tensor cores are brought half, or two thirds, of
// the bytes that as many products of bfloat16 take. Blocks are persistent. Tiles of the last waves may be CUT along k, so that all
// blocks end together.
//
// Blocks take pieces of what is to be split by a counter until none is left, and begin to multiply when all are done. So a block
// waits for such as have begun to run alone, and for these only while they split.
//
// Infinities and NaN are parts by themselves, so that they come out as in float32, but for the product of two infinities, which is
// NaN. Parts below 2^-133 are nothing.
//
// Requires: a k of at least 1. Fewer than 2^31 tiles. Fewer than 2^32 elements of each operand.
//
// The parts: layout.cuh (shared memory), split.cuh, loads.cuh, multiply.cuh, results.cuh, and of warpgroup tiles.cuh (their order)
// and parts.cuh (sums of cut tiles).

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
#include "lib/problem.cuh"

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C
#endif
#ifndef STAGES
#define STAGES 7  // slices of planes in shared memory, of 64 along k
#endif
#ifndef CUT
#define CUT 0  // whether tiles are cut along k: the host says which, and who has how much of them
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
constexpr int TILE_N = 128, GROUP_N = TILE_N / 2;  // columns of a tile of C, half of them in each group
constexpr int CLUSTER_M = 1, CLUSTER_N = 1, CLUSTER = 1, CLUSTER_K = 1;  // blocks share nothing

static_assert(TYPE_BITS == 16 && BRAIN && !COMPLEX, "type: float32 by bfloat16");
static_assert(TERMS == 6 || TERMS == 3, "terms: products of three parts, or of two");
static_assert(TILE_M % 64 == 0 && TILE_M <= 192, "tile-m: a thread holds no more than 96 sums twice");
static_assert(STAGES > PLANES, "ring: planes of a slice are there together while the next one comes");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "emulated/layout.cuh"
#include "emulated/split.cuh"
#include "warpgroup/tiles.cuh"
#include "emulated/place.cuh"
#include "emulated/loads.cuh"
#include "emulated/results.cuh"
#define MET_TURNS (TILE_M == 64 ? 2 : TILE_M == 128 ? 4 : 1)  // the compiler would have more on their way than registers hold
#include "warpgroup/parts.cuh"
#include "emulated/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
emulated(const __grid_constant__ Product g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ Cut cut) {
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    split_operands(g, cut.workspace);
    __syncthreads();  // all threads know the barriers
    if (warp >= WARPS) {
        registers_given<24>();
        if (warp == WARPS) come(g, cut, map_a, map_b, lane == 0);
    } else {
        registers_taken<240>();
        multiply_tiles(g, cut, warp, lane);
    }
}
