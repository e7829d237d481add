// The copies of operands whose columns begin anywhere: into columns at multiples of 128 bytes, by all threads.
#pragma once

constexpr int EACH = 8, WORDS = EACH * THREADS;  // words of 16 bytes of a thread and of a part

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

// Where word `number` of an operand comes from and goes to. Elements behind the end of a column are anything: maps end there.
struct Word {
    const Stored *low, *high;  // two neighbours, or one if the word has no element of the other
    int shift;                 // elements by which it begins behind the first one
    long long to;

    INLINE Word(const Stored *from, long long column, int word, int length, long long ld) {
        const Stored *const at = from + column * ld + 8 * word;
        shift = (int)((unsigned long long)at % 16) / SIZE;
        low = at - shift;
        high = shift + smaller(8, length - 8 * word) > 8 ? low + 8 : low;
        to = column * (ceiling(length, 64) * 8) + word;
    }
};

// Words of an operand, one after the other through its columns: those of a thread, THREADS apart.
struct Walk {
    const int words, across, rest;  // of a column; whole columns in THREADS words, and words beyond these
    long long column;
    int word;

    INLINE Walk(int length, long long begin) : words(ceiling(length, 8)), across(THREADS / words), rest(THREADS % words) {
        column = begin / words;
        const int first = (int)(begin - column * words) + threadIdx.x;
        column += first / words;
        word = first % words;
    }
    INLINE void next() {
        column += across;
        word += rest;
        if (word >= words) {
            word -= words;
            column++;
        }
    }
};

// A part of an operand of so many columns.
INLINE void copy_part(const Stored *from, uint4 *to, unsigned int part, int length, int columns, long long ld) {
    const long long begin = (long long)part * WORDS, all = (long long)ceiling(length, 8) * columns;
    Walk walk(length, begin);
    if (part == 0 || begin + WORDS >= all) {
        // What lies before the first element and behind the last one is not read.
        const Stored *const end = from + (columns - 1) * ld + length;
        const int count = (int)min((long long)WORDS, all - begin) - threadIdx.x;
        _Pragma("unroll 1") for (int i = 0; i < count; i += THREADS, walk.next()) {
            const Word each(from, walk.column, walk.word, length, ld);
            to[each.to] = between(word_in(each.low, from, end), word_in(each.high, from, end), each.shift);
        }
        return;
    }
    // Without a branch, so that all are on their way together.
    uint4 low[EACH], high[EACH];
    int shift[EACH];
    long long place[EACH];
    UNROLL for (int i = 0; i < EACH; i++, walk.next()) {
        const Word each(from, walk.column, walk.word, length, ld);
        low[i] = *(const uint4 *)each.low;
        high[i] = *(const uint4 *)each.high;
        shift[i] = each.shift;
        place[i] = each.to;
    }
    UNROLL for (int i = 0; i < EACH; i++) to[place[i]] = between(low[i], high[i], shift[i]);
}

INLINE unsigned int counted(unsigned int *counter) {
    unsigned int found;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory");
    return found;
}

// Pieces are so many parts, that they are counted seldom.
INLINE unsigned int pieces(const Product &g) { return (g.parts_a + g.parts_b + g.together - 1) / g.together; }

// By all threads: pieces, until all have somebody who copies them.
INLINE void copy_operands(const Product &g) {
    Counters &counters = *(Counters *)g.space;
    unsigned int *const shown = (unsigned int *)(shared_memory + AT_PIECE);
    const unsigned int parts = g.parts_a + g.parts_b, all = pieces(g);
    unsigned int next = 0, mine = 0;
    if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
    while (true) {
        // In turns in two places: who is still at the piece before reads the other one.
        if (threadIdx.x == 0) shown[mine % 2] = next;
        __syncthreads();
        const unsigned int piece = shown[mine % 2];
        if (piece >= all) break;
        // Which is the next one is found out meanwhile.
        if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
        for (unsigned int part = piece * g.together; part < (piece + 1) * g.together && part < parts; part++) {
            if (COPY_A && part < g.parts_a)
                copy_part(g.a, (uint4 *)(g.space + g.to_a), part, A_ALONG ? g.k : g.m, A_ALONG ? g.m : g.k, g.lda);
            else
                copy_part(g.b, (uint4 *)(g.space + g.to_b), part - g.parts_a, B_ALONG ? g.k : g.n, B_ALONG ? g.n : g.k, g.ldb);
        }
        mine++;
    }
    // Copies of boxes read it, on other SMs, too.
    __threadfence();
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0 && mine) {
        __threadfence();
        atomicAdd(&counters.done, mine);
    }
}

// By the thread that asks for boxes: until all is copied.
INLINE void copied(const Product &g) {
    Counters &counters = *(Counters *)g.space;
    while (counted(&counters.done) < pieces(g)) __nanosleep(64);
    asm volatile("fence.proxy.async;" ::: "memory");
}
