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
    int step;            // the k of all pieces of a product but the last one, which are nearly alike
    int first, pieces;   // pieces of this block of those that share a tile, which may be none
    Span all_a, all_b;

    INLINE Products(const Gemm &gemm)
        : g(gemm), all_a(g.a, g.stride_a, g.batch, g.lda, ALONG_A ? g.m : g.k, ALONG_A ? g.k : g.m),
          all_b(g.b, g.stride_b, g.batch, g.ldb, ALONG_B ? g.n : g.k, ALONG_B ? g.k : g.n) {
        of_each = LONG == 1 ? ceiling(g.m, TILE_M) : LONG == 2 ? ceiling(g.n, TILE_N) : 1;
        items = g.batch * of_each;
        const int all = ceiling(g.k, DEPTH), share = SHARING ? ceiling(all, (int)gridDim.y) : all;
        step = ceiling(ceiling(g.k, all), GRAIN) * GRAIN;
        first = blockIdx.y * share;
        pieces = smaller(all - first, share);
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
    // A piece of this block's: how long it is, and where it begins.
    INLINE int count(int piece) const { return smaller(g.k - (first + piece) * step, step); }
    INLINE const Stored *a(const Item &x, int piece) const {
        return x.a + (long long)(first + piece) * step * (ALONG_A ? 1 : g.lda);
    }
    INLINE const Stored *b(const Item &x, int piece) const {
        return x.b + (long long)(first + piece) * step * (ALONG_B ? 1 : g.ldb);
    }
};

// What a ring is filled with next: every gridDim.x-th tile, all pieces of one after the other.
struct Cursor {
    int item = blockIdx.x, piece = 0;
    INLINE void advance(int pieces) {
        if (++piece >= pieces) {
            piece = 0;
            item += (int)gridDim.x;
        }
    }
};
