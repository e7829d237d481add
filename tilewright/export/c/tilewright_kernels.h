/* Products of small matrices, C = alpha op(A) op(B) + beta C, for each matrix of a batch.
 *
 * Matrices are column-major and without gaps between their columns; op is as a problem's letters say: n as
 * stored, t transposed, c conjugate transposed, j conjugated. Elements are float (type s), double (d), and
 * pairs (re, im) of them (c, z), which is how C's and C++'s complex numbers lie; or numbers of 16 bits by
 * their bits: float16 of IEEE 754 (h), bfloat16 (b) and pairs of float16 (hc), which are summed in float and
 * rounded once, to the nearest and of two to the even one. Strides count elements from one matrix to the
 * next; a stride of 0 is an A or B that the whole batch shares. Addresses need no alignment beyond their
 * elements'.
 *
 * alpha and beta are of the type of the elements; with h and b they are float, with hc tw_complex64.
 *
 * C is not read where beta is 0. C must not overlap A or B, and no two C's may overlap.
 *
 * Every function returns a status and nothing else: none exits, prints, allocates, takes a lock or waits,
 * but where that is said. Those of the processor may be called by many threads at once, each on a part of
 * a batch. */
#ifndef TILEWRIGHT_KERNELS_H
#define TILEWRIGHT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_status {
    TW_OK = 0,
    TW_BAD_ARGUMENT = 1,    /* a null address, a batch or stride out of range, or a C that products share */
    TW_UNSUPPORTED = 2,     /* no kernel of this library runs on this processor or GPU */
    TW_NO_DRIVER = 3,       /* the CUDA driver's library cannot be loaded */
    TW_NO_CONTEXT = 4,      /* no CUDA context is current */
    TW_NOT_LOADED = 5,      /* tw_cuda_load was not called in the current context */
    TW_BUSY = 6,            /* another thread is within tw_cuda_load or tw_cuda_unload */
    TW_FULL = 7,            /* more contexts than a process may load into */
    TW_DRIVER = 1000        /* and above: a CUresult of the driver, added to this */
};

/* What a status says, in a few words. */
const char *tw_status_text(int status);

typedef struct tw_complex64 { float re, im; } tw_complex64;
typedef struct tw_complex128 { double re, im; } tw_complex128;
typedef uint16_t tw_float16;
typedef uint16_t tw_bfloat16;
typedef struct tw_complex32 { tw_float16 re, im; } tw_complex32;

/* Numbers of 16 bits and float; to 16 bits with one rounding, as results are rounded. */
float tw_from_float16(tw_float16 bits);
tw_float16 tw_to_float16(float value);
float tw_from_bfloat16(tw_bfloat16 bits);
tw_bfloat16 tw_to_bfloat16(float value);

/* Addresses of a compiler's own numbers of 16 bits as addresses of those above, where it has such types; what
 * points to anything else is refused. */
#ifdef __FLT16_MAX__
#define TW_FLOAT16_BITS(x) ((tw_float16 *)(1 ? (x) : __extension__(_Float16 *)0))
#endif
#ifdef __BFLT16_MAX__
#define TW_BFLOAT16_BITS(x) ((tw_bfloat16 *)(1 ? (x) : __extension__(__bf16 *)0))
#endif

/* A problem that this library has kernels for. */
typedef struct tw_problem {
    const char *name;       /* as the command spells it: d:nn:8x8x8 */
    char type;              /* s, d, c, z, h, b; x: hc */
    char trans_a, trans_b;  /* n, t, c, j */
    int m, n, k;            /* C is m x n, op(A) m x k, op(B) k x n */
    int index;              /* in tw_problems */
} tw_problem;

extern const tw_problem tw_problems[];
extern const int tw_problem_count;

/* Which instruction set runs here: "avx512", "avx2", ...; "" where none does. */
const char *tw_cpu(void);

/* One batch of a list: as the arguments of tw_gemm. */
typedef struct tw_group {
    const tw_problem *problem;
    size_t count;
    const void *alpha;      /* one scalar; null: 1 */
    const void *a;
    ptrdiff_t stride_a;
    const void *b;
    ptrdiff_t stride_b;
    const void *beta;       /* one scalar; null: 0 */
    void *c;
    ptrdiff_t stride_c;
} tw_group;

/* A problem by its value, on evenly spaced matrices. alpha and beta: addresses of one scalar; null: 1 and
 * 0. */
int tw_gemm(const tw_problem *problem, size_t count, const void *alpha, const void *a, ptrdiff_t stride_a,
            const void *b, ptrdiff_t stride_b, const void *beta, void *c, ptrdiff_t stride_c);
/* The same on matrices that lie anywhere: a, b and c are arrays of count addresses. */
int tw_gemm_pointers(const tw_problem *problem, size_t count, const void *alpha, const void *const *a,
                     const void *const *b, const void *beta, void *const *c);
/* A list of batches, of any problems of this library. What is wrong with one is said before any is begun. */
int tw_gemm_grouped(const tw_group *groups, size_t count);

/*@CUDA@*/

/*@PROBLEMS@*/

#ifdef __cplusplus
}
#endif

#endif
