// What is where in shared memory: the ring of slices, each lines of A at one k after the other and then those of B; and barriers.
// Of an operand that is turned there a slice is boxes of 32 lines of 128 bytes, one for each k, whose 16 bytes i lie at position
// i ^ k % 8; before it is turned a line is what one row (of B: column) has along k.
#pragma once

#include "lib/box.cuh"
#include "lib/ring.cuh"

// Operands that are packed, how many bytes of the workspace are in front of what is packed of them and of parts of complex tiles,
// and how many numbers a plane has.
struct Packs {
    const Stored *a, *b;
    long long lda, ldb, at_a, at_b, at_kept, plane_a, plane_b;
};

// The sums of a thread, and one after the other.
typedef float Number;
typedef float Sums[ROWS][COLUMNS];
constexpr int IN_FRONT = 128;  // bytes of the workspace before flags: whose turn it is to pack
constexpr int SUMMED = ROWS * COLUMNS;
INLINE Number &number_of(Sums &sum, int i) { return sum[i % ROWS][i / ROWS]; }

constexpr int THREADS = 32 * WARPS + 128;  // the last warp group loads
constexpr int OF_A = DEPTH * TILE_M * 4, STAGE = OF_A + DEPTH * TILE_N * 4;
constexpr int LINE_A = TURN_A ? 128 : TILE_M * 4, LINE_B = TURN_B ? 128 : TILE_N * 4;  // bytes from one k to the next
constexpr int TURNERS = 3;                                                            // warps that turn

// Barriers: a slice has come, has been read, and has been turned.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + STAGES * STAGE) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }
INLINE unsigned int turned_barrier(int slot) { return barrier(2 * STAGES + slot); }

// Of a warp that says what it has done, one lane arrives behind a __syncwarp; each lane where a checker of races runs the kernel,
// which follows a barrier's arrivals and does not see what a __syncwarp orders.
#ifndef EACH_LANE
#define EACH_LANE 0
#endif
constexpr int ARRIVALS = EACH_LANE ? 32 : 1;
INLINE void done(unsigned int number, int lane) {
    if (EACH_LANE || lane == 0) barrier_expect(number, 0);
}

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), WARPS * ARRIVALS);
        if (TURN_A || TURN_B) barrier_start_for(turned_barrier(i), TURNERS * ARRIVALS);
    }
    barriers_started();
}
