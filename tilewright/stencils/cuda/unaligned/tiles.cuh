// The order of tiles: bands of columns of C; in a band all tiles of a column of tiles before those of the next rows, and every
// other band in the other direction. Blocks that run at the same time then share rows of A and columns of B.
#pragma once

struct Tiles {
    const Product &g;
    int down, across;

    INLINE Tiles(const Product &product) : g(product), down(ceiling(g.m, TILE_M)), across(ceiling(g.n, TILE_N)) {}

    INLINE int all() const { return down * across; }
    INLINE int slices() const { return ceiling(g.k, SLICE); }
};

struct Tile {
    int m, n;  // where it begins

    INLINE Tile(const Tiles &tiles, int number) {
        const int band = number / (tiles.g.band * tiles.down), first = band * tiles.g.band;
        const int width = min(tiles.g.band, tiles.across - first), rest = number - first * tiles.down;
        const int row = rest / width;
        m = (band & 1 ? tiles.down - 1 - row : row) * TILE_M;
        n = (first + rest - row * width) * TILE_N;
    }
};
