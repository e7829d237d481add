// What is where in shared memory: the ring of slices, columns of C on their way, and barriers. And what maps there are.
#pragma once

#include "lib/box.cuh"
#include "lib/meet.cuh"
#include "lib/slices.cuh"

// What the kernel is called with beside the tensor maps. `band`: tiles that a band has along n.
struct Product {
    const Stored *a, *b;
    Stored *c;
    long long lda, ldb, ldc;
    int m, n, k, band;
    double alpha[2], beta[2];
};

constexpr int TOGETHER = 8;  // columns that are one of a map
constexpr int GROUPS = 2, THREADS = 128 * (GROUPS + 1);  // warp groups that multiply; one more loads
constexpr int OF_A = TILE_M * LINE, OF_B = TILE_N * LINE, STAGE = OF_A + OF_B;

// Columns of C on their way, behind the ring: 8 of each warp, as long as the tile; or, UPRIGHT, 64 of each group, 64 long. So
// many elements from one to the next that eight begin in different banks.
constexpr int OUT_COLUMNS = UPRIGHT ? 64 : 8, OUT_ROWS = UPRIGHT ? 64 : TILE_M, OUT_PITCH = OUT_ROWS + 8;
constexpr int OUT = OUT_COLUMNS * OUT_PITCH * SIZE, OUTS = UPRIGHT ? GROUPS : 4 * GROUPS;
constexpr int AT_OUT = STAGES * STAGE, AT_BARRIERS = AT_OUT + OUTS * OUT;

// Maps of an operand. Its last columns may be fewer than eight: `all` has what is left over of them, `whole` has not. And all
// that lies in the words of 16 bytes of the last column, whose end depends on where the operand begins in such a word: the
// second map of each pair is longer by one.
struct Maps {
    TensorMap whole[2], all[2];
};

// The elements of a word of 16 bytes that lie before an operand.
INLINE int skipped(const Stored *operand) { return (int)((unsigned long long)operand % 16) / SIZE; }

// An operand of so many columns, each as long as `length`: where its boxes begin.
struct Boxes {
    const TensorMap *whole, *all;
    int first, over, leading;  // elements before it, columns that are no eight, elements from column to column

    INLINE Boxes(const Maps &maps, const Stored *operand, int length, int columns, long long ld)
        : first(skipped(operand)), over(columns % TOGETHER), leading((int)ld) {
        whole = maps.whole + further((TOGETHER - 1) * leading + length);
        all = maps.all + further((over - 1) * leading + length);
    }
    INLINE bool further(int length) const { return first + length > ceiling(length, 8) * 8; }

    // Those of box `r` of eight.
    INLINE const TensorMap &map(int r) const { return r < over ? *all : *whole; }
    INLINE int begin(int r) const { return first + r * leading; }
};

// Barriers: a slice has come, and has been read.
INLINE unsigned int barrier(int number) { return shared_address(shared_memory + AT_BARRIERS) + 8 * number; }
INLINE unsigned int come_barrier(int slot) { return barrier(slot); }
INLINE unsigned int gone_barrier(int slot) { return barrier(STAGES + slot); }

INLINE void start_barriers() {
    UNROLL for (int i = 0; i < STAGES; i++) {
        barrier_start(come_barrier(i));
        barrier_start_for(gone_barrier(i), 4 * GROUPS);
    }
    barriers_started();
}
