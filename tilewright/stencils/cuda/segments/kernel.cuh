// segments: products of groups whose borders lie in device memory, in one launch that the host sizes without knowing them.
//
// One of the axes m, n and k is split among groups, by AXIS:
//
//   n: C[:, group] = op(A_group) * op(B)[:, group]      what is stacked by groups here lies `group_a` apart
//   m: C[group, :] = op(A)[group, :] * op(B_group)      the same with the operands exchanged
//   k: C_group = op(A)[:, group] * op(B)[group, :]      the gradient of the others with respect to what is stacked
//
// and each of these for all matrices of a batch. Column-major, as everything.
//
//        groups   0      1  2         3
//              +------+---+-+---------------+- - -+      persistent blocks take tiles in turns; every block reads the
//         A_g  | t  t | t |t| t  t  t  t  t |     |      borders, counts the tiles before each group and finds its
//              | t  t | t |t| t  t  t  t  t |     |      own by a search of these counts
//              +------+---+-+---------------+- - -+
//                       C, split along n   | zeros: no group's
//
// Tiles come to shared memory by cp.async, STAGES of them, or through registers (STAGES 1), ahead across the borders of tiles
// and groups, and are multiplied by tensor cores (16 bits and float64) or by multiply-add units (32 bits).
//
// The parts, in this folder: groups.cuh (borders, and the tiles that they make), scheduler.cuh (which tile is next), operands.cuh
// (its k-tiles), warp_tile.cuh, warp_fma.cuh and epilogue_fma.cuh; what is not about groups is that of `tensor`.
//
// Requires: addresses, leading dimensions and all strides of A and B that are multiples of VEC elements, of C of VEC_C, and
// both 1 where the contiguous axis of an operand is the one that is split. Fewer than 2^31 tiles.
#include "segments/argument.cuh"

// ---- the problem ----------------------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef AXIS
#define AXIS 1  // what is split: 0: m, 1: n, 2: k
#endif

// ---- the parameters of the space --------------------------------------------------------------------------------
#ifndef TC
#define TC 8  // 3: 16x8x16, 4: 8x8x4, 5: 16x8x4, 6: 16x8x8, 7: 64x8x16 (as tensor has them), 8: multiply-add units
#endif
#ifndef BLK_M
#define BLK_M 64  // rows of a block's tile of C
#endif
#ifndef BLK_N
#define BLK_N 64  // columns of it
#endif
#ifndef BLK_K
#define BLK_K 16  // k of a k-tile
#endif
#ifndef DIM_X
#define DIM_X 8  // threads along the contiguous dimension of A and B while they are loaded, reduced to a divisor of its vectors
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps along m
#endif
#ifndef WARPS_N
#define WARPS_N 2  // warps along n
#endif
#ifndef LANES_M
#define LANES_M 8  // lanes of a warp along m where multiply-add units multiply
#endif
#ifndef STAGES
#define STAGES 3  // k-tiles in shared memory; 1: the next one waits in registers
#endif
#ifndef AHEAD
#define AHEAD 0  // fragment prefetch: whether fragments of the next product are loaded before this one is multiplied
#endif
#ifndef VEC
#define VEC 4  // elements of a vector of A and B, the unit of loads from device memory
#endif
#ifndef VEC_C
#define VEC_C 4  // elements of a vector of C
#endif
#ifndef BLOCKS
#define BLOCKS 2  // resident blocks: persistent blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------------------------------
// What the parts of `tensor` can do beside: several matrices in a block, planes of re and of im, a C that is read.
#define GROUP 1
#define SPLIT 0
#define EARLY_C 0
#include "lib/element.cuh"
#include "lib/bulk.cuh"
#include "lib/global.cuh"
#include "lib/mma.cuh"
#include "lib/fragment.cuh"

constexpr bool FMA = TC == 8;
constexpr bool HALVES = TYPE_BITS == 16, WMMA = false, WGMMA = TC == 7;
constexpr bool PLANES = false;
constexpr bool PAIRS = COMPLEX && HALVES;  // a pair is a register of 32 bits, and two k of a real product
constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;  // whether stored columns run along k
constexpr int TC_M = FMA ? LANES_M : TC == 4 ? 8 : 16;  // of one instruction, or of the lanes of a warp
constexpr int TC_N = FMA ? 32 / LANES_M : 8;
constexpr int TC_K = FMA ? (A_ALONG || B_ALONG ? 16 / SIZE : 1) : TC == 3 || WGMMA ? 16 : TC == 6 ? 8 : 4;
constexpr int STEP = PAIRS ? TC_K / 2 : TC_K;  // elements along k of one product

constexpr int WARPS = WARPS_M * WARPS_N, THREADS = 32 * WARPS;
constexpr int WARP_M = BLK_M / WARPS_M, WARP_N = BLK_N / WARPS_N;  // a warp's part of the tile
constexpr int SUBS_N = WARP_N / TC_N;        // products of tensor cores in it, along n
constexpr int COMPONENTS = COMPLEX ? 2 : 1;  // of an accumulator: re and im
#if TC != 8
constexpr int SUBS_M = WARP_M / TC_M;             // and along m
constexpr int PARTS = COMPLEX && !PAIRS ? 2 : 1;  // of a fragment: re and im
#endif

static_assert(AXIS >= 0 && AXIS <= 2, "axis: m, n or k is split");
static_assert(ALPHA_ONE && BETA == 0, "plain: products of groups are neither scaled nor added to C");
static_assert(HALVES ? TC == 3 || WGMMA : TYPE_BITS == 64 ? TC >= 4 && TC <= 6 : FMA,
              "tc-type: this type is multiplied in this way");
static_assert(BLK_M % (TC_M * WARPS_M) == 0, "tile-dealt-m: every warp has whole products along m");
static_assert(BLK_N % (TC_N * WARPS_N) == 0, "tile-dealt-n: every warp has whole products along n");
static_assert(BLK_K % STEP == 0, "step-whole: a k-tile is made of whole products");
static_assert(!AHEAD || STAGES > 1, "ahead-copies: fragment prefetch needs the next k-tile in shared memory");
static_assert(!AHEAD || !(WGMMA || FMA), "ahead-mma: only fragments of mma are prefetched by choice");
static_assert(VEC * SIZE <= 16, "access-width: one access moves 16 bytes at most");
static_assert(VEC_C * SIZE <= 16, "access-width-c: one access moves 16 bytes at most");
static_assert(STAGES == 1 || VEC * SIZE >= 4, "copy-width: copies to shared memory move 4 bytes or more");
static_assert((A_ALONG ? BLK_K : BLK_M) % VEC == 0, "stripe-a: VEC divides the contiguous extent of the A tile");
static_assert((B_ALONG ? BLK_K : BLK_N) % VEC == 0, "stripe-b: VEC divides the contiguous extent of the B tile");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool HAS_WGMMA = true;
#else
constexpr bool HAS_WGMMA = false;
#endif
static_assert(!WGMMA || HAS_WGMMA, "wgmma-device: warp groups multiply on compute capability 9.0 alone");
static_assert(!WGMMA || WARPS_M % 4 == 0, "wgmma-group: four warps multiply together, one below the other");
static_assert(!WGMMA || (WARP_N % 16 == 0 && WARP_N <= 256 && (WARP_N <= 128 || WARP_N % 64 == 0)),
              "wgmma-columns: warp groups multiply 16 to 128 columns in sixteens, 192, or 256");
static_assert(!WGMMA || (B_ALONG && BLK_K * SIZE == 128), "wgmma-step: tensor cores read B in rows of 128 bytes along k");
static_assert(!WGMMA || VEC * SIZE == 16,
              "wgmma-words: B uses the 128-byte swizzle, which permutes 16-byte chunks: VEC must be 16 bytes");
static_assert(!WGMMA || STAGES >= 3, "wgmma-stages: one k-tile is multiplied, the next has arrived, others are on their way");

// ---- the parts ------------------------------------------------------------------------------------------
#include "lib/sync.cuh"
#include "tensor/layout.cuh"
#include "segments/groups.cuh"
#include "segments/scheduler.cuh"
#include "tensor/warp_position.cuh"
#include "tensor/loader.cuh"
#include "segments/operands.cuh"
#include "segments/warp_tile.cuh"
#if TC == 8
#include "segments/warp_fma.cuh"
#else
#include "tensor/warp_mma.cuh"
#endif
#if STAGES == 1
#include "tensor/mainloop_register.cuh"
#elif TC == 7
#include "tensor/mainloop_wgmma.cuh"
#elif AHEAD
#include "tensor/mainloop_prefetch.cuh"
#else
#include "tensor/mainloop_cp_async.cuh"
#endif
#if TC == 8
#include "segments/epilogue_fma.cuh"
#elif EPILOGUE_STMATRIX
#include "tensor/epilogue_stmatrix.cuh"
#else
#include "tensor/epilogue_direct.cuh"
#endif

constexpr int AT_TABLE = AT_OLD;  // bytes before the table of groups

// ---- the kernel ------------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segments(const __grid_constant__ Segments g) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % WARPS_M * WARP_M, warp_n = warp / WARPS_M * WARP_N;
    Out *const staging = (Out *)(shared_memory + AT_OUT) + warp * COMPONENTS * OUT_PLANE;
    const Scalars unscaled = {zero(), zero()};  // neither is used
    const int from_a = A_ALONG ? warp_m * PITCH_A : warp_m;
    const int from_b = STAGE_B + (B_ALONG ? warp_n * PITCH_B : warp_n);
    const WarpPosition position = {lane, 0, warp_m, warp_n, from_a, from_b};
    TileLoaderA a;
    TileLoaderB b;
    _Pragma("unroll 1") for (Groups groups(g, *(GroupTable *)(shared_memory + AT_TABLE)); groups.valid(); groups.next()) {
        TileScheduler tile(groups);
        if (!tile.valid()) continue;
        OperandLoader loader(a, b, tile);
        Mainloop::Prefetched fragments;
        Mainloop mainloop(loader, fragments, (Kept *)shared_memory, position);
        _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
            const int k = tile.k_left();
            Accumulators sum;
            clear(sum);
            mainloop.run(sum, max(1, (k + BLK_K - 1) / BLK_K), k);
            if constexpr (WGMMA) tile.find();  // once more, rather than held in registers meanwhile
            const WarpTile c(tile, position);
            if (c.inside())
                Epilogue::store<true>(sum, c, c.ldc, unscaled, staging, nullptr, lane);
            else
                Epilogue::store<false>(sum, c, c.ldc, unscaled, staging, nullptr, lane);
        }
    }
}
