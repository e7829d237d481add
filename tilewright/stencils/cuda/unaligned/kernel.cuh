// unaligned: C = alpha * op(A) * op(B) + beta * C for one large product of 16-bit matrices whose columns begin anywhere.
//
// A tensor map wants columns at multiples of 16 bytes. Of columns that begin anywhere every eighth one begins alike in a word
// of 16 bytes, for eight columns together are whole words. So a map has columns 8 LD elements apart, each as long as eight of
// the matrix, and box r of eight begins r LD elements further along: it brings columns r, r + 8, r + 16, ... of a tile, and the
// unit that copies shifts them. No thread touches what comes.
//
//   device memory    column 0 | column 1 | ... | column 7        one column of the map, at a multiple of 16 bytes
//                    column 8 | column 9 | ... | column 15       the next one
//                       |  box r: 64 elements of columns r, r + 8, ... of a tile
//                       v
//   shared memory    ring of STAGES slices of A and B, lines of 128 bytes: those of box 0, of box 1, ... of box 7
//                       |  wgmma
//   registers        sums, whose rows and columns are in that order, too
//                       |  put in their places
//   shared memory    columns of C, stored by whole words but for their first and last elements
//
// Lines are columns of what is stored. Where an operand runs along k they are rows or columns of C, and sums are put back in
// their order when they are stored. Where it runs across k they are the k of products, whose order does not matter if it is
// that of both operands. Where one runs along k and the other across it, the one along k comes to registers, and halves of
// two words each change places there. It is what tensor cores call A (MIXED).
//
// What lies between the end of a column and the next one comes, too. Along k it may be anything, and is made zero in the last
// slice; across k it becomes rows and columns that nobody stores.
//
// Requires: leading dimensions of A and B below 2^28, and a k of at least 1. Fewer than 2^31 tiles.
//
// The parts: layout.cuh (shared memory, maps), tiles.cuh (their order), loads.cuh, multiply.cuh, results.cuh.

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#include "lib/problem.cuh"

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 256  // rows of a tile of C
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C
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
constexpr bool MIXED = A_ALONG != B_ALONG;
// Whether rows of C are what tensor cores call rows; else these are its columns.
constexpr bool UPRIGHT = MIXED && A_ALONG;
// The sides of a tile: both groups have half of the rows of tensor cores, and all columns.
constexpr int ROWS = UPRIGHT ? TILE_M : TILE_N, COLUMNS = UPRIGHT ? TILE_N : TILE_M, GROUP_ROWS = ROWS / 2;

static_assert(TYPE_BITS == 16 && !COMPLEX, "type: real numbers of 16 bits");
static_assert(GROUP_ROWS == 64 || GROUP_ROWS == 128, "rows: a warp group multiplies 64 at once, and 128 at most");
static_assert(COLUMNS % 64 == 0 && COLUMNS <= 256, "columns: the widest product of a warp group has 256");
static_assert(COLUMNS * GROUP_ROWS <= 128 * 128, "sums: a warp group holds no more than 128 of each thread");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#include "unaligned/layout.cuh"
#include "unaligned/tiles.cuh"
#include "unaligned/loads.cuh"
#include "unaligned/results.cuh"
#include "unaligned/mixed.cuh"
#include "unaligned/multiply.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
unaligned(const __grid_constant__ Product g, const __grid_constant__ Maps maps_a, const __grid_constant__ Maps maps_b) {
    // The same in all lanes, which the compiler cannot know by itself.
    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start_barriers();
    __syncthreads();  // all threads know the barriers
    if (warp >= 4 * GROUPS) {
        registers_given<40>();
        if (warp == 4 * GROUPS) come(g, maps_a, maps_b, lane == 0);
    } else {
        registers_taken<232>();
        multiply_tiles(g, warp, lane);
    }
}
