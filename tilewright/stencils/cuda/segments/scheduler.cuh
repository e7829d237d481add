// The tile scheduler of persistent blocks: block b computes tiles b, b + gridDim, b + 2 gridDim, ... of all groups, and finds
// out of which by a binary search of the table that says how many tiles there are before each.
//
// Of a group, tiles along the split axis (with a split k: along m) come first, then those along the other, then the batch: so
// what a group has for itself is read by blocks that run together.
#pragma once

struct TileScheduler {
    const Groups &groups;
    int tile, entry = 0;         // counted from the chunk's first
    int group, matrix;           // matrix: of the batch
    int m, n, end_m, end_n;      // the tile's first row and column, and where C ends for its group
    int k, end_k;                // what is summed over

    INLINE TileScheduler(const Groups &groups)
        : groups(groups), tile((blockIdx.x + gridDim.x - groups.done % gridDim.x) % gridDim.x) { find(); }

    INLINE bool valid() const { return tile < groups.all(); }
    INLINE int k_left() const { return end_k - k; }

    // Where the operands of the tile's group and matrix begin.
    INLINE const Stored *a() const {
        const Segments &g = groups.g;
        return (const Stored *)g.a + group * g.group_a + matrix * g.stride_a + k * (A_ALONG ? 1 : g.lda);
    }
    INLINE const Stored *b() const {
        const Segments &g = groups.g;
        return (const Stored *)g.b + group * g.group_b + matrix * g.stride_b + k * (B_ALONG ? 1 : g.ldb);
    }
    INLINE Stored *c() const {
        const Segments &g = groups.g;
        return (Stored *)g.c + group * g.group_c + matrix * g.stride_c;
    }

    INLINE void next() {
        tile += gridDim.x;
        find();
    }

    INLINE void find() {
        if (valid()) locate();
    }

    // Where the tile lies, which there is.
    INLINE void locate() {
        const Segments &g = groups.g;
        const GroupTable &table = groups.table;
        // Mostly it is of the same group as the one before.
        if (table.tiles[entry + 1] <= tile) {
            int last = groups.last_entry();
            entry++;
            _Pragma("unroll 1") while (entry < last) {
                const int middle = (entry + last) / 2;
                if (table.tiles[middle + 1] > tile) last = middle; else entry = middle + 1;
            }
        }
        const int begin = table.ends[entry], end = table.ends[entry + 1];
        group = groups.group(entry);
        end_m = AXIS == 0 ? end : g.m;
        end_n = AXIS == 1 ? end : g.n;
        k = AXIS == 2 ? begin : 0;
        end_k = AXIS == 2 ? end : groups.exists(group) ? g.k : 0;
        const int first_m = AXIS == 0 ? begin : 0, first_n = AXIS == 1 ? begin : 0;
        const unsigned int tiles_m = (end_m - first_m + BLK_M - 1) / BLK_M, tiles_n = (end_n - first_n + BLK_N - 1) / BLK_N;
        const unsigned int inside = tile - table.tiles[entry];
        const unsigned int along = AXIS == 1 ? tiles_n : tiles_m, across = AXIS == 1 ? tiles_m : tiles_n;
        const unsigned int rest = inside / along, one = inside % along, other = rest % across;
        matrix = rest / across;
        m = first_m + (AXIS == 1 ? other : one) * BLK_M;
        n = first_n + (AXIS == 1 ? one : other) * BLK_N;
    }
};
