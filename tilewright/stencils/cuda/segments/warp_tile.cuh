// A warp's part of C: its first element, and the rows and columns of its group from there on.
#pragma once

struct WarpTile {
    Stored *c;
    int rows, columns;
    INLINE WarpTile(const Segments &g, const TileScheduler &tile, const WarpPosition &warp) {
        const int row = tile.m + warp.m, column = tile.n + warp.n;
        c = (Stored *)g.c + tile.group * g.group_c + tile.matrix * g.stride_c + row + column * g.ldc;
        rows = tile.end_m - row;
        columns = tile.end_n - column;
    }
    INLINE bool inside() const { return rows >= WARP_M && columns >= WARP_N; }
};
