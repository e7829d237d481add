// The tile scheduler of persistent blocks: block b computes tiles b, b + gridDim, b + 2 gridDim, ... of all groups of
// matrices, tiles of a group first.
#pragma once

struct TileScheduler {
    static constexpr unsigned int UP = 0x10000;
    unsigned int tile, tiles;        // both coordinates of a tile, and the numbers of tiles, in one word: m + UP * n
    unsigned int step_tile;          // what is added for the next tile: nothing is divided on the way
    int group, step_group, groups;

    INLINE TileScheduler(const Gemm &g) {
        const int tiles_m = (g.m + BLK_M - 1) / BLK_M, tiles_n = (g.n + BLK_N - 1) / BLK_N, all = tiles_m * tiles_n;
        const int first = blockIdx.x % all, step = gridDim.x % all;
        groups = (g.batch + GROUP - 1) / GROUP;
        group = blockIdx.x / all;
        step_group = gridDim.x / all;
        tiles = tiles_m + UP * tiles_n;
        tile = first % tiles_m + UP * (first / tiles_m);
        step_tile = step % tiles_m + UP * (step / tiles_m);
    }
    INLINE bool valid() const { return group < groups; }
    INLINE int first_m() const { return (int)(tile % UP) * BLK_M; }
    INLINE int first_n() const { return (int)(tile / UP) * BLK_N; }
    INLINE void next() {
        group += step_group;
        tile += step_tile;
        if (tile % UP >= tiles % UP) tile += UP - tiles % UP;
        if (tile / UP >= tiles / UP) {
            tile -= tiles / UP * UP;
            group++;
        }
    }
};
