// The tiles of all products, one after the other, and the pieces of k of each.
#pragma once

// A tile of C: where it begins, where its operands do, and its rows and columns.
struct Item {
    const Stored *a, *b;
    Stored *c;
    int rows, columns;
};

struct Products {
    const Gemm &g;
    int of_each, items;  // tiles of a product, and of all
    int pieces, step;    // pieces of k, nearly alike, and how long all but the last one are

    INLINE Products(const Gemm &gemm) : g(gemm) {
        of_each = LONG == 1 ? ceiling(g.m, TILE_M) : LONG == 2 ? ceiling(g.n, TILE_N) : 1;
        items = g.batch * of_each;
        pieces = ceiling(g.k, DEPTH);
        step = ceiling(ceiling(g.k, pieces), GRAIN) * GRAIN;
    }

    INLINE Item at(int item) const {
        const int number = LONG ? (unsigned int)item / (unsigned int)of_each : item;
        const int tile = LONG ? item - number * of_each : 0;
        const long long matrix = number, row = LONG == 1 ? tile * TILE_M : 0, column = LONG == 2 ? tile * TILE_N : 0;
        Item x;
        x.a = (const Stored *)g.a + matrix * g.stride_a + row * (ALONG_A ? g.lda : 1);
        x.b = (const Stored *)g.b + matrix * g.stride_b + column * (ALONG_B ? g.ldb : 1);
        x.c = (Stored *)g.c + matrix * g.stride_c + row + column * g.ldc;
        x.rows = LONG == 1 ? smaller(g.m - (int)row, TILE_M) : TILE_M;
        x.columns = LONG == 2 ? smaller(g.n - (int)column, TILE_N) : TILE_N;
        return x;
    }
    INLINE int count(int piece) const { return smaller(g.k - piece * step, step); }
    INLINE const Stored *a(const Item &x, int piece) const { return x.a + (long long)piece * step * (ALONG_A ? 1 : g.lda); }
    INLINE const Stored *b(const Item &x, int piece) const { return x.b + (long long)piece * step * (ALONG_B ? 1 : g.ldb); }
};

// What a ring is filled with next: every gridDim.x-th tile, all pieces of one after the other.
struct Cursor {
    int item = blockIdx.x, piece = 0;
    INLINE void advance(int pieces) {
        if (++piece == pieces) {
            piece = 0;
            item += (int)gridDim.x;
        }
    }
};
