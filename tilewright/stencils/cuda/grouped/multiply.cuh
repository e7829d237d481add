// The product of one warp, from shared memory, in tiles of one size or of several.
#pragma once

struct Tile {
    const Stored *a, *b, *old;  // in shared memory; old is not used where C is not read
    int lda, ldb, ldo;
    Stored *c;
    long long ldc;
    int m, n, k;   // of what this warp computes
    bool reads;    // whether C is read
};

#if MMA
constexpr int STEP_K = TYPE_BITS == 16 ? 16 : 4;

// A lane holds row lane / 4 of a fragment of A and column lane / 4 of one of B; of C, that row and columns
// 2 (lane % 4) and the next one. Beyond the end of k both operands are set to zero: memory may hold NaN there.
template <int TILE_M, int TILE_N>
INLINE void multiply_step(Element (&sum)[TILE_N][TILE_M], const Stored *a, const Stored *b, const int (&row)[TILE_M],
                          const int (&column)[TILE_N / 2], int step_a, int step_b, int left) {
#if TYPE_BITS == 64
    Element x[TILE_M], y[TILE_N / 2];
    UNROLL for (int i = 0; i < TILE_M; i++) x[i] = left > 0 ? conjugated(CONJ_A, a[row[i]]) : zero();
    UNROLL for (int j = 0; j < TILE_N / 2; j++) y[j] = left > 0 ? conjugated(CONJ_B, b[column[j]]) : zero();
    auto rows_16 = [](Real &c0, Real &c1, Real &c2, Real &c3, Real a0, Real a1, Real b0) {
#if __CUDA_ARCH__ >= 900
        mma_16x8x4(c0, c1, c2, c3, a0, a1, b0);
#else
        mma_8x8x4(c0, c1, a0, b0);
        mma_8x8x4(c2, c3, a1, b0);
#endif
    };
    UNROLL for (int j = 0; j < TILE_N; j += 2) UNROLL for (int i = 0; i < TILE_M; i += 2) {
        Element &c0 = sum[j][i], &c1 = sum[j + 1][i], &c2 = sum[j][i + 1], &c3 = sum[j + 1][i + 1];
#if COMPLEX
        const Element a0 = x[i], a1 = x[i + 1], b0 = y[j / 2];
        rows_16(c0.re, c1.re, c2.re, c3.re, a0.re, a1.re, b0.re);
        rows_16(c0.im, c1.im, c2.im, c3.im, a0.re, a1.re, b0.im);
        rows_16(c0.re, c1.re, c2.re, c3.re, -a0.im, -a1.im, b0.im);
        rows_16(c0.im, c1.im, c2.im, c3.im, a0.im, a1.im, b0.re);
#else
        rows_16(c0, c1, c2, c3, x[i], x[i + 1], y[j / 2]);
#endif
    }
#else
    // Registers of two k: the first two of a lane, and those 8 further. Complex numbers have one for each part.
    constexpr int PARTS = COMPLEX ? 2 : 1;
    unsigned int x[PARTS][2][TILE_M], y[PARTS][2][TILE_N / 2];
    auto load = [&](unsigned int *re, unsigned int *im, const Stored *from, int step, int at, bool conj) {
        const bool first = at < left, second = at + 1 < left;
#if COMPLEX
        const unsigned int *const words = (const unsigned int *)from;
        const unsigned int u = first ? words[at * step] : 0, v = second ? words[(at + 1) * step] : 0;
        *re = __byte_perm(u, v, 0x5410);
        *im = __byte_perm(u, v, 0x7632) ^ (conj ? 0x80008000u : 0u);
#else
        const unsigned int u = first ? from[at * step] : 0, v = second ? from[(at + 1) * step] : 0;
        *re = __byte_perm(u, v, 0x5410);
#endif
    };
    UNROLL for (int h = 0; h < 2; h++) {
        UNROLL for (int i = 0; i < TILE_M; i++) load(&x[0][h][i], &x[PARTS - 1][h][i], a + row[i], step_a, 8 * h, CONJ_A);
        UNROLL for (int j = 0; j < TILE_N / 2; j++)
            load(&y[0][h][j], &y[PARTS - 1][h][j], b + column[j], step_b, 8 * h, CONJ_B);
    }
    UNROLL for (int j = 0; j < TILE_N; j += 2) UNROLL for (int i = 0; i < TILE_M; i += 2) {
        Element &c0 = sum[j][i], &c1 = sum[j + 1][i], &c2 = sum[j][i + 1], &c3 = sum[j + 1][i + 1];
        auto rows_16 = [&](float &s0, float &s1, float &s2, float &s3, int part_a, unsigned int signs, int part_b) {
            const unsigned int w[4] = {x[part_a][0][i] ^ signs, x[part_a][0][i + 1] ^ signs, x[part_a][1][i] ^ signs,
                                       x[part_a][1][i + 1] ^ signs};
            float s[4] = {s0, s1, s2, s3};
            mma_16x8x16(s, w, y[part_b][0][j / 2], y[part_b][1][j / 2]);
            s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
        };
#if COMPLEX
        rows_16(c0.re, c1.re, c2.re, c3.re, 0, 0, 0);
        rows_16(c0.im, c1.im, c2.im, c3.im, 0, 0, 1);
        rows_16(c0.re, c1.re, c2.re, c3.re, 1, 0x80008000u, 1);
        rows_16(c0.im, c1.im, c2.im, c3.im, 1, 0, 0);
#else
        rows_16(c0, c1, c2, c3, 0, 0, 0);
#endif
    }
#endif
}
#endif

// Computes rows and columns from at_m and at_n on, TILE_M * LANES by TILE_N * ACROSS of them at most.
template <int TILE_M, int TILE_N> INLINE void multiply(const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    // Rows and columns of a lane that are surely in the matrix: otherwise a smaller tile would have been chosen.
    constexpr int SURE_M = FINE ? TILE_M - (MMA ? 2 : 1) : TILE_M > HALF_M ? HALF_M : 0;
    constexpr int SURE_N = FINE == 1 ? TILE_N - 2 : TILE_N > HALF_N ? HALF_N : 0;
    const int step_a = TRANS_A ? 1 : t.lda, step_b = TRANS_B ? t.ldb : 1;
    // Rows and columns outside the matrix are not stored. Where neighbours are a leading dimension apart, its last row or
    // column is read in their place; where they lie side by side, the bytes that follow, for which a product has room.
    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();
    const Stored *a = t.a, *b = t.b;
#if MMA
    const int lane_m = at_m + lane / 4, lane_n = at_n + 2 * (lane % 4);
    constexpr int NEXT_0 = 1, NEXT_1 = 7;  // columns from an even column of a lane to its next one, and from there
    int row[TILE_M], column[TILE_N / 2];
    UNROLL for (int i = 0; i < TILE_M; i++) {
        const int r = lane_m + 8 * i;
        row[i] = !TRANS_A ? 8 * i : (i < SURE_M ? r : min(r, t.m - 1)) * t.lda;
    }
    UNROLL for (int j = 0; j < TILE_N / 2; j++) {
        const int q = at_n + lane / 4 + 8 * j;
        column[j] = TRANS_B ? 8 * j : (2 * j < SURE_N ? q : min(q, t.n - 1)) * t.ldb;
    }
    const int lane_k = lane % 4 * (TYPE_BITS == 16 ? 2 : 1);
    a += lane_k * step_a + (TRANS_A ? 0 : lane_m);
    b += lane_k * step_b + (TRANS_B ? at_n + lane / 4 : 0);
    int p = 0;
    auto step = [&]() {
        multiply_step<TILE_M, TILE_N>(sum, a, b, row, column, step_a, step_b, STEP_K);
        a += STEP_K * step_a;
        b += STEP_K * step_b;
    };
    _Pragma("unroll 1") for (; p + DEEP * STEP_K <= t.k; p += DEEP * STEP_K) UNROLL for (int q = 0; q < DEEP; q++) step();
    if (DEEP > 1) _Pragma("unroll 1") for (; p + STEP_K <= t.k; p += STEP_K) step();
    if (p < t.k) multiply_step<TILE_M, TILE_N>(sum, a, b, row, column, step_a, step_b, t.k - p - lane_k);
#else
    const int lane_m = at_m + lane % LANES, lane_n = at_n + lane / LANES;
    constexpr int NEXT_0 = ACROSS, NEXT_1 = ACROSS;
    int row[TILE_M], column[TILE_N];
    UNROLL for (int i = 0; i < TILE_M; i++) {
        const int r = lane_m + i * LANES;
        row[i] = !TRANS_A ? i * LANES : (i < SURE_M ? r : min(r, t.m - 1)) * t.lda;
    }
    UNROLL for (int j = 0; j < TILE_N; j++) {
        const int q = lane_n + j * ACROSS;
        column[j] = TRANS_B ? j * ACROSS : (j < SURE_N ? q : min(q, t.n - 1)) * t.ldb;
    }
    if (!TRANS_A) a += lane_m;
    if (TRANS_B) b += lane_n;
    auto step = [&]() {
        Element x[TILE_M], y[TILE_N];
        UNROLL for (int i = 0; i < TILE_M; i++) x[i] = conjugated(CONJ_A, widened(a[row[i]]));
        UNROLL for (int j = 0; j < TILE_N; j++) y[j] = conjugated(CONJ_B, widened(b[column[j]]));
        UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
            multiply_add(sum[j][i], x[i], y[j]);
        a += step_a;
        b += step_b;
    };
    int p = 0;
    _Pragma("unroll 1") for (; p + DEEP <= t.k; p += DEEP) UNROLL for (int q = 0; q < DEEP; q++) step();
    if (DEEP > 1) _Pragma("unroll 1") for (; p < t.k; p++) step();
#endif
    // Pointers are advanced: an address for each column would take the registers of the accumulators.
    const Stored *old = t.old + lane_n * t.ldo + lane_m;
    bool in_rows[TILE_M];
    UNROLL for (int i = 0; i < TILE_M; i++) in_rows[i] = i < SURE_M || lane_m + i * LANES < t.m;
    Stored *c = t.c + lane_n * t.ldc + lane_m;
    UNROLL for (int j = 0; j < TILE_N; j++) {
        const bool in_columns = j < SURE_N || lane_n + j / 2 * (NEXT_0 + NEXT_1) + j % 2 * NEXT_0 < t.n;
        UNROLL for (int i = 0; i < TILE_M; i++) {
            const bool inside = in_rows[i] && in_columns;
            const Element before = BETA != 0 && t.reads && inside ? widened(old[i * LANES]) : zero();
            const Stored out = narrowed(scaled(s, sum[j][i], before));
            if (inside) c[i * LANES] = out;
        }
        const int next = j % 2 ? NEXT_1 : NEXT_0;
        c += next * t.ldc;
        old += next * t.ldo;
    }
}

template <int TILE_M>
INLINE void multiply_columns(int tile_n, const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    if (FINE != 1) {
        if (tile_n <= HALF_N) multiply<TILE_M, HALF_N>(t, at_m, at_n, lane, s);
        else multiply<TILE_M, COLUMNS>(t, at_m, at_n, lane, s);
    } else if (tile_n <= 2 || COLUMNS <= 2) multiply<TILE_M, 2>(t, at_m, at_n, lane, s);
    else if (tile_n <= 4 || COLUMNS <= 4) multiply<TILE_M, COLUMNS < 4 ? 2 : 4>(t, at_m, at_n, lane, s);
    else if (tile_n <= 6) multiply<TILE_M, COLUMNS < 6 ? 2 : 6>(t, at_m, at_n, lane, s);
    else multiply<TILE_M, COLUMNS < 8 ? 2 : 8>(t, at_m, at_n, lane, s);
}

INLINE void multiply_tile(int tile_m, int tile_n, const Tile &t, int at_m, int at_n, int lane, const Scalars &s) {
    if (!FINE || MMA) {
        if (tile_m <= HALF_M) multiply_columns<HALF_M>(tile_n, t, at_m, at_n, lane, s);
        else multiply_columns<ROWS>(tile_n, t, at_m, at_n, lane, s);
    } else if (tile_m <= 1) multiply_columns<1>(tile_n, t, at_m, at_n, lane, s);
    else if (tile_m == 2 || ROWS <= 2) multiply_columns<ROWS < 2 ? 1 : 2>(tile_n, t, at_m, at_n, lane, s);
    else if (tile_m == 3 || ROWS <= 3) multiply_columns<ROWS < 3 ? 1 : 3>(tile_n, t, at_m, at_n, lane, s);
    else multiply_columns<ROWS < 4 ? 1 : 4>(tile_n, t, at_m, at_n, lane, s);
}

// The most rows and columns of one tile.
constexpr int MOST_M = ROWS * LANES, MOST_N = COLUMNS * ACROSS;

// Computes all of a warp's part, in tiles of nearly the same size.
INLINE void multiply_all(const Tile &t, int lane, const Scalars &s) {
    const int down = (t.m + LANES - 1) / LANES, over = (t.n + ACROSS - 1) / ACROSS;
    if (LARGEST_M <= MOST_M && LARGEST_N <= MOST_N) {
        multiply_tile(down, over, t, 0, 0, lane, s);
        return;
    }
    const int times_m = (down + ROWS - 1) / ROWS, times_n = (over + COLUMNS - 1) / COLUMNS;
    // A division would take longer than a small product.
    auto share = [](int all, int times, bool few) {
        return !few ? (all + times - 1) / times : times == 1 ? all : (all + 1) / 2;
    };
    int tile_m = share(down, times_m, LARGEST_M <= 2 * MOST_M), tile_n = share(over, times_n, LARGEST_N <= 2 * MOST_N);
    if (FINE == 1) tile_n += tile_n & 1;
    else tile_n = tile_n <= HALF_N ? HALF_N : COLUMNS;
    if (!FINE || MMA) tile_m = tile_m <= HALF_M ? HALF_M : ROWS;
    _Pragma("unroll 1") for (int j = 0; j < times_n; j++) {
        // The last tile is moved back into the matrix, so that all of its rows and columns exist.
        const int at_n = max(min(j * tile_n * ACROSS, t.n - tile_n * ACROSS), 0);
        _Pragma("unroll 1") for (int i = 0; i < times_m; i++) {
            const int at_m = max(min(i * tile_m * LANES, t.m - tile_m * LANES), 0);
            multiply_tile(tile_m, tile_n, t, at_m, at_n, lane, s);
        }
    }
}
