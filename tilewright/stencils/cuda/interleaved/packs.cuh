// Whole packs through a ring in shared memory: GROUP neighbouring packs of A and of B are one run of bytes each, which bulk
// copies bring (sm_90) while earlier groups are multiplied, and so is what they make of C. Persistent blocks walk over them.
//
//   device memory   A |pack 0|pack 1|...|pack GROUP-1|...     a pack: its elements one after the other, PACK_SIZE numbers each
//                           |
//   shared memory   stage 0 [A | B]   stage 1 [A | B] ...     PADDED: packs begin in different banks
//                           |
//   registers       a thread: LANES matrices of a pack, ROWS x COLUMNS of their C
//
// Copied by itself a pack of a few elements leaves most of each line to its neighbours, and threads side by side, each with
// a pack, would ask for 32 lines at once.
#pragma once

#include "lib/bulk.cuh"

static_assert(PACKED && !SHARED_A && !SHARED_B && !SCATTERED, "group-packs: groups are of packs of A, of B and of C");
static_assert(STAGES > 0 && TEAM == 1 && DEPTH == 1, "group-ring: groups have a ring of their own");
static_assert(!BETA, "group-new: a C that is read does not come through the ring");
static_assert(PACK_SIZE % LANES == 0, "lanes-pack: a vector does not reach into the next pack");
static_assert(PACK_SIZE * SIZE % 16 == 0, "group-whole: an element of a pack is a multiple of 16 bytes");
static_assert(ALIGN == 16, "group-aligned: bulk copies begin at multiples of 16 bytes");

constexpr int WIDE = PACK_SIZE * SIZE, PARTS = PACK_SIZE / LANES;  // bytes of an element of a pack, vectors of it

// An operand in shared memory: GROUP packs of so many elements, each behind the other's padding.
template <int ELEMENTS> struct Packs {
    static constexpr bool APART = PADDED && ELEMENTS % 2 == 0 && WIDE < 128;
    static constexpr int BYTES = ELEMENTS * WIDE, STEP = BYTES + (APART ? WIDE : 0), ALL = line(GROUP * STEP);

    // By the first warp of the block.
    static INLINE void fetch(unsigned char *to, const void *from, long long at, int count, unsigned int barrier) {
        const unsigned char *const first = (const unsigned char *)from + at * BYTES;
        if (!APART) {
            if (threadIdx.x == 0) bulk_load<false>(to, first, count * BYTES, barrier, 0);
        } else {
            for (int i = threadIdx.x; i < count; i += 32) bulk_load<false>(to + i * STEP, first + i * BYTES, BYTES, barrier, 0);
        }
    }
    static INLINE void write(void *to, const unsigned char *from, long long at, int count) {
        unsigned char *const first = (unsigned char *)to + at * BYTES;
        if (!APART) {
            if (threadIdx.x == 0) bulk_store<false>(first, from, count * BYTES, 0);
        } else {
            for (int i = threadIdx.x; i < count; i += 32) bulk_store<false>(first + i * BYTES, from + i * STEP, BYTES, 0);
        }
    }
};
typedef Packs<SIZE_M * SIZE_K> PacksA;
typedef Packs<SIZE_K * SIZE_N> PacksB;
typedef Packs<SIZE_M * SIZE_N> PacksC;

constexpr int AT_B = PacksA::ALL, GROUP_STAGE = AT_B + PacksB::ALL;
constexpr int AT_OUT = AT_RING + STAGES * GROUP_STAGE;

// Bytes from element (0, 0) to (i, j) of so many rows and columns.
template <bool BY_COLUMNS, int HIGH, int LONG> INLINE int within(int i, int j) {
    return (BY_COLUMNS ? i + j * HIGH : i * LONG + j) * WIDE;
}

// Multiplies the packs of a stage.
INLINE void multiply_group(const Scalars &scalars, const unsigned char *stage, unsigned char *out, int count) {
    _Pragma("unroll 1") for (int item = threadIdx.x; item < GROUP * PARTS * TILES; item += THREADS) {
        // Neighbours have neighbouring matrices, then packs, then parts of C.
        const int part = item % PARTS * LANES * SIZE, which = item / PARTS % GROUP, tile = item / (PARTS * GROUP);
        if (which >= count) continue;
        const int i0 = tile / TILES_N * ROWS, j0 = tile % TILES_N * COLUMNS;
        const unsigned char *const a = stage + which * PacksA::STEP + part;
        const unsigned char *const b = stage + AT_B + which * PacksB::STEP + part;
        unsigned char *const c = out + which * PacksC::STEP + part;
        Element sum[ROWS][COLUMNS][LANES];
        clear(sum);
        _Pragma("unroll UNROLL_K") for (int k = 0; k < SIZE_K; k++) {
            Element left[ROWS][LANES], right[COLUMNS][LANES];
            UNROLL for (int i = 0; i < ROWS; i++)
                take<false>(left[i], (const Stored *)(a + within<BY_COLUMNS_A, SIZE_M, SIZE_K>(min(i0 + i, SIZE_M - 1), k)), CONJ_A);
            UNROLL for (int j = 0; j < COLUMNS; j++)
                take<false>(right[j], (const Stored *)(b + within<BY_COLUMNS_B, SIZE_K, SIZE_N>(k, min(j0 + j, SIZE_N - 1))), CONJ_B);
            add_products(sum, left, right);
        }
        UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < COLUMNS; j++) {
            if (i0 + i >= SIZE_M || j0 + j >= SIZE_N) continue;
            Element result[LANES];
            UNROLL for (int lane = 0; lane < LANES; lane++) result[lane] = scaled(scalars, sum[i][j][lane], zero());
            const Pack<LANES> some = packed<LANES>(result);
            *(decltype(some.vector) *)(c + within<BY_COLUMNS_C, SIZE_M, SIZE_N>(i0 + i, j0 + j)) = some.vector;
        }
    }
}

INLINE void multiply_packs(const Interleaved &g, const Scalars &scalars) {
    const int packs = g.batch / PACK_SIZE, groups = (packs + GROUP - 1) / GROUP, blocks = gridDim.x;
    const unsigned int barriers = shared_address(shared_memory);
    const bool mover = threadIdx.x < 32;
    auto fetch_group = [&](long long group, int to) {
        if (group >= groups) return;
        const int count = (int)min((long long)GROUP, packs - group * GROUP);
        unsigned char *const stage = shared_memory + AT_RING + to * GROUP_STAGE;
        if (threadIdx.x == 0) barrier_expect(barriers + 8 * to, count * (PacksA::BYTES + PacksB::BYTES));
        __syncwarp();
        PacksA::fetch(stage, g.a, group * GROUP, count, barriers + 8 * to);
        PacksB::fetch(stage + AT_B, g.b, group * GROUP, count, barriers + 8 * to);
    };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start(barriers + 8 * i);
        barriers_started();
    }
    __syncthreads();
    if (mover) UNROLL for (int i = 0; i < STAGES; i++) fetch_group(blockIdx.x + (long long)i * blocks, i);
    int now = 0, buffer = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const out = shared_memory + AT_OUT + buffer * PacksC::ALL;
        const int count = (int)min((long long)GROUP, packs - group * GROUP);
        barrier_wait(barriers + 8 * now, parity);
        multiply_group(scalars, shared_memory + AT_RING + now * GROUP_STAGE, out, count);
        async_fence();
        if (mover) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        __syncthreads();            // this one is written, and the stage is free
        if (mover) {
            PacksC::write(g.c, out, group * GROUP, count);
            fetch_group(group + (long long)STAGES * blocks, now);
        }
        buffer ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (mover) bulk_read<0>();
}
