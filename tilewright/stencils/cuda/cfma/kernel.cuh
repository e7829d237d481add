// cfma: C = alpha * op(A) * op(B) + beta * C for one large product in complex float32, by warps with roles, without tensor cores.
//
// One warp loads and eight multiply, as in ffma, but numbers stay pairs from device memory to registers: nothing is packed in planes
// before, tiles may be cut along k, and what lies along k is read as it lies. A thread sums the four products of parts of each number
// apart, as if they were four numbers of a real product.
//
//   device memory    A, B                                                              C
//                      |  boxes of 128 bytes, or number by number (dmma/loose.cuh)      ^  16 bytes of a thread, or 8
//                      v                                                                |
//   shared memory    ring of STAGES slices of 16 along k, in the 128-byte swizzle       |
//                      |  8 bytes of a row along k, 16 of two rows across it,           |
//                      v  a step ahead of their products                                |
//   registers        ROWS x COLUMNS sums of a thread, LANES_M of a warp's lanes in m ---+
//
// Lanes that differ in bit 1 of their number have the same rows and those that differ in bit 0 the same columns, or the reverse,
// so that what lanes read together is in few words. Blocks are persistent; tiles of C are in bands of columns.
//
// Requires: stored columns at multiples of 8 bytes, and a k of at least 1. Fewer than 2^31 tiles.
//
// The parts: multiply.cuh, results.cuh; layout.cuh (shared memory), loads.cuh and loose.cuh are those of dmma, tiles.cuh and
// parts.cuh those of warpgroup.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 32  // of a real number
#endif
#ifndef COMPLEX
#define COMPLEX 1
#endif
#include "lib/problem.cuh"
#ifndef LOOSE_A
#define LOOSE_A 0  // whether columns of A begin at multiples of 8 bytes alone
#endif
#ifndef LOOSE_B
#define LOOSE_B 0  // the same of B
#endif
#ifndef LOOSE_C
#define LOOSE_C 0  // the same of C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef ROWS
#define ROWS 8  // of C that a thread sums
#endif
#ifndef COLUMNS
#define COLUMNS 4  // of C that a thread sums
#endif
#ifndef LANES_M
#define LANES_M 8  // lanes of a warp side by side in m: 4 or 8
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps side by side in m, of eight
#endif
#ifndef STAGES
#define STAGES 5  // slices in shared memory
#endif
#ifndef OVERLAP
#define OVERLAP 0  // programmatic dependent launch: whether blocks make ready while the kernel before this one ends
#endif
#ifndef CUT
#define CUT 0  // whether tiles are cut along k: the host says which, and who has how much of them
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/cluster.cuh"
#include "lib/element.cuh"
#include "lib/global.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr bool LOOSE = LOOSE_A || LOOSE_B;             // whether numbers come one by one
constexpr int FEW = LOOSE ? 40 : 24, MANY = LOOSE ? 232 : 240;  // registers of warps that load, and that multiply
constexpr int WARPS = 8, LANES_N = 32 / LANES_M;       // warps that multiply
constexpr int WARP_M = ROWS * LANES_M, WARP_N = COLUMNS * LANES_N;
constexpr int TILE_M = WARP_M * WARPS_M, TILE_N = WARP_N * (WARPS / WARPS_M);  // of C
constexpr int NUMBERS = 2;                             // real ones of an element
constexpr int LINE = 128, UNIT = LINE / SIZE;          // bytes of the swizzle, and elements
constexpr int DEPTH = UNIT, SLICE = DEPTH;             // elements along k of a slice
constexpr int STEPS = DEPTH / 2;                       // along k that are written out
constexpr int CLUSTER_M = 1, CLUSTER_N = 1, CLUSTER_K = 1;      // blocks share nothing
constexpr bool BACKWARDS = false;                      // all tiles run forwards along k

static_assert(TYPE_BITS == 32 && COMPLEX, "type: complex float32");
static_assert(LANES_M == 4 || LANES_M == 8, "lanes: four and eight of them have what others read");
static_assert((ROWS == 4 || ROWS == 8) && (COLUMNS == 4 || COLUMNS == 8), "slabs: a warp has whole slabs of 16 rows and columns");
static_assert(ROWS * COLUMNS <= 32, "sums: a thread holds no more than 32, each as four products of parts");
static_assert(TILE_M <= 256 && TILE_N <= 256, "box: a box has up to 256 lines");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "lib/product.cuh"
#include "dmma/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "warpgroup/place.cuh"
#include "dmma/loose.cuh"
#include "dmma/loads.cuh"
#include "cfma/results.cuh"
#include "warpgroup/parts.cuh"
#include "cfma/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
cfma(const __grid_constant__ Product g, const __grid_constant__ From<LOOSE_A>::Type from_a,
     const __grid_constant__ From<LOOSE_B>::Type from_b
#if CUT
     , const __grid_constant__ Cut cut
#endif
) {
#if !CUT
    const Cut cut = {};
#endif
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    if (threadIdx.x == 0) start_barriers();
    __syncthreads();  // all threads know the barriers
    // Who comes next may make ready, too. What kernels before this one wrote is there behind the wait.
    if (OVERLAP) asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
    if (warp >= WARPS) {
        registers_given<FEW>();
        if (LOOSE || warp == WARPS) come(g, cut, from_a, from_b, threadIdx.x - 32 * WARPS);
    } else {
        registers_taken<MANY>();
        multiply_tiles(g, cut);
    }
}
