// What tiles to come read, asked for before they begin.
#pragma once

INLINE void prefetch_line(const Stored *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Asks for what a warp's tile needs that is computed when those that are now on the device are done, to be in the second-level
// cache by then.
INLINE void prefetch(const TileScheduler &tile, int warp, int lane) {
    TileScheduler far(tile);
    far.tile += FAR;
    if (!far.valid()) return;
    far.locate();
    if (far.k_left() <= 0) return;
    const Segments &g = far.groups.g;
    constexpr int LINE = 128 / SIZE;
    const int first = far.m + warp * WARP_M, rows = min(WARP_M, far.end_m - first), columns = min(TILE_N, far.end_n - far.n);
    if (A_ALONG) {
        for (int row = lane; row < rows; row += 32) prefetch_line(far.a() + (first + row) * g.lda);
    } else {
        constexpr int LINES_A = WARP_M / LINE;
        for (int i = lane; i < K * LINES_A; i += 32)
            if (i % LINES_A * LINE < rows) prefetch_line(far.a() + first + i % LINES_A * LINE + i / LINES_A * g.lda);
    }
    if (rows > 0 && first == 0) {
        if (B_ALONG) {
            for (int n = lane; n < columns; n += 32) prefetch_line(far.b() + (far.n + n) * g.ldb);
        } else {
            for (int k = lane; k < K; k += 32) prefetch_line(far.b() + far.n + k * g.ldb);
        }
    }
}
