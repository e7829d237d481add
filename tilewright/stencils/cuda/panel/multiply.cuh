// The product of a tile in shared memory, a part to each thread or warp.
#pragma once

#include "tiny/multiply_fma.cuh"
#include "panel/multiply_packed.cuh"
#if MMA && TYPE_BITS == 64
#include "tiny/multiply_mma_f64.cuh"
#elif MMA
#include "tiny/multiply_mma_f16.cuh"
#endif
#if HELD
#include "panel/multiply_held.cuh"
#endif

// A result that goes to device memory from registers, where neighbouring threads have neighbouring rows: `count` of them.
struct Written {
    Stored *out;
    int ldc, count;
};
// One that is kept in shared memory, `count` rows of it, which vectors divide: those behind them are the next column's.
struct Staged {
    Stored *out;
    int count;
};
// A tile's distances are narrow: 64 bits take four times the instructions.
template <int COUNT, typename Lead>
INLINE void keep(const Written &to, int row, int column, Lead, const Pack<COUNT> &x) {
    Stored *const at = to.out + (row + column * to.ldc);
    if (row + COUNT <= to.count) store<COUNT>(at, x);
    else if (COUNT > 1) UNROLL for (int e = 0; e < COUNT; e++) if (row + e < to.count) at[e] = x.element[e];
}
template <int COUNT, typename Lead>
INLINE void keep(const Staged &to, int row, int column, Lead ldc, const Pack<COUNT> &x) {
    if (row < to.count) store<COUNT>(to.out + row + column * ldc, x);
}
template <typename Lead> INLINE void keep_one(const Staged &to, int row, int column, Lead ldc, const Stored &x) {
    if (row < to.count) to.out[row + column * ldc] = x;
}

// The part of a tile of a thread. The multiplier counts parts down the columns of C. Where n is long neighbours would so read many
// rows of the small operand at once, which meet in banks: two of them take parts of one column and the next two those of the
// next one. A last, odd row of parts is taken by itself.
INLINE int part_of(int thread) {
    if constexpr (LONG_M || PACKED) return thread;
    constexpr int TILES_N = TILES / TILES_M, PAIRED = TILES_M / 2 * 2 * TILES_N;
    if (thread >= PAIRED) return (thread - PAIRED) * TILES_M + TILES_M - 1;
    const int pair = thread / 2;
    return pair % TILES_N * TILES_M + pair / TILES_N * 2 + thread % 2;
}

// Leading dimensions are numbers, or Placed ones. The result is kept at out in shared memory; if DIRECT, in device memory.
template <typename LeadPanel, typename LeadC, typename Out>
INLINE void multiply_tile(const Stored *panel, LeadPanel lead, const Stored *small, int ld_small, int buffer, const Stored *c,
                          const Out &out, LeadC ldc, const Item &x, long long ldc_there, const Scalars &s) {
#if HELD
    Held held;
    held.load(small, ld_small);
#endif
    _Pragma("unroll 1") for (int tile = threadIdx.x / (WORKERS / SLOTS); tile < TILES; tile += SLOTS) {
#if HELD
        multiply_held(tile, held, panel, lead, c, out, ldc, s);
#elif MMA
        if constexpr (LONG_M) multiply_mma(tile, panel, lead, small, ld_small, c, out, ldc, s);
        else multiply_mma(tile, small, ld_small, panel, lead, c, out, ldc, s);
#else
        constexpr int AT_A = vector_bytes(LD_A * SIZE, APART_A * SIZE), AT_B = vector_bytes(LD_B * SIZE, APART_B * SIZE);
        constexpr int AT_C = DIRECT ? UNIT_C : vector_bytes(LD_C * SIZE, APART_C * SIZE);
#if DIRECT
        const Written to = {x.c, (int)ldc_there, x.count};
#else
        const Out &to = out;
#endif
        const int part = part_of(tile);
#if PACKED
        multiply_packed<(LONG_M ? AT_A : AT_B), AT_C>(part, panel, lead, buffer, c, to, ldc, s);
#else
        if constexpr (LONG_M) multiply<ROWS, COLUMNS, AT_A, AT_B, AT_C, false>(part, 0, panel, lead, small, ld_small, c, to, ldc, s);
        else multiply<ROWS, COLUMNS, AT_A, AT_B, AT_C, false>(part, 0, small, ld_small, panel, lead, c, to, ldc, s);
#endif
#endif
    }
}
