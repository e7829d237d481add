// The products of a thread: its sums of each tile of its block.
#pragma once

// A warp waits for a slice.
INLINE void arrived(const Turn<STAGES> &turn) {
    barrier_wait(TURNED ? turned_barrier(turn.at) : come_barrier(turn.at), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
}

// COUNT numbers at a step of k, in words that lie APART words apart; `at` is where the first one is at the first step, LINE bytes
// before the next. In operands that were turned (BOXES) words of a line lie in another order for each of eight steps.
template <int COUNT, int APART, int LINE, bool BOXES> INLINE void load(float (&x)[COUNT], unsigned int at, int step) {
    UNROLL for (int i = 0; i < COUNT / FOUR; i++) {
        const int word = i * APART;
        const unsigned int from = BOXES ? (at ^ (step % 8 ^ word % 8) * 16) + word / 8 * 32 * 128 : at + word * 16;
        float *const to = x + i * FOUR;
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from + step * LINE) : "memory");
    }
}

// Where the first word of a thread is in an operand whose first row (of B: column) this is.
template <bool BOXES> INLINE unsigned int first_word(int row) { return BOXES ? row / 32 * 32 * 128 + row % 32 * 4 : row * 4; }

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
    const unsigned int of_a = shared_address(shared_memory) + first_word<TURN_A>(row);
    const unsigned int of_b = shared_address(shared_memory) + OF_A + first_word<TURN_B>(column);
    Walk walk(tiles, cut);
    const Meeting meeting(cut, warp, lane);
    const Kept kept(packs, cut, warp, lane);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        // The same in all lanes: registers of the warp count the slices.
        const int slices = __shfl_sync(0xffffffff, walk.count(), 0);
        Sums sum;
        float a[2][ROWS], b[2][COLUMNS];
#if !COMPLEX
        if (BEGINS && walk.ends()) begin(g, Place(g, tiles, walk.number), sum, row, column);
        else
#endif
            UNROLL for (int i = 0; i < SUMMED; i++) number_of(sum, i) = 0;
        _Pragma("unroll 1") for (int product = 0; product < PRODUCTS; product++) {
            arrived(turn);
            load<ROWS, LANES_M, LINE_A, TURN_A>(a[0], of_a + turn.at * STAGE, 0);
            load<COLUMNS, LANES_N, LINE_B, TURN_B>(b[0], of_b + turn.at * STAGE, 0);
            _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
                const bool more = slice + 1 < slices;
                Turn<STAGES> next = turn;
                next.next();
                // Behind the last slice nothing is needed: what is read there is of this slice again.
                const unsigned int slot = turn.at * STAGE, there = (more ? next.at : turn.at) * STAGE;
                _Pragma("unroll 1") for (int part = 0; part < DEPTH; part += STEPS) {
                    const bool ends = part + STEPS == DEPTH;
                    const unsigned int here_a = of_a + slot + part * LINE_A, here_b = of_b + slot + part * LINE_B;
                    const unsigned int then_a = ends ? of_a + there : here_a + STEPS * LINE_A;
                    const unsigned int then_b = ends ? of_b + there : here_b + STEPS * LINE_B;
                    UNROLL for (int k = 0; k < STEPS; k++) {
                        const bool last = k == STEPS - 1;
                        if (last && ends && more) arrived(next);
                        const int step = last ? 0 : k + 1;
                        const unsigned int next_a = last ? then_a : here_a, next_b = last ? then_b : here_b;
                        if (A_FIRST) load<ROWS, LANES_M, LINE_A, TURN_A>(a[(k + 1) % 2], next_a, step);
                        load<COLUMNS, LANES_N, LINE_B, TURN_B>(b[(k + 1) % 2], next_b, step);
                        if (!A_FIRST) load<ROWS, LANES_M, LINE_A, TURN_A>(a[(k + 1) % 2], next_a, step);
                        multiply(sum, a[k % 2], b[k % 2]);
                    }
                }
                __syncwarp();
                done(gone_barrier(turn.at), lane);
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
        if (CUT) meeting.add(sum, walk);
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        store(g, Place(g, tiles, walk.number), sum, kept, row, column);
    }
}
