// What is where in shared memory: barriers, the ring, both operands with their columns apart, and C as it lies in memory.
#pragma once

#define CONSTANT __host__ __device__ constexpr

constexpr int THREADS = 32 * WARPS;

CONSTANT int ceiling(int a, int b) { return (a + b - 1) / b; }
CONSTANT int smaller(int a, int b) { return a < b ? a : b; }
CONSTANT int larger(int a, int b) { return a < b ? b : a; }
CONSTANT int padded(int bytes) { return ceiling(bytes, 128) * 128; }

#include "lib/run.cuh"

constexpr int PRODUCTS = ceiling(SIZE_K, 16);  // of tensor cores, along k
constexpr int PARTS_M = ceiling(SIZE_M, ROWS), PARTS_N = ceiling(SIZE_N, COLUMNS), PARTS = PARTS_M * PARTS_N;
constexpr int TURNS = ceiling(PARTS, WARPS);
constexpr bool SHARED_PLACE = TURNS == 1 && BETA == 0;  // whether C takes the place of A and B

// An operand: its stored columns in memory, cut into pieces, and as tensor cores read them. They read whole products, of
// which what lies outside of the matrix is anything: ALONG elements down each of ACROSS columns.
template <int NUMBER, bool K_ALONG, int FREE, int FREE_READ, int UNIT> struct Operand {
    static constexpr bool IS_A = NUMBER == 0;
    static constexpr int ROWS_OF_IT = K_ALONG ? SIZE_K : FREE, COLS = K_ALONG ? FREE : SIZE_K;
    static constexpr int ALONG = K_ALONG ? 16 * PRODUCTS : FREE_READ, ACROSS = K_ALONG ? FREE_READ : 16 * PRODUCTS;
    // An odd number of words of 16 bytes: eight neighbouring columns begin in eight groups of banks.
    static constexpr int LD = (ceiling(ROWS_OF_IT, 8) | 1) * 8;
    static constexpr int BYTES = padded(((ACROSS - 1) * LD + larger(LD, ALONG)) * SIZE);
    static constexpr int PIECES = ceiling(COLS, larger(1, PIECE / (ROWS_OF_IT * SIZE)));
    static constexpr int EACH = ceiling(COLS, PIECES);  // columns of a piece
    static constexpr int SLOT = padded(EACH * ROWS_OF_IT * SIZE + 32);

    // Columns of a piece; the last has what is left over.
    static INLINE int columns(int piece) { return PIECES == 1 ? COLS : smaller(EACH, COLS - piece * EACH); }
    static INLINE void realign(const unsigned char *slot, int head, Stored *columns, int piece);
};
typedef Operand<0, TRANS_A, SIZE_M, PARTS_M * ROWS, UNIT_A> OperandA;
typedef Operand<1, !TRANS_B, SIZE_N, PARTS_N * COLUMNS, UNIT_B> OperandB;

constexpr int SLOT = larger(OperandA::SLOT, OperandB::SLOT), BYTES_C = padded(SIZE_M * SIZE_N * SIZE + 32);
constexpr int AT_RING = padded(8 * (STAGES + 1)), AT_A = AT_RING + STAGES * SLOT, AT_B = AT_A + OperandA::BYTES;
constexpr int AT_C = SHARED_PLACE ? AT_A : AT_B + OperandB::BYTES;
