// Elements of matrices: their type, the words that they are moved in, and their arithmetic.
//
// What is included after TYPE_BITS, COMPLEX, ALPHA_ONE and BETA are defined: see the parameter block of any
// stencil for their meaning.
#pragma once

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

constexpr int SIZE = sizeof(Element);

// ---- words: neighbouring elements as the hardware moves them ---------------------------------------
template <int BYTES> struct Words;
template <> struct Words<4> { typedef unsigned int Type; };
template <> struct Words<8> { typedef uint2 Type; };
template <> struct Words<16> { typedef uint4 Type; };

template <int COUNT> union Pack {
    typename Words<COUNT * SIZE>::Type word;
    Element element[COUNT];
    INLINE Pack() {}
};

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

// alpha * sum + beta * old; old is not looked at where beta is 0.
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
