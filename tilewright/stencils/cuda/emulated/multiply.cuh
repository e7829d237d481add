// The products of a warp group: its half of the columns of each tile, which are what tensor cores call rows.
#pragma once

// A slot has been read by a warp.
INLINE void read(int slot, int lane) {
    if (lane == 0) barrier_expect(gone_barrier(slot), 0);
}

struct Planes {
    const unsigned long long of_a, of_b;

    // Adds the product of a plane of A in one slot and one of B in another, or sets the sums where `add` is 0.
    INLINE void multiply(Sums &sum, int slot_a, int slot_b, int add) const {
        multiply_slice<TILE_M, B_ALONG, A_ALONG, STACKS>(sum[0], of_b + slot_b * (STAGE / 16), of_a + slot_a * (STAGE / 16), add);
    }
};

// The slot whose turn it is, when it has come.
INLINE int come_slot(Turn<STAGES> &turn) {
    const int slot = turn.at;
    barrier_wait(come_barrier(slot), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
    turn.next();
    return slot;
}

// The products of a slice; `before` are slots of the one before it, which are read when those are done. Products wait for each other
// in a queue, so that tensor cores have some when a warp waits for a slot. The least ones come first.
INLINE void multiply_planes(Sums &sum, const Planes &planes, Turn<STAGES> &turn, int (&before)[2], int slice, int lane) {
    if constexpr (PLANES == 3) {
        const int second = come_slot(turn);
        planes.multiply(sum, second, second, slice);
        wgmma_wait<1>();
        if (slice) UNROLL for (int i = 0; i < 2; i++) read(before[i], lane);
        const int first = come_slot(turn);
        planes.multiply(sum, first, second, 1);
        planes.multiply(sum, second, first, 1);
        planes.multiply(sum, first, first, 1);
        const int third = come_slot(turn);
        planes.multiply(sum, first, third, 1);
        planes.multiply(sum, third, first, 1);
        wgmma_wait<2>();
        read(second, lane);
        before[0] = first, before[1] = third;
    } else {
        const int first = come_slot(turn);
        planes.multiply(sum, first, first, slice);
        wgmma_wait<1>();
        if (slice) UNROLL for (int i = 0; i < 2; i++) read(before[i], lane);
        const int second = come_slot(turn);
        planes.multiply(sum, first, second, 1);
        planes.multiply(sum, second, first, 1);
        before[0] = first, before[1] = second;
    }
}

INLINE void multiply_tiles(const Product &g, const Cut &cut, int warp, int lane) {
    const Tiles tiles(g);
    const int group = warp / 4;
    const Planes planes = {slice_operand<A_ALONG>(shared_memory),
                           slice_operand<B_ALONG>(shared_memory + OF_A + group * GROUP_N * LINE)};
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    Turn<STAGES> turn;
    Sums sum;
    _Pragma("unroll 1") while (walk.next()) {
        int before[2];
        const int slices = walk.count();
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) multiply_planes(sum, planes, turn, before, slice, lane);
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
        UNROLL for (int i = 0; i < 2; i++) read(before[i], lane);
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        if (CUT) meeting.add(sum, walk);
        store(g, sum, Tile(tiles, walk.number), group, warp, lane);
    }
}
