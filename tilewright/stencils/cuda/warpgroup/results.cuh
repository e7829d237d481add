// The results of a warp group: rounded, put together as boxes in shared memory, and stored from there, while the group goes on.
// Where C is read, its boxes come to the same places before. A place has one box, of a line by 64 columns of C; or, where rows of
// tensor cores are rows of C, two boxes of 32 by 32, one below the other.
#pragma once

#include "lib/columns.cuh"

constexpr int PLACES = WIDTH / SLICE, RESULTS = STACKS * PLACES;      // of a stack, and of a group's results
constexpr int OF_PLACE = SLICE / 2;                                  // accumulators of a thread in a place
constexpr int PLACED = BY_A ? 2 : 1, BOX_COLUMNS = BY_A ? 32 : 64;   // boxes of a place, and their columns

// The part of a tile that is a group's.
INLINE Tile of_group(Tile tile, int group) {
    if (!PING_PONG) (BY_A ? tile.m : tile.n) += group * GROUP_ROWS;
    return tile;
}

// Where place i of a group's results is.
INLINE Tile of_place(Tile tile, int i) {
    tile.m += BY_A ? i / PLACES * 64 : i % PLACES * SLICE;
    tile.n += BY_A ? i % PLACES * SLICE : i / PLACES * 64;
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

    // Asks for what C has at place i, which is free.
    INLINE void old(const Tile &tile, int i) const {
        const Tile at = of_place(tile, i);
        barrier_expect(old_barrier(group, i % OUTS), BOX);
        UNROLL for (int b = 0; b < PLACED; b++)
            box_load(place(i) + b * (BOX / PLACED), map, at.m + b * SLICE, at.n, 0, old_barrier(group, i % OUTS));
    }

    // Before a tile is multiplied: asks for the first boxes of C.
    INLINE void begin(const Tile &tile) const {
        if (BETA == 0 || !acts) return;
        bulk_read<0>();
        UNROLL for (int i = 0; i < OUTS && i < RESULTS; i++) old(tile, i);
    }

    // Writes the sums of a warp in place i, which has C where that is read; with those of others where they MET.
    template <bool MET>
    INLINE void put(const float *sum, unsigned char *box, int i, const Meeting &meeting, int warp, int lane) const {
        const Scalars s = {scalar(g.alpha), scalar(g.beta)};
#if TYPE_BITS == 32
        float others[GATHERED];
        UNROLL for (int j = 0; j < SLICE / 8; j++) {
            if (MET && 4 * j % GATHERED == 0) meeting.others(others, (OF_PLACE * i + 4 * j) / GATHERED);
            UNROLL for (int e = 0; e < 2; e++) {
                const int column = LANES ? lane_row(warp, e, lane / 4) : warp % 4 * 16 + lane / 4 + 8 * e;
                if (BY_A) {
                    // The column is a row of C, and its two sums are of columns that follow each other.
                    UNROLL for (int x = 0; x < 2; x++) {
                        const int line = 8 * j + lane % 4 * 2 + x;
                        float *const at = (float *)(box + column / SLICE * (BOX / 2) + line * LINE +
                                                    (column % SLICE / 4 ^ line % 8) * 16) + column % 4;
                        const float made = sum[4 * j + 2 * e + x] + (MET ? others[4 * j % GATHERED + 2 * e + x] : 0.0f);
                        *at = scaled(s, made, BETA != 0 ? *at : 0.0f);
                    }
                    continue;
                }
                float2 *const at = (float2 *)(box + column * LINE + ((2 * j + lane % 4 / 2) ^ column % 8) * 16 + lane % 2 * 8);
                float2 x = make_float2(sum[4 * j + 2 * e], sum[4 * j + 2 * e + 1]), old = make_float2(0, 0);
                if (MET) {
                    x.x += others[4 * j % GATHERED + 2 * e];
                    x.y += others[4 * j % GATHERED + 2 * e + 1];
                }
                if (BETA != 0) old = *at;
                *at = make_float2(scaled(s, x.x, old.x), scaled(s, x.y, old.y));
            }
        }
#else
        // A lane says where 16 bytes of a column lie: those of four blocks of 8 by 8.
        unsigned char *const column = box + (warp % 4 * 16 + lane % 16) * LINE;
        float others[GATHERED];
        UNROLL for (int j = 0; j < 8; j += 2) {
            if (MET && 4 * j % GATHERED == 0) meeting.others(others, (OF_PLACE * i + 4 * j) / GATHERED);
            unsigned char *const at = column + ((j + lane / 16) ^ lane % 8) * 16;
            unsigned int c[4] = {}, x[4];
            if (BETA != 0) ldmatrix<false>(c[0], c[1], c[2], c[3], at);
            UNROLL for (int e = 0; e < 4; e++) {
                float low = sum[4 * j + 2 * e], high = sum[4 * j + 2 * e + 1];
                if (MET) {
                    low += others[4 * j % GATHERED + 2 * e];
                    high += others[4 * j % GATHERED + 2 * e + 1];
                }
                x[e] = halves_of(scaled(s, low, real_of((Half)c[e])), scaled(s, high, real_of((Half)(c[e] >> 16))));
            }
            stmatrix(x[0], x[1], x[2], x[3], at);
        }
#endif
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
            const float *const own = sum[i / PLACES] + i % PLACES * OF_PLACE;
            // With more sums there are no registers for both: zeros are added.
            if (CUT && (SUMS > 128 || meeting.some())) put<true>(own, place(i), i, meeting, warp, lane);
            else put<false>(own, place(i), i, meeting, warp, lane);
            async_fence();
            meet(1 + group, 128);
            const Tile at = of_place(tile, i);
            bool whole[PLACED], threads = false;
            UNROLL for (int b = 0; b < PLACED; b++) {
                const int m = at.m + b * SLICE, rows = g.m - m;
                whole[b] = rows % WORD == 0 || rows <= 0 || rows >= SLICE;
                if (whole[b]) continue;
                store_columns<BOX_COLUMNS, WORD>((const Stored *)(place(i) + b * (BOX / PLACED)), g.c + m + at.n * g.ldc, g.ldc, rows,
                                                 g.n - at.n, thread);
                threads = true;
            }
            if (threads) meet(1 + group, 128);  // nobody reads it any more
            if (acts) {
                UNROLL for (int b = 0; b < PLACED; b++)
                    if (whole[b]) box_store(map, at.m + b * SLICE, at.n, 0, place(i) + b * (BOX / PLACED));
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
