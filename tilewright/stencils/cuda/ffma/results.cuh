// The results of a thread: words of 16 bytes of columns of C.
#pragma once

#include "lib/guarded.cuh"

constexpr int HALVES = COMPLEX ? 2 : 1;                                              // words of C of four sums
constexpr int GROUPS = ROWS / FOUR, RESULTS = GROUPS * COLUMNS * HALVES;             // words of a thread
constexpr int AT_ONCE = COMPLEX ? 1 : RESULTS % 4 ? 2 : 4;                           // that are read before the first is written

// A part of a complex tile, kept in the workspace while the other one is summed: a place of this thread for each of two.
struct Kept {
    uint4 *words;

    INLINE Kept(const Packs &packs, const Cut &cut, int warp, int lane)
        : words((uint4 *)(cut.workspace + packs.at_kept) + ((long long)blockIdx.x * 2 * WARPS + warp) * (SUM_WORDS * 32) + lane) {}

    INLINE uint4 *word(int place, int i) const { return words + (place * WARPS * SUM_WORDS + i) * 32; }
    INLINE void keep(Sums &sum, int place) const {
        UNROLL for (int i = 0; i < SUM_WORDS; i++) global_store(word(place, i), word_of(sum, i));
    }
    INLINE void fetch(Sums &sum, int place) const {
        UNROLL for (int i = 0; i < SUM_WORDS; i++) {
            uint4 x;
            global_load(x, (const uint4 *)word(place, i));
            number_of(sum, 4 * i) = __uint_as_float(x.x);
            number_of(sum, 4 * i + 1) = __uint_as_float(x.y);
            number_of(sum, 4 * i + 2) = __uint_as_float(x.z);
            number_of(sum, 4 * i + 3) = __uint_as_float(x.w);
        }
    }
    INLINE uint4 word_of(Sums &sum, int i) const {
        return make_uint4(__float_as_uint(number_of(sum, 4 * i)), __float_as_uint(number_of(sum, 4 * i + 1)),
                          __float_as_uint(number_of(sum, 4 * i + 2)), __float_as_uint(number_of(sum, 4 * i + 3)));
    }
};

// Sums of real numbers begin with C where nothing scales them: it is asked for at once, while the first slice comes, and not in turns
// behind the last one.
constexpr bool BEGINS = BETA != 0 && ALPHA_ONE && !COMPLEX, READS = BETA != 0 && !BEGINS;

#if !COMPLEX
// The thread's first element of a tile is at (m, n).
INLINE void begin(const Product &g, const Place &tile, Sums &sum, int m, int n) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    m += tile.m;
    n += tile.n;
    const Stored *const begin = tile.c + m + n * g.ldc;
    const int rows = g.m - m, columns = tile.columns - n;
    UNROLL for (int j = 0; j < COLUMNS; j++) {
        const int along = j / FOUR * LANES_N * FOUR + j % FOUR;
        UNROLL for (int group = 0; group < GROUPS; group++) {
            const int down = group * LANES_M * FOUR;
            UNROLL for (int e = 0; e < FOUR; e++)
                guarded_load(sum[group * FOUR + e][j], begin + down + e + along * g.ldc, along < columns && down + e < rows);
        }
    }
    if (BETA == 2) UNROLL for (int i = 0; i < SUMMED; i++) number_of(sum, i) = scaled(s, 0, number_of(sum, i));
}
#endif

// The thread's first element of a tile is at (m, n). Of complex numbers the sums are the real part of three products, and the imaginary
// one of four; the other part is kept.
INLINE void store(const Product &g, const Place &tile, const Sums &sum, const Kept &kept, int m, int n) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    m += tile.m;
    n += tile.n;
    Stored *const begin = tile.c + m + n * g.ldc;
    const int rows = g.m - m, columns = tile.columns - n;  // from there on
    UNROLL for (int first = 0; first < RESULTS; first += AT_ONCE) {
        Pack<WORD> old[AT_ONCE];
        UNROLL for (int write = !READS; write < 2; write++)
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                const int group = (first + i) / HALVES, half = (first + i) % HALVES, row = group % GROUPS * FOUR + half * WORD;
                const int j = group / GROUPS, down = group % GROUPS * LANES_M * FOUR + half * WORD;
                const int along = j / FOUR * LANES_N * FOUR + j % FOUR;
                Stored *const at = begin + down + along * g.ldc;
                const bool here = along < columns, full = here && down + WORD <= rows;
                if (!write) {
                    if (full) global_load(old[i].vector, (const uint4 *)at);
                    else UNROLL for (int e = 0; e < WORD; e++) if (here && down + e < rows) old[i].element[e] = at[e];
                    continue;
                }
                Pack<WORD> out;
#if COMPLEX
                uint2 others;
                global_load(others, (const uint2 *)kept.word(1, group) + half);
                UNROLL for (int e = 0; e < WORD; e++) {
                    const float own = sum[row + e][j], other = __uint_as_float(e ? others.y : others.x);
                    const Element x = {PRODUCTS == 3 ? own : other, PRODUCTS == 3 ? other : own};
                    out.element[e] = scaled(s, x, old[i].element[e]);
                }
#else
                UNROLL for (int e = 0; e < WORD; e++) {
                    const float own = sum[row + e][j];
                    out.element[e] = BEGINS ? own : scaled(s, own, old[i].element[e]);
                }
#endif
                if (full) global_store((uint4 *)at, out.vector);
                else UNROLL for (int e = 0; e < WORD; e++) if (here && down + e < rows) at[e] = out.element[e];
            }
    }
}
