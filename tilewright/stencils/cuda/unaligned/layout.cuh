// What is where in shared memory: the ring of slices, columns of C on their way, barriers, and the numbers of pieces.
#pragma once

#include "lib/box.cuh"
#include "lib/slices.cuh"

// Counters of a launch, which begin with 0: pieces that somebody copies, and that are copied.
struct Counters {
    unsigned int begun, done;
};

// What the kernel is called with beside the tensor maps. `band`: tiles that a band has along n. `to_a`, `to_b`: where copies
// lie in the workspace, in bytes; parts have WORDS words of 16 bytes each, and a piece so many parts `together`.
struct Product {
    const Stored *a, *b;
    Stored *c;
    unsigned char *space;
    long long lda, ldb, ldc, to_a, to_b;
    int m, n, k, band;
    unsigned int parts_a, parts_b, together;
    double alpha[2], beta[2];
};

constexpr int GROUPS = 2, THREADS = 128 * (GROUPS + 1);  // warp groups that multiply; one more loads
constexpr int OF_A = TILE_M * LINE, OF_B = TILE_N * LINE, STAGE = OF_A + OF_B;

// Eight columns of C of each warp behind the ring, as long as a tile, so that they begin in different banks.
constexpr int OUT_PITCH = TILE_M + 8, OUT = 8 * OUT_PITCH * SIZE;
constexpr int AT_OUT = STAGES * STAGE, AT_BARRIERS = AT_OUT + 4 * GROUPS * OUT, AT_PIECE = AT_BARRIERS + 8 * 2 * STAGES;

// Barriers: a slice has come, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), 4 * GROUPS);
    }
    barriers_started();
}
