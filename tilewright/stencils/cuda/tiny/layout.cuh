// Sizes: the vectors that divide them, the layout of matrices in shared memory, and the parts of shared memory.
#pragma once

#include "lib/sizes.cuh"

constexpr int THREADS = 32 * WARPS;

// Whether matrices are found one by one: by addresses of an array, or by the steps of several axes.
#define LISTED (POINTERS || OUTER)
// Whether they come by bulk copies of runs along the innermost of several axes.
#define PIECEWISE (OUTER && PATH == 2)

// Whether a thread has two neighbouring products of tiny matrices of 16 bits, which it reads by words.
#define PAIRS                                                                                            \
    (SEVERAL == 2 && TYPE_BITS == 16 && !COMPLEX && SIZE_M * SIZE_N * SIZE_K % 2 && SIZE_M * SIZE_K <= 16 && SIZE_K * SIZE_N <= 16 && \
     SIZE_M * SIZE_N <= 16)

// Matrices as they are stored, and in shared memory: leading dimensions, and elements from one matrix to the next.
constexpr int ROWS_A = TRANS_A ? SIZE_K : SIZE_M, COLS_A = TRANS_A ? SIZE_M : SIZE_K;
constexpr int ROWS_B = TRANS_B ? SIZE_N : SIZE_K, COLS_B = TRANS_B ? SIZE_K : SIZE_N;
CONSTANT int skewed(int rows) { return rows + (PAD ? vector(16, rows, rows) : 0); }
CONSTANT int between(int lead, int rows) { return PATH == 2 && lead ? lead : skewed(rows); }
CONSTANT int apart(int lead, int next, int packed) { return PATH == 2 && lead ? next : packed; }
constexpr int LD_A = between(LEAD_A, ROWS_A), LD_B = between(LEAD_B, ROWS_B), LD_C = between(LEAD_C, SIZE_M);
// Whether an operand is copied once, and how many matrices of it.
#define STAYS_A (SHARED_A || KEPT_A)
#define STAYS_B (SHARED_B || KEPT_B)
constexpr int STAYING_A = KEPT_A ? KEPT_A : 1, STAYING_B = KEPT_B ? KEPT_B : 1;
// Along several axes, whether what is copied as a whole (a run, or by words a matrix of A or B) begins or ends between
// multiples of 16 bytes. It then begins in shared memory as far behind one as in device memory, has room for one vector more,
// and its matrices begin at multiples of UNIT and no better.
#define SKEWS (PIECEWISE || (OUTER && PATH == 1 && !PAD))
#define SKEWED_A (SKEWS && FLAT_A && !STAYS_A && (UNIT_A < 16 || ROWS_A * COLS_A * SIZE % 16))
#define SKEWED_B (SKEWS && FLAT_B && !STAYS_B && (UNIT_B < 16 || ROWS_B * COLS_B * SIZE % 16))
#define SKEWED_C (PIECEWISE && (UNIT_C < 16 || SIZE_M * SIZE_N * SIZE % 16))
CONSTANT int room(int bytes, bool skewed) { return ceiling(bytes, 16) * 16 + (skewed ? 16 : 0); }
// What leaves by bulk copies lies as far behind a multiple of 32 bytes in shared memory as in device memory, where such a
// sector would else be written in two parts. (On an H200 this made 31 batches of order 3 and 9 1.01 times as fast in the mean, 1.15
// times at most; as far behind a line of 128 bytes it was 0.97 times, as that leaves room for fewer blocks.)
#define SHIFTED_C (SKEWED_C || (PIECEWISE && SIZE_M * SIZE_N * SIZE % 32))
CONSTANT int room_out(int bytes) { return ceiling(bytes, 16) * 16 + (SHIFTED_C ? 32 : 0); }
// Whether bulk copies bring one matrix that a run shares.
#define RUN_A (HELD_A && PATH == 2 && !TILE)
#define RUN_B (HELD_B && PATH == 2 && !TILE)
constexpr int STEP_A = SHARED_A || RUN_A ? 0 : PATH == 1 && SKEWED_A ? room(ROWS_A * COLS_A * SIZE, true) / SIZE
                                                                       : apart(LEAD_A, NEXT_A, LD_A * COLS_A);
constexpr int STEP_B = SHARED_B || RUN_B ? 0 : PATH == 1 && SKEWED_B ? room(ROWS_B * COLS_B * SIZE, true) / SIZE
                                                                       : apart(LEAD_B, NEXT_B, LD_B * COLS_B);
constexpr int STEP_C = apart(LEAD_C, NEXT_C, LD_C * SIZE_N);
// Elements that divide the distances between matrices in shared memory.
constexpr int APART_A = SKEWED_A ? UNIT_A / SIZE : STEP_A, APART_B = SKEWED_B ? UNIT_B / SIZE : STEP_B;
constexpr int APART_C = SKEWED_C ? UNIT_C / SIZE : STEP_C;
#if MMA
// Whether all columns in shared memory begin at multiples of two elements.
constexpr bool EVEN_A = LD_A % 2 == 0 && APART_A % 2 == 0, EVEN_B = LD_B % 2 == 0 && APART_B % 2 == 0;
constexpr bool EVEN_C = LD_C % 2 == 0 && APART_C % 2 == 0;
#endif
#if PATH != 0
#if PIECEWISE && TILE
// A group is a tile: TILE runs of C along the innermost axis, PIECE products each. Of A and B it has FEW runs of LONG matrices,
// along whichever of the two axes they lie next to each other. Runs that are JOINED are one.
constexpr int PIECE = GROUP / TILE, PIECES = JOINED_C ? 1 : TILE;
CONSTANT int few(bool turned, bool held, bool along) { return turned ? (held ? 1 : PIECE) : (along ? TILE : 1); }
constexpr int FEW_A = JOINED_A ? 1 : few(TURNED_A, HELD_A, ALONG_A), FEW_B = JOINED_B ? 1 : few(TURNED_B, HELD_B, ALONG_B);
constexpr int LONG_A = JOINED_A ? GROUP : few(!TURNED_A, HELD_A, ALONG_A);
constexpr int LONG_B = JOINED_B ? GROUP : few(!TURNED_B, HELD_B, ALONG_B), LONG_C = JOINED_C ? GROUP : PIECE;
constexpr int ASKING = larger(PIECES, larger(SHARED_A ? 0 : FEW_A, SHARED_B ? 0 : FEW_B));  // threads that ask for runs
// Runs begin an odd number of vectors apart, so that threads that read matrices of neighbouring runs do not meet in a bank.
CONSTANT int spread(int bytes) { return bytes / 16 % 2 ? bytes : bytes + 16; }
constexpr int ROOM_A = spread(room(LONG_A * LD_A * COLS_A * SIZE, SKEWED_A)), ROOM_B = spread(room(LONG_B * LD_B * COLS_B * SIZE, SKEWED_B));
constexpr int ROOM_C = spread(room_out(LONG_C * LD_C * SIZE_N * SIZE));
constexpr int BYTES_A = padded(SHARED_A ? LD_A * COLS_A * SIZE : FEW_A * ROOM_A);
constexpr int BYTES_B = padded(SHARED_B ? LD_B * COLS_B * SIZE : FEW_B * ROOM_B);
constexpr int BYTES_C = padded(PIECES * ROOM_C);
constexpr int AT_KNOWN = 8 * STAGES, KNOWN = 16 * ASKING * (STAGES + 1);
#elif PIECEWISE
// A group is PIECES runs, or a piece of one: PIECE products each, or what is left of a run.
constexpr int PIECE = RUN_LENGTH && RUN_LENGTH < GROUP ? RUN_LENGTH : GROUP, PIECES = GROUP / PIECE;
constexpr int ROOM_A = room((RUN_A ? 1 : PIECE) * LD_A * COLS_A * SIZE, SKEWED_A);
constexpr int ROOM_B = room((RUN_B ? 1 : PIECE) * LD_B * COLS_B * SIZE, SKEWED_B);
constexpr int ROOM_C = room_out(PIECE * LD_C * SIZE_N * SIZE);
constexpr int BYTES_A = padded(STAYS_A ? STAYING_A * LD_A * COLS_A * SIZE : PIECES * ROOM_A);
constexpr int BYTES_B = padded(STAYS_B ? STAYING_B * LD_B * COLS_B * SIZE : PIECES * ROOM_B);
constexpr int BYTES_C = padded(PIECES * ROOM_C);
constexpr int AT_KNOWN = 8 * STAGES, KNOWN = 16 * PIECES * (STAGES + 1);
#else
constexpr int BYTES_A = padded((SHARED_A ? LD_A * COLS_A : GROUP * STEP_A) * SIZE);
constexpr int BYTES_B = padded((SHARED_B ? LD_B * COLS_B : GROUP * STEP_B) * SIZE);
constexpr int BYTES_C = padded(GROUP * STEP_C * SIZE);
constexpr int KNOWN = 0;
#endif
// Shared memory: barriers, operands of the whole batch, the ring, and results on their way out.
constexpr int AT_A = PATH == 2 ? padded(8 * STAGES + KNOWN) : 0;
constexpr int AT_B = AT_A + (STAYS_A ? BYTES_A : 0);
constexpr int AT_RING = AT_B + (STAYS_B ? BYTES_B : 0);
constexpr int STAGE_B = STAYS_A ? 0 : BYTES_A, STAGE_C = STAGE_B + (STAYS_B ? 0 : BYTES_B);
constexpr int STAGE = STAGE_C + (BETA ? BYTES_C : 0);
constexpr int AT_OUT = AT_RING + STAGES * STAGE;
#endif
#if PATH == 2
// Whether C is loaded although beta is 0, so that partly written sectors of 32 bytes are already in the second-level
// cache: where C is written by vectors of 2 or 4 bytes, that costs least when C is loaded with A and B. No thread uses
// it, and all groups overwrite each other at AT_WASTE.
constexpr bool PARTLY =
    BETA == 0 && LEAD_C && UNIT_C <= 4 && (SIZE_M * SIZE % 32 || LEAD_C * SIZE % 32 || NEXT_C * SIZE % 32);
constexpr int AT_WASTE = AT_OUT + 2 * BYTES_C;
#endif
#if PATH == 1
// Where matrices are LISTED: lists of the addresses of the matrices of later groups, those of C last.
constexpr int AT_LISTS = AT_OUT + (BETA ? 0 : BYTES_C);
constexpr int LISTS = 2 * STAGES - 1, LIST = 3 * GROUP * 8;
#endif

constexpr int TILES_M = ceiling(SIZE_M, ROWS), TILES = TILES_M * ceiling(SIZE_N, COLUMNS);
constexpr int SLOTS = MMA ? WARPS : THREADS;  // workers that compute a tile each: warps or threads
