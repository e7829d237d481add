// Where a tile of C lies, and how many columns there are.
#pragma once

struct Place {
    float *c;
    int m, n, columns;

    INLINE Place(const Product &g, const Tiles &tiles, int number) : c(g.c), columns(g.n) {
        const Tile tile(tiles, number);
        m = tile.m;
        n = tile.n;
    }
};
