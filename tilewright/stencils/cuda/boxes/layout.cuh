// Which tile a block computes, and what is where in shared memory: the ring of slices, tiles of C, and barriers.
#pragma once

#include "lib/box.cuh"
#include "lib/slices.cuh"

// What the kernel is called with beside the tensor maps. Of an operand that all products share the step is 0.
struct Products {
    int m, n, k, batch, step_a, step_b;
    double alpha[2], beta[2];
};

constexpr int WARPS = TILE_N / 16, THREADS = 32 * WARPS + 64;  // those that multiply; one more loads, one stores
constexpr int LINES = ceiling(TILE_M, 64);                     // of a column of a tile of C
constexpr int OF_B = TILE_N * LINE, OF_A = TRANS_A ? TILE_M * LINE : LINES * BOX, STAGE = OF_B + OF_A;
constexpr int RESULT = LINES * TILE_N * LINE;  // bytes of a tile of C
constexpr int AT_RESULTS = STAGES * STAGE, AT_BARRIERS = AT_RESULTS + KEPT * RESULT;
static_assert(OF_A % 1024 == 0, "swizzle: slices begin at multiples of 1024 bytes");

// Barriers: a slice has come, and has been read; a place for a tile of C is free (and has what is to be read of C), and the
// tile is complete.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }
INLINE unsigned int free_barrier(int place) { return barrier(2 * STAGES + place); }
INLINE unsigned int complete_barrier(int place) { return barrier(2 * STAGES + KEPT + place); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), WARPS);
    }
    UNROLL for (int i = 0; i < KEPT; i++) {
        barrier_start(free_barrier(i));
        barrier_start_for(complete_barrier(i), 32 * WARPS);
    }
    barriers_started();
}

// The tiles of all products, one after the other, and the slices of each of them.
struct Tiles {
    int down, of_one, all, slices;

    INLINE Tiles(const Products &g)
        : down(ALL_M ? 1 : ceiling(g.m, TILE_M)), of_one(down * ceiling(g.n, TILE_N)), all(of_one * g.batch), slices(ceiling(g.k, SLICE)) {}
};

struct Tile {
    int product, m, n;  // where it begins

    INLINE Tile(const Tiles &tiles, int number) : product(number / tiles.of_one) {
        const int rest = number - product * tiles.of_one;
        n = rest / tiles.down * TILE_N;
        m = rest % tiles.down * TILE_M;
    }
};
