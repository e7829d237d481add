// A warp's part of C: its first element, the rows and columns of C from there on, and whether the matrix exists.
#pragma once

struct WarpTile {
    Stored *c;
    int rows, columns;
    bool valid;
    INLINE WarpTile(const Gemm &g, const TileScheduler &tile, const WarpPosition &warp) {
        const int matrix = tile.group * GROUP + warp.matrix, row = tile.first_m() + warp.m, column = tile.first_n() + warp.n;
        c = (Stored *)g.c + matrix * g.stride_c + row + column * g.ldc;
        rows = g.m - row;
        columns = g.n - column;
        valid = GROUP == 1 || matrix < g.batch;
    }
    INLINE bool inside() const { return valid && rows >= WARP_M && columns >= WARP_N; }
};
