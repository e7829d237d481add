// The products of a warp group: 64 rows of each tile.
#pragma once

// Sets what lies behind the end of a split k to zero: lines of boxes from k on.
INLINE void clear_behind(unsigned char *slice, int k) {
    _Pragma("unroll 1") for (int box = 0; box < STAGE / BOX; box++)
        _Pragma("unroll 1") for (int at = k * LINE + threadIdx.x * 16; at < BOX; at += 32 * MULTIPLYING * 16)
            *(uint4 *)(slice + box * BOX + at) = make_uint4(0, 0, 0, 0);
    async_fence();
    __syncwarp();  // lanes may leave the loop apart
    meet(5, 32 * MULTIPLYING);
}

INLINE void multiply_tiles(TileScheduler &tile, const TensorMap &map_c, Turn<STAGES> &turn, int &place, int warp, int lane) {
    unsigned char *const a = shared_memory + warp / 4 * BOX, *const b = shared_memory + OF_A;
    const unsigned long long of_a = slice_operand<A_ALONG>(a), of_b = slice_operand<B_ALONG>(b);
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        int left = tile.k_left(), others = 0;  // along k, and whether there were slices before this one
        Sums sum;
        // A group without terms has results, too.
        if (left <= 0) UNROLL for (int i = 0; i < TILE_N / 2; i++) sum[i] = 0;
        _Pragma("unroll 1") for (; left > 0; left -= SLICE) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (AXIS == 2 && left < SLICE) clear_behind(shared_memory + turn.at * STAGE, left);
            multiply_slice<TILE_N, A_ALONG, B_ALONG, 1>(sum, of_a + turn.at * (STAGE / 16), of_b + turn.at * (STAGE / 16),
                                                        others);
            wgmma_wait<1>();
            if (others && lane == 0) barrier_expect(gone_barrier(turn.before()), 0);
            others = 1;
            turn.next();
        }
        wgmma_wait<0>();
        wgmma_settled(sum);
        if (others && lane == 0) barrier_expect(gone_barrier(turn.before()), 0);
        tile.find();  // once more, rather than held in registers meanwhile
        store(sum, tile, map_c, place, warp, lane);
    }
}
