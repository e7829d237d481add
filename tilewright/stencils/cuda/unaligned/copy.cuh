// The copies of operands whose columns begin anywhere: into columns at multiples of 128 bytes, by all threads.
#pragma once

constexpr int WORDS = 4096;  // words of 16 bytes of a piece

// The word of 16 bytes at a multiple of 16, as far as it lies in an operand.
INLINE uint4 word_in(const Stored *at, const Stored *begin, const Stored *end) {
    if (at >= begin && at + 8 <= end) return *(const uint4 *)at;
    Pack<8> found;
    UNROLL for (int e = 0; e < 8; e++) found.element[e] = at + e >= begin && at + e < end ? at[e] : (Stored)0;
    return found.vector;
}

// What begins so many elements behind the first of two neighbours.
INLINE uint4 between(const uint4 &low, const uint4 &high, int shift) {
    const unsigned int x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    unsigned int by_four[6], by_two[5];
    UNROLL for (int i = 0; i < 6; i++) by_four[i] = shift & 4 ? x[i + 2] : x[i];
    UNROLL for (int i = 0; i < 5; i++) by_two[i] = shift & 2 ? by_four[i + 1] : by_four[i];
    const unsigned int order = shift & 1 ? 0x5432 : 0x3210;
    return make_uint4(__byte_perm(by_two[0], by_two[1], order), __byte_perm(by_two[1], by_two[2], order),
                      __byte_perm(by_two[2], by_two[3], order), __byte_perm(by_two[3], by_two[4], order));
}

// A piece of an operand of so many columns. Elements behind the end of a column are anything: maps end there.
INLINE void copy_piece(const Stored *from, uint4 *to, int piece, int length, int columns, long long ld) {
    const int words = ceiling(length, 8), pitch = ceiling(length, 64) * 8;  // of a column, here and there
    const long long first = (long long)piece * WORDS, all = (long long)words * columns;
    const Stored *const end = from + (columns - 1) * ld + length;
    const int count = (int)min((long long)WORDS, all - first);
    const long long column_of_first = first / words;
    const int word_of_first = (int)(first - column_of_first * words);
    _Pragma("unroll 4") for (int i = threadIdx.x; i < count; i += THREADS) {
        const int further = (word_of_first + i) / words, word = word_of_first + i - further * words;
        const long long column = column_of_first + further;
        const Stored *const at = from + column * ld + 8 * word;
        const int shift = (int)((unsigned long long)at % 16) / SIZE;
        const uint4 low = word_in(at - shift, from, end);
        // The next one has elements of this word only if the column goes on there.
        const uint4 high = shift + smaller(8, length - 8 * word) > 8 ? word_in(at - shift + 8, from, end) : low;
        to[column * pitch + word] = between(low, high, shift);
    }
}

INLINE unsigned int counted(unsigned int *counter) {
    unsigned int found;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory");
    return found;
}

// By all threads: pieces, until all have somebody who copies them.
INLINE void copy_operands(const Product &g) {
    Counters &counters = *(Counters *)g.space;
    unsigned int &shown = *(unsigned int *)(shared_memory + AT_PIECE);
    unsigned int next = 0;
    if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
    while (true) {
        if (threadIdx.x == 0) shown = next;
        __syncthreads();
        const int piece = (int)shown;
        if (piece >= g.pieces_a + g.pieces_b) break;
        // Which is the next one is found out meanwhile.
        if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
        if (COPY_A && piece < g.pieces_a)
            copy_piece(g.a, (uint4 *)(g.space + g.to_a), piece, A_ALONG ? g.k : g.m, A_ALONG ? g.m : g.k, g.lda);
        else
            copy_piece(g.b, (uint4 *)(g.space + g.to_b), piece - g.pieces_a, B_ALONG ? g.k : g.n, B_ALONG ? g.n : g.k, g.ldb);
        // Copies of boxes read it, on other SMs, too.
        __threadfence();
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&counters.done, 1u);
        }
    }
}

// By the thread that asks for boxes: until all is copied.
INLINE void copied(const Product &g) {
    Counters &counters = *(Counters *)g.space;
    while (counted(&counters.done) < (unsigned int)(g.pieces_a + g.pieces_b)) __nanosleep(64);
    asm volatile("fence.proxy.async;" ::: "memory");
}
