// The borders of groups, as many at a time as a block has threads: read from device memory, clamped, and the tiles that
// they make counted. The host knows none of it.
//
// A group ends where its offset says, but not before the groups in front of it end nor behind the extent that is split: so
// whatever the offsets hold, groups follow one another and lie inside. Where rows or columns of C are split, what belongs to
// no group (in front of the first and behind the last) is given out like a group whose products have no terms: zeros.
#pragma once

constexpr int CHUNK = THREADS;  // groups that are looked at together
#ifndef HOLDS_COUNT
#define HOLDS_COUNT 1  // whether the tiles of a chunk are counted in a register, or read from shared memory when asked for
#endif

// Steps of a scan that are unrolled: beside sums of complex numbers the compiler would keep what both scans ask of a lane.
constexpr int STEPS_AT_ONCE = COMPLEX && !HOLDS_COUNT ? 1 : 5;

struct GroupTable {
    int ends[CHUNK + 1];   // where entry i begins, and at i + 1 where it ends
    int tiles[CHUNK + 1];  // tiles of the entries before it
    int joined[2][32];     // by warps
};

// The scan of one number a thread. `before` is what all threads before this one make, and what begins it; the result is
// that with the thread's own.
template <class Join> INLINE int block_scan(int x, int &before, int *joined, const Join &join) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    _Pragma("unroll STEPS_AT_ONCE") for (int by = 1; by < 32; by *= 2) {
        const int other = __shfl_up_sync(0xffffffff, x, by);
        if (lane >= by) x = join(other, x);
    }
    if (lane == 31) joined[warp] = x;
    block_sync();
    _Pragma("unroll 1") for (int w = 0; w < warp; w++) before = join(before, joined[w]);
    const int below = __shfl_up_sync(0xffffffff, x, 1), whole = join(before, x);
    if (lane) before = join(before, below);
    return whole;
}

// The groups in order, a chunk of them after the other.
struct Groups {
    const Segments &g;
    GroupTable &table;
    const int entries;    // groups, and what is in front of them and behind
    int first_entry = 0;  // of this chunk
    int begin = 0;        // where it begins
    int done = 0;         // tiles before it
    int held = 0;         // and in it, if the kernel has a register for them

    INLINE Groups(const Segments &g, GroupTable &table)
        : g(g), table(table), entries(g.groups + g.first + (AXIS < 2)) { look(); }

    INLINE bool valid() const { return first_entry < entries; }
    INLINE int all() const { return HOLDS_COUNT ? held : table.tiles[CHUNK]; }
    INLINE int last_entry() const { return min(CHUNK, entries - first_entry) - 1; }

    INLINE void next() {
        first_entry += CHUNK;
        begin = table.ends[CHUNK];
        done += all();
        if (valid()) look();
    }

    // The group of an entry, or one that does not exist for what lies outside of all.
    INLINE int group(int entry) const { return first_entry + entry - g.first; }
    INLINE bool exists(int group) const { return group >= 0 && group < g.groups; }

    // The length of the axis that is split.
    INLINE int extent() const { return AXIS == 0 ? g.m : AXIS == 1 ? g.n : g.k; }

    INLINE int border(int entry) const {
        if (entry >= g.groups + g.first) return g.sizes ? 0 : extent();
        const long long found = g.wide ? ((const long long *)g.offsets)[entry] : ((const int *)g.offsets)[entry];
        return (int)max(0ll, min(found, (long long)extent()));
    }

    INLINE int tiles_of(int entry, int length) const {
        const int tiles_m = ((AXIS == 0 ? length : g.m) + BLK_M - 1) / BLK_M;
        const int tiles_n = ((AXIS == 1 ? length : g.n) + BLK_N - 1) / BLK_N;
        return AXIS < 2 || exists(group(entry)) ? tiles_m * tiles_n * g.batch : 0;
    }

    INLINE void look() {
        const int mine = threadIdx.x, entry = first_entry + mine, most = extent();
        int from = begin;
        int to = block_scan(border(entry), from, table.joined[0], [&](int x, int y) {
            return g.sizes ? (int)min((unsigned int)x + (unsigned int)y, (unsigned int)most) : max(x, y);
        });
        if (g.sizes && entry == entries - 1 && AXIS < 2) to = most;
        // All threads have left the chunk before this one: they met in the scan.
        table.ends[mine + 1] = to;
        if (mine == 0) {
            table.ends[0] = begin;
            table.tiles[0] = 0;
        }
        int before = 0;
        const int count = entry < entries ? tiles_of(mine, to - from) : 0;
        table.tiles[mine + 1] = block_scan(count, before, table.joined[1], [](int x, int y) { return x + y; });
        block_sync();
        held = table.tiles[CHUNK];
    }
};
