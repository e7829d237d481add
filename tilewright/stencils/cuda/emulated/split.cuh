// Operands of float32 as planes of bfloat16 in the workspace, by all threads: columns begin at multiples of 128 bytes there.
#pragma once

constexpr int FOUR = 4, EACH = 4, PIECE = EACH * THREADS;  // numbers of a word, words of a thread and of a piece
constexpr float LARGEST = 3.3895313892515355e38f;          // of bfloat16

// The parts of four numbers: each plane has what those before it leave of a number, rounded. All of it is exact but the last one.
INLINE void split_word(const float (&x)[FOUR], uint2 (&made)[PLANES]) {
    float rest[FOUR];
    UNROLL for (int i = 0; i < FOUR; i++) rest[i] = x[i];
    UNROLL for (int plane = 0; plane < PLANES; plane++) {
        float part[FOUR];
        UNROLL for (int i = 0; i < FOUR; i++) {
            // What is near the largest float32 would round to infinity. What is no finite number is a part by itself, and the last
            // one, which is multiplied with first parts alone: these have the sign of the other number.
            part[i] = plane == 0 ? fminf(fmaxf(rest[i], -LARGEST), LARGEST) : rest[i];
            if (plane < PLANES - 1 && !(fabsf(x[i]) < __int_as_float(0x7f800000))) part[i] = 0;
        }
        const unsigned int low = halves_of(part[0], part[1]), high = halves_of(part[2], part[3]);
        made[plane] = make_uint2(low, high);
        rest[0] -= real_of((Half)low);
        rest[1] -= real_of((Half)(low >> 16));
        rest[2] -= real_of((Half)high);
        rest[3] -= real_of((Half)(high >> 16));
    }
}

// A piece of an operand of so many columns. WIDE: words are read by one instruction each.
template <bool WIDE>
INLINE void split_piece(const float *from, unsigned char *to, unsigned int piece, int length, int columns, long long ld) {
    const unsigned int words = ceiling(length, FOUR), all = words * columns, leading = ceiling(length, SLICE) * (SLICE / FOUR);
    const long long plane_words = (long long)leading * columns;
    float x[EACH][FOUR];
    unsigned int column[EACH], word[EACH];
    // Without a branch, so that all are on their way together: behind the end the last word comes again, and is not stored.
    UNROLL for (int i = 0; i < EACH; i++) {
        const unsigned int number = min(piece * PIECE + i * THREADS + threadIdx.x, all - 1);
        column[i] = number / words;
        word[i] = number - column[i] * words;
        const float *const at = from + column[i] * ld;
        if (WIDE) {
            uint4 found;
            global_load(found, (const uint4 *)at + word[i]);
            x[i][0] = __uint_as_float(found.x);
            x[i][1] = __uint_as_float(found.y);
            x[i][2] = __uint_as_float(found.z);
            x[i][3] = __uint_as_float(found.w);
        } else {
            UNROLL for (int e = 0; e < FOUR; e++) x[i][e] = at[min((int)word[i] * FOUR + e, length - 1)];
        }
    }
    UNROLL for (int i = 0; i < EACH; i++) {
        uint2 made[PLANES];
        split_word(x[i], made);
        if (piece * PIECE + i * THREADS + threadIdx.x >= all) continue;
        uint2 *const place = (uint2 *)to + (long long)column[i] * leading + word[i];
        UNROLL for (int plane = 0; plane < PLANES; plane++) global_store(place + plane * plane_words, made[plane]);
    }
}

INLINE void split_piece(const float *from, unsigned char *to, unsigned int piece, int length, int columns, long long ld) {
    const bool wide = ((unsigned long long)from | ld * 4) % 16 == 0 && length % FOUR == 0;
    if (wide) split_piece<true>(from, to, piece, length, columns, ld);
    else split_piece<false>(from, to, piece, length, columns, ld);
}

// By all threads: pieces, until all have somebody who splits them.
INLINE void split_operands(const Product &g, unsigned char *workspace) {
    Counters &counters = *(Counters *)workspace;
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
        if (piece < g.pieces_a)
            split_piece(g.a, workspace + g.to_a, piece, A_ALONG ? g.k : g.m, A_ALONG ? g.m : g.k, g.lda);
        else
            split_piece(g.b, workspace + g.to_b, piece - g.pieces_a, B_ALONG ? g.k : g.n, B_ALONG ? g.n : g.k, g.ldb);
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
