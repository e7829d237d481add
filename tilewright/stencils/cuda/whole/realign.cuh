// From a piece as it lies in memory to columns that begin at multiples of 16 bytes, by all threads.
#pragma once

// Reads BYTES bytes at an address of shared memory that is a multiple of them, or of 2: a word is then put together from
// the two that it lies in.
template <int BYTES, bool ANYWHERE> INLINE typename Vector<BYTES>::Type read_at(const unsigned char *at) {
    if constexpr (!ANYWHERE) {
        return *(const typename Vector<BYTES>::Type *)at;
    } else {
        const unsigned int odd = (unsigned int)(unsigned long long)at & 2;
        const unsigned int *const words = (const unsigned int *)(at - odd);
        const unsigned int low = words[0], high = odd ? words[1] : 0;
        return __byte_perm(low, high, odd ? 0x5432 : 0x3210);
    }
}

// Threads go down the columns, ACROSS_NOW columns at a time, and read several words before they write them.
template <int NUMBER, bool K_ALONG, int FREE, int FREE_READ, int UNIT>
INLINE void Operand<NUMBER, K_ALONG, FREE, FREE_READ, UNIT>::realign(const unsigned char *slot, int head, Stored *to, int count) {
    constexpr int WIDTH = UNIT < 4 ? 4 : UNIT, WORDS = ceiling(ROWS_OF_IT * SIZE, WIDTH), DOWN = smaller(WORDS, THREADS);
    constexpr int ACROSS_NOW = THREADS / DOWN, TOGETHER = WIDTH == 16 ? 4 : 8;
    const int across = threadIdx.x / DOWN;
    if (across >= ACROSS_NOW) return;
    _Pragma("unroll 1") for (int word = threadIdx.x % DOWN; word < WORDS; word += DOWN)
        _Pragma("unroll 1") for (int first = across; first < count; first += TOGETHER * ACROSS_NOW) {
            typename Vector<WIDTH>::Type x[TOGETHER];
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                // Without a branch, so that all are on their way together; the last column is read again.
                const int column = smaller(first + i * ACROSS_NOW, count - 1);
                x[i] = read_at<WIDTH, UNIT < 4>(slot + head + column * ROWS_OF_IT * SIZE + word * WIDTH);
            }
            UNROLL for (int i = 0; i < TOGETHER; i++) {
                const int column = first + i * ACROSS_NOW;
                if (column < count) *(typename Vector<WIDTH>::Type *)(to + column * LD + word * (WIDTH / SIZE)) = x[i];
            }
        }
}
