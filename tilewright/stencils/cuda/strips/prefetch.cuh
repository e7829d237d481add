// What later tiles read, asked for while it is not needed yet.
#pragma once

INLINE void prefetch_line(const Stored *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Asks the second-level cache for what a warp reads of the tile that comes AHEAD tiles later: its rows of A, and columns of B if
// they are the first rows, for other warps read the same columns.
INLINE void prefetch(const TileScheduler &tile, int warp, int lane) {
    TileScheduler later(tile);
    later.tile += AHEAD;
    if (!later.valid()) return;
    later.locate();
    if (later.k_left() <= 0) return;
    const Segments &g = later.groups.g;
    constexpr int LINE = 128 / SIZE;
    const int first = later.m + warp * WARP_M, rows = min(WARP_M, later.end_m - first), columns = min(TILE_N, later.end_n - later.n);
    if (A_ALONG) {
        for (int row = lane; row < rows; row += 32) prefetch_line(later.a() + (first + row) * g.lda);
    } else {
        constexpr int LINES = (WARP_M + LINE - 1) / LINE;
        for (int i = lane; i < K * LINES; i += 32)
            if (i % LINES * LINE < rows) prefetch_line(later.a() + first + i % LINES * LINE + i / LINES * g.lda);
    }
    if (first > 0) return;
    if (B_ALONG) {
        for (int n = lane; n < columns; n += 32) prefetch_line(later.b() + (later.n + n) * g.ldb);
    } else {
        for (int k = lane; k < K; k += 32) prefetch_line(later.b() + later.n + k * g.ldb);
    }
}
