// What is where in shared memory: the ring of slices of planes, barriers, and the numbers of pieces.
#pragma once

#include "lib/box.cuh"
#include "lib/slices.cuh"

// Counters of a launch, which begin with 0, in front of the workspace: pieces that somebody splits, and that are split.
struct Counters {
    unsigned int begun, done;
};
constexpr int IN_FRONT = 128;  // bytes of them

// What the kernel is called with beside the tensor maps. Of complex numbers `n` and `k` are those of the real product (split.cuh), and
// `lda`, `ldb` and `ldc` count complex numbers. `band`: tiles that a band has along n. `to_a`, `to_b`: where planes lie in
// the workspace, in bytes. `pieces`: of both operands, the first `pieces_a` of A.
struct Product {
    const float *a, *b;
    float *c;
    long long lda, ldb, ldc, to_a, to_b;
    int m, n, k, band;
    unsigned int pieces_a, pieces;
    double alpha[2], beta[2];
};

constexpr int GROUPS = 2, WARPS = 4 * GROUPS, THREADS = 128 * (GROUPS + 1);  // warp groups that multiply; one more loads
constexpr int OF_A = TILE_M * LINE, OF_B = TILE_N * LINE, STAGE = OF_A + OF_B;
constexpr int AT_BARRIERS = STAGES * STAGE, AT_PIECE = AT_BARRIERS + 8 * 2 * STAGES;

// Barriers: a slice of a plane has come, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), WARPS);
    }
    barriers_started();
}
