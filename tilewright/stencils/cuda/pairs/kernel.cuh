// pairs: C = alpha * op(A) * op(B) + beta * C for one large product of complex halves, by warp groups with roles.
//
// An element (re, im) is a pair of halves, and so is what a register holds of a factor of tensor cores: two neighbours along k.
// So an operand that runs along k is, as it lies, a real matrix with twice the k, and the other one is the factor in registers:
//
//   re of C = (re, -im) of B times A        both products read the same slice of A in shared memory; (re, -im) is a register
//   im of C = (im,  re) of B times A        with a sign changed, (im, re) one with its halves exchanged
//
// Nothing is written twice and no product is in vain: eight operations for each pair of complex factors. Signs are conjugates,
// too. Sums are float32, and those of both parts of an element are in the same thread, which rounds them to a word of C.
//
//   device memory    A, B                                          C
//                      |  boxes of 32 along k, to both blocks       ^  boxes of a line
//                      v  of a cluster where they share them        |
//   shared memory    ring of STAGES slices of A and B            OUTS boxes of each group, which has C if it is read
//                      |  wgmma of A       |  loads of B            |
//   registers          |                fragments, two sets in turns
//                      +-- sums: both groups have half of the columns of a tile, or in turns a tile of their own (PING_PONG)
//
// Where the operand that runs along k is the second one, or both do, the host may ask for the product of the transposes and
// EXCHANGE operands, rows and columns: this kernel then stores the transpose of what it calls C. Where neither does, A is turned
// in shared memory, or
// COPIED to where it does.
//
// Requires: stored columns at multiples of 16 bytes, and a k of at least 1. Fewer than 2^31 tiles.
//
// The parts: fragments.cuh, results.cuh, multiply.cuh, and of warpgroup layout.cuh (shared memory), tiles.cuh (their order),
// loads.cuh, copies.cuh (an
// operand that is copied), cuts.cuh (sums that meet), turn.cuh.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a real number
#endif
#ifndef COMPLEX
#define COMPLEX 1
#endif
#include "lib/problem.cuh"

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef EXCHANGE
#define EXCHANGE 0  // whether this is the product of the transposes, and C is stored as the transpose
#endif
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C: what comes of A
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C, 64 of them in each group
#endif
#ifndef COPIED
#define COPIED 0  // whether an A that runs across k is copied along k by the same launch, and not turned in shared memory
#endif
#ifndef BEHIND
#define BEHIND 0  // whether what the first tiles do not need is copied while these are multiplied
#endif
#ifndef STEPS
#define STEPS 2  // products along k, of eight elements, whose fragments come at once
#endif
#ifndef STAGES
#define STAGES 6  // slices of 128 bytes along k in shared memory
#endif
#ifndef OUTS
#define OUTS 2  // boxes of C of each group in shared memory
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1  // blocks of a cluster whose tiles follow each other in m: they share what comes of B
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1  // blocks of a cluster whose tiles follow each other in n: they share what comes of A
#endif
#ifndef PING_PONG
#define PING_PONG 0  // whether each group multiplies tiles of its own, while the other one stores
#endif
#ifndef OVERLAP
#define OVERLAP 0  // programmatic dependent launch: whether blocks make ready while the kernel before this one ends
#endif
#ifndef BACKWARDS
#define BACKWARDS 1  // whether every other tile of a block runs backwards along k
#endif
#ifndef CUT
#define CUT 0  // whether tiles are cut along k: the host says which, and who has how much of them
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/cluster.cuh"
#include "lib/element.cuh"
#include "lib/fragment.cuh"
#include "lib/mma.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"
#include "lib/wgmma.cuh"

// Whether columns of what comes run along k, and which operand is copied so that they do.
constexpr bool A_ALONG = TRANS_A || COPIED, B_ALONG = !TRANS_B;
constexpr bool COPY_A = COPIED, COPY_B = false;
// What tensor cores call rows of a tile, of which each group has half, are columns; and their columns rows.
constexpr int GROUP_ROWS = PING_PONG ? TILE_N : TILE_N / 2, WIDTH = TILE_M;
#define LOOSE 0
#define LOOSE_A 0
#define LOOSE_B 0
constexpr int CLUSTER_K = 1;  // no blocks share the slices of a tile
#define LANES 1  // B comes into registers, and is never turned
constexpr bool FACTOR_ALONG = B_ALONG, FACTOR_CONJ = CONJ_B, OTHER_CONJ = CONJ_A;

static_assert(TYPE_BITS == 16 && COMPLEX && !BRAIN, "type: complex float16");
static_assert(TILE_M % 64 == 0 && TILE_M <= 192, "tile-m: a warp group holds no more than 192 sums of each thread");
static_assert(GROUP_ROWS == 64, "tile-n: a warp group multiplies 64 columns");
static_assert(STEPS == 1 || STEPS == 2, "steps: two sets of fragments are a slice or half of one");
static_assert(TILE_M <= 128 || STEPS == 1, "steps-sums: fragments take registers of sums");
static_assert(A_ALONG || TILE_M <= 128, "turned-sums: warps that turn take registers of sums");
static_assert(!COPIED || !TRANS_A, "copied-across: what runs along k comes as it lies");
static_assert(!BEHIND || (COPIED && TILE_M <= 128), "behind: warps that turn, or leave their registers to more sums, copy nothing");
static_assert(!COPIED || !OVERLAP, "copied-overlap: counters of copies are cleared between two kernels");
static_assert(CLUSTER_M * CLUSTER_N <= 2, "cluster: two blocks share one operand");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "warpgroup/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "warpgroup/turn.cuh"
#include "warpgroup/copies.cuh"
#include "warpgroup/loads.cuh"
#include "warpgroup/cuts.cuh"
#include "pairs/fragments.cuh"
#include "pairs/results.cuh"
#include "pairs/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
pairs(const __grid_constant__ Product g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
      const __grid_constant__ TensorMap map_c
#if CUT || COPIED
      , const __grid_constant__ Cut cut
#endif
#if COPIED
      , const __grid_constant__ Copied copied
#endif
) {
#if !CUT && !COPIED
    const Cut cut = {};
#endif
#if !COPIED
    const Copied copied = {};
#endif
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        // While barriers are made: the first copies wait for them.
        map_prefetch(map_a);
        map_prefetch(map_b);
        map_prefetch(map_c);
        start_barriers();
    }
    if (CLUSTER > 1) cluster_sync(); else __syncthreads();  // all threads know the barriers
    // Who comes next may make ready, too. What kernels before this one wrote is there behind the wait.
    if (OVERLAP) asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
    copy_ahead(g, copied, cut, warp == 4 * GROUPS, lane);
    if (warp >= 4 * GROUPS) {
        registers_given<FEW>();
        if (warp == 4 * GROUPS) come(g, cut, copied, map_a, map_b, lane);
        else if (TURNED) turn_slices(g, cut, warp - 4 * GROUPS - 1, lane);
        else copy_behind(g, copied, cut, lane);
    } else {
        registers_taken<MANY>();
        multiply_tiles(g, cut, map_c, warp, lane);
    }
    if (CLUSTER > 1) {
        // A block whose barriers and slots others still reach stays.
        __syncwarp();
        cluster_sync();
    }
}
