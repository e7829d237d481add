// What is where in shared memory: the ring of slices, columns of results on their way, the table of groups, and barriers.
#pragma once

#include "lib/box.cuh"
#include "lib/slices.cuh"

constexpr int BLK_M = TILE_M, BLK_N = TILE_N;                // as the scheduler of `segments` calls them
constexpr int MULTIPLYING = TILE_M / 16;                     // warps that multiply
constexpr int WARPS = MULTIPLYING + 1, THREADS = 32 * WARPS; // one more loads
constexpr int BOXES_M = TILE_M / 64, BOXES_N = (TILE_N + 63) / 64;
constexpr int OF_A = BOXES_M * BOX, OF_B = B_ALONG ? TILE_N * LINE : BOXES_N * BOX, STAGE = OF_A + OF_B;
// Of a warp group's results, so many columns are made while others are on their way: lines of 64 rows, swizzled as boxes are.
constexpr int OUT_COLUMNS = TILE_N % 64 == 0 ? 64 : TILE_N % 32 == 0 ? 32 : 16, PLACES = 2;
constexpr int OUT = OUT_COLUMNS * LINE;
constexpr int AT_OUT = STAGES * STAGE, AT_BARRIERS = AT_OUT + BOXES_M * PLACES * OUT, AT_TABLE = AT_BARRIERS + 16 * STAGES;
static_assert(STAGE % 1024 == 0 && OUT % 1024 == 0, "swizzle: boxes begin at multiples of 1024 bytes");

// Barriers: a slice has come, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), MULTIPLYING);
    }
    barriers_started();
}
