// The products of a thread: its sums of each tile of its block.
#pragma once

// A warp waits for a slice.
INLINE void arrived(const Turn<STAGES> &turn) {
    barrier_wait(come_barrier(turn.at), turn.parity);
    __syncwarp();  // lanes may leave the wait apart
}

// Bytes between the numbers of two steps that lie side by side. Of eight rows or columns the compiler is not told, or it reads both steps
// at once, for which there are no registers.
template <int COUNT> INLINE unsigned int apart() {
    if (COUNT <= 4) return 8;
    unsigned int eight;
    asm volatile("mov.u32 %0, 8;" : "=r"(eight));
    return eight;
}

// COUNT numbers at a step of k, LANES of a warp's side by side; `at` is where the first one is at the first of eight steps. Along k
// a line is a row, and 16 bytes are two steps; across it a line is a step in a slab of 16 rows, and 16 bytes are two of these.
// Either way the 16 bytes i lie at position i ^ line % 8, of which a lane's own number, and of every other one of four lanes four
// more, is in `at`.
template <bool ALONG, int COUNT, int LANES> INLINE void load(Element (&x)[COUNT], unsigned int at, int step) {
    if (ALONG) UNROLL for (int i = 0; i < COUNT; i++) {
        const int turned = step / 2 ^ (LANES == 4 ? i % 2 * 4 : 0);
        const unsigned int from = ((at + (step % 2 ? apart<COUNT>() : 0)) ^ turned * 16) + i * LANES * LINE;
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

// Real numbers of both operands, the parts of one after the other.
constexpr int REALS_M = 2 * ROWS, REALS_N = 2 * COLUMNS;
INLINE float real_of(const Element *x, int i) { return i % 2 ? x[i / 2].im : x[i / 2].re; }

// All products of parts, each summed by itself, there and back, so that two in a row share an operand in registers: each sum has always
// the same column of B, and the compiler finds registers in which products read from both banks. What is even or odd in both is in the
// real part in the end.
typedef float Products[REALS_M][REALS_N];
INLINE void multiply(Products &sum, const Element (&a)[ROWS], const Element (&b)[COLUMNS]) {
    constexpr bool ROWS_FIRST = ROWS <= COLUMNS;
    constexpr int MANY = ROWS_FIRST ? REALS_N : REALS_M, FEWER = ROWS_FIRST ? REALS_M : REALS_N;
    UNROLL for (int one = 0; one < MANY; one++)
        UNROLL for (int step = 0; step < FEWER; step++) {
            const int two = one % 2 ? FEWER - 1 - step : step, i = ROWS_FIRST ? two : one, j = ROWS_FIRST ? one : two;
            sum[i][j] = fmaf(real_of(a, i), real_of(b, j), sum[i][j]);
        }
}

// What has been summed, as complex numbers.
INLINE void fold(Sums &sum, const Products &of) {
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            const float real = of[2 * i][2 * j], imaginary = of[2 * i + 1][2 * j + 1];
            const float left = of[2 * i + 1][2 * j], right = of[2 * i][2 * j + 1];
            sum[i][j].re = CONJ_A == CONJ_B ? real - imaginary : real + imaginary;
            sum[i][j].im = (CONJ_B ? -right : right) + (CONJ_A ? -left : left);
        }
}

// Which numbers a lane of a warp has: where those of its warp begin in a tile, and which lane it is in either direction.
struct Lanes {
    int lane, warp, lane_m, lane_n, row, column;

    INLINE Lanes(int thread) : lane(thread % 32), warp(thread / 32) {
        const int four = lane / 16 * 2 + lane % 2, eight = lane / 2 % 8;
        lane_m = LANES_M == 4 ? four : eight;
        lane_n = LANES_M == 4 ? eight : four;
        row = warp % WARPS_M * WARP_M;
        column = warp / WARPS_M * WARP_N;
    }
};

// The number of a thread, read anew: what follows from it takes no registers while a tile is multiplied.
INLINE int thread_again() {
    int thread;
    asm volatile("mov.u32 %0, %tid.x;" : "=r"(thread));
    return thread;
}

INLINE void multiply_tiles(const Product &g, const Cut &cut) {
    const Tiles tiles(g);
    unsigned int of_a = shared_address(shared_memory), of_b = of_a + OF_A;
    {
        const Lanes lanes(threadIdx.x);
        of_a += first_number<A_ALONG>(lanes.row, lanes.lane_m);
        of_b += first_number<B_ALONG>(lanes.column, lanes.lane_n);
    }
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        // The same in all lanes: registers of the warp count the slices.
        const int slices = __shfl_sync(0xffffffff, walk.count(), 0);
        Products parts;
        Element a[2][ROWS], b[2][COLUMNS];
        UNROLL for (int i = 0; i < REALS_M; i++) UNROLL for (int j = 0; j < REALS_N; j++) parts[i][j] = 0;
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
                    multiply(parts, a[k % 2], b[k % 2]);
                }
                here_a = then_a;
                here_b = then_b;
            }
            __syncwarp();
            if (thread_again() % 32 == 0) barrier_expect(gone_barrier(turn.at), 0);
            turn = next;
        }
        const Lanes lanes(thread_again());
        const Meeting meeting(cut, lanes.warp, lanes.lane);
        Sums sum;
        fold(sum, parts);
        if (CUT) meeting.add(sum, walk);
        if (!walk.ends()) {
            meeting.give(sum);
            continue;
        }
        store(g, Place(g, tiles, walk.number), sum, lanes.row, lanes.column, lanes.lane_m, lanes.lane_n);
    }
}
