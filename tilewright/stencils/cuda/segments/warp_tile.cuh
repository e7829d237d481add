// A warp's part of C: its first element, and the rows and columns of its group from there on.
#pragma once

struct WarpTile {
    Stored *c;
    long long ldc;
    int rows, columns;
    INLINE WarpTile(const TileScheduler &tile, const WarpPosition &warp) : ldc(tile.groups.g.ldc) {
        const int row = tile.m + warp.m, column = tile.n + warp.n;
        c = tile.c() + row + column * ldc;
        rows = tile.end_m - row;
        columns = tile.end_n - column;
    }
    INLINE bool inside() const { return rows >= WARP_M && columns >= WARP_N; }
};
