// Columns along the panel that begin anywhere in a word of 16 bytes, and columns in shared memory that begin with one: whole words
// from the ones to the others, by the threads that multiply.
#pragma once

// The 16 bytes that begin `bytes` after the first of two neighbouring words, a multiple of an element's size.
INLINE uint4 between(const uint4 &low, const uint4 &high, int bytes) {
    unsigned int x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (SIZE < 16) {
        UNROLL for (int i = 0; i < 6; i++) x[i] = bytes & 8 ? x[i + 2] : x[i];
        if (SIZE < 8) UNROLL for (int i = 0; i < 5; i++) x[i] = bytes & 4 ? x[i + 1] : x[i];
        if (SIZE < 4) {
            const unsigned int order = bytes & 2 ? 0x5432 : 0x3210;
            UNROLL for (int i = 0; i < 4; i++) x[i] = __byte_perm(x[i], x[i + 1], order);
        }
    }
    return make_uint4(x[0], x[1], x[2], x[3]);
}

// COLS columns of `count` elements, at most TILE, that lie LD elements apart and keep their places in words, to `to`, where each
// begins with one. `there` is where the first of them is in device memory.
template <int COLS> INLINE void shift_in(Stored *to, const unsigned char *from, const Stored *there, long long ld, int count) {
    constexpr int EACH = lengthwise(), WORDS = TILE / WORD;
    const int words = ceiling(count, WORD);
    _Pragma("unroll 2") for (int i = threadIdx.x; i < COLS * WORDS; i += WORKERS) {
        const int column = i / WORDS, word = i % WORDS;
        const uint4 *const at = (const uint4 *)(from + column * EACH * SIZE) + word;
        if (word < words) *(uint4 *)(to + column * EACH + word * WORD) = between(at[0], at[1], Run(there + column * ld, 0).head());
    }
}

// SHORT columns of C from `from`, where each begins with a word, to device memory, by whole words of it; of the first and the last
// some elements may belong to others.
INLINE void shift_out(Stored *to, const Stored *from, long long ld, int count) {
    constexpr int WORDS = TILE / WORD + (UNIT_C < 16);
    _Pragma("unroll 2") for (int i = threadIdx.x; i < SHORT * WORDS; i += WORKERS) {
        const int column = i / WORDS, word = i % WORDS;
        Stored *const first = to + column * (int)ld;
        const int head = UNIT_C < 16 ? Run(first, 0).head() / SIZE : 0, at = word * WORD - head;  // elements
        if (at >= count) continue;
        const uint4 *const here = (const uint4 *)(from + column * lengthwise()) + word;
        Pack<WORD> x;
        if (UNIT_C == 16) x.vector = here[0];
        else x.vector = between(here[head && word ? -1 : 0], here[0], head ? 16 - head * SIZE : 0);
        if (at >= 0 && at + WORD <= count) *(uint4 *)(first + at) = x.vector;
        else UNROLL for (int e = 0; e < WORD; e++) if (at + e >= 0 && at + e < count) first[at + e] = x.element[e];
    }
}
