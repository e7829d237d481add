// The products of a warp: its part of each tile of its block.
#pragma once

// All blocks that share what came wait for each other's readers.
INLINE void read(int slot, int lane) {
    if (CLUSTER == 1) {
        if (lane == 0) barrier_expect(gone_barrier(slot), 0);
    } else if (lane < CLUSTER) {
        barrier_arrive_in(gone_barrier(slot), lane);
    }
}

// A warp waits for a slice.
INLINE void arrived(const Turn<STAGES> &turn) {
    barrier_wait(come_barrier(turn.at), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
}

INLINE void multiply_tiles(const Product &g, const Cut &cut, int warp, int lane) {
    // Column of a step in front of which the next left fragments begin to be loaded, spread over the columns behind it.
    constexpr int MIDDLE = RIGHT_COLUMNS / 2;
    const Tiles tiles(g);
    const int r = lane / 4, q = lane % 4;
    const int row = warp % WARPS_M * WARP_M, column = warp / WARPS_M * WARP_N;
    const unsigned int a = shared_address(shared_memory) + row * LINE, b = shared_address(shared_memory) + OF_A + column * LINE;
    const unsigned int of_left = (LEFT_A ? a : b) + first_left(r, q), of_right = (LEFT_A ? b : a) + first_right(r, q);
    const unsigned int odd = q & 1;
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        const int slices = walk.count();
        Sums sum;
        Left left[2][LEFT_ROWS];
        Right right[2];
        if (BEGINS && walk.ends()) {
            begin(g, Results(g, Place(g, tiles, walk.number), row, column, r, q), sum);
        } else {
            UNROLL for (int i = 0; i < SUMMED; i++) number_of(sum, i) = 0;
        }
        arrived(turn);
        UNROLL for (int i = 0; i < LEFT_ROWS; i++) load_left(left[0][i], of_left + turn.at * STAGE, 0, i);
        load_right(right[0], of_right + turn.at * STAGE, 0, 0);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            const bool more = slice + 1 < slices;
            Turn<STAGES> next = turn;
            next.next();
            // Behind the last slice nothing is needed: what is read there is of this slice again.
            const unsigned int here = turn.at * STAGE, there = (more ? next.at : turn.at) * STAGE;
            UNROLL for (int step = 0; step < STEPS; step++)
                UNROLL for (int j = 0; j < RIGHT_COLUMNS; j++) {
                    const bool last = step == STEPS - 1, end = j == RIGHT_COLUMNS - 1;
                    const unsigned int after = last ? there : here;
                    const int place = (step * RIGHT_COLUMNS + j) % 2;  // of two; a slice has an even number of them
                    if (last && j == MIDDLE && more) arrived(next);
                    UNROLL for (int i = 0; i < LEFT_ROWS; i++)
                        if (j == MIDDLE + i * (RIGHT_COLUMNS - MIDDLE) / LEFT_ROWS)
                            load_left(left[(step + 1) % 2][i], of_left + after, last ? 0 : step + 1, i);
                    load_right(right[1 - place], of_right + (end ? after : here), end ? (last ? 0 : step + 1) : step,
                               end ? 0 : j + 1);
                    multiply_column(sum, left[step % 2], right[place], j, odd);
                }
            __syncwarp();
            read(turn.at, lane);
            turn = next;
        }
        if (CUT) meeting.add(sum, walk);
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        store(g, Results(g, Place(g, tiles, walk.number), row, column, r, q), sum);
    }
}
