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
// that all its lanes shift their words alike. They read several words before they write them.
template <int NUMBER, bool K_ALONG, int FREE, int FREE_READ, int UNIT>
INLINE void Operand<NUMBER, K_ALONG, FREE, FREE_READ, UNIT>::realign(const unsigned char *slot, int head, Stored *to, int count) {
    constexpr int EIGHT = 8, WORDS = ceiling(ROWS_OF_IT, EIGHT), TOGETHER = UNIT == 16 ? 4 : 2;
    constexpr bool ALIKE = UNIT == 16;  // whether all columns begin with a word
    constexpr int APART = ALIKE ? 1 : EIGHT, LANES = ALIKE ? WORKERS : 32;
    const int lane = threadIdx.x % LANES;
    _Pragma("unroll 1") for (int first = ALIKE ? 0 : threadIdx.x / 32; first < smaller(APART, count); first += WARPS) {
        const int start = head + first * ROWS_OF_IT * SIZE, all = (count - first + APART - 1) / APART * WORDS;
        const uint4 *const from = (const uint4 *)(slot + (start & ~15));
        const int shift = start % 16 / 4;
        const unsigned int order = start & 2 ? 0x5432 : 0x3210;
        _Pragma("unroll 1") for (int item = lane; item < all; item += TOGETHER * LANES) {
            uint4 low[TOGETHER], high[TOGETHER];
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                // Without a branch, so that all are on their way together; the last word is read again.
                const int each = smaller(item + i * LANES, all - 1), column = each / WORDS, word = each % WORDS;
                const uint4 *const at = from + column * (APART * ROWS_OF_IT * SIZE / 16) + word;
                low[i] = at[0];
                if (!ALIKE) high[i] = at[1];
            }
            if (!ALIKE) UNROLL for (int i = 0; i < TOGETHER; i++) {
                const uint4 a = low[i], b = high[i];
                low[i] = shift == 0   ? between<0>(a, b, order)
                         : shift == 1 ? between<1>(a, b, order)
                         : shift == 2 ? between<2>(a, b, order)
                                      : between<3>(a, b, order);
            }
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                const int each = item + i * LANES, column = each / WORDS, word = each % WORDS;
                if (each < all) *(uint4 *)(to + (first + column * APART) * LD + word * EIGHT) = low[i];
            }
        }
        if (ALIKE) break;
    }
}
