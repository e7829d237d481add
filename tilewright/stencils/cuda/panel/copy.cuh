// Copies by all threads of a block: tiles of the panel, of C and the small operand, to shared memory and back.
#pragma once

// Stored columns of ROWS_OF_IT elements, COLS at most. LENGTHWISE: rows are counted, of all columns; else whole columns
// are. UNIT bytes divide the address of every column.
template <int ROWS_OF_IT, int COLS, int LD, int UNIT, bool LENGTHWISE, bool STREAMS> struct Columns {
    static constexpr int COLUMN = ROWS_OF_IT * SIZE, WORD = vector_bytes(UNIT, COLUMN);
    static constexpr int WORDS = COLUMN / WORD, COUNT = WORDS * COLS, EACH = WORD / SIZE;
    typedef typename Vector<WORD>::Type Moved;

    // Bytes from a multiple of 16 to where a stream begins.
    static INLINE int head(const Stored *at) { return STREAMS ? (int)((unsigned long long)at & 15) : 0; }

    // Calls act with the element in shared memory, in device memory, and its valid bytes, for each word of this thread.
    // A tile's distances are narrow.
    template <typename Act> static INLINE void each(int ld, int count, Act act) {
        _Pragma("unroll 4") for (int w = threadIdx.x; w < COUNT; w += THREADS) {
            const int row = w % WORDS * EACH, column = w / WORDS;
            const int valid = LENGTHWISE ? smaller((count - row) * SIZE, WORD) : column < count ? WORD : 0;
            if (valid > 0) act(row + column * LD, row + column * ld, valid);
        }
    }

    static INLINE void fetch(unsigned char *to, const Stored *from, long long ld, int count) {
        if (STREAMS) {
            // Nothing before the first element is requested, so what leads to the first whole word comes by less.
            constexpr int LESS = UNIT < 16 ? UNIT : 16;
            const int before = head(from), bytes = count * COLUMN, ahead = smaller((16 - before) % 16, bytes);
            for (int w = LESS * threadIdx.x; w < ahead; w += LESS * THREADS)
                cp_async<LESS>(to + before + w, (const unsigned char *)from + w, LESS);
            _Pragma("unroll 4") for (int w = ahead + 16 * threadIdx.x; w < bytes; w += 16 * THREADS)
                cp_async<16>(to + before + w, (const unsigned char *)from + w, min(bytes - w, 16));
        } else {
            each((int)ld, count, [&](int here, int there, int valid) {
                cp_async<WORD>((Stored *)to + here, from + there, valid);
            });
        }
    }

    static INLINE void write(Stored *to, const Stored *from, long long ld, int count) {
        if (STREAMS) {
            // The elements before the first whole word and behind the last one belong to others, too.
            const int total = count * ROWS_OF_IT, ahead = smaller((16 - head(to)) % 16 / SIZE, total);
            const int words = (total - ahead) * SIZE / 16, done = ahead + words * (16 / SIZE);
            _Pragma("unroll 4") for (int w = threadIdx.x; w < words; w += THREADS)
                *(uint4 *)(to + ahead + w * (16 / SIZE)) = *(const uint4 *)(from + ahead + w * (16 / SIZE));
            for (int e = threadIdx.x; e < ahead; e += THREADS) to[e] = from[e];
            for (int e = done + threadIdx.x; e < total; e += THREADS) to[e] = from[e];
        } else {
            each((int)ld, count, [&](int here, int there, int valid) {
                if (valid == WORD) *(Moved *)(to + there) = *(const Moved *)(from + here);
                else for (int e = 0; e * SIZE < valid; e++) to[there + e] = from[here + e];
            });
        }
    }
};

typedef Columns<ALONG ? TILE : SIZE_K, ALONG ? SIZE_K : TILE, LD_PANEL, UNIT_PANEL, ALONG, PANEL_STREAMS> Panel;
typedef Columns<SMALL_ROWS, SMALL_COLS, LD_SMALL, UNIT_SMALL, false, false> Small;
typedef Columns<LONG_M ? TILE : SHORT, LONG_M ? SHORT : TILE, LD_C, UNIT_C, LONG_M, C_STREAMS> Result;
