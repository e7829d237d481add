// float32 as sums of bfloat16, which tensor cores multiply: each part has what those before it leave of a number, rounded. Three
// parts hold all 24 bits, two hold 16. Of the products of the parts of two numbers the TERMS largest are made: six of nine where
// there are three parts, three of four where there are two.
//
// G. Henry, P. T. P. Tang and A. Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for higher-precision
// computations" (2019).
#pragma once

#include "lib/element.cuh"

constexpr int PLANES = TERMS == 6 ? 3 : 2;

// Two numbers rounded to bfloat16, the first in the low half of the word; what is too large for one becomes the largest, if it is LIMITED.
template <bool LIMITED> INLINE unsigned int bfloats_of(float low, float high) {
    unsigned int pair;
    if (LIMITED) asm("cvt.rn.satfinite.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// The parts of two numbers, of which all are exact but the last. Infinities and NaN are the last part alone, which is multiplied with first parts
// alone: these have the sign of the other number. So they come out as in float32, if it is CAREFUL.
template <bool CAREFUL> INLINE void split_pair(float x, float y, unsigned int (&made)[PLANES]) {
    const float whole[2] = {x, y};
    float rest[2] = {x, y};
    UNROLL for (int plane = 0; plane < PLANES; plane++) {
        float part[2];
        UNROLL for (int i = 0; i < 2; i++)
            part[i] = CAREFUL && plane < PLANES - 1 && !(fabsf(whole[i]) < __int_as_float(0x7f800000)) ? 0 : rest[i];
        // What is near the largest float32 would round to infinity.
        made[plane] = plane == 0 ? bfloats_of<true>(part[0], part[1]) : bfloats_of<false>(part[0], part[1]);
        rest[0] -= __uint_as_float(made[plane] << 16);
        rest[1] -= __uint_as_float(made[plane] & 0xffff0000);
    }
}

// Whether one of the numbers that were noted is an infinity or NaN, which is not 0 when it is multiplied by it.
struct Infinite {
    float sums[4] = {0, 0, 0, 0};

    INLINE void note(const float (&x)[4]) {
        UNROLL for (int i = 0; i < 4; i++) asm("fma.rn.f32 %0, %1, 0f00000000, %0;" : "+f"(sums[i]) : "f"(x[i]));
    }
    INLINE bool any() const { return !(sums[0] + sums[1] + (sums[2] + sums[3]) == 0); }
};
