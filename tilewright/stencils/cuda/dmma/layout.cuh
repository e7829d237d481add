// What is where in shared memory: the ring of slices, and barriers.
//
// An operand's part of a slice is one block, or two, of one line for each of its rows (of B: columns) in a tile. Along k a
// line is a row; across k it is UNIT rows at one k, and slabs of UNIT such lines follow each other. Either way so many
// rows take as many lines, and 8 lines are 1024 bytes.
#pragma once

#include "lib/multicast.cuh"
#include "lib/ring.cuh"

constexpr int THREADS = 32 * WARPS + 128;                   // the last warp group loads
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;              // blocks that share what comes of one operand
constexpr int BLOCKS = DEPTH / UNIT;                        // along k of a slice
constexpr int BLOCK_A = TILE_M * LINE, BLOCK_B = TILE_N * LINE;
constexpr int OF_A = BLOCKS * BLOCK_A, OF_B = BLOCKS * BLOCK_B, STAGE = OF_A + OF_B;
constexpr int LOADERS = (LOOSE ? 128 : 0) + !(LOOSE_A && LOOSE_B);  // threads that say that theirs of a slice is there
constexpr int READERS = CLUSTER * WARPS;                    // warps that read a slice

// Barriers: a slice has come, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + STAGES * STAGE) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start_for(come_barrier(i), LOADERS);
        barrier_start_for(gone_barrier(i), READERS);
    }
    barriers_started();
}
