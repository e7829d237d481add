// What is where in shared memory: barriers, the ring, both operands with their columns apart, and C as it lies in memory.
#pragma once

#include "lib/box.cuh"
#include "lib/run.cuh"
#include "lib/sizes.cuh"

constexpr int WORKERS = 32 * WARPS, THREADS = WORKERS + 32;  // those that multiply, and the warp that loads

constexpr int TILE_N = smaller(TILE, SIZE_N), TILES = ceiling(SIZE_N, TILE_N);  // columns of C that are computed together
constexpr int PRODUCTS = ceiling(SIZE_K, 16);  // of tensor cores, along k
constexpr int PARTS_OF_K = PAIRS ? 2 : 1;      // numbers along k of B, for one of A
constexpr int PARTS_M = ceiling(SIZE_M, ROWS), PARTS_N = ceiling(TILE_N, COLUMNS), PARTS = PARTS_M * PARTS_N;
constexpr int TURNS = ceiling(PARTS, WARPS);
constexpr bool SHARED_PLACE = TILES == 1 && TURNS == 1 && BETA == 0 && !DIRECT;  // whether C takes the place of A and B

// Boxes put columns an odd number of words of 16 bytes apart: eight neighbouring ones begin in eight groups of banks.
CONSTANT int apart(int rows) { return (ceiling(rows, 8) | 1) * 8; }
constexpr bool BOXED = BOXED_A || BOXED_B || BOXED_C;
constexpr int LD_C = BOXED_C ? apart(SIZE_M) : SIZE_M;  // from one column of C to the next

// Where the matrices of a batch lie, for those that are boxed.
struct Maps {
    const TensorMap *a, *b, *c;
};

// An operand: the stored columns of it that are kept, cut into pieces, and as tensor cores read them. They read whole
// products, of which what lies outside of the matrix is anything: ALONG elements down each of ACROSS columns.
template <int NUMBER, bool K_ALONG, int FREE, int FREE_READ, int UNIT, bool BOX> struct Operand {
    static constexpr bool IS_A = NUMBER == 0;
    static constexpr int ROWS_OF_IT = K_ALONG ? SIZE_K * PARTS_OF_K : FREE, COLS = K_ALONG ? FREE : SIZE_K;
    static constexpr int ALONG = K_ALONG ? 16 * PRODUCTS * PARTS_OF_K : FREE_READ, ACROSS = K_ALONG ? FREE_READ : 16 * PRODUCTS;
    static constexpr int LD = DIRECT && !BOX ? ROWS_OF_IT : apart(ROWS_OF_IT);
    static constexpr int BYTES = padded(((ACROSS - 1) * LD + larger(LD, ALONG)) * SIZE);
    static constexpr int COMES = LD * COLS * SIZE;  // bytes that a copy brings where it brings all
    static constexpr int PIECES = ceiling(COLS, larger(1, PIECE / (ROWS_OF_IT * SIZE)));
    static constexpr int EACH = ceiling(COLS, PIECES);  // columns of a piece
    static constexpr int SLOT = padded(EACH * ROWS_OF_IT * SIZE + 32);

    static INLINE void realign(const unsigned char *slot, int head, Stored *columns, int count);
};
typedef Operand<0, TRANS_A, SIZE_M, PARTS_M * ROWS, UNIT_A, BOXED_A> OperandA;
typedef Operand<1, !TRANS_B, TILE_N, PARTS_N * COLUMNS, UNIT_B, BOXED_B> OperandB;

// The threads that multiply wait for each other.
INLINE void workers_sync() {
    if (WARPS == 1) __syncwarp();
    else asm volatile("bar.sync 1, %0;" ::"n"(WORKERS) : "memory");
}

// The last tile may have fewer columns than the others, and so fewer pieces of B.
constexpr int LAST_N = SIZE_N - (TILES - 1) * TILE_N;
INLINE int columns_of(int tile) { return tile == TILES - 1 ? LAST_N : TILE_N; }
INLINE int pieces_of(int tile) { return TILES > 1 && tile == TILES - 1 ? ceiling(LAST_N, OperandB::EACH) : OperandB::PIECES; }

// Multiplied from where they come, a slot of the ring has all of A and B. What is written by words of 16 bytes and lies
// outside of C has a place behind it.
constexpr int SLOT = DIRECT ? OperandA::BYTES + OperandB::BYTES : larger(OperandA::SLOT, OperandB::SLOT);
constexpr int BYTES_C = padded(LD_C * TILE_N * SIZE + 32), OUTSIDE = UNIT_C == 16 ? 512 : 0;
constexpr int AT_RING = padded(8 * (2 * STAGES + 1)), AT_A = AT_RING + STAGES * SLOT;
constexpr int AT_B = AT_A + (DIRECT ? 0 : OperandA::BYTES);
constexpr int AT_C = SHARED_PLACE ? AT_A : AT_B + (DIRECT ? 0 : OperandB::BYTES);
