// Where a tile of C lies: in which product of a batch (lib/product.cuh), and in that one.
#pragma once

struct Place {
    int m, n, columns;           // where it begins in its C, which has so many columns
    Stored *c;
    int matrix_a, matrix_b;      // which matrices of their tensor maps the operands are,
    long long ahead_a, ahead_b;  // and how many elements they begin behind the first ones

#if BATCHED
    INLINE Place(const Product &g, const Tiles &tiles, int number) : columns(g.columns) {
        const Tile tile(tiles, number);
        const int product = tile.n / g.across;
        m = tile.m;
        n = tile.n - product * g.across;
        c = g.c + product * g.stride_c;
        matrix_a = g.stride_a ? product : 0;
        matrix_b = g.stride_b ? product : 0;
        ahead_a = product * g.stride_a;
        ahead_b = product * g.stride_b;
    }
#else
    INLINE Place(const Product &g, const Tiles &tiles, int number)
        : columns(g.n), c(g.c), matrix_a(0), matrix_b(0), ahead_a(0), ahead_b(0) {
        const Tile tile(tiles, number);
        m = tile.m;
        n = tile.n;
    }
#endif
};
