// Sizes: the vectors that divide them, the layout of matrices in shared memory, and the parts of shared memory.
#pragma once

#define CONSTANT __host__ __device__ constexpr

constexpr int THREADS = 32 * WARPS;

CONSTANT int ceiling(int a, int b) { return (a + b - 1) / b; }
CONSTANT int smaller(int a, int b) { return a < b ? a : b; }
CONSTANT int padded(int bytes) { return ceiling(bytes, 128) * 128; }

// Bytes of the widest vector, at most 16, that divide both.
CONSTANT int vector_bytes(int a, int b) {
    int w = 16;
    while (a % w || b % w) w /= 2;
    return w;
}
// Elements of the widest vector that divide an alignment and two numbers of elements.
CONSTANT int vector(int unit, int extent, int tile) {
    int v = 16 / SIZE;
    while (v > 1 && (unit % (v * SIZE) || extent % v || tile % v)) v /= 2;
    return v;
}

// Whether matrices are found one by one: by addresses of an array, or by the steps of several axes.
#define LISTED (POINTERS || OUTER)

// Matrices as they are stored, and in shared memory: leading dimensions, and elements from one matrix to the next.
constexpr int ROWS_A = TRANS_A ? SIZE_K : SIZE_M, COLS_A = TRANS_A ? SIZE_M : SIZE_K;
constexpr int ROWS_B = TRANS_B ? SIZE_N : SIZE_K, COLS_B = TRANS_B ? SIZE_K : SIZE_N;
CONSTANT int skewed(int rows) { return rows + (PAD ? vector(16, rows, rows) : 0); }
CONSTANT int between(int lead, int rows) { return PATH == 2 && lead ? lead : skewed(rows); }
CONSTANT int apart(int lead, int next, int packed) { return PATH == 2 && lead ? next : packed; }
constexpr int LD_A = between(LEAD_A, ROWS_A), LD_B = between(LEAD_B, ROWS_B), LD_C = between(LEAD_C, SIZE_M);
// Whether a stage has one matrix of an operand, if any: where it is shared, and where bulk copies bring what a run shares.
constexpr bool RUN_A = HELD_A && PATH == 2, RUN_B = HELD_B && PATH == 2, ONCE_A = SHARED_A || RUN_A, ONCE_B = SHARED_B || RUN_B;
constexpr int STEP_A = ONCE_A ? 0 : apart(LEAD_A, NEXT_A, LD_A * COLS_A);
constexpr int STEP_B = ONCE_B ? 0 : apart(LEAD_B, NEXT_B, LD_B * COLS_B);
constexpr int STEP_C = apart(LEAD_C, NEXT_C, LD_C * SIZE_N);
#if MMA
// Whether all columns in shared memory begin at multiples of two elements.
constexpr bool EVEN_A = LD_A % 2 == 0 && STEP_A % 2 == 0, EVEN_B = LD_B % 2 == 0 && STEP_B % 2 == 0;
constexpr bool EVEN_C = LD_C % 2 == 0 && STEP_C % 2 == 0;
#endif
#if PATH != 0
constexpr int BYTES_A = padded((ONCE_A ? LD_A * COLS_A : GROUP * STEP_A) * SIZE);
constexpr int BYTES_B = padded((ONCE_B ? LD_B * COLS_B : GROUP * STEP_B) * SIZE);
constexpr int BYTES_C = padded(GROUP * STEP_C * SIZE);
// Shared memory: barriers, operands of the whole batch, the ring, and results on their way out.
constexpr int AT_A = PATH == 2 ? padded(8 * STAGES) : 0;
constexpr int AT_B = AT_A + (SHARED_A ? BYTES_A : 0);
constexpr int AT_RING = AT_B + (SHARED_B ? BYTES_B : 0);
constexpr int STAGE_B = SHARED_A ? 0 : BYTES_A, STAGE_C = STAGE_B + (SHARED_B ? 0 : BYTES_B);
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
