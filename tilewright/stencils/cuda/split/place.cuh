// Where a tile of C lies: in which product of the batch.
#pragma once

struct Place {
    int product, m, n, columns;
    float *c;

    INLINE Place(const Product &g, const Tiles &tiles, int number) : product(number), m(0), n(0), columns(g.columns) {
        // A product of one tile needs no division.
        if (tiles.down > 1 || g.across > TILE_N) {
            const Tile tile(tiles, number);
            m = tile.m;
            product = tile.n / g.across;
            n = tile.n - product * g.across;
        }
        c = g.c + product * g.stride_c * PARTS_OF;
    }
};
