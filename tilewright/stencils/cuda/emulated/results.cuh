// The sums of a thread, and how they are stored: 32 neighbours of a column by a warp at a time, wherever columns begin.
#pragma once

constexpr int STACKS = GROUP_N / 64;  // products of 64 rows of tensor cores that a group makes of a slice

typedef float Sums[STACKS][TILE_M / 2];
typedef float Number;
constexpr int SUMMED = STACKS * (TILE_M / 2);

#if PAIRS
typedef float2 Result;
#else
typedef float Result;
#endif

INLINE float &number_of(Sums &sum, int i) { return sum[i / (TILE_M / 2)][i % (TILE_M / 2)]; }

// Numbers i of the lanes 4 j + q become numbers j of the lanes 4 i + q.
INLINE void exchange(float (&x)[8], int lane) {
    UNROLL for (int bit = 1; bit < 8; bit *= 2) {
        const bool high = lane / 4 & bit;
        UNROLL for (int i = 0; i < 8; i++) {
            if (i & bit) continue;
            const float found = __shfl_xor_sync(0xffffffff, high ? x[i] : x[i | bit], bit * 4);
            x[i] = high ? found : x[i];
            x[i | bit] = high ? x[i | bit] : found;
        }
    }
}

// alpha * sum + beta * old, and the same of complex numbers, whose parts are in columns that follow each other.
#if PAIRS
INLINE float2 scaled_pair(const Product &g, float re, float im, float2 old) {
    float2 x = make_float2(re, im);
#if !ALPHA_ONE
    const float alpha[2] = {(float)g.alpha[0], (float)g.alpha[1]};
    x = make_float2(fmaf(alpha[0], re, -(alpha[1] * im)), fmaf(alpha[0], im, alpha[1] * re));
#endif
#if BETA == 1
    x.x += old.x;
    x.y += old.y;
#elif BETA == 2
    const float beta[2] = {(float)g.beta[0], (float)g.beta[1]};
    x.x = fmaf(beta[0], old.x, fmaf(-beta[1], old.y, x.x));
    x.y = fmaf(beta[0], old.y, fmaf(beta[1], old.x, x.y));
#endif
    return x;
}
#endif

INLINE void store(const Product &g, const Sums &sum, const Place &tile, int group, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int i = 0; i < STACKS; i++)
        UNROLL for (int half = 0; half < 2; half++) {
            // A lane has two neighbours of every eight rows of a column, and of eight columns one for each four lanes.
            const int n = tile.n + group * GROUP_N + i * 64 + warp % 4 * 16 + half * 8;
            Result *const columns = (Result *)tile.c + n / PARTS_OF * g.ldc;
            UNROLL for (int rows = 0; rows < TILE_M; rows += 32) {
                float x[8];
                UNROLL for (int e = 0; e < 8; e++) x[e] = sum[i][(rows / 8 + e / 2) * 4 + half * 2 + e % 2];
                exchange(x, lane);
                const int m = tile.m + rows + lane / 8 * 8 + lane % 4 * 2 + lane / 4 % 2;
                UNROLL for (int e = 0; e < 8; e += PARTS_OF) {
                    if (m >= g.m || n + e >= tile.columns) continue;
                    Result *const at = columns + m + e / PARTS_OF * g.ldc;
#if PAIRS
                    *at = scaled_pair(g, x[e], x[e + 1], BETA != 0 ? *at : make_float2(0, 0));
#else
                    *at = scaled(s, x[e], BETA != 0 ? *at : 0.0f);
#endif
                }
            }
        }
}
