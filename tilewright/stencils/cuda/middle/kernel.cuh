// middle: C = alpha * op(A) * op(B) + beta * C for batches of products that are too large for one thread's or warp's care
// and too small for a multiprocessor of their own: extents of some 33 to 160.
//
// Persistent blocks walk over the tiles of C of all products. What a tile sums over comes in slices of DEPTH columns of
// op(A) and rows of op(B) through a ring of stages, and the ring runs on from tile to tile, so that the next tile is on its
// way while this one is multiplied and written:
//
//   device memory     op(A)  |slice 0|slice 1|...|  next tile |slice 0|...      op(B)  |slice 0|slice 1|...
//                               |                                                |
//   shared memory     stage 0 [DEPTH columns of op(A), DEPTH rows of op(B)]   stage 1 [...]  ...   STAGES of them
//                               |
//   registers         a thread: ROWS x COLUMNS of C (float64: a warp, by tensor cores)
//                               |
//   device memory     C, by neighbouring threads, which exchange vectors through shared memory if C has no aligned ones
//
// An operand lies in shared memory as it is stored, whatever its size and addresses are, in columns so far apart that vectors are
// aligned and neighbours lie in other banks (cp.async of 4 to 16 bytes). So a thread's part of one k, or of DEEP of them where an
// operand lies along k, comes by vectors: 8 x 8 sums of float32 take 4 loads of 16 bytes for 64 multiply-adds.
//
// Where C is read and alpha is 1, sums begin with beta * C, all of which is asked for at once, from the second-level cache, which it
// was prefetched to when the first slice of its tile was asked for.
//
// The parts: layout.cuh (shared memory), copy.cuh (runs by all threads), item.cuh (which tile), multiply_fma.cuh and
// multiply_mma.cuh (a part of the tile, and how it is written).
#include "lib/bulk.cuh"
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef SIZE_M
#define SIZE_M 64  // rows of C
#endif
#ifndef SIZE_N
#define SIZE_N 64  // columns of C
#endif
#ifndef SIZE_K
#define SIZE_K 64  // columns of op(A)
#endif
#ifndef UNIT_A
#define UNIT_A 16  // bytes that divide the address of every stored column of A
#endif
#ifndef UNIT_B
#define UNIT_B 16  // the same for B
#endif
#ifndef UNIT_C
#define UNIT_C 16  // and for C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 64  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N 64  // columns of it
#endif
#ifndef DEPTH
#define DEPTH 32  // columns of op(A) in a stage
#endif
#ifndef MMA
#define MMA 0  // rows of a tensor-core product, 8 or 16 (float64 on sm_90); 0: multiply-add units
#endif
#ifndef ROWS
#define ROWS 8  // rows of C that a thread computes (MMA: a warp)
#endif
#ifndef COLUMNS
#define COLUMNS 8  // columns of C that a thread computes (MMA: a warp)
#endif
#ifndef DEEP
#define DEEP 2  // k of one read of an operand that is stored along k (without MMA)
#endif
#ifndef STAGES
#define STAGES 3  // slices in shared memory, all but one of them on their way
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "middle/layout.cuh"
#include "lib/sync.cuh"

static_assert(TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 32 or 64 bits");
static_assert(STAGES >= 2, "ring: one stage is multiplied while others are filled");
static_assert(DEEP == 1 || DEEP == 2 || (DEEP == 4 && SIZE == 4), "deep: a read is a vector of 16 bytes at most");
static_assert(DEEP == 1 || (!MMA && (TRANS_A || !TRANS_B)), "deep-along: reads of several k are of what lies along k");
static_assert((MMA == 0) == (TYPE_BITS == 32), "mma-type: float64 is multiplied by tensor cores, float32 is not");
static_assert(MMA == 0 || MMA == 8 || MMA == 16, "mma-rows: a tensor-core product of float64 has 8 or 16 rows");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "part: whole tensor-core products of 8 columns, or whole vectors of 16 bytes");
static_assert(MMA != 0 || (ROWS % WORD == 0 && COLUMNS % WORD == 0),
              "part: whole tensor-core products of 8 columns, or whole vectors of 16 bytes");
static_assert(MMA == 0 || DEPTH % 4 == 0, "depth: whole tensor-core products of 4 k");
static_assert((TILE_M == SIZE_M || TILE_M % WORD == 0) && (TILE_N == SIZE_N || TILE_N % WORD == 0),
              "tile: all of C, or whole vectors of 16 bytes");
static_assert(THREADS <= 1024, "threads-per-block: a block has no more threads than the device allows");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#include "middle/copy.cuh"
#include "middle/item.cuh"
#if MMA
#include "middle/multiply_mma.cuh"
#else
#include "middle/multiply_fma.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) middle(const __grid_constant__ Gemm g) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const int items = g.batch * TILES_OF_C;
    Ahead ahead(g, items);
    UNROLL for (int i = 0; i < STAGES - 1; i++) ahead.fetch(g, i);

    int now = 0;
    _Pragma("unroll 1") for (int item = blockIdx.x; item < items; item += (int)gridDim.x) {
        Sums sums;
        if (BEGINS) sums.read(Item(g, item), g.ldc, scalars);
        _Pragma("unroll 1") for (int slice = 0; slice < SLICES; slice++) {
            cp_async_wait<STAGES - 2>();
            block_sync();  // all threads see this slice, and the stage before it is free
            ahead.fetch(g, now ? now - 1 : STAGES - 1);
            const Stored *const a = (const Stored *)(shared_memory + now * STAGE), *const b = a + SLICE_A;
            sums.add(a, b, slice < SLICES - 1 ? DEPTH : LAST);
            now = now + 1 == STAGES ? 0 : now + 1;
        }
        sums.write(Item(g, item), g.ldc, scalars);
    }
}
