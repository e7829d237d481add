// warpgroup: C = alpha * op(A) * op(B) + beta * C for one large product of 16-bit matrices, or of float32 as tf32, by warp groups
// with roles.
//
// One warp group loads and two multiply: the loads of the next tile begin while this one is multiplied and stored, and
// registers go from the group that loads to those that hold sums. Tensor maps say where the operands lie, so that whole boxes
// come in the order of banks that tensor cores read (the 128-byte swizzle), and what lies outside of a matrix comes as zero
// and is not stored.
//
//   device memory    A, B                                          C
//                      |  boxes of 64 along k, to both blocks       ^  boxes of 64 x 64
//                      v  of a cluster where they share them        |
//   shared memory    ring of STAGES slices of A and B            OUTS boxes of each group, which has C if it is read
//                      |  wgmma                                    |
//   registers        sums: both groups have half of the columns of a tile, or in turns a tile of their own (PING_PONG)
//
// What tensor cores call rows are columns of C: a thread then holds neighbours of a column, which stmatrix writes as they lie
// in memory. Where LANES says that A comes into registers, they are rows of C. Blocks are persistent. Tiles of C are in bands of columns, there and back, and every other tile of a block may
// run backwards along k: what the last one has read is then still in the second-level cache. Tiles of the last waves may be CUT
// along k, so that all blocks end together: their sums meet in device memory, and one block adds them in a fixed order.
//
// Tensor cores multiply tf32 along k alone: of float32, what runs across it is turned in shared memory, by warps of the group that
// loads, comes into registers (LANES), or is COPIED to where it runs along k.
//
// Operands of 16 bits whose columns begin anywhere have no maps: warps that load shift words of theirs (loose.cuh). Such a C is stored
// by threads.
//
// Requires: a k of at least 1. Fewer than 2^31 tiles.
//
// The parts: layout.cuh (shared memory), tiles.cuh (their order), loads.cuh, loose.cuh (columns that begin anywhere), copies.cuh (an operand that is
// copied), cuts.cuh (sums that meet), turn.cuh, lanes.cuh, results.cuh, joins.cuh (sums of a cluster),
// multiply.cuh.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#include "lib/problem.cuh"
#ifndef LOOSE_A
#define LOOSE_A 0  // whether columns of A begin anywhere, and not at multiples of 16 bytes
#endif
#ifndef LOOSE_B
#define LOOSE_B 0  // the same of B
#endif
#ifndef LOOSE_C
#define LOOSE_C 0  // the same of C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 256  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C, in each group 64 or 128 of them
#endif
#ifndef STAGES
#define STAGES 4  // slices of 128 bytes along k in shared memory
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
#ifndef CLUSTER_K
#define CLUSTER_K 1  // blocks of a cluster that share the slices of a tile, and add their sums in shared memory
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
#ifndef LANES
#define LANES 0  // which operand of float32 that runs across k comes into registers, and is not turned: 1 B, 2 A
#endif
#ifndef COPIED
#define COPIED 0  // which operand of float32 that runs across k is copied along k by the same launch, and not turned: 1 B, 2 A
#endif
#ifndef BEHIND
#define BEHIND 0  // whether what the first tiles do not need is copied while these are multiplied
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

// Which operand is copied, and whether columns of what comes run along k.
constexpr bool COPY_A = COPIED == 2, COPY_B = COPIED == 1, A_ALONG = TRANS_A || COPY_A, B_ALONG = !TRANS_B || COPY_B;
// What tensor cores call rows of a tile, of which each group has half, and their columns.
constexpr bool BY_A = LANES == 2;
constexpr int ROWS = BY_A ? TILE_M : TILE_N, WIDTH = BY_A ? TILE_N : TILE_M, GROUP_ROWS = PING_PONG ? ROWS : ROWS / 2;
// Slices whose products go on while those of the next one are asked for: a group that multiplies alone never waits for all, but
// where they read fragments in registers, which those of the next slice take.
constexpr int FLIGHT = PING_PONG && !LANES;
// Whether an operand comes without a map, and whether threads store their results themselves.
#define LOOSE (LOOSE_A || LOOSE_B)
#define BY_THREADS (CLUSTER_K > 1 || LOOSE || LOOSE_C)
// Whether warps that do not load have nothing to do, and registers for it.
constexpr bool IDLE = (A_ALONG || LANES == 2) && (B_ALONG || LANES == 1) && WIDTH * GROUP_ROWS <= 128 * 128;

static_assert((TYPE_BITS == 16 || TYPE_BITS == 32) && !COMPLEX, "type: real numbers of 16 bits, or float32 as tf32");
static_assert(WIDTH % 64 == 0 && WIDTH <= 256, "width: the widest product of a warp group has 256 columns");
static_assert(GROUP_ROWS == 64 || GROUP_ROWS == 128, "rows: a warp group multiplies 64 rows of tensor cores at once, and 128 at most");
static_assert(WIDTH * GROUP_ROWS <= 192 * 128, "sums: a warp group holds no more than 192 of each thread");
static_assert(CLUSTER_M * CLUSTER_N <= 2, "cluster: two blocks share one operand");
static_assert(CLUSTER_K == 1 || (CLUSTER_M * CLUSTER_N == 1 && TYPE_BITS == 16), "joined: blocks that share the slices of a tile share no operand");
static_assert(CLUSTER_K == 1 || WIDTH * GROUP_ROWS <= 64 * 128, "joined-sums: a warp group holds no more than 64 sums of each thread that other blocks add");
static_assert(TILE_M % (64 * CLUSTER_N) == 0 && TILE_N % (64 * CLUSTER_M) == 0, "halves: each block brings whole boxes");
static_assert(!LANES || (TYPE_BITS == 32 && (BY_A ? !TRANS_A : TRANS_B)), "lanes: fragments are of float32 that runs across k");
static_assert(!LANES || WIDTH * GROUP_ROWS <= 128 * 128, "lanes-sums: fragments take registers of sums");
static_assert(!COPIED || (TYPE_BITS == 32 && (COPY_A ? !TRANS_A : TRANS_B)), "copied: copies are of float32 that runs across k");
static_assert(!LANES || LANES != COPIED, "copied-lanes: what comes into registers is not copied");
static_assert(!BEHIND || (COPIED && IDLE), "behind: warps that turn, or leave their registers to more sums, copy nothing");
static_assert(!COPIED || !OVERLAP, "copied-overlap: counters of copies are cleared between two kernels");
static_assert(!(LOOSE || LOOSE_C) || (TYPE_BITS == 16 && CLUSTER_M * CLUSTER_N == 1), "loose: what comes by threads comes to one block");
static_assert(!(LOOSE || LOOSE_C) || WIDTH * GROUP_ROWS <= 64 * 128, "loose-sums: a warp group holds no more than 64 sums of each thread that threads store");
static_assert(LOOSE_A * TILE_M + LOOSE_B * TILE_N <= 192, "loose-lines: warps that load hold no more than 192 lines of a slice");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "warpgroup/layout.cuh"
#include "warpgroup/tiles.cuh"
#include "warpgroup/turn.cuh"
#include "warpgroup/copies.cuh"
#include "warpgroup/loads.cuh"
#include "warpgroup/cuts.cuh"
#include "warpgroup/lanes.cuh"
#include "warpgroup/results.cuh"
#include "warpgroup/joins.cuh"
#include "warpgroup/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
warpgroup(const __grid_constant__ Product g, const __grid_constant__ From<LOOSE_A>::Type map_a,
          const __grid_constant__ From<LOOSE_B>::Type map_b, const __grid_constant__ From<LOOSE || LOOSE_C>::Type map_c
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
        prefetch(map_a);
        prefetch(map_b);
        prefetch(map_c);
        start_barriers();
    }
    if (CLUSTER_K > 1) cluster_arrive();  // and wait while the first slices come
    if (CLUSTER > 1) cluster_sync(); else __syncthreads();  // all threads know the barriers
    // Who comes next may make ready, too. What kernels before this one wrote is there behind the wait.
    if (OVERLAP) asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
    copy_ahead(g, copied, cut, warp == 4 * GROUPS, lane);
    if (warp >= 4 * GROUPS) {
        registers_given<FEW>();
        if (LOOSE || warp == 4 * GROUPS) come(g, cut, copied, map_a, map_b, threadIdx.x - 128 * GROUPS);
        else if (TURNED) turn_slices(g, cut, warp - 4 * GROUPS - 1, lane);
        else copy_behind(g, copied, cut, lane);
        __syncwarp();
        if (CLUSTER_K > 1) cluster_wait();
    } else {
        registers_taken<MANY>();
        if (CLUSTER_K > 1) cluster_wait();
        multiply_tiles(g, cut, map_c, warp, lane);
    }
    if (CLUSTER > 1) {
        // A block whose barriers and slots others still reach stays.
        __syncwarp();
        cluster_sync();
    }
}
