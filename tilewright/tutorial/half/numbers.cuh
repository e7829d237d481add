// What the kernels of this folder share: numbers of 16 bits, rows that end anywhere, and how results are stored.
//
// Matrices are row-major, and their rows begin at multiples of 16 bytes (8 numbers). Nothing is read or written behind the
// end of a row, whatever lies between it and the next one.
#pragma once

#include "lib/gemm.cuh"

#ifndef BRAIN
#define BRAIN 0  // 0: float16, 1: bfloat16
#endif
#define TYPE_BITS 16
#define UNROLL _Pragma("unroll")
#define ONE_BY_ONE _Pragma("unroll 1")
#define INLINE __device__ __forceinline__

typedef unsigned short Half;  // the bits of a number

INLINE float real_of(Half x) {
#if BRAIN
    return __uint_as_float((unsigned int)x << 16);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
    return wide;
#endif
}

// Two numbers rounded to the nearest, the first in the low half of the word.
INLINE unsigned int halves_of(float low, float high) {
    unsigned int pair;
#if BRAIN
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

// Eight neighbours of a row, of which so many lie in the matrix; zeros take the place of the others.
INLINE uint4 eight(const Half *from, int inside) {
    if (inside >= 8) return *(const uint4 *)from;
    unsigned int word[4] = {};
    UNROLL for (int i = 0; i < 8; i++)
        if (i < inside) word[i / 2] |= (unsigned int)from[i] << i % 2 * 16;
    return make_uint4(word[0], word[1], word[2], word[3]);
}

// Steps of k: none where alpha is 0, whatever A and B hold.
INLINE int depth(const Gemm &g) { return (float)g.alpha[0] == 0.0f ? 0 : g.k; }

// C = alpha * sum + beta * C for two neighbours of a row, of which the first has an even column. With beta = 0 C is not read.
INLINE void put(const Gemm &g, int row, int column, float x, float y) {
    if (row >= g.m || column >= g.n) return;
    const float alpha = (float)g.alpha[0], beta = (float)g.beta[0];
    Half *const to = (Half *)g.c + row * g.ldc + column;
    const bool two = column + 1 < g.n;
    x *= alpha;
    y *= alpha;
    if (beta != 0.0f) {
        x += beta * real_of(to[0]);
        if (two) y += beta * real_of(to[1]);
    }
    const unsigned int pair = halves_of(x, y);
    if (two) *(unsigned int *)to = pair;
    else *to = (Half)pair;
}
