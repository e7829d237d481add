// The products of a warp group: its columns of each tile, or all columns of every other tile.
#pragma once

// All blocks that share what came wait for each other's readers.
INLINE void read(int slot, int lane) {
    if (CLUSTER == 1) {
        if (lane == 0) barrier_expect(gone_barrier(slot), 0);
    } else if (lane < CLUSTER) {
        barrier_arrive_in(gone_barrier(slot), lane);
    }
}

// In turns: a group begins to multiply when the other one has asked for the last products of its tile.
constexpr int FIRST_TURN = 3;  // names of barriers; 1 and 2 are those of the groups alone

INLINE void multiply_tiles(const Product &g, const Cut &cut, const TensorMap &map_c, int warp, int lane) {
    const Tiles tiles(g);
    const int group = warp / 4;
    Walk walk(tiles, cut);
    const unsigned char *const a = shared_memory, *const b = shared_memory + OF_A + (PING_PONG ? 0 : group * GROUP_ROWS * LINE);
    const unsigned long long of_a = slice_operand<true>(a);
    Results results(g, map_c, group, threadIdx.x % 128);
    Meeting meeting(g, cut, group, threadIdx.x % 128);
    Turn<STAGES> turn;
    if (PING_PONG && group == 1) pass(FIRST_TURN, 256);
    bool own = !PING_PONG || group == 1;
    Sums sum;
    Fragments fragments[2] = {};
    _Pragma("unroll 1") while (walk.next()) {
        const int slices = walk.count();
        if (PING_PONG) own = !own;
        if (!own) {
            turn.skip(slices);
            continue;
        }
        if (BETA != 0 && walk.ends()) results.begin(of_group(Tile(tiles, walk.number), group));
        __syncwarp();
        if (PING_PONG) meet(FIRST_TURN + group, 256);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(TURNED ? turned_barrier(turn.at) : come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            multiply_pairs<TILE_M, false>(sum[0], sum[1], fragments, b + turn.at * STAGE, of_a + turn.at * (STAGE / 16), slice, SLICE,
                                          warp, lane, [&] { read(turn.before(), lane); });
            turn.next();
        }
        if (PING_PONG) pass(FIRST_TURN + (group ^ 1), 256);
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
        fragments[(SETS - 1) % 2].settled();
        read(turn.before(), lane);
        if (CUT && TEAMS) meeting.wait(walk);
        if (!walk.ends()) {
            meeting.give([&](int at) { return sum[at / (WIDTH / 2)][at % (WIDTH / 2)]; });
            continue;
        }
        if (CUT && !TEAMS) meeting.wait(walk);
        results.store(sum, of_group(Tile(tiles, walk.number), group), meeting, warp, lane);
    }
    if (results.acts) bulk_done();
}
