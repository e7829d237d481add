// The products of a warp group: half of each tile, or all of every other tile.
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

template <typename FromC>
INLINE void multiply_tiles(const Product &g, const Cut &cut, const FromC &map_c, int warp, int lane) {
    const Tiles tiles(g);
    const int group = warp / 4;
    Walk walk(tiles, cut);
    const int own_rows = PING_PONG ? 0 : group * GROUP_ROWS * LINE;
    const unsigned char *const a = shared_memory + (BY_A ? own_rows : 0), *const b = shared_memory + OF_A + (BY_A ? 0 : own_rows);
    const unsigned long long of_a = slice_operand<A_ALONG || TURN_A>(a), of_b = slice_operand<B_ALONG || TURN_B>(b);
#if !BY_THREADS
    Results results(g, map_c, group, threadIdx.x % 128);
#endif
    Meeting meeting(g, cut, group, threadIdx.x % 128);
    Turn<STAGES> turn;
    if (PING_PONG && group == 1) pass(FIRST_TURN, 256);
    bool own = !PING_PONG || group == 1;
    Sums sum;
    _Pragma("unroll 1") while (walk.next()) {
        const int slices = walk.count();
        if (PING_PONG) own = !own;
        if (!own) {
            turn.skip(slices);
            continue;
        }
#if !BY_THREADS
        if (BETA != 0 && walk.ends()) results.begin(of_group(Tile(tiles, walk.number), group));
#endif
        __syncwarp();
        if (PING_PONG) meet(FIRST_TURN + group, 256);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(TURNED ? turned_barrier(turn.at) : come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
#if LANES
            multiply_by_lanes(sum, (BY_A ? a : b) + turn.at * STAGE, (BY_A ? of_b : of_a) + turn.at * (STAGE / 16), slice, warp, lane);
#else
            multiply_slice<TILE_M, B_ALONG || TURN_B, A_ALONG || TURN_A, STACKS>(sum[0], of_b + turn.at * (STAGE / 16),
                                                             of_a + turn.at * (STAGE / 16), slice);
#endif
            wgmma_wait<FLIGHT>();
            if (FLIGHT == 0) read(turn.at, lane);
            if (FLIGHT == 1 && slice > 0) read(turn.before(), lane);
            turn.next();
        }
        if (PING_PONG) pass(FIRST_TURN + (group ^ 1), 256);
        wgmma_wait<0>();
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
        if (FLIGHT == 1 && (CLUSTER_K == 1 || slices > 0)) read(turn.before(), lane);
#if BY_THREADS
        float held[HELD];
        join(sum, slices == 0, held, group, threadIdx.x % 128);
        if (CUT) meeting.wait(walk);
        if (walk.ends()) store_joined(g, held, of_group(Tile(tiles, walk.number), group), meeting, threadIdx.x % 128);
        else meeting.give([&](int at) { return held[at]; });
#else
        if (CUT && TEAMS) meeting.wait(walk);
        if (!walk.ends()) {
            meeting.give([&](int at) { return sum[at / (WIDTH / 2)][at % (WIDTH / 2)]; });
            continue;
        }
        if (CUT && !TEAMS) meeting.wait(walk);
        results.store(sum, of_group(Tile(tiles, walk.number), group), meeting, warp, lane);
#endif
    }
#if !BY_THREADS
    if (results.acts) bulk_done();
#endif
}
