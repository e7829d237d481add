// whole: C = alpha * op(A) * op(B) + beta * C for batches of 16-bit matrices that lie in memory without padding.
//
// The columns of an odd number of halves begin anywhere in a word, and neither tensor cores nor vectors can read them there.
// But all of a matrix is one run of bytes, which a bulk copy brings into shared memory from anywhere. From there it goes, a
// piece at a time, to columns that begin at multiples of 16 bytes, so far apart that ldmatrix meets no bank twice.
//
//   device memory    A |col 0|col 1|...|     B |col 0|col 1|...|        C |col 0|col 1|...|
//                        |  bulk copies of PIECE bytes or fewer           ^  one bulk copy
//   shared memory    ring of STAGES pieces, as they lie in memory         |
//                        |  words put together from two (realign.cuh)     |
//   shared memory    A and B, columns at multiples of 16 bytes         C as it lies in memory
//                        |  ldmatrix                                      |
//   registers        a warp: ROWS x COLUMNS of C, by tensor cores --------+
//
// A product is computed whole, or TILE columns of C after the other, for which A stays. Blocks are persistent: one warp has
// pieces brought as soon as there is room, those of the next tile while this one is multiplied, and several blocks of a
// multiprocessor take turns at what keeps its parts busy. Where every part has a warp and C is not read, C takes the place
// of A and B when all are done.
//
// Where all columns begin at multiples of 16 bytes, A and B are multiplied from where they came: DIRECT. Of a matrix whose
// columns are an even number of such words, or have padding between them, the copy is a box of a tensor that is one word
// higher (BOXED): so it puts columns an odd number of words apart, and zeros between them.
//
// Complex numbers are pairs of rows of A and C (PAIRS): C = A re(B) + i A im(B), where i swaps the rows of a pair and the sign of
// one. A warp has the sums of both products, and takes the parts of B from each other in registers.
//
// Requires: matrices without padding (leading dimensions are numbers of rows), or columns at multiples of 16 bytes; any
// strides that are not negative, any sizes that shared memory holds, any addresses of whole elements.
//
// The parts: layout.cuh (shared memory), loads.cuh (the ring), realign.cuh (pieces to columns), place.cuh (piece after
// piece), multiply.cuh and pairs.cuh (a part of C), result.cuh (C comes and goes).
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#ifndef TYPE_BITS
#define TYPE_BITS 16  // of a number
#endif
#include "lib/problem.cuh"
#ifndef SIZE_M
#define SIZE_M 79  // rows of C
#endif
#ifndef SIZE_N
#define SIZE_N 79  // columns of C
#endif
#ifndef SIZE_K
#define SIZE_K 79  // columns of op(A)
#endif
#ifndef UNIT_A
#define UNIT_A 2  // bytes, at most 16, that divide the address of every column of A
#endif
#ifndef UNIT_B
#define UNIT_B 2  // the same for B
#endif
#ifndef UNIT_C
#define UNIT_C 2  // and for C
#endif

#ifndef PAIRS
#define PAIRS 0  // whether elements are pairs (re, im) of numbers, of which rows of A and C are counted
#endif
#ifndef DIRECT
#define DIRECT 0  // whether tensor cores read all columns where the copies put them
#endif
#ifndef BOXED_A
#define BOXED_A 0  // whether A comes as a box of a tensor
#endif
#ifndef BOXED_B
#define BOXED_B 0  // the same for B
#endif
#ifndef BOXED_C
#define BOXED_C 0  // and whether C comes and goes so
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef TILE
#define TILE 256  // columns of C that are computed together, while A stays; all of them where C has no more
#endif
#ifndef ROWS
#define ROWS 32  // rows of C that a warp computes at a time
#endif
#ifndef COLUMNS
#define COLUMNS 32  // columns of C that a warp computes at a time
#endif
#ifndef WARPS
#define WARPS 4  // warps of a block that multiply; one more loads
#endif
#ifndef PIECE
#define PIECE 8192  // bytes that a piece of an operand has at most, unless a column has more
#endif
#ifndef STAGES
#define STAGES 2  // pieces in shared memory, all on their way while a product is multiplied
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "lib/fragment.cuh"
#include "whole/layout.cuh"

static_assert(TYPE_BITS == 16 && !COMPLEX, "type: real numbers of 16 bits");
static_assert(ROWS % 16 == 0 && COLUMNS % 8 == 0, "part-whole: a part is whole tensor-core products of 16 x 8");
static_assert(!TRANS_B || TILE >= SIZE_N, "tile-of-b: the columns of a tile are neighbours in B");
static_assert(!DIRECT || TILE >= SIZE_N, "tile-direct: matrices that are multiplied from where they come are whole");
static_assert(!DIRECT || (UNIT_A == 16 && UNIT_B == 16 && UNIT_C == 16), "direct: all columns begin with a word of 16 bytes");
static_assert(DIRECT || !BOXED, "boxed: boxes of a tensor are multiplied from where they come");
static_assert(!PAIRS || (!TRANS_A && !TRANS_B && BETA != 2), "pairs: neither operand is transposed, and beta is 0 or 1");
static_assert(STAGES >= 1, "ring: there is a piece to wait for");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#include "whole/loads.cuh"
#include "whole/realign.cuh"
#include "whole/place.cuh"
#include "whole/multiply.cuh"
#include "whole/pairs.cuh"
#include "whole/result.cuh"

INLINE void multiply_all(const Gemm &g, const Maps &maps) {
    const Scalars scalars = {PAIRS ? 1.f : scalar(g.alpha), scalar(g.beta)};
    const int warp = threadIdx.x / 32;
    const Stored *a = (const Stored *)(shared_memory + AT_A), *b = (const Stored *)(shared_memory + AT_B);
    Ring ring(g, maps);
    if (warp == WARPS) {
        ring.run_ahead();
        return;
    }
    unsigned int parity_c = 0;
    _Pragma("unroll 1") for (int item = blockIdx.x; item < g.batch; item += (int)gridDim.x)
        _Pragma("unroll 1") for (int tile = 0; tile < TILES; tile++) {
            const int columns = columns_of(tile);
            const Result c(g, maps, item, tile, columns);
            Stored *const out = (Stored *)(shared_memory + AT_C + c.head());
            // C of the tile before has to leave before its place is written: now, or when A and B are in theirs.
            if (threadIdx.x == 0 && (SHARED_PLACE || BETA != 0)) bulk_read<0>();
            if (SHARED_PLACE) workers_sync();
            if (BETA != 0 && threadIdx.x == 0) c.come(ring.barrier(STAGES));
            if (DIRECT) {
                a = (const Stored *)ring.whole();
                b = a + OperandA::BYTES / SIZE;
            } else {
                if (tile == 0)
                    _Pragma("unroll 1") for (int piece = 0; piece < OperandA::PIECES; piece++)
                        ring.place<OperandA>(item, tile, piece, (Stored *)a);
                _Pragma("unroll 1") for (int piece = 0; piece < pieces_of(tile); piece++)
                    ring.place<OperandB>(item, tile, piece, (Stored *)b);
            }
            if (threadIdx.x == 0 && !SHARED_PLACE && BETA == 0) bulk_read<0>();
            workers_sync();  // A and B are there
            if (BETA != 0) barrier_wait(ring.barrier(STAGES), parity_c);
            parity_c ^= 1;
            _Pragma("unroll 1") for (int turn = 0; turn < TURNS; turn++) {
                const int part = turn * WARPS + warp, first_m = part % PARTS_M * ROWS, first_n = part / PARTS_M * COLUMNS;
                const bool any = PARTS % WARPS == 0 || part < PARTS;
                Sums sum;
                __syncwarp();  // lanes may leave a wait apart
                if (any && !PAIRS) multiply(sum, a, b, first_m, first_n);
                if constexpr (PAIRS)
                    if (any) multiply_pairs(sum, a, b, first_m, first_n, g.alpha);
                if (SHARED_PLACE) workers_sync();  // A and B have been read
                if (any) {
                    if constexpr (OUTSIDE > 0) keep_words(sum, out, first_m, first_n, columns, scalars);
                    else keep(sum, out, first_m, first_n, columns, scalars);
                }
            }
            if (DIRECT) ring.been_read();
            async_fence();
            workers_sync();  // C is complete, and A and B may change
            if (warp == 0) c.go((unsigned char *)out);
        }
    if (threadIdx.x == 0) bulk_read<0>();
}

#if BOXED_A || BOXED_B || BOXED_C
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
whole(const __grid_constant__ Gemm g, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
      const __grid_constant__ TensorMap map_c) {
    multiply_all(g, Maps{&map_a, &map_b, &map_c});
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) whole(const __grid_constant__ Gemm g) { multiply_all(g, Maps{}); }
#endif
