// tensor: C = alpha * op(A) * op(B) + beta * C on tensor cores, for batches of matrices up to a few hundred.
//
// A. Abdelfattah, S. Tomov, J. Dongarra, batched half and complex half products on tensor cores: a block's tile of C
// has any size; its threads, DIM_X along the stored columns, fetch tiles of A and B from device memory, offload them
// to shared memory, and are then regrouped into warps, to which the products of tensor cores are dealt out.
//
//               BLK_N                  a k-tile: BLK_K of the tile of A and of the tile of B
//             +-------+                  STAGES = 1: device memory -> registers (fetch), while the k-tile before it is
//       BLK_K |   B   |                     multiplied; registers -> shared memory (offload): the paper's way
//             +-------+                  STAGES > 1: cp.async to shared memory, all k-tiles but one on their way
//    BLK_K                             one warp: a rectangle of the tile, BLK_M / WARPS_M rows of it, all in registers
//    +---+    +---+---+                several matrices (GROUP) share a block where they are small
//    | A |    | 0 | 2 |  BLK_M
//    |   |    +---+---+                shared memory: tiles lie as they are stored, columns padded so that what a warp
//    +---+    | 1 | 3 |                  reads together lies in different banks
//             +---+---+                registers: with AHEAD, fragments of the next product are loaded while this one is
//                                      multiplied, across the borders of k-tiles
//
// Blocks are persistent: each walks over (group of matrices, tile) and (k-tile), and the next k-tile is fetched across the
// borders of tiles and matrices. Elements outside of a matrix are zeros in shared memory; none is read or written.
//
// Where C is read, many of its vectors are on their way to registers at a time; with EARLY_C (C prefetch) all of the tile
// comes to shared memory while it is multiplied.
//
// Complex products, of (re, im) pairs as they are stored: with SPLIT, operand tiles become planes of re and of im in shared
// memory, and four real products of planes make one complex product. Without it a pair stays a pair. In half precision a
// pair is one 32-bit register and two neighbours in k of a real product: (ar, ai) times (br, -bi) is re, times (bi, br) is
// im. All signs, also those of conjugates, are flipped in B.
//
// Warp groups (TC 7): four warps multiply together, each with its rows of A in registers, all with the columns of B of the
// warp's part, which tensor cores read from shared memory by themselves; signs are flipped in A.
//
// The parts, in this folder: loader.cuh (operand tiles to shared memory), scheduler.cuh (which tile is next), operands.cuh (the
// k-tiles of both operands in their order), mainloop_*.cuh (the accumulators of a tile), warp_*.cuh (where a warp works and
// what it multiplies), epilogue_*.cuh (accumulators to C).
//
// Requires: addresses, leading dimensions and batch strides of A and B that are multiples of VEC elements, of C of
// VEC_C. Sizes may be anything.
#include "lib/gemm.cuh"

// ---- the problem ----------------------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a real number: 16 or 64
#endif
#include "lib/problem.cuh"

// ---- the parameters of the space --------------------------------------------------------------------------------
#ifndef TC
#define TC 3  // 0: 16x16x16, 1: 32x8x16, 2: 8x32x16 (wmma), 3: 16x8x16, 4: 8x8x4, 5: 16x8x4, 6: 16x8x8 (mma), 7: 64x8x16 (wgmma)
#endif
#ifndef SPLIT
#define SPLIT 0  // whether complex operand tiles become planes of re and of im in shared memory
#endif
#ifndef BLK_M
#define BLK_M 64  // rows of a block's tile of C
#endif
#ifndef BLK_N
#define BLK_N 64  // columns of it
#endif
#ifndef BLK_K
#define BLK_K 32  // k of a k-tile
#endif
#ifndef DIM_X
#define DIM_X 8  // threads along the contiguous dimension of A and B while they are loaded, reduced to a divisor of its vectors
#endif
#ifndef DIM_Y
#define DIM_Y 16  // threads of a block are DIM_X * DIM_Y
#endif
#ifndef GROUP
#define GROUP 1  // matrices of a block
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps of a matrix along m
#endif
#ifndef STAGES
#define STAGES 2  // k-tiles in shared memory; 1: the next one waits in registers
#endif
#ifndef AHEAD
#define AHEAD 0  // fragment prefetch: whether fragments of the next product are loaded before this one is multiplied
#endif
#ifndef VEC
#define VEC 8  // elements of a vector of A and B, the unit of loads from device memory
#endif
#ifndef VEC_C
#define VEC_C 8  // elements of a vector of C
#endif
#ifndef EARLY_C
#define EARLY_C 0  // C prefetch: whether C comes to shared memory while the tile is multiplied
#endif
#ifndef BLOCKS
#define BLOCKS 2  // resident blocks: persistent blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/bulk.cuh"
#include "lib/global.cuh"
#if TC == 0
#define WMMA_M 16
#elif TC == 1
#define WMMA_M 32
#elif TC == 2
#define WMMA_M 8
#endif
#include "lib/mma.cuh"
#include "lib/fragment.cuh"

constexpr bool HALVES = TYPE_BITS == 16, WMMA = TC < 3, WGMMA = TC == 7;
constexpr bool PLANES = COMPLEX && SPLIT;             // re and im apart in shared memory
constexpr bool PAIRS = COMPLEX && HALVES && !PLANES;  // a pair is a register of 32 bits, and two k of a real product
constexpr int TC_M = TC == 1 ? 32 : TC == 2 || TC == 4 ? 8 : 16;  // of one instruction
constexpr int TC_N = TC == 0 ? 16 : TC == 2 ? 32 : 8;
constexpr int TC_K = TC < 4 || WGMMA ? 16 : TC == 6 ? 8 : 4;
constexpr int STEP = PAIRS ? TC_K / 2 : TC_K;  // elements along k of one product

constexpr int THREADS = DIM_X * DIM_Y, WARPS = THREADS / 32, WARPS_EACH = WARPS / GROUP;  // of one matrix
constexpr int WARPS_N = WARPS_EACH / WARPS_M;
constexpr int WARP_M = BLK_M / WARPS_M, WARP_N = BLK_N / (WARPS_N ? WARPS_N : 1);  // a warp's part of the tile
constexpr int SUBS_M = WARP_M / TC_M, SUBS_N = WARP_N / TC_N;                      // products of tensor cores in it
constexpr int PARTS = COMPLEX && !PAIRS ? 2 : 1;                                   // of a fragment: re and im
constexpr int COMPONENTS = COMPLEX ? 2 : 1;                                        // of an accumulator: re and im
constexpr bool A_ALONG = TRANS_A, B_ALONG = !TRANS_B;                              // whether stored columns run along k

static_assert(THREADS % 32 == 0, "whole-warps: threads come in warps");
static_assert(WARPS % GROUP == 0, "group-warps: every matrix of a group has as many warps");
static_assert(WARPS_EACH > 0 && WARPS_EACH % WARPS_M == 0, "warps-dealt: the warps of a matrix form a grid over its tile");
static_assert(BLK_M % (TC_M * WARPS_M) == 0, "tile-dealt-m: every warp has whole products along m");
static_assert(BLK_N % (TC_N * WARPS_N) == 0, "tile-dealt-n: every warp has whole products along n");
static_assert(BLK_K % STEP == 0, "step-whole: a k-tile is made of whole products");
static_assert(HALVES ? TC <= 3 || WGMMA : TC >= 3 && !WGMMA, "tc-type: tensor cores multiply this type in this shape");
static_assert(COMPLEX || !SPLIT, "split-complex: only pairs can be split");
static_assert(!WMMA || !COMPLEX || PLANES, "wmma-planes: wmma takes planes, because its fragments hide what is a pair");
static_assert(!PLANES || STAGES == 1, "planes-by-registers: what is split passes through registers");
static_assert(!AHEAD || STAGES > 1, "ahead-copies: fragment prefetch needs the next k-tile in shared memory");
static_assert(!AHEAD || !(WMMA || WGMMA), "ahead-mma: only fragments of mma are prefetched by choice");
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
static_assert(!WGMMA || !PLANES, "wgmma-pairs: warp groups multiply pairs as they are");
static_assert(VEC * SIZE <= 16, "access-width: one access moves 16 bytes at most");
static_assert(VEC_C * SIZE <= 16, "access-width-c: one access moves 16 bytes at most");
static_assert(STAGES == 1 || VEC * SIZE >= 4, "copy-width: copies to shared memory move 4 bytes or more");
static_assert(!EARLY_C || BETA, "early-read: C is not prefetched where it is not read");
static_assert(!EARLY_C || STAGES > 1, "early-copies: C is prefetched to shared memory by the copies that bring the k-tiles");
static_assert(!EARLY_C || VEC_C * SIZE >= 4, "early-width: copies to shared memory move 4 bytes or more");
static_assert((A_ALONG ? BLK_K : BLK_M) % VEC == 0, "stripe-a: VEC divides the contiguous extent of the A tile");
static_assert((B_ALONG ? BLK_K : BLK_N) % VEC == 0, "stripe-b: VEC divides the contiguous extent of the B tile");
static_assert(TC != 2 || A_ALONG || BLK_M == 8, "wmma-aligned-a: fragments of wmma begin at multiples of 32 bytes");
static_assert(TC != 1 || B_ALONG || BLK_N == 8, "wmma-aligned-b: fragments of wmma begin at multiples of 32 bytes");

// ---- the parts ------------------------------------------------------------------------------------------
#include "lib/sync.cuh"
#include "tensor/layout.cuh"
#include "tensor/warp_position.cuh"
#include "tensor/scheduler.cuh"
#include "tensor/loader.cuh"
#include "tensor/operands.cuh"
#include "tensor/warp_tile.cuh"
#if TC < 3
#include "tensor/warp_wmma.cuh"
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
#if EPILOGUE_STMATRIX
#include "tensor/epilogue_stmatrix.cuh"
#elif EPILOGUE_STAGED
#include "tensor/epilogue_staged.cuh"
#else
#include "tensor/epilogue_direct.cuh"
#endif

// ---- the kernel ------------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) tensor(const __grid_constant__ Gemm g) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int matrix = warp / WARPS_EACH, warp_m = warp % WARPS_EACH % WARPS_M * WARP_M;
    const int warp_n = warp % WARPS_EACH / WARPS_M * WARP_N;
    Out *const staging = (Out *)(shared_memory + AT_OUT) + warp * COMPONENTS * OUT_PLANE;
    Stored *const prefetched = (Stored *)(shared_memory + AT_OLD) + warp * WARP_M * WARP_N;
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const int k_tiles = max(1, (g.k + BLK_K - 1) / BLK_K);
    const int from_a = matrix * ACROSS_A * PITCH_A + (A_ALONG ? warp_m * PITCH_A : warp_m);
    const int from_b = STAGE_B + matrix * ACROSS_B * PITCH_B + (B_ALONG ? warp_n * PITCH_B : warp_n);
    const WarpPosition position = {lane, matrix, warp_m, warp_n, from_a, from_b};
    TileLoaderA a;
    TileLoaderB b;
    OperandLoader loader(g, a, b);
    TileScheduler tile(g);
    Mainloop::Prefetched fragments;
    Mainloop mainloop(loader, fragments, (Kept *)shared_memory, position);
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        if constexpr (EARLY_C) {  // on its way with the k-tile that is fetched next
            const WarpTile c(g, tile, position);
            if (c.inside()) Epilogue::prefetch<true>(c, g.ldc, prefetched, lane);
            else if (c.valid) Epilogue::prefetch<false>(c, g.ldc, prefetched, lane);
        }
        Accumulators sum;
        clear(sum);
        mainloop.run(sum, k_tiles, g.k);
        if constexpr (EARLY_C) cp_async_wait_at_most<STAGES - 1>(k_tiles - 1);  // a group a k-tile came after C's
        const WarpTile c(g, tile, position);
        if (c.inside())
            Epilogue::store<true>(sum, c, g.ldc, scalars, staging, prefetched, lane);
        else if (c.valid)
            Epilogue::store<false>(sum, c, g.ldc, scalars, staging, prefetched, lane);
    }
}
