// What the epilogues share: how the vectors of a warp's part of C are read and written.
#pragma once

#include "lib/opaque.cuh"

// Registers for what is read of C: what a resident block leaves beside accumulators, addresses and prefetched fragments.
// Addresses are those of products, and where tall parts of a warp read narrow vectors, of more of these; the compiler of CUDA
// 13.0 takes more for all.
constexpr int NARROW = HALVES && WARP_M > 64 && VEC_C * SIZE < 16 ? 8 : 0;
#if __CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ == 0
constexpr int BESIDE = 84 + NARROW + AHEAD * FRAGMENT_REGISTERS;
#else
constexpr int BESIDE = 72 + NARROW + AHEAD * FRAGMENT_REGISTERS;
#endif
// Each of an SM's four schedulers has a quarter of its registers, for the warps that fall to it.
constexpr int OF_SCHEDULER = (WARPS * BLOCKS + 3) / 4, QUARTER = 65536 / 4 / 32 / OF_SCHEDULER / 8 * 8;
constexpr int GRANTED = QUARTER < 255 ? QUARTER : 255;
constexpr int LEFT = GRANTED - (int)sizeof(Accumulators) / 4 - BESIDE, ROOM = LEFT < 8 ? 8 : LEFT < 64 ? LEFT : 64;
// Where there is room, the next vectors are read before these are used; single halves have more addresses.
constexpr int SETS = ROOM >= (VEC_C * SIZE < 4 ? 64 : 48) && !EARLY_C ? 2 : 1;

INLINE constexpr int least(int a, int b) { return a < b ? a : b; }

// Of so many vectors of COUNT elements, those that are read together: few where each needs a test of its borders. Single halves
// are there or not, and each has an address of its own: more than eight take registers that accumulators need.
template <int COUNT, bool INSIDE> INLINE constexpr int read_together(int vectors) {
    const int each = COUNT * SIZE < 4 ? 1 : COUNT * SIZE / 4, most = ROOM / SETS / each;
    const int some = COUNT * SIZE < 4 ? 8 : INSIDE ? 16 : 2;
    return most < 1 ? 1 : least(least(most, some), vectors);
}

// Starts to copy a lane's whole vectors of C to shared memory. The others are read when they are used.
template <class LaneVectors, bool INSIDE>
INLINE void prefetch_vectors(const WarpTile &tile, long long ldc, Stored *prefetched, int lane) {
    constexpr int COUNT = LaneVectors::COUNT;
    const LaneVectors mine = {lane};
    UNROLL for (int vector = 0; vector < LaneVectors::VECTORS; vector++) {
        const int row = mine.row(vector), column = mine.column(vector);
        if (mine.valid(vector) && (INSIDE || (column < tile.columns && tile.rows - row >= COUNT)))
            cp_async<COUNT * SIZE>(prefetched + mine.at(vector), tile.c + row + column * ldc, COUNT * SIZE);
    }
}

// COUNT neighbours in a column of C, of which `rows` are inside; sum(v) is the v-th accumulator. load_c reads a whole
// vector long before store_c uses it: device memory keeps the order of reads and writes, and each would wait for its own.
template <int COUNT, bool INSIDE> INLINE void load_c(Pack<COUNT> &old, const Stored *c, int rows) {
    if (BETA != 0 && (INSIDE || rows >= COUNT)) global_load(old.vector, (const typename Vector<COUNT * SIZE>::Type *)c);
}

template <int COUNT, bool INSIDE, class Sum>
INLINE void store_c(Stored *c, const Scalars &s, int rows, const Pack<COUNT> &old, const Sum &sum) {
    if (INSIDE || rows >= COUNT) {
        Pack<COUNT> out;
        UNROLL for (int v = 0; v < COUNT; v++)
            out.element[v] = narrowed(scaled(s, sum(v), BETA ? widened(old.element[v]) : zero()));
        global_store((typename Vector<COUNT * SIZE>::Type *)c, out.vector);
    } else {
        UNROLL for (int v = 0; v < COUNT; v++)
            if (v < rows) c[v] = narrowed(scaled(s, sum(v), BETA ? widened(c[v]) : zero()));
    }
}
