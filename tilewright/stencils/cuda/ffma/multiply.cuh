// The products of a thread: its sums of each tile of its block.
#pragma once

// A warp waits for a slice.
INLINE void arrived(const Turn<STAGES> &turn) {
    barrier_wait(come_barrier(turn.at), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
}

// COUNT numbers of a line, in words that lie so many words apart.
template <int COUNT, int APART> INLINE void load(float (&x)[COUNT], unsigned int at) {
    UNROLL for (int i = 0; i < COUNT / FOUR; i++) {
        float *const to = x + i * FOUR;
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(at + i * APART * 16) : "memory");
    }
}

// Of which operand a thread has fewer numbers: these take turns fastest, so that the compiler finds registers in which nearly all
// products read from both banks.
constexpr bool ROWS_FIRST = ROWS <= COLUMNS;
constexpr int MANY = ROWS_FIRST ? COLUMNS : ROWS, FEW = ROWS_FIRST ? ROWS : COLUMNS;

// There and back, so that two products in a row share an operand in registers.
INLINE void multiply(Sums &sum, const float (&a)[ROWS], const float (&b)[COLUMNS]) {
    UNROLL for (int one = 0; one < MANY; one++)
        UNROLL for (int step = 0; step < FEW; step++) {
            const int two = one % 2 ? FEW - 1 - step : step, i = ROWS_FIRST ? two : one, j = ROWS_FIRST ? one : two;
            sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
        }
}

INLINE void multiply_tiles(const Product &g, const Packs &packs, const Cut &cut, int warp, int lane) {
    const Tiles tiles(g);
    const int four = lane / 16 * 2 + lane % 2, eight = lane / 2 % 8;
    const int lane_m = LANES_M == 4 ? four : eight, lane_n = LANES_M == 4 ? eight : four;
    const int row = warp % WARPS_M * ROWS * LANES_M + lane_m * FOUR, column = warp / WARPS_M * COLUMNS * LANES_N + lane_n * FOUR;
    const unsigned int of_a = shared_address(shared_memory) + row * 4, of_b = shared_address(shared_memory) + OF_A + column * 4;
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    const Kept kept(packs, cut, warp, lane);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        // The same in all lanes: registers of the warp count the slices.
        const int slices = __shfl_sync(0xffffffff, walk.count(), 0);
        Sums sum;
        float a[2][ROWS], b[2][COLUMNS];
        UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] = 0;
        _Pragma("unroll 1") for (int product = 0; product < PRODUCTS; product++) {
            arrived(turn);
            load<ROWS, LANES_M>(a[0], of_a + turn.at * STAGE);
            load<COLUMNS, LANES_N>(b[0], of_b + turn.at * STAGE);
            _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
                const bool more = slice + 1 < slices;
                Turn<STAGES> next = turn;
                next.next();
                // Behind the last slice nothing is needed: what is read there is of this slice again.
                const unsigned int here = turn.at * STAGE, there = (more ? next.at : turn.at) * STAGE;
                UNROLL for (int k = 0; k < DEPTH; k++) {
                    const bool last = k == DEPTH - 1;
                    if (last && more) arrived(next);
                    const unsigned int next_a = of_a + (last ? there : here + (k + 1) * LINE_A);
                    const unsigned int next_b = of_b + (last ? there : here + (k + 1) * LINE_B);
                    if (A_FIRST) load<ROWS, LANES_M>(a[(k + 1) % 2], next_a);
                    load<COLUMNS, LANES_N>(b[(k + 1) % 2], next_b);
                    if (!A_FIRST) load<ROWS, LANES_M>(a[(k + 1) % 2], next_a);
                    multiply(sum, a[k % 2], b[k % 2]);
                }
                __syncwarp();
                if (lane == 0) barrier_expect(gone_barrier(turn.at), 0);
                turn = next;
            }
#if COMPLEX
            // Of three products the first is in both parts; of four the first two are one part.
            if (PRODUCTS == 3 && product < 2) kept.keep(sum, product);
            if (PRODUCTS == 3 && product == 1) kept.fetch(sum, 0);
            if (PRODUCTS == 4 && product == 1) {
                kept.keep(sum, 1);
                UNROLL for (int i = 0; i < SUMMED; i++) number_of(sum, i) = 0;
            }
#endif
        }
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        if (CUT) meeting.add(sum, walk);
        const Tile tile(tiles, walk.number);
        store(g, sum, kept, tile.m + row, tile.n + column);
    }
}
