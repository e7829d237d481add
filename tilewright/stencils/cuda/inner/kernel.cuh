// inner: C = alpha * op(A) * op(B) + beta * C for batches of products whose k is long, and of matrices times vectors or a few of them.
//
// A product with a long k and small m and n reads two long operands once and writes little: memory sets the pace. Both operands
// go through shared memory in slabs of DEPTH, C stays in registers until k is at its end.
//
//   device memory     A  |slab 0|slab 1|...|        B  |slab 0|slab 1|...|       for each tile of C in turn
//                            |                             |
//   shared memory     stage 0 [slab of A | slab of B]   stage 1 [...] ...        STAGES of them on their way, across products
//                            |
//   registers         a thread: ROWS x COLUMNS of C (MMA: a warp, by tensor cores), for some of the k
//                            |
//   shared memory     sums of every group of warps, added in the order of the groups
//                            |
//   device memory     C
//
// Where a thread's part is small there are more threads than parts: lanes, then groups of warps, take turns in k, and what they
// have is added in an order that is always the same; so are the sums of the blocks of a cluster, if SPLIT > 1, and of clusters
// that share a tile, if SPREAD, which meet in a workspace in device memory. k is an argument, and so is m (LONG 1) or n (LONG 2)
// of a matrix times a few vectors, whose C is walked over in tiles. Persistent blocks walk over the tiles of all products, so any
// grid is right.
//
// PATH  2  bulk copies (sm_90): a slab that has no padding at once, else its runs; all keep their place in words.
//       1  words of 16 bytes (cp.async, sm_80) by all threads, into the same layout.
//
// The parts: products.cuh (which tile, and pieces of k), ring_*.cuh (a path each), multiply_*.cuh (units of arithmetic),
// layout.cuh (slabs, shared memory, teams), meeting.cuh (where clusters that share a tile meet), epilogue.cuh.
#include "lib/bulk.cuh"
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef LONG
#define LONG 0  // 0: C is one tile, 1: m is no constant, 2: n is none
#endif
#ifndef TILE_M
#define TILE_M 8  // rows of a tile of C: m, if that is a constant
#endif
#ifndef TILE_N
#define TILE_N 8  // columns of it: n, if that is a constant
#endif
#ifndef UNIT_A
#define UNIT_A 16  // bytes that divide the address of every stored column of A
#endif
#ifndef UNIT_B
#define UNIT_B 16  // the same for B
#endif
#ifndef UNIT_K
#define UNIT_K 1  // a power of two that divides k
#endif
#ifndef STREAM_A
#define STREAM_A 0  // whether slabs of A have no padding
#endif
#ifndef STREAM_B
#define STREAM_B 0  // the same for B
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef PATH
#define PATH 2  // 1: copies by vectors (sm_80), 2: bulk copies (sm_90)
#endif
#ifndef MMA
#define MMA 0  // rows of a tensor-core product, 8 or 16 (float64 on sm_90, 16 bits); 0: multiply-add units
#endif
#ifndef DEPTH
#define DEPTH 64  // k of a stage
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
#ifndef STAGES
#define STAGES 3  // slabs in shared memory, all but one of them on their way
#endif
#ifndef SPLIT
#define SPLIT 1  // blocks of a cluster that share the k of one tile
#endif
#ifndef SPREAD
#define SPREAD 0  // whether gridDim.y has several clusters, which share the k of one tile through a workspace
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#define BULK (PATH == 2)
#include "lib/element.cuh"
#include "lib/cluster.cuh"
#include "lib/mma.cuh"
#include "lib/sync.cuh"
#include "lib/sizes.cuh"
#include "lib/run.cuh"
#include "inner/layout.cuh"

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(DEPTH % GRAIN == 0 && GRAIN * SIZE % 16 == 0, "depth: slabs of whole words, in pieces of 16 or 8");
static_assert(STAGES >= 2, "ring: one stage is multiplied while others are filled");
static_assert(WARPS % TEAM == 0, "teams: a block is whole teams of warps, each of which has all of a tile");
static_assert(MMA == 0 || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(MMA == 0 || (MMA == 16 || (MMA == 8 && TYPE_BITS == 64)),
              "mma-rows: a tensor-core product has 16 rows, or 8 of float64");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "mma-tile: a part is whole tensor-core products of 8 columns");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#include "inner/products.cuh"
#if MMA && TYPE_BITS == 64
#include "inner/multiply_mma_f64.cuh"
#elif MMA
#include "inner/multiply_mma_f16.cuh"
#else
#include "inner/multiply_fma.cuh"
#endif
#if BULK
#include "inner/ring_bulk.cuh"
#else
#include "inner/ring_cp_async.cuh"
#endif
#include "inner/meeting.cuh"
#include "inner/epilogue.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) inner(const __grid_constant__ Gemm g
#if SPREAD
                                                                    , unsigned char *const workspace
#endif
) {
#if !SPREAD
    unsigned char *const workspace = nullptr;
#endif
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const Products products(g);
    Ring ring(products);
    const int group = threadIdx.x / 32 / TEAM;
    Sums sums;
    _Pragma("unroll 1") for (int item = blockIdx.x; item < products.items; item += (int)gridDim.x) {
        const Item x = products.at(item);
        const auto lead_a = SlabA::lead(x.a, g.lda);
        const auto lead_b = SlabB::lead(x.b, g.ldb);
        sums.clear();
        _Pragma("unroll 1") for (int piece = 0; piece < products.pieces; piece++) {
            const unsigned char *const stage = ring.wait();
            sums.add(group, SlabA::first(stage, x.a), lead_a, SlabB::first(stage + STAGE_B, x.b), lead_b, products.count(piece));
            ring.release();
        }
        write(sums, group, x, g.ldc, scalars, Meeting(workspace, products, item));
    }
}
