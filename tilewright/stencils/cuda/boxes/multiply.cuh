// The products of a warp group: 64 columns of each tile, and what it makes of them in the tile's place in shared memory.
#pragma once

// Writes the sums of a warp, 16 columns of the tile, which has C where that is read.
INLINE void keep(const float *sum, unsigned char *tile, int warp, int lane, const Scalars &s) {
    // A lane says where 16 bytes of a column lie: those of four blocks of 8 by 8.
    unsigned char *const column = tile + (warp * 16 + lane % 16) * LINE;
    UNROLL for (int j = 0; j < TILE_M / 8; j += 2) {
        unsigned char *const at = column + j / 8 * (TILE_N * LINE) + ((j % 8 + lane / 16) ^ lane % 8) * 16;
        unsigned int old[4] = {}, x[4];
        if (BETA != 0) ldmatrix<false>(old[0], old[1], old[2], old[3], at);
        UNROLL for (int e = 0; e < 4; e++) {
            const float *const pair = sum + 4 * j + 2 * e;
            x[e] = halves_of(scaled(s, pair[0], real_of((Half)old[e])), scaled(s, pair[1], real_of((Half)(old[e] >> 16))));
        }
        stmatrix(x[0], x[1], x[2], x[3], at);
    }
}

INLINE void multiply_tiles(const Products &g, const Tiles &tiles, int warp, int lane) {
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    Turn<STAGES> turn;
    Turn<KEPT> place;
    const unsigned char *const b = shared_memory + warp / 4 * BOX, *const a = shared_memory + OF_B;
    const unsigned long long of_b = slice_operand<!TRANS_B>(b), of_a = slice_operand<TRANS_A>(a);
    float sum[TILE_M / 2];
    _Pragma("unroll 1") for (int number = blockIdx.x; number < tiles.all; number += (int)gridDim.x) {
        int before = 0;
        _Pragma("unroll 1") for (int slice = 0; slice < tiles.slices; slice++) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            multiply_slice<TILE_M, !TRANS_B, TRANS_A, 1>(sum, of_b + turn.at * (STAGE / 16), of_a + turn.at * (STAGE / 16),
                                                         slice);
            wgmma_wait<1>();
            if (slice > 0 && lane == 0) barrier_expect(gone_barrier(before), 0);
            before = turn.at;
            turn.next();
        }
        wgmma_wait<0>();
        wgmma_settled(sum);
        if (lane == 0) barrier_expect(gone_barrier(before), 0);
        barrier_wait(free_barrier(place.at), place.parity);
        __syncwarp();
        keep(sum, shared_memory + AT_RESULTS + place.at * RESULT, warp, lane, scalars);
        async_fence();
        barrier_expect(complete_barrier(place.at), 0);
        place.next();
    }
}
