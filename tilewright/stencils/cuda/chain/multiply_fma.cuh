// The products of a group in shared memory, by multiply-add units: a thread computes a tile at a time.
#pragma once

#include "chain/factor.cuh"

// Computes a tile of X (M x K) times Y (K x N) and hands it to `put`, a vector of rows at a time. A thread has every
// few-th vector of rows and every few-th column, so that neighbours read neighbouring elements.
template <int M, int N, int K, class X, class Y, class Put>
INLINE void product(int tile, const X &x, const Y &y, const Put &put) {
    constexpr int TILE_M = smaller(ROWS, M), TILE_N = smaller(COLUMNS, N);
    // Vectors run along k where one or both factors are stored so, and along the free index of the other.
    constexpr int VK_X = X::TRANS ? vector_of(sizeof(typename X::Type), K, K) : 16;
    constexpr int VK_Y = Y::TRANS ? 16 : vector_of(sizeof(typename Y::Type), K, K);
    constexpr int VK = Y::TRANS && !X::TRANS ? 1 : smaller(VK_X, VK_Y);
    constexpr int VM = smaller(Put::template most<M, TILE_M>(),
                               X::TRANS ? 16 : vector_of(sizeof(typename X::Type), M, TILE_M));
    constexpr int VN = Y::TRANS ? vector_of(sizeof(typename Y::Type), N, TILE_N) : 1;
    constexpr int PIECES_M = TILE_M / VM, PIECES_N = TILE_N / VN;
    constexpr int ACROSS_M = ceiling(M, TILE_M), ACROSS_N = ceiling(N, TILE_N);
    constexpr bool WHOLE_M = ACROSS_M * TILE_M == M, WHOLE_N = ACROSS_N * TILE_N == N;
    constexpr int STEPS = K / VK, COST = TILE_M * TILE_N * VK * (COMPLEX ? 4 : 1) * (TYPE_BITS == 64 ? 2 : 1);
    constexpr int UNROLLED = COST * STEPS <= 512 ? STEPS : COST >= 256 ? 1 : smaller(STEPS, 256 / COST);

    const int tile_m = tile % ACROSS_M, tile_n = tile / ACROSS_M;
    int row[PIECES_M], column[PIECES_N];
    UNROLL for (int i = 0; i < PIECES_M; i++) row[i] = (i * ACROSS_M + tile_m) * VM;
    UNROLL for (int j = 0; j < PIECES_N; j++) column[j] = (j * ACROSS_N + tile_n) * VN;
    // Rows and columns outside the matrix are read from its last piece and not stored.
    auto row_in = [&](int i) { return WHOLE_M ? row[i] : min(row[i], M - VM); };
    auto column_in = [&](int j) { return WHOLE_N ? column[j] : min(column[j], N - VN); };

    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();

    _Pragma("unroll UNROLLED") for (int step = 0; step < STEPS; step++) {
        const int k = step * VK;
        Several<typename X::Type, X::TRANS ? VK : 1> along_x[X::TRANS ? TILE_M : 1];
        Several<typename Y::Type, Y::TRANS ? 1 : VK> along_y[Y::TRANS ? 1 : TILE_N];
        if constexpr (X::TRANS) UNROLL for (int i = 0; i < TILE_M; i++)
            along_x[i] = several<VK>(x.base + k + (row_in(i / VM) + i % VM) * X::LD);
        if constexpr (!Y::TRANS) UNROLL for (int j = 0; j < TILE_N; j++)
            along_y[j] = several<VK>(y.base + k + column_in(j) * Y::LD);
        UNROLL for (int q = 0; q < VK; q++) {
            Element left[TILE_M], right[TILE_N];
            UNROLL for (int i = 0; i < TILE_M; i += VM) {
                if constexpr (X::TRANS) {
                    UNROLL for (int e = 0; e < VM; e++) left[i + e] = conjugated(X::CONJ, value(along_x[i + e].element[q]));
                } else {
                    const auto piece = several<VM>(x.base + row_in(i / VM) + (k + q) * X::LD);
                    UNROLL for (int e = 0; e < VM; e++) left[i + e] = conjugated(X::CONJ, value(piece.element[e]));
                }
            }
            UNROLL for (int j = 0; j < TILE_N; j += VN) {
                if constexpr (Y::TRANS) {
                    const auto piece = several<VN>(y.base + column_in(j / VN) + (k + q) * Y::LD);
                    UNROLL for (int e = 0; e < VN; e++) right[j + e] = conjugated(Y::CONJ, value(piece.element[e]));
                } else {
                    right[j] = conjugated(Y::CONJ, value(along_y[j].element[q]));
                }
            }
            UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
                multiply_add(sum[j][i], left[i], right[j]);
        }
    }

    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i += VM) {
        const int at_m = row[i / VM], at_n = column[j / VN] + j % VN;
        if ((WHOLE_M || at_m < M) && (WHOLE_N || at_n < N)) {
            Element result[VM];
            UNROLL for (int e = 0; e < VM; e++) result[e] = sum[j][i + e];
            put(at_m, at_n, result);
        }
    }
}

// Where the product in between goes: as wide as it was summed.
struct Between {
    Element *to;
    template <int M, int TILE> static CONSTANT int most() { return vector_of(sizeof(Element), M, TILE); }
    template <int COUNT> INLINE void operator()(int row, int column, const Element (&x)[COUNT]) const {
        Several<Element, COUNT> out;
        UNROLL for (int i = 0; i < COUNT; i++) out.element[i] = x[i];
        *(typename Vector<COUNT * sizeof(Element)>::Type *)(to + row + column * ROWS_T) = out.vector;
    }
};

// Where the result goes, with Q added to it.
struct Result {
    Stored *to;
    const Stored *added;
    template <int M, int TILE> static CONSTANT int most() { return vector_of(SIZE, M, TILE); }
    template <int COUNT> INLINE void operator()(int row, int column, const Element (&x)[COUNT]) const {
        Element sum[COUNT];
        UNROLL for (int i = 0; i < COUNT; i++) sum[i] = x[i];
        if constexpr (IN_ADD >= 0 && !TRANS_ADD) {
            const auto old = several<COUNT>(added + row + column * SIZE_M);
            UNROLL for (int i = 0; i < COUNT; i++) sum[i] = sum_of(sum[i], conjugated(CONJ_ADD, value(old.element[i])));
        } else if constexpr (IN_ADD >= 0) {
            UNROLL for (int i = 0; i < COUNT; i++)
                sum[i] = sum_of(sum[i], conjugated(CONJ_ADD, value(added[column + (row + i) * SIZE_N])));
        }
        *(typename Vector<COUNT * SIZE>::Type *)(to + row + column * SIZE_M) = packed(sum).vector;
    }
};

// Computes `act` of all tiles of `count` matrices, so many of each.
template <int TILES, class Act> INLINE void each_tile(int count, Act act) {
    _Pragma("unroll 1") for (int item = threadIdx.x; item < count * TILES; item += THREADS) act(item / TILES, item % TILES);
}
CONSTANT int tiles(int m, int n) { return ceiling(m, smaller(ROWS, m)) * ceiling(n, smaller(COLUMNS, n)); }

// Multiplies `count` matrices of a stage. All threads of the block call it, and see its results after their next barrier.
INLINE void multiply_group(const unsigned char *stage, Stored *out, int count) {
    typedef Given<IN_1, TRANS_1, CONJ_1> X1;
    typedef Given<IN_2, TRANS_2, CONJ_2> X2;
    typedef Given<IN_3 < 0 ? 0 : IN_3, TRANS_3, CONJ_3> X3;
    typedef Factor<Element, ROWS_T, false, false> T;
    Element *const between = (Element *)(shared_memory + AT_BETWEEN);
    if constexpr (FACTORS == 3) {
        each_tile<tiles(ROWS_T, COLUMNS_T)>(count, [&](int which, int tile) {
            const X1 x_1 = {matrix_of<IN_1>(stage, which)};
            const X2 x_2 = {matrix_of<IN_2>(stage, which)};
            const X3 x_3 = {matrix_of<IN_3>(stage, which)};
            const Between put = {between + which * MATRIX_T};
            if constexpr (FIRST) product<ROWS_T, COLUMNS_T, SIZE_L>(tile, x_2, x_3, put);
            else product<ROWS_T, COLUMNS_T, SIZE_K>(tile, x_1, x_2, put);
        });
        block_sync();
    }
    each_tile<tiles(SIZE_M, SIZE_N)>(count, [&](int which, int tile) {
        const X1 x_1 = {matrix_of<IN_1>(stage, which)};
        const X2 x_2 = {matrix_of<IN_2>(stage, which)};
        const X3 x_3 = {matrix_of<IN_3>(stage, which)};
        const T t = {between + which * MATRIX_T};
        const Result put = {out + which * MATRIX_OUT, matrix_of<IN_ADD>(stage, which)};
        if constexpr (FACTORS == 2) product<SIZE_M, SIZE_N, SIZE_K>(tile, x_1, x_2, put);
        else if constexpr (FIRST) product<SIZE_M, SIZE_N, SIZE_K>(tile, x_1, t, put);
        else product<SIZE_M, SIZE_N, SIZE_L>(tile, t, x_3, put);
    });
}
