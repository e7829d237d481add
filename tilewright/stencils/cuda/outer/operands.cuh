// What a lane reads and writes: its rows of A, all of them at once; numbers of B that are the same for all lanes; columns of C.
#pragma once

INLINE constexpr int divisor_of(int a, int b) { return b ? divisor_of(b, a % b) : a; }

// COUNT neighbours of an operand.
template <int COUNT> INLINE void read(Element (&x)[COUNT], const Stored *from) {
    typedef typename Vector<COUNT * SIZE>::Type Type;
    Pack<COUNT> found;
    found.vector = __ldg((const Type *)from);
    UNROLL for (int i = 0; i < COUNT; i++) x[i] = found.element[i];
}

// The same place one stored column further: where the compiler cannot compute all of them in advance, and hold them.
INLINE const Stored *further(const Stored *at, long long ld) {
    at += ld;
    asm volatile("" : "+l"(at));
    return at;
}

// Row i of a lane lies so far behind its first one.
INLINE constexpr int below(int i) { return i / RUN * 32 * RUN + i % RUN; }

// Rows of A, of which `rows` are left from the lane's first on; the others are zeros.
INLINE void load_rows(Element (&x)[K][ROWS], const Stored *a, long long lda, int row, int rows) {
    if (A_ALONG) {
        constexpr int COUNT = divisor_of(VEC_A, K);
        UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int k = 0; k < K; k += COUNT) {
            Element found[COUNT];
            UNROLL for (int e = 0; e < COUNT; e++) found[e] = zero();
            if (below(i) < rows) read(found, a + (row + below(i)) * lda + k);
            UNROLL for (int e = 0; e < COUNT; e++) x[k + e][i] = conjugated(CONJ_A, found[e]);
        }
    } else {
        constexpr int COUNT = divisor_of(VEC_A, RUN);
        const Stored *from = a + row;
        UNROLL for (int k = 0; k < K; k++, from = further(from, lda)) UNROLL for (int i = 0; i < ROWS; i += COUNT) {
            Element found[COUNT];
            UNROLL for (int e = 0; e < COUNT; e++) found[e] = zero();
            if (below(i) + COUNT <= rows) read(found, from + below(i));
            else UNROLL for (int e = 0; e < COUNT; e++) if (below(i) + e < rows) found[e] = from[below(i) + e];
            UNROLL for (int e = 0; e < COUNT; e++) x[k][i + e] = conjugated(CONJ_A, found[e]);
        }
    }
}

// Adds what COLUMNS columns of B from n on make, of which `left` are inside; the last of those stands for the others.
INLINE void add_products(Element (&sum)[COLUMNS][ROWS], const Element (&x)[K][ROWS], const Stored *b, long long ldb, int n,
                         int left) {
    if (B_ALONG) {
        constexpr int COUNT = divisor_of(VEC_B, K);
        UNROLL for (int k = 0; k < K; k += COUNT) UNROLL for (int j = 0; j < COLUMNS; j++) {
            Element y[COUNT];
            read(y, b + (n + min(j, left - 1)) * ldb + k);
            UNROLL for (int e = 0; e < COUNT; e++) UNROLL for (int i = 0; i < ROWS; i++)
                multiply_add(sum[j][i], x[k + e][i], conjugated(CONJ_B, y[e]));
        }
    } else {
        constexpr int COUNT = divisor_of(VEC_B, COLUMNS);
        const Stored *from = b + n;
        UNROLL for (int k = 0; k < K; k++, from = further(from, ldb)) UNROLL for (int j = 0; j < COLUMNS; j += COUNT) {
            Element y[COUNT];
            if (j + COUNT <= left) read(y, from + j);
            else UNROLL for (int e = 0; e < COUNT; e++) y[e] = from[min(j + e, left - 1)];
            UNROLL for (int e = 0; e < COUNT; e++) UNROLL for (int i = 0; i < ROWS; i++)
                multiply_add(sum[j + e][i], x[k][i], conjugated(CONJ_B, y[e]));
        }
    }
}

// A lane's rows of a column of C, of which `rows` are left.
INLINE void store_rows(Stored *to, const Element (&sum)[ROWS], int rows) {
    UNROLL for (int i = 0; i < ROWS; i += RUN) {
        Pack<RUN> found;
        UNROLL for (int e = 0; e < RUN; e++) found.element[e] = sum[i + e];
        if (below(i) + RUN <= rows)
            global_store((typename Vector<RUN * SIZE>::Type *)(to + below(i)), found.vector);
        else
            UNROLL for (int e = 0; e < RUN; e++) if (below(i) + e < rows) to[below(i) + e] = found.element[e];
    }
}
