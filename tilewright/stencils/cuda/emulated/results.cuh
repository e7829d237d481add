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

// Whether sums begin with beta * C, which is on its way while a tile's first slice is. An alpha that is not 1 multiplies the sums alone.
constexpr bool BEGINS = BETA != 0 && ALPHA_ONE;

// Eight sums of a lane that become, or come from, numbers of a row of C.
struct Eight {
    Sums &sum;
    int stack, half, rows;

    INLINE float &operator()(int e) const { return sum[stack][(rows / 8 + e / 2) * 4 + half * 2 + e % 2]; }
};

// Does `f` with what a lane has of its group's half of a tile, eight sums at a time as tensor cores hold them: two neighbours of every
// eight rows of a column, and of eight columns one for each four lanes. `f` is told them, the first of these columns, and the first row of 32.
template <class F> INLINE void each_eight(Sums &sum, int warp, F f) {
    UNROLL for (int i = 0; i < STACKS; i++) UNROLL for (int half = 0; half < 2; half++) UNROLL for (int rows = 0; rows < TILE_M; rows += 32)
        f(Eight{sum, i, half, rows}, i * 64 + warp % 4 * 16 + half * 8, rows);
}

// The same with eight numbers of a row of C: the first of them, and how many of them are there.
template <class F> INLINE void each_row(const Product &g, Sums &sum, const Place &tile, int group, int warp, int lane, F f) {
    each_eight(sum, warp, [&](Eight number, int right, int rows) {
        const int n = tile.n + group * GROUP_N + right, m = tile.m + rows + lane / 8 * 8 + lane % 4 * 2 + lane / 4 % 2;
        f(number, (Result *)tile.c + n / PARTS_OF * g.ldc + m, m < g.m ? tile.columns - n : 0);
    });
}

// Asks for C in place of the sums, which `begun` makes of it when it has come.
INLINE void begin(const Product &g, Sums &sum, const Place &tile, int group, int warp, int lane) {
    each_row(g, sum, tile, group, warp, lane, [&](Eight number, const Result *at, int count) {
        UNROLL for (int e = 0; e < 8; e += PARTS_OF) {
            Result old = {};
            if (e < count) old = at[e / PARTS_OF * g.ldc];
#if PAIRS
            number(e) = old.x;
            number(e + 1) = old.y;
#else
            number(e) = old;
#endif
        }
    });
}

INLINE void begun(const Product &g, Sums &sum, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    each_eight(sum, warp, [&](Eight number, int, int) {
        float x[8];
        UNROLL for (int e = 0; e < 8; e += PARTS_OF) {
#if PAIRS
            const float2 old = scaled_pair(g, 0, 0, make_float2(number(e), number(e + 1)));
            x[e] = old.x;
            x[e + 1] = old.y;
#else
            x[e] = scaled(s, 0, number(e));
#endif
        }
        exchange(x, lane);
        UNROLL for (int e = 0; e < 8; e++) number(e) = x[e];
    });
}

INLINE void store(const Product &g, Sums &sum, const Place &tile, int group, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    constexpr bool READS = BETA != 0 && !BEGINS;
    each_row(g, sum, tile, group, warp, lane, [&](Eight number, Result *at, int count) {
        float x[8];
        UNROLL for (int e = 0; e < 8; e++) x[e] = number(e);
        exchange(x, lane);
        UNROLL for (int first = 0; first < 8; first += 4) {
            // What is read of C comes before the first of it is written.
            Result old[4] = {};
            UNROLL for (int e = 0; e < 4; e += PARTS_OF)
                if (READS && first + e < count) old[e] = at[(first + e) / PARTS_OF * g.ldc];
            UNROLL for (int e = 0; e < 4; e += PARTS_OF) {
                const float *const y = x + first + e;
                if (first + e >= count) continue;
#if PAIRS
                const float2 made = BEGINS ? make_float2(y[0], y[1]) : scaled_pair(g, y[0], y[1], old[e]);
#else
                const float made = BEGINS ? y[0] : scaled(s, y[0], old[e]);
#endif
                at[(first + e) / PARTS_OF * g.ldc] = made;
            }
        }
    });
}
