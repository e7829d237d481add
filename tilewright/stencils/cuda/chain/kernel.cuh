// chain: C = op(X1) * op(X2) [* op(X3)] [+ op(Q)] for large batches of matrices of up to 32 rows and columns.
//
// A chain of products that are called one by one writes the product in between to device memory and reads it again,
// and reads a matrix twice that stands in it twice (F P F^T). Here the product in between stays in shared memory, and
// every distinct operand passes device memory once. As in I. Masliah et al., "Algorithms and optimization techniques
// for high-performance matrix-matrix multiplications of very small matrices" (2018), section 7, a block computes all of
// several matrices and sizes are constants of the compiler.
//
//   device memory   F |0 1 2 3|4 5 6 7|...|   P |0 1 2 3|4 5 6 7|...|   Q |0 1 2 3|...   GROUP matrices at a time
//                         |                         |                       |
//   shared memory     stage 0 [F | P | Q]     stage 1 [F | P | Q] ...                    STAGES of them on their way
//                         |
//   registers         a thread: ROWS x COLUMNS of the first product, F * P
//                         |
//   shared memory     T of the group                                                     nobody else ever sees it
//                         |
//   registers         a thread: ROWS x COLUMNS of the second product, T * F^T + Q
//                         |
//   shared memory     C of the group
//                         |
//   device memory   C |0 1 2 3|...
//
// FIRST says which product is made first: (X1 X2) X3 or X1 (X2 X3). With two factors there is no T. Sums of 16-bit types
// are float32, and so is their T: a result is rounded once. On tensor cores (MMA) T stays in the registers of a warp.
//
// PATH  2  bulk copies (sm_90) by one thread: operands without gaps, on addresses that are multiples of 16.
//          The last matrices, a group at most, are copied by vectors.
//       1  vectors of 2 to 16 bytes (cp.async, sm_80) by all threads: any leading dimensions, gaps and addresses.
// An operand that the whole batch shares is copied once. Persistent blocks walk over the groups, so any grid is right.
//
// The parts, in this folder: pipeline_*.cuh (a path each), copy.cuh (groups to and from shared memory by all threads),
// multiply_*.cuh (the products of a group), layout.cuh (shared memory).
#include "lib/bulk.cuh"

// What the kernel is called with. Addresses of the operands' first matrices, leading dimensions and batch strides in
// elements; those of operands that there are not are never used.
struct Chain {
    const void *in_0, *in_1, *in_2, *in_3;
    void *out;
    long long ld_0, ld_1, ld_2, ld_3, stride_0, stride_1, stride_2, stride_3, ld_out, stride_out;
    int batch;
};

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef FACTORS
#define FACTORS 3  // 2 or 3
#endif
#ifndef FIRST
#define FIRST 0  // of three factors: 0 makes X1 X2 first, 1 makes X2 X3 first
#endif
#ifndef SIZE_M
#define SIZE_M 8  // rows of C
#endif
#ifndef SIZE_K
#define SIZE_K 8  // columns of op(X1)
#endif
#ifndef SIZE_L
#define SIZE_L 8  // columns of op(X2), if there are three factors
#endif
#ifndef SIZE_N
#define SIZE_N 8  // columns of C
#endif
#ifndef ALIGN
#define ALIGN 16  // bytes that divide the addresses of all operands
#endif
#ifndef INPUTS
#define INPUTS 3  // distinct operands that are read, of which the following speak by number
#endif
#ifndef IN_1
#define IN_1 0  // which of them X1 is
#endif
#ifndef TRANS_1
#define TRANS_1 0  // whether X1 is its transpose
#endif
#ifndef CONJ_1
#define CONJ_1 0  // whether X1 is its conjugate
#endif
#ifndef IN_2
#define IN_2 1  // X2, the same
#endif
#ifndef TRANS_2
#define TRANS_2 0
#endif
#ifndef CONJ_2
#define CONJ_2 0
#endif
#ifndef IN_3
#define IN_3 0  // X3, the same
#endif
#ifndef TRANS_3
#define TRANS_3 1
#endif
#ifndef CONJ_3
#define CONJ_3 0
#endif
#ifndef IN_ADD
#define IN_ADD 2  // Q, the same; -1: nothing is added
#endif
#ifndef TRANS_ADD
#define TRANS_ADD 0
#endif
#ifndef CONJ_ADD
#define CONJ_ADD 0
#endif
#ifndef ROWS_IN
#define ROWS_IN 8, 8, 8, 1  // rows of the operands as they are stored, column-major
#endif
#ifndef COLUMNS_IN
#define COLUMNS_IN 8, 8, 8, 1  // columns of the operands as they are stored
#endif
#ifndef ONCE_IN
#define ONCE_IN 0, 0, 0, 1  // whether the whole batch shares one matrix
#endif
#ifndef PACKED_IN
#define PACKED_IN 1, 1, 1, 1  // whether there are no gaps between columns and matrices
#endif
#ifndef UNIT_IN
#define UNIT_IN 16, 16, 16, 16  // bytes, at most 16, that divide the address of every column (PACKED: matrix)
#endif
#ifndef PACKED_OUT
#define PACKED_OUT 1  // the same of C
#endif
#ifndef UNIT_OUT
#define UNIT_OUT 16
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef PATH
#define PATH 2  // 1: copies by vectors (sm_80), 2: bulk copies (sm_90)
#endif
#ifndef MMA
#define MMA 0  // rows of C that a warp computes by tensor cores (8, 16 or 32), 0: by multiply-add units
#endif
#ifndef ROWS
#define ROWS 4  // rows of a product that a thread computes, at most
#endif
#ifndef COLUMNS
#define COLUMNS 4  // columns of a product that a thread computes, at most
#endif
#ifndef WARPS
#define WARPS 4  // warps of a block
#endif
#ifndef GROUP
#define GROUP 8  // matrices of a stage
#endif
#ifndef STAGES
#define STAGES 2  // groups in shared memory, all but one of them on their way
#endif
#ifndef IN_PLACE
#define IN_PLACE 0  // 1: results take the place of what is added, in shared memory
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/sync.cuh"
#include "chain/layout.cuh"

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(ALIGN % SIZE == 0, "element: addresses are multiples of an element's bytes");
static_assert(PATH != 2 || streams(), "bulk-packed: bulk copies take operands without gaps");
static_assert(PATH != 2 || ALIGN == 16, "bulk-aligned: bulk copies begin at multiples of 16 bytes");
static_assert(PATH != 2 || whole_groups(), "bulk-whole: a group is a multiple of 16 bytes");
static_assert(MMA == 0 || TYPE_BITS == 64 || (TYPE_BITS == 16 && !COMPLEX),
              "mma-type: tensor cores multiply float64 and real numbers of 16 bits");
static_assert(MMA == 0 || MMA == 16 || MMA == (TYPE_BITS == 64 ? 8 : 32), "mma-rows: strips of 8 or 16 rows, of 16 bits 16 or 32");
static_assert(!IN_PLACE || placed(), "in-place: a Q of its own for every C, and as C lies");
static_assert(STAGES >= 2, "ring: one stage is multiplied while others are filled");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#if MMA
#include "chain/multiply_mma.cuh"
#else
#include "chain/multiply_fma.cuh"
#endif
#if PATH == 1
#include "chain/pipeline_cp_async.cuh"
#else
#include "chain/pipeline_bulk.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) chain(const __grid_constant__ Chain g) {
    multiply_batch(g);
}
