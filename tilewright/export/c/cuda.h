/* What the tables of a library hold of GPUs. Not for users. */
#ifndef TILEWRIGHT_KERNELS_CUDA_H
#define TILEWRIGHT_KERNELS_CUDA_H

#include "runtime.h"

/* How matrices lie, which kernels are compiled for: packed and at multiples of 16 bytes, evenly spaced
 * anywhere, and where arrays of addresses say. */
enum { TW_PACKED, TW_APART, TW_POINTERS, TW_LAYOUTS };

/* The launch rule of one axis of the grid: min(most, max(least, ceil(count * times / each))) blocks. */
typedef struct tw_axis {
    int most, least, times, each;
} tw_axis;

/* A kernel: its image (machine code, or PTX that the driver compiles), its launch, and, where the most
 * blocks along x are a multiple of the multiprocessors that it was chosen for, how many those are (else
 * 0). */
typedef struct tw_cuda_kernel {
    const uint64_t *image;
    const char *entry;
    int block, shared, multiprocessors;
    tw_axis grid[3];
} tw_cuda_kernel;

/* Which kernel serves a problem, by layout and class of the scalars; -1: none does. */
typedef struct tw_cuda_rules {
    short kernel[TW_LAYOUTS][TW_CLASSES];
} tw_cuda_rules;

/* An architecture: which compute capabilities it serves (major * 10 + minor), and its kernels. The table
 * goes from the first that is asked to the last, which has no name. */
typedef struct tw_cuda_arch {
    const char *name;
    int from, to, count;
    const tw_cuda_kernel *kernels;
    const tw_cuda_rules *rules;
} tw_cuda_arch;

extern TW_HIDDEN const tw_cuda_arch tw_cuda_archs[];

/* Room for what is loaded: for each of so many contexts a module and a function of each kernel. */
enum { TW_CONTEXTS = 32 };
typedef struct tw_loaded {
    void *module, *function;
} tw_loaded;
extern TW_HIDDEN tw_loaded tw_cuda_room[];
extern TW_HIDDEN const int tw_cuda_most; /* kernels of the architecture that has most */

#endif
