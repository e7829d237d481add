// A that runs across k, carried: all warps of the group that loads bring it into registers, turn it there, and write it along k
// into its slice. No unit turns boxes of such numbers on their way, and what is turned in shared memory passes its banks three
// times in place of once, beside tensor cores that leave little of them.
//
// A lane carries tiles of 4 x 4 numbers, 16 bytes of each of four columns. Of eight lanes, and so of the 16 bytes that they
// write at once, no two are in the same banks: in a slice the 16 bytes i of line l lie at position i ^ l % 8, and lane c has
// rows 4 c to 4 c + 3 of a box of 32, of four columns i ^ c that are others in each lane.
#pragma once

#include "lib/global.cuh"

// Where the operand that comes as A lies.
struct Source {
    const Stored *a;
    long long lda;
};

constexpr int CARRIERS = 4;             // warps
constexpr int EACH = TILE_M / 64;       // halves of boxes of 32 x 32 that a warp carries of a slice

INLINE void start_carried() {
    UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(turned_barrier(i), CARRIERS);
}

struct Carried {
    const Product &g;
    const Source &from;
    const int warp, lane;
    uint4 x[EACH][4];

    INLINE Carried(const Product &product, const Source &source, int number, int own)
        : g(product), from(source), warp(number), lane(own) {}

    // Of half box e: the first row of this lane, and the fours of its columns.
    INLINE int row(int e) const { return (warp * EACH + e) / 2 * 32 + lane % 8 * 4; }
    INLINE int four(int e) const { return (lane / 8 + (warp * EACH + e) % 2 * 4) ^ lane % 8; }

    // Asks for what this lane has of the slice at k.
    INLINE void load(int m, int k) {
        const bool whole = m + TILE_M <= g.m && k + SLICE <= g.k;
        UNROLL for (int e = 0; e < EACH; e++) {
            const int first = m + row(e), along = k + 4 * four(e);
            const Stored *at = from.a + first + along * from.lda;
            UNROLL for (int i = 0; i < 4; i++, at += from.lda) {
                x[e][i] = make_uint4(0, 0, 0, 0);
                if (whole || (along + i < g.k && first + 4 <= g.m)) {
                    global_load(x[e][i], (const uint4 *)at);
                } else if (along + i < g.k) {
                    // Behind the last row another operand may begin, or nothing.
                    if (first < g.m) global_load(x[e][i].x, (const unsigned int *)at);
                    if (first + 1 < g.m) global_load(x[e][i].y, (const unsigned int *)at + 1);
                    if (first + 2 < g.m) global_load(x[e][i].z, (const unsigned int *)at + 2);
                }
            }
        }
    }

    // Writes it along k.
    INLINE void store(unsigned char *slice) const {
        UNROLL for (int e = 0; e < EACH; e++) {
            const uint4 *const t = x[e];
            unsigned char *const to = slice + row(e) * LINE;
            const int at = four(e) ^ lane % 2 * 4;  // the position in the first line, of which the number is a multiple of 4
            *(uint4 *)(to + (at ^ 0) * 16) = make_uint4(t[0].x, t[1].x, t[2].x, t[3].x);
            *(uint4 *)(to + LINE + (at ^ 1) * 16) = make_uint4(t[0].y, t[1].y, t[2].y, t[3].y);
            *(uint4 *)(to + 2 * LINE + (at ^ 2) * 16) = make_uint4(t[0].z, t[1].z, t[2].z, t[3].z);
            *(uint4 *)(to + 3 * LINE + (at ^ 3) * 16) = make_uint4(t[0].w, t[1].w, t[2].w, t[3].w);
        }
    }
};

// A whole warp, one of CARRIERS, of which the first asks for B, too.
INLINE void come_carried(const Product &g, const Cut &cut, const Source &from, const TensorMap &map_b, int warp, int lane) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    Carried some(g, from, warp, lane);
    bool back = false;
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        // Parts of tiles run forwards, beside each other.
        const bool down = back && !walk.is_cut();
        const int step = down ? -SLICE : SLICE;
        int k = (down ? walk.last - 1 : walk.first) * SLICE;
        some.load(tile.m, k);
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const a = shared_memory + turn.at * STAGE;
            if (warp == 0 && lane == 0) {
                const unsigned int arrived = come_barrier(turn.at);
                barrier_expect(arrived, OF_B);
                bring<B_ALONG, TILE_N, CLUSTER_M>(a + OF_A, map_b, tile.n, k, arrived);
            }
            __syncwarp();
            some.store(a);
            // Tensor cores read it by the other proxy.
            async_fence();
            __syncwarp();
            if (lane == 0) barrier_expect(turned_barrier(turn.at), 0);
            turn.next();
            k += step;
            if (left > 1) some.load(tile.m, k);
        }
        if (BACKWARDS) back = !back;
    }
}
