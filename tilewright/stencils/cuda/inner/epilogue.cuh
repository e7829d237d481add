// The way of a tile of C from registers to device memory: the sums of all groups of warps are added in shared memory.
#pragma once

INLINE void write(Sums &sums, int group, const Item &x, long long ldc, const Scalars &scalars, const Meeting &meeting) {
    constexpr int EACH = ceiling(TILE, SPLIT * THREADS), AT_ONCE = smaller(EACH, 4);
    Element *const partial = (Element *)(shared_memory + AT_SUMS);
    auto here = [&](int e) { return e < TILE && (!LONG || (e % TILE_M < x.rows && e / TILE_M < x.columns)); };
    auto place = [&](int e) { return x.c + e % TILE_M + e / TILE_M * ldc; };
    // What C was is asked for before it is needed.
    Stored old[AT_ONCE];
    auto read = [&](int first) {
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const int e = first + i * SPLIT * THREADS;
            if (BETA != 0 && here(e)) old[i] = *place(e);
        }
    };
    auto sum_of_groups = [&](int e) {
        Element sum = partial[e];
        UNROLL for (int other = 1; other < GROUPS; other++) sum = sum_of(sum, partial[other * TILE + e]);
        return sum;
    };
    const int begin = (SPREAD ? blockIdx.y % SPLIT : blockIdx.y) * THREADS + threadIdx.x;
    if (!SPREAD) read(begin);
    sums.gather();
    sums.each([&](int row, int column, Element sum) { partial[group * TILE + column * TILE_M + row] = sum; });
    block_sync();
#if SPLIT > 1
    // Every block of the cluster adds up and writes its part of the tile.
    if (GROUPS > 1) for (int e = threadIdx.x; e < TILE; e += THREADS) partial[e] = sum_of_groups(e);
    cluster_sync();
    auto whole = [&](int e) {
        Element sum = remote(partial + e, 0);
        UNROLL for (int block = 1; block < SPLIT; block++) sum = sum_of(sum, remote(partial + e, block));
        return sum;
    };
#else
    auto whole = sum_of_groups;
#endif
    auto sum_at = [&](int e) { return SPREAD ? meeting.total(e) : whole(e); };
    auto keep = [&]() {
        _Pragma("unroll 1") for (int first = begin; first < TILE; first += AT_ONCE * SPLIT * THREADS) {
            if (SPREAD || first != begin) read(first);
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                const int e = first + i * SPLIT * THREADS;
                if (here(e)) *place(e) = narrowed(scaled(scalars, sum_at(e), BETA != 0 ? widened(old[i]) : zero()));
            }
        }
    };
    if (SPREAD) {
        _Pragma("unroll 1") for (int e = begin; e < TILE; e += SPLIT * THREADS) meeting.own(e) = whole(e);
        if (meeting.last()) keep();
    } else {
        keep();
    }
    if (SPLIT > 1) cluster_sync();  // no block may leave, or go on, while others read its shared memory
}
