// The order of tiles: bands of columns of C; in a band all tiles of a column of tiles before those of the next rows, and every
// other band in the other direction. Blocks that run at the same time then share rows of A and columns of B.
#pragma once

// Which tiles are cut: all behind the first `whole`, whose slices so many clusters of blocks share in their order. Each has
// `share` of them, and the first `longer` one more; a tile is counted as `counted` slices, of which the last may not be there. In
// the workspace are flags, which say the stamp of this launch where sums have come, and then sums.
struct Cut {
    unsigned char *workspace;
    unsigned long long stamp;
    int whole, workers, share, longer, counted;
};

struct Tiles {
    const Product &g;
    int down, across;  // tiles of clusters

    INLINE Tiles(const Product &product)
        : g(product), down(ceiling(g.m, TILE_M * CLUSTER_M)), across(ceiling(g.n, TILE_N * CLUSTER_N)) {}

    INLINE int all() const { return down * across; }
    INLINE int slices() const { return ceiling(g.k, SLICE); }
};

// What a cluster of blocks has to do, one piece after the other: whole tiles, and behind them its share of those that are cut: a
// tile that is all its own, what it has of a tile whose end is another's, and last the end of a tile. So blocks are at nearly
// the same k at all times, and what others wait for comes before it waits. Whoever has the end of a tile adds what blocks with
// lower numbers have of it, which wait for nobody with a higher one.
struct Walk {
    const Cut &cut;
    const int whole, slices;
    int number, first = 0, last;  // a tile, and its slices from `first` to `last` - 1
    int piece = 3;                // of the share: which one is next

    INLINE Walk(const Tiles &tiles, const Cut &given)
        : cut(given), whole(CUT ? given.whole : tiles.all()), slices(tiles.slices()), number((int)blockIdx.x - (int)gridDim.x),
          last(slices) {
        if (CUT && (int)blockIdx.x < cut.workers) piece = 0;
    }

    // Where the share of a worker begins, counted from the first slice that is cut.
    INLINE int begin(int worker) const { return worker * cut.share + min(worker, cut.longer); }
    INLINE bool is_cut() const { return CUT && number >= whole; }
    // Who has a slice, counted from the first that is cut.
    INLINE int worker_at(int slice) const {
        const int longer = cut.longer * (cut.share + 1);
        return slice < longer ? slice / (cut.share + 1) : cut.longer + (slice - longer) / cut.share;
    }

    INLINE bool next() {
        number += (int)gridDim.x;
        if (number < whole) return true;
        while (CUT && piece < 3) {
            const int low = begin(blockIdx.x), high = begin(blockIdx.x + 1), top = high / cut.counted * cut.counted;
            const int own = top - cut.counted >= low ? top - cut.counted : top;
            const int from = piece == 0 ? own : piece == 1 ? max(top, low) : low;
            const int to = piece == 0 ? top : piece == 1 ? high : own;
            piece++;
            if (from >= to) continue;
            const int tile = from / cut.counted;
            number = whole + tile;
            first = from - tile * cut.counted;
            last = min(to - tile * cut.counted, slices);
            return true;
        }
        return false;
    }

    // Of a piece, the slices of this block: CLUSTER_K blocks have as many each, but for one.
    INLINE int low() const { return CLUSTER_K > 1 ? first + (last - first) * (int)blockIdx.y / CLUSTER_K : first; }
    INLINE int count() const {
        if (CLUSTER_K > 1) return first + (last - first) * ((int)blockIdx.y + 1) / CLUSTER_K - low();
        return CUT ? last - first : slices;
    }
    INLINE bool ends() const { return !CUT || last == slices; }
};

// Who have a part of a tile at most, if one of them adds the sums of all. Of CLUSTER_K blocks each has but few of these.
constexpr int TOGETHER = CLUSTER_K > 1 ? 64 : 8;

// Whose sums a worker adds to its own of a tile that is cut: those of its team, the nearest first, and if it has the end of the tile
// those of the others who add up a team. Teams are counted from the end of the tile; one adds up as many sums as there are teams,
// for no block loads from the cache faster than some bytes in a clock. All have lower numbers. Where a block has no registers to
// add before it gives, there are no TEAMS.
template <bool TEAMS> struct Partners {
    int size = 1, near = 0, far = 0;  // of a team; those of its own, and who add up others

    INLINE Partners() {}
    INLINE Partners(const Walk &walk) {
        if (!walk.is_cut()) return;
        const int start = (walk.number - walk.whole) * walk.cut.counted, own = blockIdx.x;
        const int first = walk.worker_at(start), last = walk.worker_at(start + walk.cut.counted - 1), all = last - first + 1;
        size = all;
        if (all > TOGETHER) for (size = 3; size * size < all;) size++;
        if ((last - own) % size) return;
        near = min(size - 1, own - first);
        far = own == last ? (all - 1) / size : 0;
    }

    INLINE int count() const { return near + far; }
    INLINE int worker(int i) const { return (int)blockIdx.x - (i < near ? 1 + i : (i - near + 1) * size); }
};

template <> struct Partners<false> {
    int farthest = blockIdx.x;

    INLINE Partners() {}
    INLINE Partners(const Walk &walk) {
        if (walk.first == 0) return;
        // Divisions would take registers.
        const int start = (walk.number - walk.whole) * walk.cut.counted;
        while (farthest > 0 && walk.begin(farthest) > start) farthest--;
    }

    INLINE int count() const { return (int)blockIdx.x - farthest; }
    INLINE int worker(int i) const { return (int)blockIdx.x - 1 - i; }
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
