// boxes: C = alpha * op(A) * op(B) + beta * C for batches of 16-bit matrices, which come and go as boxes of tensors.
//
// A tile of C is multiplied by warp groups, from shared memory. Tensor maps say where the matrices of a batch lie, so one
// thread has whole boxes brought, in the order of banks that tensor cores read (the 128-byte swizzle), and nobody computes an
// address or looks for an edge: what is outside of a matrix comes as zero and is not stored.
//
//   device memory    A, B                                          C
//                      |  boxes of 64 along k: one thread          ^  boxes: one thread, which also has C brought if it is read
//   shared memory    ring of STAGES slices of A and B            KEPT tiles of C
//                      |  wgmma                                    |
//   registers        sums of TILE_N / 64 warp groups: 64 columns of C each, and TILE_M rows
//
// What tensor cores call rows are columns of C: a thread then holds neighbours of a column, which stmatrix writes as they lie
// in memory. Blocks are persistent, and tiles of a product are neighbours, so that the second-level cache has what the first
// one has brought. The slices of the next tile come while this one is multiplied, rounded and stored.
//
// Requires: columns and matrices at multiples of 16 bytes; strides that are not negative. Lines of boxes are lines of memory
// where columns begin at multiples of 128 bytes, and else cost more.
//
// The parts: layout.cuh (shared memory, tiles), loads.cuh (slices), results.cuh (tiles of C), multiply.cuh.
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#include "lib/problem.cuh"

#ifndef ALL_M
#define ALL_M 0  // whether a tile has all rows of C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C, 64 for each warp group
#endif
#ifndef STAGES
#define STAGES 2  // slices of 64 along k in shared memory
#endif
#ifndef KEPT
#define KEPT 1  // tiles of C in shared memory
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/fragment.cuh"
#include "lib/mma.cuh"
#include "lib/sizes.cuh"
#include "lib/wgmma.cuh"

static_assert(TYPE_BITS == 16 && !COMPLEX, "type: real numbers of 16 bits");
static_assert(TILE_M % 16 == 0 && TILE_M <= 256, "tile-m: the widest product of a warp group has 256 columns");
static_assert(ALL_M || TILE_M % 64 == 0, "tile-box: a tile that others follow in m is whole boxes");
static_assert(TILE_N % 64 == 0 && TILE_N <= 256, "tile-n: 64 for each warp group, and no box is longer than 256");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "boxes/layout.cuh"
#include "boxes/loads.cuh"
#include "boxes/multiply.cuh"
#include "boxes/results.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
boxes(const __grid_constant__ Products g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
      const __grid_constant__ TensorMap map_c) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Tiles tiles(g);
    if (threadIdx.x == 0) start_barriers();
    __syncthreads();  // all threads know the barriers
    if (warp == WARPS) Slices(g, tiles, map_a, map_b).come(lane == 0);
    else if (warp == WARPS + 1) Results(g, tiles, map_c).come_and_go(lane == 0);
    else multiply_tiles(g, tiles, warp, lane);
}
