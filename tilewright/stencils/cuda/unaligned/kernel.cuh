// unaligned: C = alpha * op(A) * op(B) + beta * C for one large product of 16-bit matrices whose columns begin anywhere.
//
// Tensor maps and the boxes that they bring begin at multiples of 16 bytes. So operands whose columns do not are copied first, into
// a workspace where columns begin at multiples of 128 bytes, and multiplied from there. What is copied is little beside what is
// multiplied: of a square of n rows 8 n * n bytes to 2 n * n * n operations, a twentieth of the time at 4096.
//
//   device memory    A, B: columns begin anywhere                 C
//                      |  all threads of all blocks: words of 16    ^  words of 4 bytes but for the first and last element
//                      v  bytes, made of two neighbours each        |
//   workspace        A, B: columns at multiples of 128 bytes        |
//                      |  boxes of 64 along k                       |
//                      v                                            |
//   shared memory    ring of STAGES slices of A and B             columns of each warp
//                      |  wgmma                                     ^
//   registers        sums: two warp groups have half of the columns of a tile each, the third one loads
//
// Blocks take pieces of what is to be copied by a counter until none is left, and begin to multiply when all are done. So a block
// waits for such as have begun to run alone, and for these only while they copy.
//
// Requires: a k of at least 1. Fewer than 2^31 tiles. Operands that are not copied: columns at multiples of 16 bytes.
//
// The parts: layout.cuh (shared memory), copy.cuh, tiles.cuh (their order), loads.cuh, multiply.cuh, results.cuh.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#ifndef COPY_A
#define COPY_A 1  // whether columns of A begin anywhere
#endif
#ifndef COPY_B
#define COPY_B 1  // whether columns of B begin anywhere
#endif
#include "lib/problem.cuh"

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 256  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C, in each group 64 or 128 of them
#endif
#ifndef STAGES
#define STAGES 4  // slices of 64 along k in shared memory
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/fragment.cuh"
#include "lib/mma.cuh"
#include "lib/registers.cuh"
#include "lib/sizes.cuh"
#include "lib/wgmma.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr int GROUP_N = TILE_N / 2;

static_assert(TYPE_BITS == 16 && !COMPLEX, "type: real numbers of 16 bits");
static_assert(TILE_M % 64 == 0 && TILE_M <= 256, "tile-m: the widest product of a warp group has 256 columns");
static_assert(GROUP_N == 64 || GROUP_N == 128, "tile-n: a warp group multiplies 64 columns at once, and 128 at most");
static_assert(TILE_M * GROUP_N <= 192 * 128, "sums: a warp group holds no more than 192 of each thread");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "unaligned/layout.cuh"
#include "unaligned/copy.cuh"
#include "unaligned/tiles.cuh"
#include "unaligned/loads.cuh"
#include "unaligned/results.cuh"
#include "unaligned/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
unaligned(const __grid_constant__ Product g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    if (COPY_A || COPY_B) copy_operands(g);
    __syncthreads();  // all threads know the barriers
    if (warp >= 4 * GROUPS) {
        registers_given<24>();
        if (warp == 4 * GROUPS) come(g, map_a, map_b, lane == 0);
    } else {
        registers_taken<240>();
        multiply_tiles(g, warp, lane);
    }
}
