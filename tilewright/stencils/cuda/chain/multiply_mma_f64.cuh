// Strips of float64, real and complex: fragments of 8 or 16 rows, 8 columns and 4 k.
#pragma once

constexpr int FRAGMENTS = MMA / 8;
// Columns of C that are summed at a time from a strip in between: two strips of complex numbers are more than registers hold.
constexpr int PASS = COMPLEX && MMA == 16 && COLUMNS_C > 16 ? 16 : COLUMNS_C;

template <int COLUMNS_> struct Strip {
    static constexpr int TILES = ceiling(COLUMNS_, 8);
    Element sum[TILES][FRAGMENTS][2];
    INLINE Strip() {
        UNROLL for (int j = 0; j < TILES; j++) UNROLL for (int f = 0; f < FRAGMENTS; f++)
            sum[j][f][0] = sum[j][f][1] = zero();
    }
};

// The real numbers of 8 or 16 rows of sums, of a left fragment, and of a right one.
INLINE void multiply_add_real(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
    mma_16x8x4(c0, c1, c2, c3, a0, a1, b);
#else
    mma_8x8x4(c0, c1, a0, b);
    mma_8x8x4(c2, c3, a1, b);
#endif
}
INLINE void multiply_add_fragments(Element (&c)[FRAGMENTS][2], const Element (&a)[FRAGMENTS], Element b) {
#if COMPLEX && MMA == 16
    multiply_add_real(c[0][0].re, c[0][1].re, c[1][0].re, c[1][1].re, a[0].re, a[1].re, b.re);
    multiply_add_real(c[0][0].im, c[0][1].im, c[1][0].im, c[1][1].im, a[0].re, a[1].re, b.im);
    multiply_add_real(c[0][0].re, c[0][1].re, c[1][0].re, c[1][1].re, -a[0].im, -a[1].im, b.im);
    multiply_add_real(c[0][0].im, c[0][1].im, c[1][0].im, c[1][1].im, a[0].im, a[1].im, b.re);
#elif COMPLEX
    mma_8x8x4(c[0][0].re, c[0][1].re, a[0].re, b.re);
    mma_8x8x4(c[0][0].im, c[0][1].im, a[0].re, b.im);
    mma_8x8x4(c[0][0].re, c[0][1].re, -a[0].im, b.im);
    mma_8x8x4(c[0][0].im, c[0][1].im, a[0].im, b.re);
#elif MMA == 16
    multiply_add_real(c[0][0], c[0][1], c[1][0], c[1][1], a[0], a[1], b);
#else
    mma_8x8x4(c[0][0], c[0][1], a[0], b);
#endif
}

// Element (free, k) of a factor of K k that are read STEP at a time; beyond their end zero, as both operands are.
template <int K, int STEP, class S> INLINE Element element_in(const S &x, int free, int k) {
    if (K % STEP == 0) return x.element(free, k);
    const Element found = x.element(free, min(k, K - 1));
    return k < K ? found : zero();
}

// What is kept of a left factor: nothing.
struct Words {};

// Adds MMA rows of a left factor, from row `first` on, times a right one of N columns.
template <int K, int N, class X, class Y> INLINE Words multiply(Strip<N> &strip, const X &x, const Y &y, int first) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int step = 0; step < ceiling(K, 4); step++) {
        const int k = 4 * step + q;
        Element a[FRAGMENTS];
        UNROLL for (int f = 0; f < FRAGMENTS; f++) a[f] = element_in<K, 4>(x, min(first + 8 * f + r, ROWS_C - 1), k);
        UNROLL for (int j = 0; j < strip.TILES; j++)
            multiply_add_fragments(strip.sum[j], a, element_in<K, 4>(y, min(8 * j + r, N - 1), k));
    }
    return {};
}

// Adds a strip of K columns times N columns of a factor, from column `from` on.
template <int K, int N, class Y>
INLINE void multiply_between(Strip<N> &strip, const Strip<K> &between, const Words &, const Y &y, int from) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int i = 0; i < between.TILES; i++) UNROLL for (int e = 0; e < 2; e++) {
        const int k = 8 * i + 2 * q + e;
        Element a[FRAGMENTS];
        UNROLL for (int f = 0; f < FRAGMENTS; f++) a[f] = K % 8 == 0 || k < K ? between.sum[i][f][e] : zero();
        UNROLL for (int j = 0; j < strip.TILES; j++)
            multiply_add_fragments(strip.sum[j], a, element_in<K, 8>(y, min(from + 8 * j + r, COLUMNS_C - 1), k));
    }
}

// Calls `put` with row, column, and two neighbours of a row, for all of a strip.
template <int N, class Put> INLINE void each_pair(const Strip<N> &strip, const Put &put) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int j = 0; j < strip.TILES; j++) UNROLL for (int f = 0; f < FRAGMENTS; f++)
        put(8 * f + r, 8 * j + 2 * q, strip.sum[j][f][0], strip.sum[j][f][1]);
}
