// Fragments: what the lanes of a warp hold of A and of B while tensor cores multiply them, from device memory without a detour.
//
// Products are those of the transposed matrices, columns of C times rows of C (lib/mma.cuh), so that what a lane has of C are
// neighbouring rows of a column. With r = lane / 4 and t = lane % 4, a lane holds
//
//   of B   for each of its columns c, which is column r + 8 c of a turn, words 0 .. WORDS - 1
//   of A   for each block j of 8 rows of a product, of which it has row r, words 0 .. WORDS - 1
//   of C   for each column c and block j a word: rows of lane t, as results.cuh has them, of column r + 8 c
//
// A word is two numbers, k and k + 1, or one complex number. Which k that is may be any order that A and B have alike: that in
// which a lane reads neighbours together. Of complex numbers B is used as it is, with twice as many k, and every row of A is two of
// a product, which make the real and the imaginary parts of C: (re, -im) and (im, re).
#pragma once

#include "lib/mma.cuh"
#include "strips/results.cuh"

constexpr int PER_WORD = 4 / SIZE;            // elements of a word
constexpr int BLOCKS_M = ROWS / PER_WORD;     // blocks of 8 rows of a product
constexpr int NEEDED = (K + 4 * PER_WORD - 1) / (4 * PER_WORD);  // words of a lane that hold all of k
// Neighbours that are read together where stored columns run along k, and where rows of C do.
constexpr int ALONG_A = divisor_of(VEC_A, A_ALONG ? K : RUN), ALONG_B = divisor_of(VEC_B, K);

INLINE constexpr int at_least(int count, int power = 1) { return power < count ? at_least(count, 2 * power) : power; }

// Words of a lane that follow one another along k, as many as one access has.
INLINE constexpr int words_together(int along) {
    return along < PER_WORD ? 1 : along / PER_WORD < at_least(NEEDED) ? along / PER_WORD : at_least(NEEDED);
}
constexpr int TOGETHER = B_ALONG ? words_together(ALONG_B) : A_ALONG ? words_together(ALONG_A) : 1;
constexpr int WORDS = (NEEDED + TOGETHER - 1) / TOGETHER * TOGETHER;

// The first k of word i of lane t.
INLINE constexpr int k_of(int t, int i) { return ((i / TOGETHER * 4 + t) * TOGETHER + i % TOGETHER) * PER_WORD; }

// From there to that of the next word.
INLINE constexpr int step(int i) { return k_of(0, i + 1) - k_of(0, i); }

// ---- accesses that are made only where `is` says so; zeros take the place of others -------------------------------------------
INLINE unsigned short half_if(bool is, const Stored *at) {
    unsigned short x;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\tmov.b16 %0, 0;\n\t@p ld.global.nc.b16 %0, [%1];\n\t}"
        : "=h"(x) : "l"(at), "r"((int)is));
    return x;
}
INLINE void words_if(bool is, unsigned int (&x)[1], const Stored *at) {
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\tmov.b32 %0, 0;\n\t@p ld.global.nc.b32 %0, [%1];\n\t}"
        : "=r"(x[0]) : "l"(at), "r"((int)is));
}
INLINE void words_if(bool is, unsigned int (&x)[2], const Stored *at) {
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\tmov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\t"
        "@p ld.global.nc.v2.b32 {%0,%1}, [%2];\n\t}"
        : "=r"(x[0]), "=r"(x[1]) : "l"(at), "r"((int)is));
}
INLINE void words_if(bool is, unsigned int (&x)[4], const Stored *at) {
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t"
        "mov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\tmov.b32 %2, 0;\n\tmov.b32 %3, 0;\n\t"
        "@p ld.global.nc.v4.b32 {%0,%1,%2,%3}, [%4];\n\t}"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "l"(at), "r"((int)is));
}

// A word of two halves that lie anywhere.
INLINE unsigned int pair_if(bool first, const Stored *one, bool second, const Stored *other) {
    unsigned int x;
    asm("mov.b32 %0, {%1,%2};" : "=r"(x) : "h"(half_if(first, one)), "h"(half_if(second, other)));
    return x;
}

// A matrix of 8 x 8 halves the other way around: a lane gives columns 2 t and 2 t + 1 of row r, and gets rows of column r.
INLINE unsigned int matrix_turned(unsigned int x) {
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    return x;
}

// ---- what runs along k -----------------------------------------------------------------------------------------------------------
// All words of lane t of a stored column from its first one on, of which ALONG neighbours may be read together.
template <int ALONG> INLINE void load_along(unsigned int (&x)[WORDS], const Stored *first, int t, bool is) {
    UNROLL for (int i = 0; i < WORDS; i += TOGETHER) {
        const Stored *const at = first + k_of(0, i);
        const int k = k_of(t, i);
        if constexpr (ALONG < PER_WORD) {
            UNROLL for (int w = 0; w < TOGETHER; w++)
                x[i + w] = pair_if(is && k + 2 * w < K, at + 2 * w, is && k + 2 * w + 1 < K, at + 2 * w + 1);
        } else {
            constexpr int MANY = ALONG / PER_WORD < TOGETHER ? ALONG / PER_WORD : TOGETHER;
            UNROLL for (int w = 0; w < TOGETHER; w += MANY) {
                unsigned int found[MANY];
                words_if(is && k + w * PER_WORD < K, found, at + w * PER_WORD);
                UNROLL for (int e = 0; e < MANY; e++) x[i + w + e] = found[e];
            }
        }
    }
}

// ---- A -----------------------------------------------------------------------------------------------------------------------------
// Row r of block j of a product lies so far behind the warp's first row of C.
INLINE int row_of(int r, int j) {
    return r / 2 * RUN + below(PER_WORD * j) + (COMPLEX ? 0 : r % 2 * (RUN > 1 ? 1 : LANES_M));
}

// Both rows of a product that a row of A is, of complex numbers.
INLINE unsigned int part_of(unsigned int x, int r) {
#if COMPLEX
    constexpr unsigned int LOW = 0x8000, HIGH = 0x80000000;
    const unsigned int real = CONJ_A == CONJ_B ? HIGH : 0, imaginary = (CONJ_A ? LOW : 0) | (CONJ_B ? HIGH : 0);
    return __byte_perm(x, 0, r % 2 ? 0x1032 : 0x3210) ^ (r % 2 ? imaginary : real);
#else
    return x;
#endif
}

// The fragments of A from row `first` on, of which `rows` are left, or more than a warp has if WHOLE. What is read for others is
// that of rows that there are: nobody stores what comes of it. Where stored columns run along rows of C, a lane has read its rows of
// some k, and turn_a makes fragments of that.
template <bool WHOLE>
INLINE void load_a(unsigned int (&x)[BLOCKS_M][WORDS], const Stored *a, long long lda, int first, int rows, int lane) {
    const int r = lane / 4, t = lane % 4;
    a += first * (A_ALONG ? lda : 1);
    if constexpr (A_ALONG) {
        UNROLL for (int j = 0; j < BLOCKS_M; j++) {
            const int row = WHOLE ? row_of(r, j) : min(row_of(r, j), rows - 1);
            load_along<ALONG_A>(x[j], further(a, row * lda + t * TOGETHER * PER_WORD), t, true);
        }
    } else if constexpr (COMPLEX) {
        UNROLL for (int j = 0; j < BLOCKS_M; j++) {
            const Stored *from = a + (WHOLE ? row_of(r, j) : min(row_of(r, j), rows - 1)) + k_of(t, 0) * lda;
            UNROLL for (int i = 0; i < WORDS; i++) {
                unsigned int found[1];
                words_if(k_of(t, i) < K, found, from);
                x[j][i] = found[0];
                from = further(from, step(i) * lda);
            }
        }
    } else {
        const int left = rows - t * RUN;
        const Stored *from = a + (k_of(r / 2, 0) + r % 2) * lda;
        UNROLL for (int i = 0; i < WORDS; i++) {
            const int k = k_of(r / 2, i) + r % 2;
            if constexpr (ALONG_A < 2) {
                UNROLL for (int j = 0; j < BLOCKS_M; j++) {
                    const int one = t * RUN + below(2 * j), other = t * RUN + below(2 * j + 1);
                    x[j][i] = pair_if(k < K && (WHOLE || one < rows), from + one, k < K && (WHOLE || other < rows), from + other);
                }
            } else {
                UNROLL for (int row = 0; row < ROWS; row += ALONG_A) {
                    unsigned int found[ALONG_A < 2 ? 1 : ALONG_A / 2];
                    words_if(k < K, found, from + (WHOLE || below(row) + ALONG_A <= left ? t * RUN + below(row) : -first));
                    UNROLL for (int e = 0; e < ALONG_A / 2; e++) x[row / 2 + e][i] = found[e];
                }
            }
            from = further(from, step(i) * lda);
        }
        // Vectors of which the first rows are there.
        if (!WHOLE && ALONG_A > 1 && rows % ALONG_A) {
            UNROLL for (int row = 0; row < ROWS; row += ALONG_A) {
                const bool some = left > below(row) && left - below(row) < ALONG_A;
                UNROLL for (int i = 0; i < WORDS; i++) {
                    const int k = k_of(r / 2, i) + r % 2;
                    UNROLL for (int e = 0; e < ALONG_A; e += 2) {
                        const Stored *const from = a + k * lda + t * RUN + below(row) + e;
                        const unsigned int found = pair_if(some && k < K && below(row) + e < left, from,
                                                           some && k < K && below(row) + e + 1 < left, from + 1);
                        if (some) x[(row + e) / 2][i] = found;
                    }
                }
            }
        }
    }
}

INLINE void turn_a(unsigned int (&x)[BLOCKS_M][WORDS], int lane) {
    UNROLL for (int j = 0; j < BLOCKS_M; j++) UNROLL for (int i = 0; i < WORDS; i++)
        x[j][i] = A_ALONG || COMPLEX ? part_of(x[j][i], lane / 4) : matrix_turned(x[j][i]);
}

// ---- B -----------------------------------------------------------------------------------------------------------------------------
// The fragments of a turn's columns of B, the first of which is at b and of which `left` are there.
INLINE void load_b(unsigned int (&x)[COLUMNS][WORDS], const Stored *b, long long ldb, int left, int lane) {
    const int r = lane / 4, t = lane % 4;
    if constexpr (B_ALONG) {
        b = further(b, r * ldb + t * TOGETHER * PER_WORD);
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            load_along<ALONG_B>(x[c], b, t, r + 8 * c < left);
            b = further(b, 8 * ldb);
        }
    } else {
        const Stored *from = b + (COMPLEX ? k_of(t, 0) : k_of(r / 2, 0) + r % 2) * ldb;
        UNROLL for (int i = 0; i < WORDS; i++) {
            const int k = COMPLEX ? k_of(t, i) : k_of(r / 2, i) + r % 2;
            UNROLL for (int c = 0; c < COLUMNS; c++) {
                if constexpr (COMPLEX) {
                    unsigned int found[1];
                    words_if(k < K && r + 8 * c < left, found, from + r + 8 * c);
                    x[c][i] = found[0];
                } else if constexpr (VEC_B < 2) {
                    const int n = 2 * t + 8 * c;
                    x[c][i] = pair_if(k < K && n < left, from + n, k < K && n + 1 < left, from + n + 1);
                } else {
                    const int n = 2 * t + 8 * c;
                    unsigned int found[1];
                    words_if(k < K && n + 1 < left, found, from + n);
                    x[c][i] = found[0] | half_if(k < K && n + 1 == left, from + n);
                }
            }
            from = further(from, step(i) * ldb);
        }
    }
}

INLINE void turn_b(unsigned int (&x)[COLUMNS][WORDS]) {
    if constexpr (!B_ALONG && !COMPLEX)
        UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < WORDS; i++) x[c][i] = matrix_turned(x[c][i]);
}
