// The multiplier of 16-bit tensor cores with the small operand held: a warp loads its fragments of it once for a tile, and then goes over
// its parts, each of which has all of C that is short. Where columns begin at odd numbers it is read half by half, by more instructions than
// all else of a part.
#pragma once

#include "tiny/multiply_mma_f16.cuh"

// The fragments of the small operand, of all k.
struct Held {
#if LONG_M
    ColumnWords words[MMA_STEPS];
    INLINE void load(const Stored *small, int ld) {
        UNROLL for (int step = 0; step < MMA_STEPS; step++) load_columns(words[step], small, ld, 0, step);
    }
#else
    RowWords words[MMA_STEPS];
    INLINE void load(const Stored *small, int ld) {
        UNROLL for (int step = 0; step < MMA_STEPS; step++) load_rows(words[step], small, ld, 0, step);
    }
#endif
};

// Part number `part` of a tile, which begins at so many times its rows, or columns, along the panel.
template <typename Lead, typename LeadC, typename Out>
INLINE void multiply_held(int part, const Held &held, const Stored *panel, Lead lead, const Stored *c, Out out, LeadC ldc,
                          const Scalars &s) {
    const int first_m = LONG_M ? part * ROWS : 0, first_n = LONG_M ? 0 : part * COLUMNS;
    Sums sum;
    clear(sum);
    UNROLL for (int step = 0; step < MMA_STEPS; step++) {
#if LONG_M
        RowWords x;
        load_rows(x, panel, lead, first_m, step);
        add_step(sum, x, held.words[step], half_of(step));
#else
        ColumnWords y;
        load_columns(y, panel, lead, first_n, step);
        add_step(sum, held.words[step], y, half_of(step));
#endif
    }
    keep_sums(sum, first_m, first_n, c, out, ldc, s);
}
