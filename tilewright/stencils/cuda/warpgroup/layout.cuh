// What is where in shared memory: the ring of slices, boxes of results on their way, and barriers.
#pragma once

#include "lib/meet.cuh"
#include "lib/multicast.cuh"
#include "lib/slices.cuh"

// What the kernel is called with beside the tensor maps. `band`: tiles of clusters that a band has along n; `clipped`: bytes of a
// slice that do not come, because no tile has what would be there inside of an operand.
struct Product {
    Stored *c;
    long long ldc;
    int m, n, k, band;
    double alpha[2], beta[2];
    int clipped;
};

constexpr int GROUPS = 2, THREADS = 128 * (GROUPS + 1);     // warp groups that multiply; one more loads
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;              // blocks that share what comes of one operand
constexpr int OF_A = TILE_M * LINE, OF_B = TILE_N * LINE, STAGE = OF_A + OF_B;
constexpr int LOADERS = (LOOSE ? 128 : 0) + !(LOOSE_A && LOOSE_B);  // threads that say that theirs of a slice is there
constexpr int READERS = CLUSTER * (PING_PONG ? 4 : 4 * GROUPS);  // warps that read a slice
// Places of boxes of C, or of sums of CLUSTER_K blocks.
constexpr int JOINED = CLUSTER_K > 1 ? TILE_M * TILE_N * 4 / (PING_PONG ? 1 : GROUPS) : 0, OF_OUT = OUTS * BOX > JOINED ? OUTS * BOX : JOINED;
constexpr int AT_OUT = STAGES * STAGE, AT_BARRIERS = AT_OUT + GROUPS * OF_OUT;

// Products of 64 rows of tensor cores that a group makes of a slice: those of real parts, then those of imaginary ones.
constexpr int STACKS = GROUP_ROWS / 64 * (COMPLEX ? 2 : 1);
typedef float Sums[STACKS][WIDTH / 2];
constexpr int SUMS = STACKS * WIDTH / 2, HELD = SUMS / CLUSTER_K;  // of a thread, and those that it has where all blocks are added

// Of 32 bits, what runs across k is turned by the warps of the group that loads which do not.
constexpr bool TURN_A = SIZE == 4 && !A_ALONG && LANES != 2, TURN_B = SIZE == 4 && !B_ALONG && LANES != 1;
constexpr bool TURNED = TURN_A || TURN_B;
constexpr int TURNERS = 3;  // warps

// Barriers: a slice has come, and has been read; a box of C has come, where C is read, or sums of all blocks of a cluster have;
// a slice is turned.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }
INLINE unsigned int old_barrier(int group, int place) { return barrier(2 * STAGES + group * OUTS + place); }
INLINE unsigned int joined_barrier(int group) { return old_barrier(group, 0); }
INLINE unsigned int turned_barrier(int slot) { return barrier(2 * STAGES + GROUPS * OUTS + slot); }

// Of a warp that has written sums into other blocks one lane says so, when all have: those that follow are ordered by __syncwarp().
// The race checker, which orders only who arrives itself, is shown a kernel in which each lane does, and in which no block leaves
// while others may write into it.
#ifndef EACH_LANE
#define EACH_LANE 0
#endif
constexpr int TELLERS = EACH_LANE ? 32 : 1;

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start_for(come_barrier(i), LOADERS);
        barrier_start_for(gone_barrier(i), READERS);
        if (TURNED) barrier_start_for(turned_barrier(i), TURNERS);
    }
    if (CLUSTER_K > 1) UNROLL for (int i = 0; i < GROUPS; i++) barrier_start_for(joined_barrier(i), 4 * TELLERS * (CLUSTER_K - 1));
    else if (BETA != 0) UNROLL for (int i = 0; i < GROUPS * OUTS; i++) barrier_start(old_barrier(0, i));
    barriers_started();
}
