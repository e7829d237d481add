// The results of a tile: rounded, put together as columns in shared memory, and stored from there by words of 4 bytes, which
// begin at multiples of 4 whatever the column does. Where C is read, it comes to the same places before.
#pragma once

constexpr int STACKS = GROUP_ROWS / 64;

typedef float Sums[STACKS][COLUMNS / 2];

// Where of the lines of a tile, and of the rows or columns of it, row `row` of 16 of a warp is. Lines are those of eight boxes.
// Rows of C are taken in their own order, so that neighbours of a column meet; columns in that of lines, which are in
// different banks.
INLINE int place_of(int group, int stack, int warp, int row) { return group * GROUP_ROWS + stack * 64 + warp % 4 * 16 + row; }
INLINE int line_of(int group, int stack, int warp, int row) {
    const int place = place_of(group, stack, warp, row);
    return UPRIGHT ? place % TOGETHER * (ROWS / TOGETHER) + place / TOGETHER : place;
}
INLINE int column_of(int group, int stack, int warp, int row) {
    const int place = place_of(group, stack, warp, row);
    return B_ALONG ? place / (ROWS / TOGETHER) + place % (ROWS / TOGETHER) * TOGETHER : place;
}

// ---- a column in device memory and in shared memory, by a warp -------------------------------------------------------
// Word w of a column: its elements 2 w and 2 w + 1, or 2 w - 1 and 2 w where it begins between words (`shift`).
INLINE unsigned int word_of(const Stored *column, int word, int shift) {
    const unsigned int *const at = (const unsigned int *)column + word;
    return shift ? __byte_perm(at[word ? -1 : 0], at[0], 0x5432) : at[0];
}

INLINE void store_column(const Stored *from, Stored *to, int rows, int lane) {
    const int shift = (int)((unsigned long long)to / SIZE & 1);
    Stored *const begin = to - shift;
    if (rows == OUT_ROWS) {
        constexpr int COUNT = OUT_ROWS / 64;
        unsigned int x[COUNT];
        UNROLL for (int i = 0; i < COUNT; i++) x[i] = word_of(from, 32 * i + lane, shift);
        UNROLL for (int i = 0; i < COUNT; i++)
            if (i || lane || !shift) ((unsigned int *)begin)[32 * i + lane] = x[i];
        if (shift && lane == 0) to[0] = from[0];
        if (shift && lane == 1) to[OUT_ROWS - 1] = from[OUT_ROWS - 1];
        return;
    }
    _Pragma("unroll 1") for (int word = lane; 2 * word - shift < rows; word += 32) {
        const unsigned int found = word_of(from, word, shift);
        const bool low = word || !shift, high = 2 * word - shift + 1 < rows;
        if (low && high) ((unsigned int *)begin)[word] = found;
        else if (low) begin[2 * word] = (Stored)found;
        else begin[1] = (Stored)(found >> 16);
    }
}
INLINE void load_column(Stored *to, const Stored *from, int rows, int lane) {
    UNROLL for (int i = 0; i < OUT_ROWS; i += 32) {
        if (i + lane < rows) to[i + lane] = from[i + lane];
    }
}

// ---- sums to columns --------------------------------------------------------------------------------------------------
// Two sums with what C has there, rounded.
INLINE unsigned int pair_of(const Scalars &s, float low, float high, unsigned int old) {
    return halves_of(scaled(s, low, real_of((Half)old)), scaled(s, high, real_of((Half)(old >> 16))));
}

// Columns of C that are rows of tensor cores: rows 8 h to 8 h + 7 of a warp. A lane has a row.
INLINE void put_columns(const Scalars &s, const float *sum, int h, Stored *out, int lane) {
    if constexpr (A_ALONG) {
        // Sums are in the order of lines: those of box r of eight are row r of each eight. A lane has all of an eight.
        constexpr int EACH = COLUMNS / TOGETHER / 8;
        UNROLL for (int j = 0; j < EACH; j++)
            UNROLL for (int e = 0; e < 2; e++) {
                uint4 *const at = (uint4 *)(out + lane / 4 * OUT_PITCH) + 8 * j + lane % 4 * 2 + e;
                Pack<8> x;
                if (BETA != 0) x.vector = *at;
                UNROLL for (int r = 0; r < TOGETHER; r += 2)
                    x.words[r / 2] = pair_of(s, sum[(r * EACH + j) * 4 + 2 * h + e], sum[((r + 1) * EACH + j) * 4 + 2 * h + e],
                                             BETA != 0 ? x.words[r / 2] : 0);
                *at = x.vector;
            }
    } else {
        UNROLL for (int j = 0; j < COLUMNS / 8; j += 4) {
            // A lane says where 16 bytes of a column lie: those of four blocks of 8 by 8.
            Stored *const at = out + lane % 8 * OUT_PITCH + (j + lane / 8) * 8;
            unsigned int c[4] = {}, x[4];
            if (BETA != 0) ldmatrix<false>(c[0], c[1], c[2], c[3], at);
            UNROLL for (int e = 0; e < 4; e++)
                x[e] = pair_of(s, sum[(j + e) * 4 + 2 * h], sum[(j + e) * 4 + 2 * h + 1], c[e]);
            stmatrix(x[0], x[1], x[2], x[3], at);
        }
    }
}

// 64 columns of C that are columns of tensor cores, by the four warps of a group, of which each has 16 rows.
INLINE void put_rows(const Scalars &s, const float *sum, Stored *out, int warp, int lane) {
    UNROLL for (int j = 0; j < 8; j += 2) {
        Stored *const at = out + ((j + lane / 16) * 8 + lane % 8) * OUT_PITCH + warp % 4 * 16 + lane / 8 % 2 * 8;
        unsigned int c[4] = {}, x[4];
        if (BETA != 0) ldmatrix<true>(c[0], c[1], c[2], c[3], at);
        UNROLL for (int e = 0; e < 4; e++) x[e] = pair_of(s, sum[4 * j + 2 * e], sum[4 * j + 2 * e + 1], c[e]);
        stmatrix_transposed(x[0], x[1], x[2], x[3], at);
    }
}

INLINE void store(const Product &g, const Sums &sum, const Tile &tile, int group, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    if constexpr (!UPRIGHT) {
        Stored *const out = (Stored *)(shared_memory + AT_OUT + warp * OUT);
        const int rows = smaller(g.m - tile.m, TILE_M);
        UNROLL for (int i = 0; i < STACKS; i++)
            UNROLL for (int h = 0; h < 2; h++) {
                if (BETA != 0) {
                    _Pragma("unroll 1") for (int each = 0; each < 8; each++) {
                        const int n = tile.n + column_of(group, i, warp, 8 * h + each);
                        if (n < g.n) load_column(out + each * OUT_PITCH, g.c + tile.m + n * g.ldc, rows, lane);
                    }
                    __syncwarp();
                }
                put_columns(s, sum[i], h, out, lane);
                __syncwarp();
                _Pragma("unroll 2") for (int each = 0; each < 8; each++) {
                    const int n = tile.n + column_of(group, i, warp, 8 * h + each);
                    if (n < g.n) store_column(out + each * OUT_PITCH, g.c + tile.m + n * g.ldc, rows, lane);
                }
                __syncwarp();
            }
    } else {
        Stored *const out = (Stored *)(shared_memory + AT_OUT + group * OUT);
        UNROLL for (int i = 0; i < STACKS; i++)
            UNROLL for (int j = 0; j < COLUMNS; j += 64) {
                const int m = tile.m + group * GROUP_ROWS + i * 64, rows = smaller(g.m - m, 64);
                const int first = warp % 4 * 16, n = tile.n + j + first, columns = rows > 0 ? smaller(g.n - n, 16) : 0;
                if (BETA != 0) {
                    _Pragma("unroll 1") for (int each = 0; each < columns; each++)
                        load_column(out + (first + each) * OUT_PITCH, g.c + m + (n + each) * g.ldc, rows, lane);
                    meet(2 + group, 128);
                }
                put_rows(s, sum[i] + j / 2, out, warp, lane);
                meet(2 + group, 128);
                _Pragma("unroll 1") for (int each = 0; each < columns; each++)
                    store_column(out + (first + each) * OUT_PITCH, g.c + m + (n + each) * g.ldc, rows, lane);
                meet(2 + group, 128);  // nobody reads it any more
            }
    }
}
