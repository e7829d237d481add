// A thread's part of a tile of C by multiply-add units, from shared memory. Vectors of A and B have WIDE_A and WIDE_B elements.
#pragma once

template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.vector = *(const typename Vector<COUNT * SIZE>::Type *)from;
    return out;
}

// A part is vectors of VM rows and VN columns; between a thread's vectors lie those of the others. Of an operand that lies along k
// neighbouring threads have neighbours.
constexpr int VM = TRANS_A ? 1 : WIDE_A, VN = TRANS_B ? WIDE_B : 1;
struct Part {
    int m, n;  // its first row and column
    bool in;

    INLINE Part(int thread) {
        const int pair = thread / BESIDE;
        const int at = pair / PARTS_M * BESIDE + thread % BESIDE;
        m = pair % PARTS_M * VM;
        n = at * VN;
        in = at < PARTS_N;
    }
    // How far row i and column j of a part are from its first ones.
    static INLINE constexpr int down(int i) { return i / VM * VM * PARTS_M + i % VM; }
    static INLINE constexpr int right(int j) { return j / VN * VN * PARTS_N + j % VN; }
};

// Half of what a product adds to a sum, the whole of a real one: of a complex one what its real (0) or imaginary (1) part of
// a (OF_A) or of b adds.
template <bool OF_A> INLINE void add_half(Element &c, Element a, Element b, int half) {
#if COMPLEX
    c.re = half ? fma(-a.im, b.im, c.re) : fma(a.re, b.re, c.re);
    c.im = OF_A == (half == 0) ? fma(a.re, b.im, c.im) : fma(a.im, b.re, c.im);
#else
    c = fma(a, b, c);
#endif
}

struct Products {
    Element sum[COLUMNS][ROWS];

    INLINE Products() {
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = zero();
    }

    // Adds the products of DEPTH_OF_IT k from k on.
    template <int DEPTH_OF_IT> INLINE void add_some(const Stored *a, const Stored *b, int k) {
        Element x[DEPTH_OF_IT][ROWS], y[DEPTH_OF_IT][COLUMNS];
        if (TRANS_A) UNROLL for (int i = 0; i < ROWS; i++) {
            const Pack<DEPTH_OF_IT> piece = load<DEPTH_OF_IT>(a + Part::down(i) * LD_A + k);
            UNROLL for (int h = 0; h < DEPTH_OF_IT; h++) x[h][i] = conjugated(CONJ_A, piece.element[h]);
        }
        if (!TRANS_B) UNROLL for (int j = 0; j < COLUMNS; j++) {
            const Pack<DEPTH_OF_IT> piece = load<DEPTH_OF_IT>(b + Part::right(j) * LD_B + k);
            UNROLL for (int h = 0; h < DEPTH_OF_IT; h++) y[h][j] = conjugated(CONJ_B, piece.element[h]);
        }
        UNROLL for (int h = 0; h < DEPTH_OF_IT; h++) {
            if (!TRANS_A) UNROLL for (int i = 0; i < ROWS; i += VM) {
                const Pack<VM> piece = load<VM>(a + (k + h) * LD_A + Part::down(i));
                UNROLL for (int e = 0; e < VM; e++) x[h][i + e] = conjugated(CONJ_A, piece.element[e]);
            }
            if (TRANS_B) UNROLL for (int j = 0; j < COLUMNS; j += VN) {
                const Pack<VN> piece = load<VN>(b + (k + h) * LD_B + Part::right(j));
                UNROLL for (int e = 0; e < VN; e++) y[h][j + e] = conjugated(CONJ_B, piece.element[e]);
            }
            // Neighbouring multiply-adds share an operand and take turns at the banks of registers; complex products in one piece
            // ask for one bank more often than it can read.
            constexpr int HALVES = 1 + COMPLEX;
            if constexpr (COMPLEX && ROWS >= COLUMNS)
                UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int half = 0; half < HALVES; half++)
                    UNROLL for (int j = 0; j < COLUMNS; j++) add_half<true>(sum[j][i], x[h][i], y[h][j], half);
            else
                UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int half = 0; half < HALVES; half++)
                    UNROLL for (int i = 0; i < ROWS; i++) add_half<false>(sum[j][i], x[h][i], y[h][j], half);
        }
    }

    INLINE void add(const Stored *a, const Stored *b, int depth) {
        const Part part(threadIdx.x);
        if (!part.in) return;
        a += part.m * (TRANS_A ? LD_A : 1);
        b += part.n * (TRANS_B ? 1 : LD_B);
        constexpr int UNROLLED = DEEP == 1 ? 2 : 1;
        int k = 0;
        _Pragma("unroll UNROLLED") for (; k + DEEP <= depth; k += DEEP) add_some<DEEP>(a, b, k);
        if (DEEP > 1) _Pragma("unroll 1") for (; k < depth; k++) add_some<1>(a, b, k);
    }
};
