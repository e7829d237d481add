// The products of a warp group: its half of the columns of each tile, which are what tensor cores call rows.
#pragma once

#include "lib/opaque.cuh"

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

// The products of a slice, those of the least parts first, so that what they add up to is not cut off behind the sum of the others.
// They wait for each other in a queue, so that tensor cores have some when a warp waits for a slot.
INLINE void multiply_planes(Sums &sum, const Planes &planes, Turn<STAGES> &turn, int lane) {
    int third = 0;
    if (PLANES == 3) third = come_slot(turn);
    const int first = come_slot(turn);
    if (PLANES == 3) {
        planes.multiply(sum, first, third, 0);
        planes.multiply(sum, third, first, 1);
    }
    const int second = come_slot(turn);
    if (PLANES == 3) planes.multiply(sum, second, second, 1);
    planes.multiply(sum, first, second, PLANES == 3);
    planes.multiply(sum, second, first, 1);
    planes.multiply(sum, first, first, 1);
    if (PLANES == 3) {
        wgmma_wait<4>();
        read(third, lane);
    }
    wgmma_wait<0>();
    UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
    read(first, lane);
    read(second, lane);
}

// Passes over a slice of which a group has nothing to multiply.
INLINE void pass_planes(Turn<STAGES> &turn, int lane) {
    UNROLL for (int i = 0; i < PLANES; i++) read(come_slot(turn), lane);
}

// Tensor cores cut off what they add behind the last bits of the sum, always towards zero. So they add up one slice at a time, whose
// sum is then added to that of all as float32 rounds; meanwhile the other group multiplies.
INLINE void multiply_tiles(const Product &g, const Cut &cut, int warp, int lane) {
    const Tiles tiles(g);
    const int group = warp / 4;
    const Planes planes = {slice_operand<A_ALONG>(shared_memory),
                           slice_operand<B_ALONG>(shared_memory + OF_A + group * GROUP_N * LINE)};
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    Turn<STAGES> turn;
    Sums sum, total;
    _Pragma("unroll 1") while (walk.next()) {
        const Place at(g, tiles, walk.number);
        if (at.n + group * GROUP_N >= at.columns) {
            _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--) pass_planes(turn, lane);
            continue;
        }
        // Of a tile that is cut who has its end adds C.
        if (BEGINS && walk.ends()) {
            begin(g, total, at, group, warp, lane);
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();
            begun(g, total, warp, lane);
        } else {
            UNROLL for (int i = 0; i < SUMMED; i++) number_of(total, i) = 0;
        }
        // The same in all lanes: registers of the warp count the slices, and say where they are.
        _Pragma("unroll 1") for (int left = __shfl_sync(0xffffffff, walk.count(), 0); left > 0; left--) {
            multiply_planes(sum, planes, turn, lane);
            UNROLL for (int i = 0; i < SUMMED; i++) number_of(total, i) += number_of(sum, i);
        }
        if (CUT) meeting.add(total, walk);
        if (!walk.ends()) {
            meeting.give(total);
            continue;
        }
        // Where it lies is found out again, so that it is in no register while the tile is multiplied.
        store(g, total, Place(g, tiles, opaque((unsigned int)walk.number)), group, warp, lane);
    }
}
