/* What the tables of a library hold, and what its functions share. Not for users. */
#ifndef TILEWRIGHT_KERNELS_RUNTIME_H
#define TILEWRIGHT_KERNELS_RUNTIME_H

#include <stdint.h>

#include "tilewright_kernels.h"

#define TW_HIDDEN __attribute__((visibility("hidden")))

/* The one signature of all kernels of processors: strides in elements, scalars alpha and beta as (re, im), of
 * double for the types d and z and else of float. By the C convention of the platform's ABI. */
typedef void tw_cpu_kernel(const void *a, const void *b, void *c, int64_t stride_a, int64_t stride_b,
                           int64_t stride_c, int64_t count, const void *scalars);

/* Classes of the scalars, which kernels are compiled for. */
enum { TW_ONE_ZERO, TW_ONE_ONE, TW_ANY_ZERO, TW_ANY_ANY, TW_CLASSES };

/* The kernels of one problem: by whether the batch is packed or not, by whether it is in the caches or in
 * memory, and by the class of the scalars. */
typedef struct tw_cpu_rules {
    tw_cpu_kernel *kernel[2][2][TW_CLASSES];
} tw_cpu_rules;

/* One instruction set: whether this processor has it, the bytes up to which a batch is in its caches, and the
 * kernels of each problem. The table goes from the best to the last, which has no name. */
typedef struct tw_cpu_isa {
    const char *name;
    int (*here)(void);
    double cached;
    const tw_cpu_rules *rules;
} tw_cpu_isa;

extern TW_HIDDEN const tw_cpu_isa tw_cpu_isas[];

/* alpha and beta as numbers, and their class. */
typedef struct tw_scalars {
    double value[4];
    int class_;
} tw_scalars;

TW_HIDDEN int tw_read_scalars(const tw_problem *problem, const void *alpha, const void *beta,
                              tw_scalars *read);

/* How long this process's scalable vectors are in bytes; 0 where there are none. */
TW_HIDDEN int tw_vector_bytes(void);

/* How long this process's vectors are in the streaming mode of SME, in bytes; 0 where there is none, or where
   its outer products are none of doubles. */
TW_HIDDEN int tw_streaming_bytes(void);

/* Whether an ARM processor has complex multiply-adds, FCMLA. */
TW_HIDDEN int tw_has_fcma(void);

/* Bytes of an element. */
TW_HIDDEN ptrdiff_t tw_size(const tw_problem *problem);

#endif
