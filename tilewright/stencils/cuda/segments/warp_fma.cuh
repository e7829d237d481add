// What a warp multiplies by multiply-add units: LANES_M lanes along m, the others along n, each with a tile of its own.
//
// Lanes read vectors of neighbours in shared memory: along k where stored columns run along k, else rows (or columns) of
// C. Of rows that are read so, a lane has RUN_A neighbours, which it writes to C together.
#pragma once

constexpr int LANES_N = 32 / LANES_M, ROWS = WARP_M / LANES_M, COLUMNS = WARP_N / LANES_N;  // ROWS, COLUMNS: of a lane
constexpr int WORD = 16 / SIZE;  // elements of the widest vector
constexpr int RUN_A = !A_ALONG && ROWS % VEC_C == 0 ? VEC_C : 1;
constexpr int RUN_B = !B_ALONG && COLUMNS % WORD == 0 ? WORD : 1;

typedef Element Accumulators[COLUMNS][ROWS];

INLINE void clear(Accumulators &sum) {
    UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = zero();
}

// The row (or column) of a warp's part that a lane has as its i-th.
template <int LANES, int RUN> INLINE int of_lane(int i, int lane) { return i / RUN * LANES * RUN + lane * RUN + i % RUN; }

// STEP neighbours along k of the COUNT rows (or columns) of a lane.
template <bool K_ALONG, bool CONJ, int COUNT, int LANES, int RUN, int PITCH>
INLINE void lanes_load(Element (&x)[STEP][COUNT], const Kept *from, int lane) {
    if constexpr (K_ALONG) {
        UNROLL for (int i = 0; i < COUNT; i++) {
            Pack<STEP> found;
            found.vector = *(const typename Vector<STEP * SIZE>::Type *)(from + of_lane<LANES, 1>(i, lane) * PITCH);
            UNROLL for (int k = 0; k < STEP; k++) x[k][i] = conjugated(CONJ, found.element[k]);
        }
    } else {
        UNROLL for (int k = 0; k < STEP; k++) UNROLL for (int i = 0; i < COUNT; i += RUN) {
            Pack<RUN> found;
            found.vector = *(const typename Vector<RUN * SIZE>::Type *)(from + k * PITCH + of_lane<LANES, RUN>(i, lane));
            UNROLL for (int e = 0; e < RUN; e++) x[k][i + e] = conjugated(CONJ, found.element[e]);
        }
    }
}

struct Fragments {
    Element x[STEP][ROWS], y[STEP][COLUMNS];

    INLINE void load(const Kept *a, const Kept *b, int k, int lane) {
        lanes_load<A_ALONG, CONJ_A, ROWS, LANES_M, RUN_A, PITCH_A>(x, a + k * (A_ALONG ? 1 : PITCH_A), lane % LANES_M);
        lanes_load<B_ALONG, CONJ_B, COLUMNS, LANES_N, RUN_B, PITCH_B>(y, b + k * (B_ALONG ? 1 : PITCH_B), lane / LANES_M);
    }
};

constexpr int FRAGMENT_REGISTERS = sizeof(Fragments) / 4;

INLINE void multiply(Accumulators &sum, const Fragments &f) {
    UNROLL for (int k = 0; k < STEP; k++) UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++)
        multiply_add(sum[j][i], f.x[k][i], f.y[k][j]);
}

// Multiplies a k-tile, of which k_left are inside the matrices and the rest is zeros, which are not multiplied.
INLINE void multiply(Accumulators &sum, const Kept *a, const Kept *b, int k_left, int lane) {
    UNROLL for (int k = 0; k < BLK_K; k += STEP) {
        if (k > 0 && k >= k_left) break;
        Fragments f;
        f.load(a, b, k, lane);
        multiply(sum, f);
    }
}
