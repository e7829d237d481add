// The pipeline without staging (PATH 0): tiles are read from and written to device memory.
#pragma once

#include "tiny/group.cuh"

INLINE void multiply_batch(const Given &given, const Scalars &scalars) {
    const Gemm &g = gemm_of(given);
    const int blocks = gridDim.x;
    const int groups = g.batch / GROUP + (g.batch % GROUP != 0);
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        const int first = (int)group * GROUP;
        multiply_in_place<ROWS, COLUMNS>(given, first, min(GROUP, g.batch - first), threadIdx.x, THREADS, scalars);
    }
}
