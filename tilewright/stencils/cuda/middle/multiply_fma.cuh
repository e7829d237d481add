// A thread's part of a tile of C by multiply-add units: its sums, and how they are written.
#pragma once

template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.vector = *(const typename Vector<COUNT * SIZE>::Type *)from;
    return out;
}

// A part is vectors of WIDE neighbours; between a thread's vectors lie those of the others.
struct Part {
    int m, n;  // its first row and column
    bool in;

    INLINE Part(int thread) {
        const int pair = thread / BESIDE;
        const int at = pair / PARTS_M * BESIDE + thread % BESIDE;
        m = pair % PARTS_M * WIDE;
        n = at * WIDE;
        in = at < PARTS_N;
    }
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

struct Sums {
    Element sum[COLUMNS][ROWS];

    INLINE Sums() {
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = zero();
    }

    INLINE void add(const Stored *a, const Stored *b, int depth) {
        const Part part(threadIdx.x);
        if (!part.in) return;
        a += part.m;
        b += part.n;
        _Pragma("unroll 2") for (int k = 0; k < depth; k++) {
            Element x[ROWS], y[COLUMNS];
            UNROLL for (int i = 0; i < ROWS; i += WIDE) {
                const Pack<WIDE> piece = load<WIDE>(a + k * LD_A + i * PARTS_M);
                UNROLL for (int e = 0; e < WIDE; e++) x[i + e] = conjugated(CONJ_A, piece.element[e]);
            }
            UNROLL for (int j = 0; j < COLUMNS; j += WIDE) {
                const Pack<WIDE> piece = load<WIDE>(b + k * LD_B + j * PARTS_N);
                UNROLL for (int e = 0; e < WIDE; e++) y[j + e] = conjugated(CONJ_B, piece.element[e]);
            }
            // Neighbouring multiply-adds share an operand and take turns at the banks of registers; complex products in one piece
            // ask for one bank more often than it can read.
            constexpr int HALVES = 1 + COMPLEX;
            if constexpr (COMPLEX && ROWS >= COLUMNS)
                UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int half = 0; half < HALVES; half++)
                    UNROLL for (int j = 0; j < COLUMNS; j++) add_half<true>(sum[j][i], x[i], y[j], half);
            else
                UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int half = 0; half < HALVES; half++)
                    UNROLL for (int i = 0; i < ROWS; i++) add_half<false>(sum[j][i], x[i], y[j], half);
        }
    }

    // A vector that a thread has is that of WIDE rows. Where C has no such vectors, the threads of a warp exchange theirs, so that
    // neighbours write neighbouring rows.
    static constexpr int PIECES = EXCHANGED ? WIDE : 1, EACH = WIDE / PIECES;
    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        const int thread = again(threadIdx.x), lane = thread % 32, before = thread - lane;
        Stored *const room = (Stored *)(shared_memory + AT_EXCHANGE + before / 32 * EXCHANGE);
        // Lanes put their vectors in the order of their columns, and take single elements.
        constexpr int HALF = 32 / BESIDE;
        Stored *const mine = room + (lane / BESIDE + lane % BESIDE * HALF) * WIDE;
        int row[PIECES], column[PIECES], first[PIECES];
        // A tile's distances are narrow.
        const int lead = again((int)ldc);
        UNROLL for (int p = 0; p < PIECES; p++) {
            const int slot = EXCHANGED ? (p * 32 + lane) / WIDE : 0;
            const Part part(EXCHANGED ? before + slot % HALF * BESIDE + slot / HALF : thread);
            row[p] = part.m + (EXCHANGED ? lane % WIDE : 0);
            column[p] = part.in ? part.n : TILE_N;
            first[p] = row[p] + column[p] * lead;
        }
        auto in = [&](int p, int i, int j) {
            return row[p] + i * PARTS_M < x.rows && column[p] + j / WIDE * WIDE * PARTS_N + j % WIDE < x.columns;
        };
        auto at = [&](int p, int i, int j) { return x.c + (first[p] + i * PARTS_M + (j / WIDE * WIDE * PARTS_N + j % WIDE) * lead); };
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            UNROLL for (int p = 0; p < PIECES; p++) {
                row[p] = again(row[p]);
                column[p] = again(column[p]);
                first[p] = again(first[p]);
            }
            // What is read of C comes before the first of it is written.
            Pack<EACH> old[ROWS / EACH];
            if (BETA != 0) UNROLL for (int i = 0; i < ROWS; i += WIDE) UNROLL for (int p = 0; p < PIECES; p++)
                if (in(p, i, j)) old[i / EACH + p] = load<EACH>(at(p, i, j));
            UNROLL for (int i = 0; i < ROWS; i += WIDE) {
                Pack<WIDE> taken;
                UNROLL for (int e = 0; e < WIDE; e++) taken.element[e] = sum[j][i + e];
                if (EXCHANGED) {
                    *(uint4 *)mine = *(const uint4 *)&taken.vector;
                    __syncwarp();
                    UNROLL for (int p = 0; p < PIECES; p++) taken.element[p] = room[p * 32 + lane];
                    __syncwarp();
                }
                UNROLL for (int p = 0; p < PIECES; p++) {
                    if (!in(p, i, j)) continue;
                    Pack<EACH> result;
                    UNROLL for (int e = 0; e < EACH; e++)
                        result.element[e] = scaled(s, taken.element[p + e], BETA != 0 ? old[i / EACH + p].element[e] : zero());
                    *(typename Vector<EACH * SIZE>::Type *)at(p, i, j) = result.vector;
                }
            }
        }
    }
};
