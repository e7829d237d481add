// single: C = alpha * op(A) * op(B) + beta * C for batches of products of which a multiprocessor has room for a few: extents of
// some 33 to 100, without gaps.
//
// A block has one product at a time, all of it in shared memory. Matrices come and go by bulk copies, which take no register,
// address or instruction of the threads that multiply, whatever the sizes and addresses are. The block waits for them; other
// blocks of the same multiprocessor multiply meanwhile, so that their rooms are together what a ring would be:
//
//   device memory     A B C of one product               the next one of this block
//                       |  bulk copies (sm_90)             |
//   shared memory     A | B | C if it is read            once C has left: the same place
//                       |
//   registers         a thread: ROWS x COLUMNS of C (float64: a warp, by tensor cores)
//                       |
//   shared memory     C (in the place of A, if it is not read)
//                       |  a bulk copy, and single elements before and behind whole vectors of 16 bytes
//   device memory     C
//
// The parts: layout.cuh (shared memory), matrix.cuh (what comes and goes), multiply_fma.cuh and multiply_mma.cuh (a part of C),
// with the multipliers of middle.
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
#define DEEP 1  // k of one read of an operand that is stored along k (without MMA)
#endif
#ifndef EARLY
#define EARLY 0  // 1: C has a place of its own, and the next A and B come before this C is written (where C is not read)
#endif
#ifndef BLOCKS
#define BLOCKS 4  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "single/layout.cuh"
#include "lib/sync.cuh"

static_assert(TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 32 or 64 bits");
static_assert(DEEP * SIZE <= 16, "deep: a read is a vector of 16 bytes at most");
static_assert(DEEP == 1 || (!MMA && (TRANS_A || !TRANS_B)), "deep-along: reads of several k are of what lies along k");
static_assert(DEEP == 1 || ((!TRANS_A || UNIT_A % (DEEP * SIZE) == 0) && (TRANS_B || UNIT_B % (DEEP * SIZE) == 0)),
              "deep-aligned: a read of several k is an aligned vector");
static_assert((MMA == 0) == (TYPE_BITS == 32), "mma-type: float64 is multiplied by tensor cores, float32 is not");
static_assert(MMA == 0 || MMA == 8 || MMA == 16, "mma-rows: a tensor-core product of float64 has 8 or 16 rows");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "part: whole tensor-core products of 8 columns");
static_assert(!EARLY || !BETA, "early: a C that is read comes with A and B");
static_assert(THREADS <= 1024, "threads-per-block: a block has no more threads than the device allows");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#include "single/matrix.cuh"
#if MMA
#include "single/multiply_mma.cuh"
#else
#include "single/multiply_fma.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) single(const __grid_constant__ Gemm g) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    const unsigned int barrier = shared_address(shared_memory);
    if (threadIdx.x == 0) {
        barrier_start_for(barrier, 1 + RESTS);
        barriers_started();
    }
    block_sync();  // all threads know the barrier
    if (threadIdx.x == 0) Product(g, blockIdx.x).load(barrier);
    unsigned int parity = 0;
    _Pragma("unroll 1") for (int number = blockIdx.x; number < g.batch; number += (int)gridDim.x) {
        const Product product(g, number);
        barrier_wait(barrier, parity);
        parity ^= 1;
        Sums sums;
        sums.add((const Stored *)(shared_memory + AT_A + MatrixA::skew(product.a)),
                 (const Stored *)(shared_memory + AT_B + MatrixB::skew(product.b)));
        const bool others = number + (int)gridDim.x < g.batch;
        if (EARLY && threadIdx.x == 0) {
            bulk_read<0>();  // the last C has left
            async_fence();   // copies that were no bulk copies are overwritten
        }
        if (!BETA) block_sync();  // all threads have read A
        if (EARLY && others && threadIdx.x == 0) Product(g, number + (int)gridDim.x).load(barrier);
        sums.keep((Stored *)(shared_memory + AT_C + MatrixC::skew(product.c)), scalars);
        async_fence();
        block_sync();  // all threads have written C
        if (threadIdx.x < 32) {
            product.store();
            if (!EARLY && others && threadIdx.x == 0) Product(g, number + (int)gridDim.x).load(barrier);
        }
    }
    if (threadIdx.x == 0) bulk_read<0>();
}
