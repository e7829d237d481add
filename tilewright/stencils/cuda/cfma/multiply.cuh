// The products of a thread: its sums of each tile of its block.
#pragma once

// A warp waits for a slice.
INLINE void arrived(const Turn<STAGES> &turn) {
    barrier_wait(come_barrier(turn.at), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
}

// COUNT numbers at a step of k, LANES of a warp's side by side; `at` is where the first one is at the first of eight steps. Along k
// a line is a row, and 16 bytes are two steps; across it a line is a step in a slab of 16 rows, and 16 bytes are two of these.
// Either way the 16 bytes i lie at position i ^ line % 8, of which a lane's own number, and of every other one of four lanes four
// more, is in `at`.
template <bool ALONG, int COUNT, int LANES> INLINE void load(Element (&x)[COUNT], unsigned int at, int step) {
    if (ALONG) UNROLL for (int i = 0; i < COUNT; i++) {
        const int turned = step / 2 ^ (LANES == 4 ? i % 2 * 4 : 0);
        const unsigned int from = (at ^ turned * 16) + i * LANES * LINE + step % 2 * 8;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[i].re), "=f"(x[i].im) : "r"(from) : "memory");
    }
    else UNROLL for (int i = 0; i < COUNT; i += 2) {
        const int word = i / 2, turned = step % 8 ^ (LANES == 4 ? word % 2 * 4 : 0);
        const unsigned int from = (at ^ turned * 16) + word * LANES / 8 * UNIT * LINE + step * LINE;
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(x[i].re), "=f"(x[i].im), "=f"(x[i + 1].re), "=f"(x[i + 1].im) : "r"(from) : "memory");
    }
}

// Where a lane's first number is in an operand, whose rows (of B: columns) of the warp begin here; and eight steps further.
template <bool ALONG> INLINE unsigned int first_number(int row, int lane) { return row * LINE + (ALONG ? lane * LINE : 0) + lane * 16; }
template <bool ALONG> INLINE unsigned int further(unsigned int at) { return ALONG ? at ^ 64 : at + 8 * LINE; }

// There and back, so that two products in a row share an operand in registers.
INLINE void multiply(Sums &sum, const Element (&a)[ROWS], const Element (&b)[COLUMNS]) {
    UNROLL for (int j = 0; j < COLUMNS; j++)
        UNROLL for (int step = 0; step < ROWS; step++) {
            const int i = j % 2 ? ROWS - 1 - step : step;
            multiply_add(sum[i][j], conjugated(CONJ_A, a[i]), conjugated(CONJ_B, b[j]));
        }
}

INLINE void multiply_tiles(const Product &g, const Cut &cut, int warp, int lane) {
    const Tiles tiles(g);
    const int four = lane / 16 * 2 + lane % 2, eight = lane / 2 % 8;
    const int lane_m = LANES_M == 4 ? four : eight, lane_n = LANES_M == 4 ? eight : four;
    const int row = warp % WARPS_M * WARP_M, column = warp / WARPS_M * WARP_N;
    const unsigned int of_a = shared_address(shared_memory) + first_number<A_ALONG>(row, lane_m);
    const unsigned int of_b = shared_address(shared_memory) + OF_A + first_number<B_ALONG>(column, lane_n);
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        // The same in all lanes: registers of the warp count the slices.
        const int slices = __shfl_sync(0xffffffff, walk.count(), 0);
        Sums sum;
        Element a[2][ROWS], b[2][COLUMNS];
        UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] = zero();
        arrived(turn);
        load<A_ALONG, ROWS, LANES_M>(a[0], of_a + turn.at * STAGE, 0);
        load<B_ALONG, COLUMNS, LANES_N>(b[0], of_b + turn.at * STAGE, 0);
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            const bool more = slice + 1 < slices;
            Turn<STAGES> next = turn;
            next.next();
            // Behind the last slice nothing is needed: what is read there is of this slice again.
            const unsigned int slot = turn.at * STAGE, there = (more ? next.at : turn.at) * STAGE;
            unsigned int here_a = of_a + slot, here_b = of_b + slot;
            _Pragma("unroll 1") for (int part = 0; part < DEPTH; part += STEPS) {
                const bool ends = part + STEPS == DEPTH;
                const unsigned int then_a = ends ? of_a + there : further<A_ALONG>(here_a);
                const unsigned int then_b = ends ? of_b + there : further<B_ALONG>(here_b);
                UNROLL for (int k = 0; k < STEPS; k++) {
                    const bool last = k == STEPS - 1;
                    if (last && ends && more) arrived(next);
                    const int step = last ? 0 : k + 1;
                    load<A_ALONG, ROWS, LANES_M>(a[(k + 1) % 2], last ? then_a : here_a, step);
                    load<B_ALONG, COLUMNS, LANES_N>(b[(k + 1) % 2], last ? then_b : here_b, step);
                    multiply(sum, a[k % 2], b[k % 2]);
                }
                here_a = then_a;
                here_b = then_b;
            }
            __syncwarp();
            if (lane == 0) barrier_expect(gone_barrier(turn.at), 0);
            turn = next;
        }
        if (CUT) meeting.add(sum, walk);
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        const Tile tile(tiles, walk.number);
        store(g, sum, tile.m + row, tile.n + column, lane_m, lane_n);
    }
}
