// Runs across the sum: each times an element of the vector is a part of a tile of C.
#pragma once

// What each team has of the tile.
__shared__ Element partial[TEAMS * COVERED];

// Sums of so many teams are added at a time, by as many threads as there are such sums: one thread a row would add up those of
// hundreds of teams, one after the other.
constexpr int FOLD = 8;
CONSTANT int left_of(int teams) { return teams > FOLD ? left_of(teams / FOLD) : teams; }
// The sum of an element of several teams, of which each lies so many elements behind the one before.
template <int COUNT> INLINE Element total(const Element *first, int apart) {
    Element found[COUNT];
    UNROLL for (int i = 0; i < COUNT; i++) found[i] = first[i * apart];
    UNROLL for (int i = 1; i < COUNT; i++) found[0] = sum_of(found[0], found[i]);
    return found[0];
}

template <bool SAFE> INLINE void multiply(const Product &p, const Scalars &scalars) {
    const int team = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const Stored *const from = p.matrix + p.first;
    const int rows = smaller(p.length - p.first, TILE);
    const Words own(from + team * p.ld);
    const int words = ceiling(own.head + rows, WORD);
    const long long apart = TEAMS * p.ld;
    Element sum[WORDS][WORD];
    UNROLL for (int i = 0; i < WORDS; i++) UNROLL for (int e = 0; e < WORD; e++) sum[i][e] = zero();
    Words runs = own;
    _Pragma("unroll 1") for (int run = team; run < p.runs; run += TEAMS * RUNS) {
        Word found[RUNS][WORDS];
        Stored asked[RUNS];
        auto there = [&](int r) { return r == 0 || run + r * TEAMS < p.runs; };
        UNROLL for (int r = 0; r < RUNS; r++) {
            asked[r] = Stored();
            if (there(r)) read_x(*(typename Vector<SIZE>::Type *)&asked[r], p.x + (run + r * TEAMS) * p.step_x);
        }
        UNROLL for (int r = 0; r < RUNS; r++) UNROLL for (int i = 0; i < WORDS; i++)
            found[r][i] = Words(runs, r * apart).template read<SAFE>(lane + i * LANES, there(r) && lane + i * LANES < words, p.all);
        Element x[RUNS];
        UNROLL for (int r = 0; r < RUNS; r++) x[r] = conjugated(CONJ_X, widened(asked[r]));
        UNROLL for (int r = 0; r < RUNS; r++) UNROLL for (int i = 0; i < WORDS; i++) UNROLL for (int e = 0; e < WORD; e++)
            multiply_add(sum[i][e], conjugated(CONJ_MATRIX, widened(found[r][i].element[e])), x[r]);
        runs.base += RUNS * apart;
    }
    // What is beside the tile is in the first and last words, and not kept.
    UNROLL for (int i = 0; i < WORDS; i++) UNROLL for (int e = 0; e < WORD; e++) {
        const int row = (lane + i * LANES) * WORD + e - own.head;
        if (row >= 0 && row < rows) partial[team * COVERED + row] = sum[i][e];
    }
    block_sync();
    UNROLL for (int teams = TEAMS; teams > FOLD; teams /= FOLD) {
        const int elements = teams / FOLD * COVERED;
        _Pragma("unroll 1") for (int e = threadIdx.x; e < elements; e += THREADS)
            if (e % COVERED < rows) partial[e] = total<FOLD>(partial + e, elements);
        block_sync();
    }
    _Pragma("unroll 1") for (int row = threadIdx.x; row < rows; row += THREADS) {
        const Element all = total<left_of(TEAMS)>(partial + row, COVERED);
        if (SPLIT == 1) keep(p.c + (p.first + row) * p.step_c, all, scalars); else partial[row] = all;
    }
#if SPLIT > 1
    join(partial, rows, p, scalars);
#endif
}
