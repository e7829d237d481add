// Operands of float32 as planes of bfloat16 in the workspace, by all threads: columns begin at multiples of 128 bytes there.
//
// A product of complex numbers is one of real ones, with twice the k and twice the columns, whose results lie as complex numbers do:
// what is multiplied are the parts of A, side by side along k, with those of B, of which each column is (re, -im) for the real
// parts and (im, re) for the imaginary ones. So each number of A is split once and each of B twice.
#pragma once

constexpr int FOUR = 4, PARTS_OF = PAIRS ? 2 : 1;         // numbers of a word, and real ones of each
constexpr int EACH = PAIRS ? 2 : 4, PIECE = EACH * THREADS;  // words of a thread and of a piece

// The parts of four numbers.
INLINE void split_word(const float (&x)[FOUR], uint2 (&made)[PLANES]) {
    unsigned int low[PLANES], high[PLANES];
    split_pair<true>(x[0], x[1], low);
    split_pair<true>(x[2], x[3], high);
    UNROLL for (int plane = 0; plane < PLANES; plane++) made[plane] = make_uint2(low[plane], high[plane]);
}

// An operand: what is stored of it, so many columns of so many numbers, and its planes. ALONG: columns run along k.
template <bool IS_A, bool ALONG, bool CONJUGATED> struct Operand {
    const float *from;
    long long ld;
    unsigned char *to;
    int length, columns;

    // Real numbers of a column of a plane in words, padded, and columns of a plane.
    static constexpr bool DEINTERLEAVED = PAIRS && IS_A && !ALONG;
    INLINE unsigned int leading() const { return ceiling(length * (PAIRS && !DEINTERLEAVED ? 2 : 1), SLICE) * (SLICE / FOUR); }
    INLINE long long plane_words() const { return (long long)leading() * columns * (PAIRS && (DEINTERLEAVED || !IS_A) ? 2 : 1); }

    INLINE void put(const float (&x)[FOUR], unsigned int column, unsigned int word) const {
        uint2 made[PLANES];
        split_word(x, made);
        uint2 *const place = (uint2 *)to + (long long)column * leading() + word;
        UNROLL for (int plane = 0; plane < PLANES; plane++) global_store(place + plane * plane_words(), made[plane]);
    }

    // Four numbers of a column from `word` of these on.
    INLINE void make(const float (&x)[FOUR * PARTS_OF], unsigned int column, unsigned int word) const {
#if PAIRS
        constexpr float SIGN = CONJUGATED ? -1 : 1;
        if constexpr (DEINTERLEAVED) {
            const float re[FOUR] = {x[0], x[2], x[4], x[6]}, im[FOUR] = {SIGN * x[1], SIGN * x[3], SIGN * x[5], SIGN * x[7]};
            put(re, 2 * column, word);
            put(im, 2 * column + 1, word);
        } else {
            UNROLL for (int half = 0; half < 2; half++) {
                // Along k a column of B meets the parts of A, and of each row two columns have what makes the parts of C; across k
                // a row of B has both, and the first of two rows meets the real part of A.
                const float *const y = x + 4 * half, sign = IS_A || !ALONG ? SIGN : -SIGN, other = ALONG ? SIGN : -SIGN;
                const float first[FOUR] = {y[0], sign * y[1], y[2], sign * y[3]};
                const float second[FOUR] = {other * y[1], y[0], other * y[3], y[2]};
                put(first, IS_A ? column : 2 * column, 2 * word + half);
                if (!IS_A) put(second, 2 * column + 1, 2 * word + half);
            }
        }
#else
        put(x, column, word);
#endif
    }

    // A piece. WIDE: 16 bytes are read by one instruction.
    template <bool WIDE> INLINE void split(unsigned int piece) const {
        const unsigned int words = ceiling(length, FOUR), all = words * columns;
        float x[EACH][FOUR * PARTS_OF];
        unsigned int column[EACH], word[EACH];
        // Without a branch, so that all are on their way together: behind the end the last word comes again, and is not stored.
        UNROLL for (int i = 0; i < EACH; i++) {
            const unsigned int number = min(piece * PIECE + i * THREADS + threadIdx.x, all - 1);
            column[i] = number / words;
            word[i] = number - column[i] * words;
            const float *const at = from + column[i] * ld * PARTS_OF;
            UNROLL for (int part = 0; part < PARTS_OF; part++) {
                float *const y = x[i] + part * FOUR;
                if (WIDE) {
                    uint4 found;
                    global_load(found, (const uint4 *)at + word[i] * PARTS_OF + part);
                    y[0] = __uint_as_float(found.x);
                    y[1] = __uint_as_float(found.y);
                    y[2] = __uint_as_float(found.z);
                    y[3] = __uint_as_float(found.w);
                } else {
                    UNROLL for (int e = 0; e < FOUR; e++) {
                        const int wanted = (word[i] * PARTS_OF + part) * FOUR + e, last = (length - 1) * PARTS_OF + e % PARTS_OF;
                        y[e] = at[min(wanted, last)];
                    }
                }
            }
        }
        UNROLL for (int i = 0; i < EACH; i++)
            if (piece * PIECE + i * THREADS + threadIdx.x < all) make(x[i], column[i], word[i]);
    }

    INLINE void split(unsigned int piece) const {
        const bool wide = ((unsigned long long)from | ld * 4 * PARTS_OF) % 16 == 0 && length % FOUR == 0;
        if (wide) split<true>(piece);
        else split<false>(piece);
    }
};

// By all threads: pieces, until all have somebody who splits them.
INLINE void split_operands(const Product &g, unsigned char *workspace) {
    Counters &counters = *(Counters *)workspace;
    const int k = g.k / PARTS_OF, n = g.n / PARTS_OF;
    const Operand<true, A_ALONG, CONJ_A> a = {g.a, g.lda, workspace + g.to_a, A_ALONG ? k : g.m, A_ALONG ? g.m : k};
    const Operand<false, B_ALONG, CONJ_B> b = {g.b, g.ldb, workspace + g.to_b, B_ALONG ? k : n, B_ALONG ? n : k};
    unsigned int *const shown = (unsigned int *)(shared_memory + AT_PIECE);
    unsigned int next = 0, mine = 0;
    if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
    while (true) {
        // In turns in two places: who is still at the piece before reads the other one.
        if (threadIdx.x == 0) shown[mine % 2] = next;
        __syncthreads();
        const unsigned int piece = shown[mine % 2];
        if (piece >= g.pieces) break;
        // Which is the next one is found out meanwhile.
        if (threadIdx.x == 0) next = atomicAdd(&counters.begun, 1u);
        if (piece < g.pieces_a) a.split(piece);
        else b.split(piece - g.pieces_a);
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

// By the thread that asks for boxes: until all is split.
INLINE void all_split(const Product &g, const unsigned char *workspace) {
    const Counters &counters = *(const Counters *)workspace;
    unsigned int found;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(&counters.done) : "memory");
        if (found < g.pieces) __nanosleep(64);
    } while (found < g.pieces);
    asm volatile("fence.proxy.async;" ::: "memory");
}
