// The borders of few groups, and the tiles that they make: what segments/groups.cuh and segments/scheduler.cuh are for any number.
// Every warp has all borders in its lanes and looks tiles up by itself: no shared memory, and no warp waits for another before it
// begins, which blocks that end after a tile do often.
#pragma once

struct GroupTable {};

// Entry i (groups, and what is in front of them and behind) is that of lane i.
struct Groups {
    const Segments &g;
    int end;           // where the lane's entry ends
    int after;         // tiles up to there
    bool left = true;  // there is one chunk of groups

    INLINE Groups(const Segments &g, GroupTable &) : g(g) {
        const int lane = threadIdx.x % 32, entries = g.groups + g.first + 1, most = AXIS == 0 ? g.m : g.n;
        long long found = g.sizes ? 0 : most;
        if (lane < entries - 1) found = g.wide ? ((const long long *)g.offsets)[lane] : ((const int *)g.offsets)[lane];
        end = (int)max(0ll, min(found, (long long)most));
        UNROLL for (int by = 1; by < 32; by *= 2) {
            const int other = __shfl_up_sync(0xffffffff, end, by);
            if (lane >= by) end = g.sizes ? (int)min((unsigned int)other + (unsigned int)end, (unsigned int)most) : max(other, end);
        }
        if (lane >= entries - 1) end = most;
        const int begin = __shfl_up_sync(0xffffffff, end, 1), length = end - (lane ? begin : 0);
        const int m = AXIS == 0 ? length : g.m, n = AXIS == 1 ? length : g.n;
        after = (m + BLK_M - 1) / BLK_M * ((n + BLK_N - 1) / BLK_N) * g.batch;
        UNROLL for (int by = 1; by < 32; by *= 2) {
            const int other = __shfl_up_sync(0xffffffff, after, by);
            if (lane >= by) after += other;
        }
    }

    INLINE bool valid() const { return left; }
    INLINE void next() { left = false; }
    INLINE int all() const { return __shfl_sync(0xffffffff, after, 31); }
    INLINE bool exists(int group) const { return group >= 0 && group < g.groups; }
};

// The tile scheduler of segments/scheduler.cuh, for all lanes of a warp together.
struct TileScheduler {
    const Groups &groups;
    int tile;
    int group, matrix;
    int m, n, end_m, end_n;
    int terms;  // what is summed over

    INLINE TileScheduler(const Groups &groups) : groups(groups), tile(blockIdx.x) { find(); }

    INLINE bool valid() const { return tile < groups.all(); }
    INLINE int k_left() const { return terms; }

    INLINE const Stored *a() const {
        const Segments &g = groups.g;
        return (const Stored *)g.a + group * g.group_a + matrix * g.stride_a;
    }
    INLINE const Stored *b() const {
        const Segments &g = groups.g;
        return (const Stored *)g.b + group * g.group_b + matrix * g.stride_b;
    }
    INLINE Stored *c() const { return (Stored *)groups.g.c + matrix * groups.g.stride_c; }

    INLINE void next() {
        tile += gridDim.x;
        find();
    }

    INLINE void find() {
        if (valid()) locate();
    }

    INLINE void locate() {
        const Segments &g = groups.g;
        // As many entries as have all their tiles before this one.
        const int entry = __popc(__ballot_sync(0xffffffff, groups.after <= tile)), before = max(entry - 1, 0);
        const int begin = __shfl_sync(0xffffffff, groups.end, before), tiles = __shfl_sync(0xffffffff, groups.after, before);
        const int end = __shfl_sync(0xffffffff, groups.end, entry), first = entry ? begin : 0;
        group = entry - g.first;
        end_m = AXIS == 0 ? end : g.m;
        end_n = AXIS == 1 ? end : g.n;
        terms = groups.exists(group) ? g.k : 0;
        const int first_m = AXIS == 0 ? first : 0, first_n = AXIS == 1 ? first : 0;
        const unsigned int inside = tile - (entry ? tiles : 0);
        const unsigned int tiles_m = (end_m - first_m + BLK_M - 1) / BLK_M, tiles_n = (end_n - first_n + BLK_N - 1) / BLK_N;
        const unsigned int along = AXIS == 1 ? tiles_n : tiles_m, across = AXIS == 1 ? tiles_m : tiles_n;
        const unsigned int rest = inside / along, one = inside % along, other = rest % across;
        matrix = rest / across;
        m = first_m + (AXIS == 1 ? other : one) * BLK_M;
        n = first_n + (AXIS == 1 ? one : other) * BLK_N;
    }
};
