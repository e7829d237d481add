// experts: products of groups of rows or columns of 16 bits, or of complex halves, whose borders lie in device memory, by tensor
// maps and warp groups.
//
// What is asked is what `segments` is asked (its kernel.cuh has the three axes that may be split), for one matrix a group: a
// mixture of experts, whose weights are read once, and the gradient of it.
//
//   device memory    A, B                                       C, as far as the group reaches
//                      |  boxes of 128 bytes along k: one warp    ^  boxes of 128 bytes of rows, or lines by a warp group
//   shared memory    ring of STAGES slices of A and B           some columns of each warp group
//                      |  wgmma                                    |
//   registers        sums of TILE_M / 64 warp groups: 64 rows of the tile each, and all of its TILE_N columns
//
// Complex halves are multiplied as in `pairs`, whose kernel.cuh says how: A comes into registers, and B is read along k from shared
// memory; where it runs across k, other warps turn it there. The group of warps that loads leaves its registers to those that
// multiply.
//
// Tensor maps know where an operand ends, not where a group does: rows of A and columns of B that belong to the next group come
// along and are multiplied, and what they make is not stored. Along a split k they would be added, so they are set to zero.
// Slices of the next tile, which may be that of another group, come while this one is multiplied and stored.
//
// Requires: stored columns and groups at multiples of 16 bytes, those of C as well, and along a split k an A stored by rows and a B by columns of
// the product. Fewer than 2^31 tiles.
//
// The parts: layout.cuh (shared memory), loads.cuh (slices), multiply.cuh or pairs.cuh, results.cuh; borders and tiles are found as
// in `segments`, and complex halves multiplied by the fragments of `pairs`.
#include "segments/argument.cuh"

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#include "lib/problem.cuh"
#ifndef AXIS
#define AXIS 1  // what is split: 0: m, 1: n, 2: k
#endif
#ifndef VEC_C
#define VEC_C 8  // elements of a vector of C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE_M
#define TILE_M 128  // rows of a tile of C, 64 for each warp group
#endif
#ifndef TILE_N
#define TILE_N 128  // columns of a tile of C
#endif
#ifndef STAGES
#define STAGES 4  // slices of 128 bytes along k in shared memory
#endif
#ifndef BLOCKS
#define BLOCKS 1  // resident blocks: persistent blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/fragment.cuh"
#include "lib/mma.cuh"
#include "lib/registers.cuh"
#include "lib/wgmma.cuh"

constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
#if COMPLEX
constexpr bool FACTOR_ALONG = A_ALONG, FACTOR_CONJ = CONJ_A, OTHER_CONJ = CONJ_B;  // A comes into registers
constexpr int STEPS = TILE_N <= (B_ALONG ? 128 : 96) ? 2 : 1;  // products along k whose fragments come at once, as sums leave registers
#endif

static_assert(TYPE_BITS == 16 && !(COMPLEX && BRAIN), "type: real numbers of 16 bits, or complex float16");
static_assert(AXIS >= 0 && AXIS <= 2, "axis: m, n or k is split");
static_assert(AXIS < 2 || !(A_ALONG || B_ALONG), "split-k: lines of slices are whole indices of the split k");
static_assert(ALPHA_ONE && BETA == 0, "plain: products of groups are neither scaled nor added to C");
static_assert(TILE_M % 64 == 0 && TILE_M <= 256, "tile-m: 64 for each warp group, and no box is longer than 256");
static_assert(TILE_N % 16 == 0 && TILE_N <= 256, "tile-n: the widest product of a warp group has 256 columns");
static_assert(!COMPLEX || (TILE_N % 32 == 0 && TILE_N <= 160), "pairs-n: columns of complex halves come in 32, and more sums than of 160 leave no registers");
static_assert(!COMPLEX || B_ALONG || TILE_N <= 128, "turned-sums: warps that turn take registers of sums");
static_assert(STAGES >= 2, "ring: one slice comes while another one is multiplied");
static_assert(VEC_C * SIZE <= 16, "access-width-c: one access moves 16 bytes at most");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(1024) unsigned char shared_memory[];

#define HOLDS_COUNT 0  // sums leave no register for it
#include "experts/layout.cuh"
#include "lib/sync.cuh"
#include "segments/groups.cuh"
#include "segments/scheduler.cuh"
#include "experts/loads.cuh"
#if COMPLEX
#include "pairs/fragments.cuh"
#endif
#include "experts/results.cuh"
#if COMPLEX
#include "experts/pairs.cuh"
#else
#include "experts/multiply.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
experts(const __grid_constant__ Segments g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
        const __grid_constant__ TensorMap map_c) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool loads = warp >= MULTIPLYING;
    Turn<STAGES> turn;
    int place = 0;
    turn.parity = loads;  // nothing has to be read before the first slices come
    if (threadIdx.x == 0) start_barriers();
    // All threads meet while they count tiles, and know the barriers from then on.
    GroupTable &table = *(GroupTable *)(shared_memory + AT_TABLE);
#if COMPLEX
    // Each role has a loop of its own: what it holds is known to fit the registers that it has.
    if (loads) {
        if constexpr (GIVES) registers_given<FEW>();
        const int number = warp - MULTIPLYING - 1;
        if (number >= 0) turn.parity = 0;
        _Pragma("unroll 1") for (Groups groups(g, table); groups.valid(); groups.next()) {
            TileScheduler tile(groups);
            if (number < 0) come(tile, map_a, map_b, turn, lane == 0);
            else if (TURNED) turn_slices(tile, turn, number, lane);
        }
    } else {
        if constexpr (GIVES) registers_taken<MANY>();
        _Pragma("unroll 1") for (Groups groups(g, table); groups.valid(); groups.next()) {
            TileScheduler tile(groups);
            multiply_tiles(tile, map_c, turn, place, warp, lane);
        }
    }
#else
    _Pragma("unroll 1") for (Groups groups(g, table); groups.valid(); groups.next()) {
        TileScheduler tile(groups);
        if (loads) come(tile, map_a, map_b, turn, lane == 0);
        else multiply_tiles(tile, map_c, turn, place, warp, lane);
    }
#endif
    if (!loads && threadIdx.x % 128 == 0) bulk_done();
}
