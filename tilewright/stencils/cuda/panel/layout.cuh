// Where tiles lie in shared memory: leading dimensions, and the parts of it. tiny/multiply_*.cuh read these names.
#pragma once

#include "lib/sizes.cuh"

// With BULK some warps ask for tiles, and as many others write those results that do not leave from registers.
constexpr int MOVING = 32 * MOVERS;                                                             // threads of either kind
constexpr int WORKERS = 32 * WARPS, THREADS = WORKERS + (!BULK ? 0 : DIRECT ? 1 : 2) * MOVING;  // those that multiply, and all

// The product of one tile.
constexpr int SIZE_M = LONG_M ? TILE : SHORT, SIZE_N = LONG_M ? SHORT : TILE;
constexpr bool ALONG = LONG_M ? !TRANS_A : TRANS_B;  // whether neighbours in memory are neighbours along the panel

// Columns as they are stored. With BULK those along the panel keep their place in words of 16 bytes; else one word more
// keeps those that are multiples of 32 bytes out of each other's banks.
CONSTANT int apart(int rows) { return rows + (rows * SIZE % 32 == 0 ? WORD : 0); }
CONSTANT int lengthwise() { return TILE + (MMA || BULK ? WORD : 0); }
constexpr int SMALL_ROWS = LONG_M ? (TRANS_B ? SHORT : SIZE_K) : (TRANS_A ? SIZE_K : SHORT);
constexpr int SMALL_COLS = LONG_M ? (TRANS_B ? SIZE_K : SHORT) : (TRANS_A ? SHORT : SIZE_K);
constexpr int LD_PANEL = ALONG ? lengthwise() : BULK ? SIZE_K : apart(SIZE_K);
constexpr int LD_SMALL = MMA && (SHARED || !BULK) ? apart(SMALL_ROWS) : SMALL_ROWS;
constexpr int LD_C = LONG_M ? lengthwise() : BULK ? SHORT : apart(SHORT);
constexpr int LD_A = LONG_M ? LD_PANEL : LD_SMALL, LD_B = LONG_M ? LD_SMALL : LD_PANEL;

// Streams: bytes that follow each other in memory and in shared memory alike. They keep their place in words of 16
// bytes, so they begin where a multiple of UNIT bytes is.
constexpr bool PANEL_STREAMS = !ALONG && STREAM && LD_PANEL == SIZE_K;
constexpr bool C_STREAMS = !LONG_M && STREAM_C && LD_C == SHORT;
constexpr int UNIT_PANEL = LONG_M ? UNIT_A : UNIT_B, UNIT_SMALL = LONG_M ? UNIT_B : UNIT_A;
// Elements that divide where operands begin in shared memory.
CONSTANT int start(bool placed, int unit) { return placed ? unit / SIZE : 128; }
constexpr int START_PANEL = start(BULK || PANEL_STREAMS, UNIT_PANEL), START_C = start(BULK || C_STREAMS, UNIT_C);
constexpr int START_SMALL = start(!SHARED && BULK, UNIT_SMALL);
constexpr int APART_A = LONG_M ? START_PANEL : START_SMALL, APART_B = LONG_M ? START_SMALL : START_PANEL, APART_C = START_C;
#if MMA
// Whether all columns in shared memory begin at multiples of two elements.
constexpr bool EVEN_A = LD_A % 2 == 0 && APART_A % 2 == 0, EVEN_B = LD_B % 2 == 0 && APART_B % 2 == 0;
constexpr bool EVEN_C = LD_C % 2 == 0 && APART_C % 2 == 0;
constexpr int TURN = 0;  // lanes ask for all of a fragment in one order
#endif

// Shared memory: barriers, a small operand of the whole batch, the ring, and results on their way out. What keeps its
// place in words has a word more.
constexpr int BYTES_PANEL = padded(LD_PANEL * (ALONG ? SIZE_K : TILE) * SIZE + 16);
constexpr int BYTES_SMALL = padded(LD_SMALL * SMALL_COLS * SIZE + 16);
constexpr int BYTES_C = padded(LD_C * (LONG_M ? SHORT : TILE) * SIZE + 16);
// Barriers: of both ends of a stage, and of the buffers of results. Which tiles these hold comes behind them.
constexpr int AT_WHICH = 8 * (2 * STAGES + 2);
constexpr int AT_SMALL = BULK ? padded(AT_WHICH + 8 * (STAGES + 2)) : 0;
constexpr int AT_RING = AT_SMALL + (SHARED ? BYTES_SMALL : 0);
constexpr int STAGE_SMALL = BYTES_PANEL, STAGE_C = STAGE_SMALL + (SHARED ? 0 : BYTES_SMALL);
constexpr int STAGE = STAGE_C + (BETA ? BYTES_C : 0);
constexpr int AT_OUT = AT_RING + STAGES * STAGE;
constexpr int AT_PACKED = AT_OUT + (DIRECT ? 0 : BULK ? 2 : BETA ? 0 : 1) * BYTES_C;
constexpr int BYTES_PACKED = SIZE_K * ceiling(SHORT, (LONG_M ? COLUMNS : ROWS)) * ceiling((LONG_M ? COLUMNS : ROWS) * (int)sizeof(Element), 16) * 16;

constexpr int TILES_M = ceiling(SIZE_M, ROWS), TILES = TILES_M * ceiling(SIZE_N, COLUMNS);
constexpr int SLOTS = MMA ? WARPS : WORKERS;  // workers that compute a part of the tile each: warps or threads

// The threads that load wait for each other.
INLINE void loaders_sync() {
    if (MOVERS == 1) __syncwarp();
    else asm volatile("bar.sync 2, %0;" ::"n"(MOVING) : "memory");
}

// The threads that multiply wait for each other.
INLINE void workers_sync() {
    if (WARPS == 1) __syncwarp();
    else asm volatile("bar.sync 1, %0;" ::"n"(WORKERS) : "memory");
}
