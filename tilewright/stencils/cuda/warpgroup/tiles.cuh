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

// What a cluster of blocks has to do, one piece after the other: whole tiles, and behind them its share of those that are cut,
// from its end. So what other blocks wait for comes first: at most one piece does not end where its tile ends. Whoever has the
// end of a tile adds what blocks with lower numbers have of it, which wait for nobody.
struct Walk {
    const Cut &cut;
    const int whole, slices;
    int number, first = 0, last;  // a tile, and its slices from `first` to `last` - 1
    int low = 0, high = 0;        // what is left of the share, counted from the first slice that is cut

    INLINE Walk(const Tiles &tiles, const Cut &given)
        : cut(given), whole(CUT ? given.whole : tiles.all()), slices(tiles.slices()), number((int)blockIdx.x - (int)gridDim.x),
          last(slices) {
        if (CUT && (int)blockIdx.x < cut.workers) {
            low = begin(blockIdx.x);
            high = begin(blockIdx.x + 1);
        }
    }

    // Where the share of a worker begins.
    INLINE int begin(int worker) const { return worker * cut.share + min(worker, cut.longer); }

    INLINE bool next() {
        number += (int)gridDim.x;
        if (number < whole) return true;
        if (!CUT || low >= high) return false;
        const int tile = (high - 1) / slices, start = tile * slices;
        number = whole + tile;
        first = max(low - start, 0);
        last = high - start;
        high = start + first;
        return true;
    }

    INLINE int count() const { return CUT ? last - first : slices; }
    INLINE bool ends() const { return !CUT || last == slices; }
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
