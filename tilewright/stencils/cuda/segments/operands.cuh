// Both operands of the k-tiles that a block multiplies, one after the other across the borders of tiles and groups: the loader
// runs ahead of the multiplication with a scheduler of its own.
#pragma once

struct OperandLoader {
    TileLoaderA &a;
    TileLoaderB &b;
    TileScheduler tile;
    int k_left = 0;  // of the tile that is loaded

    INLINE OperandLoader(TileLoaderA &a, TileLoaderB &b, const TileScheduler &tile) : a(a), b(b), tile(tile) {}

    // Starts to load the next k-tile, if there is one. Of a tile without terms it is all zeros.
    INLINE void fetch(Kept *stage) {
        if (!tile.valid()) return;
        if (k_left <= 0) {
            a.start(tile.a(), tile.groups.g.lda, 0, 0, 1, tile.m, tile.end_m);
            b.start(tile.b(), tile.groups.g.ldb, 0, 0, 1, tile.n, tile.end_n);
            k_left = tile.k_left();
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
