// The tiles of C of all products, one after the other: where their operands are, and what is asked for ahead of them.
#pragma once

struct Item {
    Stored *c;
    int rows, columns;  // that are there
    int row, column, product;

    INLINE Item(const Gemm &g, int item) {
        product = (unsigned int)item / TILES_OF_C;
        const int tile = item - product * TILES_OF_C;
        row = tile % TILES_M * TILE_M;
        column = tile / TILES_M * TILE_N;
        rows = smaller(SIZE_M - row, TILE_M);
        columns = smaller(SIZE_N - column, TILE_N);
        c = (Stored *)g.c + product * g.stride_c + (row + column * g.ldc);
    }
};

// The lines of C that will be read come into the second-level cache meanwhile.
INLINE void prefetch(const Stored *c, int rows, int columns, long long ldc) {
    constexpr int LINE = 128, LINES = ceiling(TILE_M * SIZE, LINE) + 1;
    const unsigned char *const first = (const unsigned char *)c;
    _Pragma("unroll 1") for (int i = threadIdx.x; i < LINES * columns; i += THREADS) {
        const int at = smaller(i % LINES * LINE, rows * SIZE - 1);
        asm volatile("prefetch.global.L2 [%0];" ::"l"(first + i / LINES * (ldc * SIZE) + at));
    }
}

// What is fetched ahead of the multiplication: slice after slice of the same tiles.
struct Ahead {
    const Stored *a, *b;
    int item, items, slice, rows, columns;

    INLINE Ahead(const Gemm &g, int count) {
        item = (int)blockIdx.x;
        items = count;
        begin(g);
    }
    INLINE void begin(const Gemm &g) {
        if (item >= items) return;
        const Item x(g, item);
        a = (const Stored *)g.a + x.product * g.stride_a + x.row * (TRANS_A ? g.lda : 1);
        b = (const Stored *)g.b + x.product * g.stride_b + x.column * (TRANS_B ? 1 : g.ldb);
        rows = x.rows;
        columns = x.columns;
        slice = 0;
        if (BETA != 0) prefetch(x.c, rows, columns, g.ldc);
    }
    template <int DEPTH_THERE> INLINE void copy(const Gemm &g, Stored *to) const {
        RunsA::fetch<DEPTH_THERE, TILE_M, SIZE_M % TILE_M == 0>(to, a, g.lda, rows);
        RunsB::fetch<DEPTH_THERE, TILE_N, SIZE_N % TILE_N == 0>(to + SLICE_A, b, g.ldb, columns);
    }
    // Asks for the next slice, and commits a group in any case: waits count groups.
    INLINE void fetch(const Gemm &g, int stage) {
        if (item < items) {
            Stored *const to = (Stored *)(shared_memory + stage * STAGE);
            if (SLICES > 1 && LAST < DEPTH && slice < SLICES - 1)
                copy<DEPTH>(g, to);
            else
                copy<LAST>(g, to);
            a += DEPTH * (TRANS_A ? 1 : g.lda);
            b += DEPTH * (TRANS_B ? g.ldb : 1);
            if (++slice == SLICES) {
                item += (int)gridDim.x;
                begin(g);
            }
        }
        cp_async_commit();
    }
};
