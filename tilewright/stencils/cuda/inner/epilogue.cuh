// The way of a tile of C from registers to device memory: the sums of all groups of warps are added in shared memory.
#pragma once

INLINE void write(Sums &sums, int group, const Item &x, long long ldc, const Scalars &scalars) {
    constexpr int EACH = ceiling(TILE, THREADS), AT_ONCE = smaller(EACH, 4);
    Element *const partial = (Element *)(shared_memory + AT_SUMS);
    auto here = [&](int e) { return e < TILE && (!LONG || (e % TILE_M < x.rows && e / TILE_M < x.columns)); };
    auto place = [&](int e) { return x.c + e % TILE_M + e / TILE_M * ldc; };
    // What C was is asked for before it is needed.
    Stored old[AT_ONCE];
    auto read = [&](int first) {
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const int e = first + i * THREADS;
            if (BETA != 0 && here(e)) old[i] = *place(e);
        }
    };
    read(threadIdx.x);
    sums.gather();
    sums.each([&](int row, int column, Element sum) { partial[group * TILE + column * TILE_M + row] = sum; });
    block_sync();
    _Pragma("unroll 1") for (int first = threadIdx.x; first < TILE; first += AT_ONCE * THREADS) {
        if (first != threadIdx.x) read(first);
        UNROLL for (int i = 0; i < AT_ONCE; i++) {
            const int e = first + i * THREADS;
            if (!here(e)) continue;
            Element sum = partial[e];
            UNROLL for (int other = 1; other < GROUPS; other++) sum = sum_of(sum, partial[other * TILE + e]);
            *place(e) = narrowed(scaled(scalars, sum, BETA != 0 ? widened(old[i]) : zero()));
        }
    }
}
