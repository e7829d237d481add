// What is where in shared memory: the ring of slices, columns of results on their way, the table of groups, and barriers.
#pragma once

#include "lib/box.cuh"
#include "lib/slices.cuh"

constexpr int BLK_M = TILE_M, BLK_N = TILE_N;                // as the scheduler of `segments` calls them
constexpr int MULTIPLYING = TILE_M / 16;                     // warps that multiply
// One more loads, with three beside it that turn complex halves, or wait: registers are given away by groups of four.
constexpr int WARPS = MULTIPLYING + (COMPLEX ? 4 : 1), THREADS = 32 * WARPS, TURNERS = 3;
constexpr bool TURNED = COMPLEX && !B_ALONG;                 // whether B is turned in shared memory
// Registers of a thread as the kernel begins, and then of one that loads or turns and of one that multiplies; where one block is
// alone with one warp group that multiplies, all begin with what they may have.
constexpr int BEGUN = (65536 / (THREADS * BLOCKS) < 248 ? 65536 / (THREADS * BLOCKS) : 248) / 8 * 8;
constexpr int FEW = TURNED ? 72 : 40, LEFT = ((TILE_M / 64 + 1) * BEGUN - FEW) / (TILE_M / 64) / 8 * 8, MANY = LEFT < 240 ? LEFT : 240;
constexpr bool GIVES = BEGUN < MANY;
constexpr int OF_BOX = SLICE * LINE;                         // bytes of a box of a slice along k and across it
constexpr int BOXES_M = TILE_M / SLICE, BOXES_N = (TILE_N + SLICE - 1) / SLICE;
constexpr int OF_A = BOXES_M * OF_BOX, OF_B = B_ALONG ? TILE_N * LINE : BOXES_N * OF_BOX, STAGE = OF_A + OF_B;
// Of a warp group's results, so many columns are made while others are on their way: boxes of lines, swizzled.
constexpr int OUT_COLUMNS = !COMPLEX && TILE_N % 64 == 0 ? 64 : TILE_N % 32 == 0 ? 32 : 16, PLACES = 2;
constexpr int OF_OUT = OUT_COLUMNS * LINE, OUTS = 64 / SLICE, OUT = OUTS * OF_OUT;  // bytes of a box, boxes of 64 rows, bytes of all
constexpr int AT_OUT = STAGES * STAGE, AT_BARRIERS = AT_OUT + TILE_M / 64 * PLACES * OUT, AT_TABLE = AT_BARRIERS + (TURNED ? 24 : 16) * STAGES;
static_assert(STAGE % 1024 == 0 && OUT % 1024 == 0, "swizzle: boxes begin at multiples of 1024 bytes");

// Barriers: a slice has come, has been read, and is turned.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }
INLINE unsigned int turned_barrier(int slot) { return barrier(2 * STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), MULTIPLYING);
        if (TURNED) barrier_start_for(turned_barrier(i), TURNERS);
    }
    barriers_started();
}
