// What is where in shared memory: the ring of slices of planes, and barriers.
#pragma once

#include "lib/bulk.cuh"
#include "lib/slices.cuh"

constexpr int IN_FRONT = 0;  // there is no workspace

// What the kernel is called with. Of complex numbers `columns`, `n` and `k` are those of the real product (operands.cuh), and distances
// count complex numbers. The tiles of a batch are those of one matrix of `n` columns, of which each product has `across`, whole tiles;
// `columns` of these are there. `band`: tiles that a band has along n.
struct Product {
    const float *a, *b;
    float *c;
    long long lda, ldb, ldc, stride_a, stride_b, stride_c;
    int m, n, k, band, columns, across;
    double alpha[2], beta[2];
};

// Warp groups that multiply, their warps, and threads that split.
constexpr int GROUPS = 2, WARPS = 4 * GROUPS, SPLITTERS = 256, THREADS = 128 * GROUPS + SPLITTERS;
constexpr int OF_A = TILE_M * LINE, OF_B = TILE_N * LINE, STAGE = OF_A + OF_B;
constexpr int AT_BARRIERS = STAGES * STAGE;

// Barriers: a slice of a plane is there, for all warps that split, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start_for(come_barrier(i), SPLITTERS / 32);
        barrier_start_for(gone_barrier(i), WARPS);
    }
    barriers_started();
}
