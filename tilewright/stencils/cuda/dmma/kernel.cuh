// dmma: C = alpha * op(A) * op(B) + beta * C for large products in float64, by warps with roles on tensor cores.
//
// One warp loads and eight multiply: the loads of the next tile begin while this one is multiplied and stored, and registers
// go from the warp group that loads to those that hold sums. Tensor maps say where the operands lie, so that lines of 128
// bytes come in an order of banks that fragments are read from without conflicts (the 128-byte swizzle), and what lies outside
// of a matrix comes as zero.
//
//   device memory    A, B                                                              C
//                      |  boxes of 128 bytes, to both blocks of a cluster               ^  16 bytes of a thread
//                      v  where these share them                                        |
//   shared memory    ring of STAGES slices of A and B                                   |
//                      |  fragments, a step ahead of their products, over slices, too   |
//   registers        mma of 16 x 8 x MMA_K, WARPS_M of eight warps side by side in m ---+
//
// A product does not say which k is which, if both operands agree: each lane takes those k whose numbers lie side by side in
// the order that registers of fragments have, or in different banks (fragments.cuh). A complex number is two real ones along k:
// the left operand of tensor cores is taken as it lies, of the right one registers make (re, -im) for the real part and
// (im, re) for the imaginary one, with other signs where operands enter conjugated.
//
// Blocks are persistent. Tiles of C are in bands of columns, there and back, and every other tile of a block may run backwards
// along k: what the last one has read is then still in the second-level cache. The tiles of a batch are those of its products side by
// side (lib/product.cuh), so that the slices of one product come while another one is multiplied and stored.
//
// Of operands whose columns begin at multiples of 8 bytes alone, which no tensor map has, all threads of the warp group that loads
// ask for the numbers, one by one, to where a box would have them (loose.cuh).
//
// Requires: stored columns at multiples of 8 bytes, of complex numbers 16, and a k of at least 1. Fewer than 2^31 columns of the tiles of
// all products.
//
// The parts: layout.cuh (shared memory), loads.cuh, loose.cuh, fragments.cuh, multiply.cuh, results.cuh; tiles.cuh,
// place.cuh and parts.cuh are those of warpgroup.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 64  // of a real number
#endif
#include "lib/problem.cuh"
#ifndef BATCHED
#define BATCHED 0  // whether there are several products
#endif
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
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N (COMPLEX ? 64 : 128)  // columns of a tile of C
#endif
#ifndef WARPS_M
#define WARPS_M 4  // warps side by side in m, of eight
#endif
#ifndef MMA_K
#define MMA_K 8  // real numbers along k of a product of tensor cores: 8 or 16
#endif
#ifndef DEPTH
#define DEPTH (COMPLEX ? 8 : 16)  // elements along k of a slice: one line of 128 bytes, or two
#endif
#ifndef STAGES
#define STAGES 6  // slices in shared memory
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1  // blocks of a cluster whose tiles follow each other in m: they share what comes of B
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1  // blocks of a cluster whose tiles follow each other in n: they share what comes of A
#endif
#ifndef BACKWARDS
#define BACKWARDS 1  // whether every other tile of a block runs backwards along k
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
#include "lib/mma.cuh"
#include "lib/fragment.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr bool LEFT_A = COMPLEX || !A_ALONG;           // whether the operand of 16 rows of tensor cores is A; else it is B
constexpr bool HALVES = !COMPLEX && (LEFT_A ? !B_ALONG : !A_ALONG);  // whether a line has 16 columns of the right operand
constexpr bool LOOSE = LOOSE_A || LOOSE_B;             // whether numbers come one by one
// Registers of warps that load, more where they ask for numbers one by one, and still more of a batch; and of those that multiply.
constexpr int FEW = LOOSE ? BATCHED ? 56 : 40 : 24, MANY = LOOSE ? BATCHED ? 224 : 232 : 240;
constexpr int WARPS = 8, WARPS_N = WARPS / WARPS_M;    // that multiply
constexpr int WARP_M = TILE_M / WARPS_M, WARP_N = TILE_N / WARPS_N;
constexpr int NUMBERS = COMPLEX ? 2 : 1;               // real ones of an element
constexpr int OF_M = LEFT_A || HALVES ? 16 : 8, OF_N = !LEFT_A || HALVES ? 16 : 8;  // rows, and columns, that a warp has whole
constexpr int LINE = 128, UNIT = LINE / SIZE;          // bytes of the swizzle, and elements
constexpr int CLUSTER_K = 1;                           // no blocks share the slices of a tile
constexpr int SLICE = DEPTH;                           // what tiles.cuh calls it

static_assert(TYPE_BITS == 64, "type: float64, real or complex");
static_assert(TILE_M * TILE_N * NUMBERS <= 64 * 32 * WARPS, "sums: a thread holds no more than 64");
static_assert(WARP_M % OF_M == 0 && WARP_N % OF_N == 0, "warp-tile: a warp has whole products of 16 rows and 8 columns");
static_assert(DEPTH == UNIT || DEPTH == 2 * UNIT, "depth: a slice is one line of 128 bytes along k, or two");
static_assert(DEPTH * NUMBERS >= 2 * MMA_K, "steps: fragments are in two places by turns, so a slice has two products along k");
static_assert(CLUSTER_M * CLUSTER_N <= 2, "cluster: two blocks share one operand");
static_assert(TILE_M % (16 * CLUSTER_N) == 0 && TILE_N % (16 * CLUSTER_M) == 0, "shares: blocks of a cluster bring 16 lines at a time");
static_assert(!LOOSE || CLUSTER_M * CLUSTER_N == 1, "loose: what comes number by number comes to one block");
static_assert(!COMPLEX || !(LOOSE || LOOSE_C), "type: complex numbers begin at multiples of 16 bytes");
static_assert(TILE_M <= 256 && TILE_N <= 256, "tile: a box has up to 256 lines");
static_assert(!BATCHED || !CUT, "batch: tiles are cut of one product");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "lib/product.cuh"
#include "dmma/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "warpgroup/place.cuh"
#include "dmma/loose.cuh"
#include "dmma/loads.cuh"
#include "dmma/fragments.cuh"
#include "dmma/results.cuh"
#include "warpgroup/parts.cuh"
#include "dmma/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
dmma(const __grid_constant__ Product g, const __grid_constant__ From<LOOSE_A>::Type from_a,
     const __grid_constant__ From<LOOSE_B>::Type from_b
#if CUT
     , const __grid_constant__ Cut cut
#endif
) {
#if !CUT
    const Cut cut = {};
#endif
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    if (CLUSTER > 1) cluster_sync(); else __syncthreads();  // all threads know the barriers
    // Who comes next may make ready, too. What kernels before this one wrote is there behind the wait.
    if (OVERLAP) asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
    if (warp >= WARPS) {
        registers_given<FEW>();
        if (LOOSE || warp == WARPS) come(g, cut, from_a, from_b, threadIdx.x - 32 * WARPS);
    } else {
        registers_taken<MANY>();
        multiply_tiles(g, cut, warp, lane);
    }
    if (CLUSTER > 1) {
        // A block whose barriers and slots others still reach stays.
        __syncwarp();
        cluster_sync();
    }
}
