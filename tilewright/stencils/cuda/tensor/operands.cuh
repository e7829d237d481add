// Both operands of the k-tiles that a block multiplies, one after the other across the borders of tiles and matrices: the
// loader runs ahead of the multiplication with a scheduler of its own.
#pragma once

struct OperandLoader {
    const Gemm &g;
    TileLoaderA &a;
    TileLoaderB &b;
    TileScheduler tile;
    int k_left = 0;  // of the tile that is loaded

    INLINE OperandLoader(const Gemm &g, TileLoaderA &a, TileLoaderB &b) : g(g), a(a), b(b), tile(g) {}

    // Starts to load the next k-tile, if there is one.
    INLINE void fetch(Kept *stage) {
        if (!tile.valid()) return;
        if (k_left <= 0) {
            const int first = tile.group * GROUP;
            a.start(g.a, g.lda, g.stride_a, first, g.batch, tile.first_m(), g.m);
            b.start(g.b, g.ldb, g.stride_b, first, g.batch, tile.first_n(), g.n);
            k_left = g.k;
        }
        a.fetch(k_left, stage);
        b.fetch(k_left, stage + STAGE_B);
        k_left -= BLK_K;
        if (k_left <= 0) tile.next();
    }

#if STAGES == 1
    INLINE void offload(Kept *stage) const {
        a.offload(stage);
        b.offload(stage + STAGE_B);
    }
#endif
};
