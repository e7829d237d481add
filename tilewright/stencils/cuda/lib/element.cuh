// Elements of matrices: how they are stored, the vectors that they are moved in, and their arithmetic.
//
// A Stored is an element in memory, an Element one in arithmetic. They are one type but for 16 bits, where numbers are
// widened to float32 when they are read and rounded once, when a result is written; there the two are kept apart.
#pragma once

#include "lib/problem.cuh"

#define UNROLL _Pragma("unroll")
#define INLINE __device__ __forceinline__

#if TYPE_BITS == 64
typedef double Real;
#else
typedef float Real;
#endif
#if COMPLEX
struct __align__(2 * sizeof(Real)) Element {
    Real re, im;
};
#else
typedef Real Element;
#endif

#if TYPE_BITS != 16
typedef Element Stored;

INLINE Element widened(Stored x) { return x; }
INLINE Stored narrowed(Element x) { return x; }
#else
typedef unsigned short Half;  // the bits of a float16, or of a bfloat16 if BRAIN
#if COMPLEX
struct __align__(4) Stored {
    Half re, im;
};
#else
typedef Half Stored;
#endif

INLINE float real_of(Half x) {
#if BRAIN
    return __uint_as_float((unsigned int)x << 16);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
    return wide;
#endif
}

// Two numbers rounded to the nearest, the first in the low half of the word. What is too large becomes infinite.
INLINE unsigned int halves_of(float low, float high) {
    unsigned int pair;
#if BRAIN
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

INLINE Half half_of(float x) {
    Half bits;
#if BRAIN
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#endif
    return bits;
}

INLINE Element widened(Stored x) {
#if COMPLEX
    return Element{real_of(x.re), real_of(x.im)};
#else
    return real_of(x);
#endif
}

INLINE Stored narrowed(Element x) {
#if COMPLEX
    const unsigned int pair = halves_of(x.re, x.im);
    return Stored{(Half)pair, (Half)(pair >> 16)};
#else
    return half_of(x);
#endif
}
#endif

constexpr int SIZE = sizeof(Stored);

// ---- vectors: neighbouring elements that one instruction moves ---------------------------------------
template <int BYTES> struct Vector;
template <> struct Vector<2> { typedef unsigned short Type; };
template <> struct Vector<4> { typedef unsigned int Type; };
template <> struct Vector<8> { typedef uint2 Type; };
template <> struct Vector<16> { typedef uint4 Type; };

INLINE void clear(unsigned short &v) { v = 0; }
INLINE void clear(unsigned int &v) { v = 0; }
INLINE void clear(uint2 &v) { v = make_uint2(0, 0); }
INLINE void clear(uint4 &v) { v = make_uint4(0, 0, 0, 0); }

template <int COUNT> union Pack {
    typename Vector<COUNT * SIZE>::Type vector;
    Stored element[COUNT];
    unsigned int words[COUNT * SIZE >= 4 ? COUNT * SIZE / 4 : 1];
    INLINE Pack() {}
};

// Results as they are stored: pairs of halves are rounded together.
template <int COUNT> INLINE Pack<COUNT> packed(const Element (&x)[COUNT]) {
    Pack<COUNT> out;
#if TYPE_BITS == 16 && !COMPLEX
    UNROLL for (int i = 0; i + 1 < COUNT; i += 2) out.words[i / 2] = halves_of(x[i], x[i + 1]);
    if (COUNT == 1) out.element[0] = narrowed(x[0]);
#elif TYPE_BITS == 16
    UNROLL for (int i = 0; i < COUNT; i++) out.words[i] = halves_of(x[i].re, x[i].im);
#else
    UNROLL for (int i = 0; i < COUNT; i++) out.element[i] = x[i];
#endif
    return out;
}

// ---- arithmetic ------------------------------------------------------------------------------------
INLINE Element zero() {
#if COMPLEX
    return Element{0, 0};
#else
    return 0;
#endif
}

INLINE Element conjugated(bool yes, Element x) {
#if COMPLEX
    if (yes) x.im = -x.im;
#endif
    return x;
}

INLINE void multiply_add(Element &c, Element a, Element b) {
#if COMPLEX
    c.re = fma(a.re, b.re, c.re);
    c.im = fma(a.re, b.im, c.im);
    c.re = fma(-a.im, b.im, c.re);
    c.im = fma(a.im, b.re, c.im);
#else
    c = fma(a, b, c);
#endif
}

INLINE Element sum_of(Element a, Element b) {
#if COMPLEX
    return Element{a.re + b.re, a.im + b.im};
#else
    return a + b;
#endif
}

// ---- scalars ---------------------------------------------------------------------------------------
struct Scalars {
    Element alpha, beta;
};

INLINE Element scalar(const double *pair) {
#if COMPLEX
    return Element{(Real)pair[0], (Real)pair[1]};
#else
    return (Real)pair[0];
#endif
}

// alpha * sum + beta * old; old is not used where beta is 0.
INLINE Element scaled(const Scalars &s, Element sum, Element old) {
#if !ALPHA_ONE
    const Element plain = sum;
    sum = zero();
    multiply_add(sum, s.alpha, plain);
#endif
#if BETA == 1
    sum = sum_of(sum, old);
#elif BETA == 2
    multiply_add(sum, s.beta, old);
#endif
    return sum;
}
