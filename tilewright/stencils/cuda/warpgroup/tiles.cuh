// The order of tiles: bands of columns of C; in a band all tiles of a column of tiles before those of the next rows, and every
// other band in the other direction. Blocks that run at the same time then share rows of A and columns of B.
#pragma once

struct Tiles {
    const Product &g;
    int down, across;  // tiles of clusters

    INLINE Tiles(const Product &product)
        : g(product), down(ceiling(g.m, TILE_M * CLUSTER_M)), across(ceiling(g.n, TILE_N * CLUSTER_N)) {}

    INLINE int all() const { return down * across; }
    INLINE int slices() const { return ceiling(g.k, SLICE); }
};

struct Tile {
    int m, n;  // where it begins

    INLINE Tile(const Tiles &tiles, int number) {
        const int band = number / (tiles.g.band * tiles.down), first = band * tiles.g.band;
        const int width = min(tiles.g.band, tiles.across - first), rest = number - first * tiles.down;
        const int row = rest / width, column = first + rest - row * width;
        // Blocks of a cluster are neighbours along y of the grid.
        const int rank = CLUSTER > 1 ? blockIdx.y : 0;
        m = ((band & 1 ? tiles.down - 1 - row : row) * CLUSTER_M + (CLUSTER_M > 1 ? rank : 0)) * TILE_M;
        n = (column * CLUSTER_N + (CLUSTER_N > 1 ? rank : 0)) * TILE_N;
    }
};
