// A that runs across k, brought number by number: all warps of the group that loads copy the 4 bytes of each to where it lies in
// a slice along k. No unit turns boxes of such numbers on their way, and to turn them in shared memory takes as much of its time
// again as tensor cores leave.
//
// Eight neighbours of a column and four columns come at once: eight lines of shared memory, whose 16 bytes i lie at position
// i ^ line % 8, so that the 32 numbers lie in all banks, and four times 32 bytes of device memory. Copies of a few slices are on
// their way. What has come is fenced for tensor cores by the lanes that asked for it.
#pragma once

// Where the operand that comes as A lies.
struct Source {
    const Stored *a;
    long long lda;
};

constexpr int CARRIERS = 4;                      // warps
// Slices of which not all may have come. Those who multiply leave a slot when they have begun with the next one.
constexpr int DEPTH = smaller(3, STAGES - 2);
constexpr int EIGHTS = TILE_M / 8 / CARRIERS;    // of rows, for each warp

INLINE void start_singly() {
    UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(turned_barrier(i), CARRIERS);
}

// A slice of A of which `rows` are left from the first one of this lane on, and `left` along k. WHOLE: all of it is there.
template <bool WHOLE>
INLINE void bring_singly(unsigned char *slice, const Source &from, const Stored *first, int rows, int left, int warp, int lane) {
    unsigned char *const to = slice + (warp * EIGHTS * 8 + lane % 8) * LINE + lane / 8 * 4;
    _Pragma("unroll (WHOLE ? SLICE / 4 : 1)") for (int i = 0; i < SLICE / 4; i++) {
        UNROLL for (int j = 0; j < EIGHTS; j++) {
            const bool there = WHOLE || (8 * j < rows && 4 * i + lane / 8 < left);
            cp_async<4>(to + j * 8 * LINE + (i ^ lane % 8) * 16, there ? first + 8 * j : from.a, there ? 4 : 0);
        }
        first += 4 * from.lda;
    }
}

// What has come of the oldest slice is told, when only so many younger ones may be on their way.
template <int BUT> INLINE void tell(Turn<STAGES> &oldest, int lane) {
    cp_async_wait<BUT>();
    async_fence();
    __syncwarp();
    if (lane == 0) barrier_expect(turned_barrier(oldest.at), 0);
    oldest.next();
}

// A whole warp, one of CARRIERS, of which the first asks for B, too.
INLINE void come_singly(const Product &g, const Cut &cut, const Source &from, const TensorMap &map_b, int warp, int lane) {
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn, oldest;
    turn.parity = 1;  // nothing has to be read before the first ones
    int asked = 0;
    bool back = false;
    _Pragma("unroll 1") while (walk.next()) {
        const Tile tile(tiles, walk.number);
        // Parts of tiles run forwards, beside each other.
        const bool down = back && !walk.is_cut();
        const int step = down ? -SLICE : SLICE, row = tile.m + warp * EIGHTS * 8 + lane % 8, rows = g.m - row;
        int k = (down ? walk.last - 1 : walk.first) * SLICE;
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--, k += step) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const a = shared_memory + turn.at * STAGE;
            if (warp == 0 && lane == 0) {
                const unsigned int arrived = come_barrier(turn.at);
                barrier_expect(arrived, OF_B);
                bring<B_ALONG, TILE_N, CLUSTER_M>(a + OF_A, map_b, tile.n, k, arrived);
            }
            __syncwarp();
            const Stored *const first = from.a + row + (k + lane / 8) * from.lda;
            if (tile.m + TILE_M <= g.m && k + SLICE <= g.k)
                bring_singly<true>(a, from, first, rows, g.k - k, warp, lane);
            else
                bring_singly<false>(a, from, first, rows, g.k - k, warp, lane);
            cp_async_commit();
            turn.next();
            if (asked < DEPTH) asked++; else tell<DEPTH>(oldest, lane);
        }
        if (BACKWARDS) back = !back;
    }
    for (; asked > 0; asked--) tell<0>(oldest, lane);
}
