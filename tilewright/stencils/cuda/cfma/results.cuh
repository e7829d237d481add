// The results of a thread: words of 16 bytes of columns of C where two of its rows are neighbours, else number by number.
#pragma once

// The sums of a thread, and one after the other.
typedef float Number;
typedef Element Sums[ROWS][COLUMNS];
constexpr int IN_FRONT = 0;  // bytes of the workspace before flags
constexpr int SUMMED = NUMBERS * ROWS * COLUMNS;
INLINE Number &number_of(Sums &sum, int i) {
    Element &x = sum[i / NUMBERS % ROWS][i / NUMBERS / ROWS];
    return i % NUMBERS ? x.im : x.re;
}

constexpr bool NEIGHBOURS = !A_ALONG;  // rows of a thread follow each other by twos
constexpr int AT_ONCE = 2;             // words that are read before the first of them is written: more take registers that sums have

// Which row (of B: column) of its warp the number i of a lane is, counted from that of its first one.
template <bool ALONG, int LANES> CONSTANT int place_of(int i) { return ALONG ? i * LANES : i / 2 * 2 * LANES + i % 2; }

// The warp's part of a tile begins at (m, n).
INLINE void store(const Product &g, const Place &tile, const Sums &sum, int m, int n, int lane_m, int lane_n) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    m += tile.m + lane_m * (A_ALONG ? 1 : 2);
    n += tile.n + lane_n * (B_ALONG ? 1 : 2);
    Stored *const begin = tile.c + m + n * g.ldc;
    const int rows = g.m - m, columns = tile.columns - n;  // from there on
    UNROLL for (int j = 0; j < COLUMNS; j++) {
        const int across = place_of<B_ALONG, LANES_N>(j);
        const bool here = across < columns;
        Stored *const column = begin + across * g.ldc;
        UNROLL for (int first = 0; first < ROWS; first += AT_ONCE * WORD) {
            Pack<WORD> old[AT_ONCE];
            UNROLL for (int write = BETA == 0; write < 2; write++)
                UNROLL for (int i = 0; i < AT_ONCE; i++) {
                    const int row = first + i * WORD, down = place_of<A_ALONG, LANES_M>(row), apart = NEIGHBOURS ? 1 : LANES_M;
                    const bool wide = NEIGHBOURS && !LOOSE_C && here && down + WORD <= rows;
                    if (!write) {
                        if (wide) global_load(old[i].vector, (const uint4 *)(column + down));
                        else UNROLL for (int e = 0; e < WORD; e++)
                            if (here && down + e * apart < rows) old[i].element[e] = column[down + e * apart];
                        continue;
                    }
                    Pack<WORD> out;
                    UNROLL for (int e = 0; e < WORD; e++) out.element[e] = scaled(s, sum[row + e][j], old[i].element[e]);
                    if (wide) global_store((uint4 *)(column + down), out.vector);
                    else UNROLL for (int e = 0; e < WORD; e++)
                        if (here && down + e * apart < rows) column[down + e * apart] = out.element[e];
                }
        }
    }
}
