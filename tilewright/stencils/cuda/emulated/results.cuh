// The sums of a thread, and how they are stored: two neighbours of a column at a time, of which four lanes have a sector.
#pragma once

constexpr int STACKS = GROUP_N / 64;  // products of 64 rows of tensor cores that a group makes of a slice

typedef float Sums[STACKS][TILE_M / 2];
typedef float Number;
constexpr int SUMMED = STACKS * (TILE_M / 2);

INLINE float &number_of(Sums &sum, int i) { return sum[i / (TILE_M / 2)][i % (TILE_M / 2)]; }

// PAIRED: columns of C begin at multiples of 8 bytes.
template <bool PAIRED> INLINE void store(const Product &g, const Sums &sum, const Tile &tile, int group, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int i = 0; i < STACKS; i++)
        UNROLL for (int e = 0; e < 2; e++) {
            const int n = tile.n + group * GROUP_N + i * 64 + warp % 4 * 16 + e * 8 + lane / 4;
            if (n >= g.n) continue;
            float *const column = g.c + n * g.ldc;
            UNROLL for (int j = 0; j < TILE_M / 8; j++) {
                const int m = tile.m + 8 * j + lane % 4 * 2;
                const float low = sum[i][4 * j + 2 * e], high = sum[i][4 * j + 2 * e + 1];
                if (PAIRED && m + 1 < g.m) {
                    float2 *const at = (float2 *)(column + m), old = BETA != 0 ? *at : make_float2(0, 0);
                    *at = make_float2(scaled(s, low, old.x), scaled(s, high, old.y));
                    continue;
                }
                if (m < g.m) column[m] = scaled(s, low, BETA != 0 ? column[m] : 0.0f);
                if (m + 1 < g.m) column[m + 1] = scaled(s, high, BETA != 0 ? column[m + 1] : 0.0f);
            }
        }
}

INLINE void store(const Product &g, const Sums &sum, const Tile &tile, int group, int warp, int lane) {
    if (((unsigned long long)g.c | g.ldc * 4) % 8 == 0) store<true>(g, sum, tile, group, warp, lane);
    else store<false>(g, sum, tile, group, warp, lane);
}
