// The multiplier of multiply-add units: a part of C in the registers of each thread.
#pragma once

template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.vector = *(const typename Vector<COUNT * SIZE>::Type *)from;
    return out;
}

INLINE float lane_down(float x, int lanes) { return __shfl_down_sync(0xffffffff, x, lanes); }
INLINE double lane_down(double x, int lanes) { return __shfl_down_sync(0xffffffff, x, lanes); }
#if COMPLEX
INLINE Element lane_down(Element x, int lanes) { return Element{lane_down(x.re, lanes), lane_down(x.im, lanes)}; }
#endif

// Elements that one vector brings: along k where neighbours in memory are neighbours in k, of one or both operands, and
// along the rows of A or the columns of B where those are.
CONSTANT int deep() {
    int v = ALONG_A || ALONG_B ? WORD : 1;
    if (ALONG_A) v = smaller(v, vector(UNIT_A, UNIT_K, UNIT_K));
    if (ALONG_B) v = smaller(v, vector(UNIT_B, UNIT_K, UNIT_K));
    while (v > 1 && v * (ALONG_A * ROWS + ALONG_B * COLUMNS) * (int)sizeof(Element) > 4 * 64) v /= 2;
    return v;
}

struct Sums {
    static constexpr int VK = deep();
    static constexpr int VM = ALONG_A ? 1 : vector(UNIT_A, TILE_M, ROWS), VN = ALONG_B ? 1 : vector(UNIT_B, TILE_N, COLUMNS);
    static constexpr int WORK = ROWS * COLUMNS * VK * (COMPLEX ? 4 : 1);
    static constexpr int UNROLLED = WORK >= 128 ? 1 : smaller(8, 128 / WORK);

    Element sum[COLUMNS][ROWS];
    int part_m, part_n, place;  // which part this thread has, and which of those who have it this one is

    INLINE Sums() {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int slot = TEAM == 1 ? lane : warp % TEAM * 32 + lane;
        const int part = TEAM == 1 ? slot % PARTS : smaller(slot, PARTS - 1);
        part_m = part % ACROSS_M;
        part_n = part / ACROSS_M;
        place = slot / PARTS;  // INSIDE and more have nothing to do
    }
    // Rows and columns of a part are vectors that lie as far apart as all parts have vectors.
    INLINE int row(int i) const { return (i / VM * ACROSS_M + part_m) * VM + i % VM; }
    INLINE int column(int j) const { return (j / VN * (PARTS / ACROSS_M) + part_n) * VN + j % VN; }

    INLINE void clear() {
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = zero();
    }

    // Adds the products of a slab. Rows and columns outside of the tile are read from its last vector and not kept.
    template <typename LeadA, typename LeadB>
    INLINE void add(int group, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, int count) {
        const int start = place < INSIDE ? (group * INSIDE + place) * VK : count;
        auto row_in = [&](int i) { return TILE_M % ROWS == 0 ? row(i) : smaller(row(i), TILE_M - VM + i % VM); };
        auto column_in = [&](int j) { return TILE_N % COLUMNS == 0 ? column(j) : smaller(column(j), TILE_N - VN + j % VN); };
        _Pragma("unroll UNROLLED") for (int k = start; k < count; k += GROUPS * INSIDE * VK) {
            Pack<VK> along_a[ALONG_A ? ROWS : 1], along_b[ALONG_B ? COLUMNS : 1];
            if constexpr (ALONG_A) UNROLL for (int i = 0; i < ROWS; i++) along_a[i] = load<VK>(a + row_in(i) * lda + k);
            if constexpr (ALONG_B) UNROLL for (int j = 0; j < COLUMNS; j++) along_b[j] = load<VK>(b + column_in(j) * ldb + k);
            UNROLL for (int q = 0; q < VK; q++) {
                Element x[ROWS], y[COLUMNS];
                UNROLL for (int i = 0; i < ROWS; i += VM) {
                    Pack<VM> some;
                    if constexpr (ALONG_A) some.element[0] = along_a[i].element[q];
                    else some = load<VM>(a + (k + q) * lda + row_in(i));
                    UNROLL for (int e = 0; e < VM; e++) x[i + e] = conjugated(CONJ_A, widened(some.element[e]));
                }
                UNROLL for (int j = 0; j < COLUMNS; j += VN) {
                    Pack<VN> some;
                    if constexpr (ALONG_B) some.element[0] = along_b[j].element[q];
                    else some = load<VN>(b + (k + q) * ldb + column_in(j));
                    UNROLL for (int e = 0; e < VN; e++) y[j + e] = conjugated(CONJ_B, widened(some.element[e]));
                }
                UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++)
                    multiply_add(sum[j][i], x[i], y[j]);
            }
        }
    }

    // The first of the lanes that have a part gets the sums of all of them, halves of them at a time.
    INLINE void gather() {
        UNROLL for (int lanes = INSIDE; lanes > 1; lanes = ceiling(lanes, 2)) {
            const int half = ceiling(lanes, 2);
            UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) {
                const Element other = lane_down(sum[j][i], half * PARTS);
                if (place + half < lanes) sum[j][i] = sum_of(sum[j][i], other);
            }
        }
    }

    // Calls act with row, column and sum of what this thread has.
    template <typename Act> INLINE void each(Act act) const {
        if (place > 0) return;
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++)
            if (row(i) < TILE_M && column(j) < TILE_N) act(row(i), column(j), sum[j][i]);
    }
};
