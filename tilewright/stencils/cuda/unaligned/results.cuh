// The results of a tile: rounded, put together as columns in shared memory, and stored from there by words of 4 bytes, which
// begin at multiples of 4 whatever the column does. Where C is read, it comes to the same places before.
#pragma once

constexpr int STACKS = GROUP_N / 64;

typedef float Sums[STACKS][TILE_M / 2];

// ---- a column in device memory and in shared memory, by a warp -------------------------------------------------------
// Word w of a column: its elements 2 w and 2 w + 1, or 2 w - 1 and 2 w where it begins between words (`shift`).
INLINE unsigned int word_of(const Stored *column, int word, int shift) {
    const unsigned int *const at = (const unsigned int *)column + word;
    return shift ? __byte_perm(at[word ? -1 : 0], at[0], 0x5432) : at[0];
}

INLINE void store_column(const Stored *from, Stored *to, int rows, int lane) {
    const int shift = (int)((unsigned long long)to / SIZE & 1);
    Stored *const begin = to - shift;
    if (rows == TILE_M) {
        constexpr int COUNT = TILE_M / 64;
        unsigned int x[COUNT];
        UNROLL for (int i = 0; i < COUNT; i++) x[i] = word_of(from, 32 * i + lane, shift);
        UNROLL for (int i = 0; i < COUNT; i++)
            if (i || lane || !shift) ((unsigned int *)begin)[32 * i + lane] = x[i];
        if (shift && lane == 0) to[0] = from[0];
        if (shift && lane == 1) to[TILE_M - 1] = from[TILE_M - 1];
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
    UNROLL for (int i = 0; i < TILE_M; i += 32)
        if (i + lane < rows) to[i + lane] = from[i + lane];
}

// ---- sums to columns --------------------------------------------------------------------------------------------------
// Columns 8 h to 8 h + 7 of a warp: a lane holds neighbours of one.
INLINE void put(const Scalars &s, const float *sum, int h, Stored *out, int lane) {
    UNROLL for (int j = 0; j < TILE_M / 8; j += 4) {
        // A lane says where 16 bytes of a column lie: those of four blocks of 8 by 8.
        Stored *const at = out + lane % 8 * OUT_PITCH + (j + lane / 8) * 8;
        unsigned int c[4] = {}, x[4];
        if (BETA != 0) ldmatrix<false>(c[0], c[1], c[2], c[3], at);
        UNROLL for (int e = 0; e < 4; e++) {
            const float *const pair = sum + (j + e) * 4 + 2 * h;
            x[e] = halves_of(scaled(s, pair[0], real_of((Half)c[e])), scaled(s, pair[1], real_of((Half)(c[e] >> 16))));
        }
        stmatrix(x[0], x[1], x[2], x[3], at);
    }
}

INLINE void store(const Product &g, const Sums &sum, const Tile &tile, int group, int warp, int lane) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    Stored *const out = (Stored *)(shared_memory + AT_OUT + warp * OUT);
    const int rows = smaller(g.m - tile.m, TILE_M);
    UNROLL for (int i = 0; i < STACKS; i++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int n = tile.n + group * GROUP_N + i * 64 + warp % 4 * 16 + h * 8, columns = smaller(g.n - n, 8);
            Stored *const c = g.c + tile.m + n * g.ldc;
            if (BETA != 0) {
                _Pragma("unroll 1") for (int each = 0; each < columns; each++)
                    load_column(out + each * OUT_PITCH, c + each * g.ldc, rows, lane);
                __syncwarp();
            }
            put(s, sum[i], h, out, lane);
            __syncwarp();
            _Pragma("unroll 2") for (int each = 0; each < columns; each++)
                store_column(out + each * OUT_PITCH, c + each * g.ldc, rows, lane);
            __syncwarp();
        }
}
