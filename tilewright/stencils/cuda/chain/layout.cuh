// Sizes: the operands as they are stored, vectors, and the parts of shared memory.
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
// Elements of some bytes in the widest vector that divides two numbers of elements.
CONSTANT int vector_of(int bytes, int extent, int tile) {
    int v = 16 / bytes;
    while (v > 1 && (extent % v || tile % v)) v /= 2;
    return v;
}

// The operands by number.
template <typename T> CONSTANT T picked(int which, T a, T b, T c, T d) {
    return which == 0 ? a : which == 1 ? b : which == 2 ? c : d;
}
CONSTANT int rows_in(int x) { return picked(x, ROWS_IN); }
CONSTANT int columns_in(int x) { return picked(x, COLUMNS_IN); }
CONSTANT bool once_in(int x) { return picked(x, ONCE_IN); }
CONSTANT bool packed_in(int x) { return picked(x, PACKED_IN); }
CONSTANT int unit_in(int x) { return picked(x, UNIT_IN); }
CONSTANT int matrix_in(int x) { return rows_in(x) * columns_in(x); }
CONSTANT int step_in(int x) { return once_in(x) ? 0 : matrix_in(x); }  // elements from a matrix to the next in shared memory

CONSTANT bool streams() {
    bool all = PACKED_OUT;
    for (int x = 0; x < INPUTS; x++) all = all && (once_in(x) || packed_in(x));
    return all;
}
CONSTANT bool whole_groups() {
    bool all = GROUP * SIZE_M * SIZE_N * SIZE % 16 == 0;
    for (int x = 0; x < INPUTS; x++) all = all && GROUP * step_in(x) * SIZE % 16 == 0;
    return all;
}

// Whether an element of C may take the place of the one that is added to it: no other thread reads that.
CONSTANT bool placed() {
    return IN_ADD >= 0 && !TRANS_ADD && !once_in(IN_ADD) && IN_ADD != IN_1 && IN_ADD != IN_2 && (FACTORS == 2 || IN_ADD != IN_3);
}

// Shared memory: barriers, operands of the whole batch, the ring, products in between, and results on their way out.
CONSTANT int bytes_in(int x) { return padded((once_in(x) ? 1 : GROUP) * matrix_in(x) * SIZE); }
// Bytes of the operands before number x that are (or are not) shared by the whole batch.
CONSTANT int before(int x, bool once) {
    int bytes = 0;
    for (int y = 0; y < x; y++) bytes += once_in(y) == once ? bytes_in(y) : 0;
    return bytes;
}
constexpr int AT_ONCE = PATH == 2 ? padded(8 * STAGES) : 0;
constexpr int AT_RING = AT_ONCE + before(INPUTS, true), STAGE = before(INPUTS, false);
constexpr int AT_BETWEEN = AT_RING + STAGES * STAGE;
// The product in between: (X1 X2) is SIZE_M x SIZE_L, (X2 X3) is SIZE_K x SIZE_N.
constexpr int ROWS_T = FIRST ? SIZE_K : SIZE_M, COLUMNS_T = FIRST ? SIZE_N : SIZE_L, MATRIX_T = ROWS_T * COLUMNS_T;
constexpr int BYTES_T = FACTORS == 3 && !MMA ? padded(GROUP * MATRIX_T * (int)sizeof(Element)) : 0;
// With IN_PLACE results lie in the stage that they are made of.
constexpr int AT_OUT = AT_BETWEEN + BYTES_T, MATRIX_OUT = SIZE_M * SIZE_N, BYTES_OUT = padded(GROUP * MATRIX_OUT * SIZE);
