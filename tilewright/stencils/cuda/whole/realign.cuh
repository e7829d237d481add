// From a piece as it lies in memory to columns that begin at multiples of 16 bytes, by the threads that multiply.
#pragma once

// Words of 16 bytes, SHIFT words of 4 further on in two neighbours than where these begin, and by a half if `order` says so.
template <int SHIFT> INLINE uint4 between(const uint4 &low, const uint4 &high, unsigned int order) {
    const unsigned int x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    return make_uint4(__byte_perm(x[SHIFT], x[SHIFT + 1], order), __byte_perm(x[SHIFT + 1], x[SHIFT + 2], order),
                      __byte_perm(x[SHIFT + 2], x[SHIFT + 3], order),
                      __byte_perm(x[SHIFT + 3], x[SHIFT < 3 ? SHIFT + 4 : 7], order));
}

// Every eighth column begins alike in a word of 16 bytes, for eight columns are whole ones. A warp takes columns that do, so
// that all its lanes shift their words alike. Columns that begin at multiples of 4 bytes are copied by vectors of as many
// bytes as that is. All are read, some at a time, before they are written.
template <int NUMBER, bool K_ALONG, int FREE, int FREE_READ, int UNIT, bool BOX>
INLINE void Operand<NUMBER, K_ALONG, FREE, FREE_READ, UNIT, BOX>::realign(const unsigned char *slot, int head, Stored *to,
                                                                          int count) {
    constexpr bool SHIFTED = UNIT < 4;
    constexpr int BYTES = SHIFTED ? 16 : UNIT, WORDS = ceiling(ROWS_OF_IT * SIZE, BYTES), TOGETHER = SHIFTED ? 2 : 64 / BYTES;
    constexpr int APART = SHIFTED ? 8 : 1, LANES = SHIFTED ? 32 : WORKERS;
    typedef typename Vector<BYTES>::Type Word;
    const int lane = threadIdx.x % LANES;
    _Pragma("unroll 1") for (int first = SHIFTED ? threadIdx.x / 32 : 0; first < smaller(APART, count); first += WARPS) {
        const int start = head + first * ROWS_OF_IT * SIZE, all = (count - first + APART - 1) / APART * WORDS;
        const unsigned char *const from = slot + (SHIFTED ? start & ~15 : start);
        const int shift = start % 16 / 4;
        const unsigned int order = start & 2 ? 0x5432 : 0x3210;
        _Pragma("unroll 1") for (int item = lane; item < all; item += TOGETHER * LANES) {
            Word low[TOGETHER], high[SHIFTED ? TOGETHER : 1];
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                // Without a branch, so that all are on their way together; the last word is read again.
                const int each = smaller(item + i * LANES, all - 1), column = each / WORDS, word = each % WORDS;
                const Word *const at = (const Word *)(from + column * (APART * ROWS_OF_IT * SIZE)) + word;
                low[i] = at[0];
                if constexpr (SHIFTED) high[i] = at[1];
            }
            if constexpr (SHIFTED) {
                UNROLL for (int i = 0; i < TOGETHER; i++) {
                    const uint4 a = low[i], b = high[i];
                    low[i] = shift == 0   ? between<0>(a, b, order)
                             : shift == 1 ? between<1>(a, b, order)
                             : shift == 2 ? between<2>(a, b, order)
                                          : between<3>(a, b, order);
                }
            }
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                const int each = item + i * LANES, column = each / WORDS, word = each % WORDS;
                if (each < all) *((Word *)(to + (first + column * APART) * LD) + word) = low[i];
            }
        }
    }
}
