// The results of a warp group: rounded, put together in shared memory, 32 rows by 64 columns at a time, and stored from there,
// while the group goes on. Where C is read, its boxes come to the same places before.
//
// A place holds 64 lines of 128 bytes: the columns of a box of C, or, of C stored as its transpose, 32 rows in a box of 32
// columns, and then those in a box of the next 32.
#pragma once

#include "lib/columns.cuh"

constexpr int RESULTS = TILE_M / SLICE;          // places of a group's results
constexpr int OF_PLACE = SLICE / 2;              // accumulators of a thread in a place, of re and of im
constexpr int BOXES = EXCHANGE ? 2 : 1;          // of a place
constexpr int LINES = 64 / BOXES;                // of a box

// The part of a tile that is a group's.
INLINE Tile of_group(Tile tile, int group) {
    if (!PING_PONG) tile.n += group * GROUP_ROWS;
    return tile;
}

struct Results {
    const Product &g;
    const TensorMap &map;
    const int group, thread;
    const bool acts;            // one thread of the group
    unsigned int parities = 0;  // bits: of what is waited for at each place of C

    INLINE Results(const Product &product, const TensorMap &map_c, int number, int own)
        : g(product), map(map_c), group(number), thread(own), acts(own == 0) {}

    INLINE unsigned char *place(int i) const { return shared_memory + AT_OUT + (group * OUTS + i % OUTS) * BOX; }

    // Where box j of place i begins in C as it is stored.
    INLINE int row(const Tile &tile, int i, int j) const { return EXCHANGE ? tile.n + j * SLICE : tile.m + i * SLICE; }
    INLINE int column(const Tile &tile, int i) const { return EXCHANGE ? tile.m + i * SLICE : tile.n; }

    // Asks for the boxes of C of place i, which is free.
    INLINE void old(const Tile &tile, int i) const {
        const unsigned int come = old_barrier(group, i % OUTS);
        barrier_expect(come, BOX);
        UNROLL for (int j = 0; j < BOXES; j++)
            box_load(place(i) + j * LINES * LINE, map, row(tile, i, j), column(tile, i), 0, come);
    }

    // Before a tile is multiplied: asks for the first boxes of C.
    INLINE void begin(const Tile &tile) const {
        if (BETA == 0 || !acts) return;
        bulk_read<0>();
        UNROLL for (int i = 0; i < OUTS && i < RESULTS; i++) old(tile, i);
    }

    // Rounds an element and writes it where its old value is, if that is read.
    INLINE static void update(const Scalars &s, unsigned int &at, float re, float im) {
        Element old = zero();
        if (BETA != 0) old = Element{real_of((Half)at), real_of((Half)(at >> 16))};
        const Element x = scaled(s, Element{re, im}, old);
        at = halves_of(x.re, x.im);
    }

    // Writes the sums of a warp in place i, with those of others where they MET.
    template <bool MET> INLINE void put(const Sums &sum, int i, const Meeting &meeting, int warp, int lane) const {
        const Scalars s = {scalar(g.alpha), scalar(g.beta)};
        // Addresses are made anew for each place: kept, they would take registers of sums.
        asm volatile("" : "+r"(lane));
        float others_re[GATHERED], others_im[GATHERED];
        UNROLL for (int j = 0; j < SLICE / 8; j++) {
            const int at = OF_PLACE * i + 4 * j;
            if (MET && at % GATHERED == 0) {
                meeting.others(others_re, at / GATHERED);
                meeting.others(others_im, (TILE_M / 2 + at) / GATHERED);
            }
            UNROLL for (int e = 0; e < 2; e++) {
                const int column = column_of(warp, e, lane / 4);
                float re[2], im[2];
                UNROLL for (int x = 0; x < 2; x++) {
                    re[x] = sum[0][at + 2 * e + x];
                    im[x] = sum[1][at + 2 * e + x];
                    if (MET) {
                        re[x] += others_re[at % GATHERED + 2 * e + x];
                        im[x] += others_im[at % GATHERED + 2 * e + x];
                    }
                }
                if (EXCHANGE) {
                    UNROLL for (int x = 0; x < 2; x++) {
                        const int row = 8 * j + lane % 4 * 2 + x;
                        unsigned char *const line = place(i) + column / 32 * LINES * LINE + row * LINE;
                        update(s, *(unsigned int *)(line + (column % 32 / 4 ^ row % 8) * 16 + column % 4 * 4), re[x], im[x]);
                    }
                } else {
                    unsigned char *const line = place(i) + column * LINE;
                    uint2 *const to = (uint2 *)(line + ((2 * j + lane % 4 / 2) ^ column % 8) * 16 + lane % 2 * 8);
                    uint2 pair = BETA != 0 ? *to : make_uint2(0, 0);
                    update(s, pair.x, re[0], im[0]);
                    update(s, pair.y, re[1], im[1]);
                    *to = pair;
                }
            }
        }
    }

    // Stores box j of place i.
    INLINE void leave(const Tile &tile, int i, int j) const {
        const unsigned char *const box = place(i) + j * LINES * LINE;
        const int m = row(tile, i, j), n = column(tile, i), left = (EXCHANGE ? g.n : g.m) - m;
        if (left % WORD && left > 0 && left < SLICE) {
            // Boxes are stored in whole words of 16 bytes.
            store_columns<LINES, WORD>((const Stored *)box, g.c + m + n * g.ldc, g.ldc, left, (EXCHANGE ? g.m : g.n) - n, thread);
            meet(1 + group, 128);  // nobody reads it any more
        } else if (acts) {
            box_store(map, m, n, 0, box);
        }
    }

    INLINE void store(const Sums &sum, const Tile &tile, const Meeting &meeting, int warp, int lane) {
        UNROLL for (int i = 0; i < RESULTS; i++) {
            if (BETA != 0) {
                barrier_wait(old_barrier(group, i % OUTS), parities >> i % OUTS & 1);
                parities ^= 1u << i % OUTS;
                __syncwarp();  // lanes may leave the wait apart
            } else {
                // What was put here before has left.
                if (acts && i == 0) bulk_read<0>();
                if (acts && i >= OUTS) bulk_read<OUTS - 1>();
                __syncwarp();
                if (i == 0 || i >= OUTS) meet(1 + group, 128);
            }
            if (meeting.some()) put<true>(sum, i, meeting, warp, lane);
            else put<false>(sum, i, meeting, warp, lane);
            async_fence();
            meet(1 + group, 128);
            UNROLL for (int j = 0; j < BOXES; j++) leave(tile, i, j);
            if (acts) {
                bulk_commit();  // of nothing, too: waits count groups
                // The place of the box before, or of this one if it is the only one.
                constexpr int AFTER = OUTS > 1 ? OUTS - 1 : 1;
                if (BETA != 0 && i + AFTER < RESULTS && i + AFTER >= OUTS) {
                    bulk_read<(OUTS > 1)>();
                    old(tile, i + AFTER);
                }
            }
            __syncwarp();
        }
    }
};
