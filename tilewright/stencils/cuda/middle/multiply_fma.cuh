// A thread's part of a tile of C by multiply-add units: its sums, and how they are written.
#pragma once

template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.vector = *(const typename Vector<COUNT * SIZE>::Type *)from;
    return out;
}

// A part is vectors of VM rows and VN columns; between a thread's vectors lie those of the others. Of an operand that lies along k
// neighbouring threads have neighbours.
constexpr int WIDE_A = WHOLE ? vector_bytes(UNIT_A, LD_A * SIZE) / SIZE : WORD;
constexpr int WIDE_B = WHOLE ? vector_bytes(UNIT_B, LD_B * SIZE) / SIZE : WORD;
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

struct Sums {
    Element sum[COLUMNS][ROWS];

    INLINE Sums() {
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

    // A vector that a thread has is that of VM rows. Where C has no such vectors, the threads of a warp exchange theirs, so that
    // neighbours read and write neighbouring rows.
    static constexpr int PIECES = EXCHANGED ? VM : 1, EACH = VM / PIECES;
    struct Places {
        int rows[PIECES], columns[PIECES];  // that are there from this thread's first ones on
        Stored *at[PIECES];
        int lead;  // a tile's distances are narrow

        INLINE Places(const Item &x, long long ldc) {
            const int thread = again(threadIdx.x), lane = thread % 32, before = thread - lane;
            lead = again((int)ldc);
            UNROLL for (int p = 0; p < PIECES; p++) {
                const int slot = EXCHANGED ? (p * 32 + lane) / VM : 0;
                const Part part(EXCHANGED ? before + slot % HALF * BESIDE + slot / HALF : thread);
                const int row = part.m + (EXCHANGED ? lane % VM : 0);
                rows[p] = x.rows - row;
                columns[p] = part.in ? x.columns - part.n : 0;
                at[p] = x.c + (row + part.n * lead);
            }
        }
        // Which of them are there is asked anew for each column, which takes no registers.
        INLINE void asked() {
            UNROLL for (int p = 0; p < PIECES; p++) {
                rows[p] = again(rows[p]);
                columns[p] = again(columns[p]);
            }
        }
        INLINE bool in(int p, int i, int j) const { return Part::down(i) < rows[p] && Part::right(j) < columns[p]; }
        INLINE void after(int j) {
            if (j + 1 < COLUMNS) UNROLL for (int p = 0; p < PIECES; p++) at[p] += (Part::right(j + 1) - Part::right(j)) * lead;
        }
    };

    // Lanes put their vectors in the order of their columns, and take single elements.
    static constexpr int HALF = 32 / BESIDE;
    static INLINE Stored *room() { return (Stored *)(shared_memory + AT_EXCHANGE + threadIdx.x / 32 * EXCHANGE); }
    static INLINE Stored *own() {
        const int lane = again(threadIdx.x) % 32;
        return room() + (lane / BESIDE + lane % BESIDE * HALF) * VM;
    }
    typedef typename Vector<VM * SIZE>::Type Whole;

    // Sums begin with what C has: all of it is asked for at once, and none of it when the result is written.
    INLINE void read(const Item &x, long long ldc, const Scalars &s) {
        Places places(x, ldc);
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            places.asked();
            UNROLL for (int i = 0; i < ROWS; i += VM) UNROLL for (int p = 0; p < PIECES; p++) {
                if (!places.in(p, i, j)) continue;
                const Pack<EACH> old = load<EACH>(places.at[p] + Part::down(i));
                UNROLL for (int e = 0; e < EACH; e++) sum[j][i + p + e] = old.element[e];
            }
            places.after(j);
        }
        if (EXCHANGED) UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i += VM) {
            UNROLL for (int p = 0; p < PIECES; p++) room()[p * 32 + threadIdx.x % 32] = sum[j][i + p];
            __syncwarp();
            Pack<VM> mine;
            mine.vector = *(const Whole *)own();
            __syncwarp();
            UNROLL for (int e = 0; e < VM; e++) sum[j][i + e] = mine.element[e];
        }
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = scaled(s, zero(), sum[j][i]);
    }

    // Puts the result into shared memory, which has what is read of C.
    INLINE void keep(Stored *c, const Scalars &s) const {
        const Part part(threadIdx.x);
        constexpr int WIDE = vector_bytes(UNIT_C, VM * SIZE) / SIZE;
        c += part.m + part.n * SIZE_M;
        const int rows = SIZE_M - part.m, columns = part.in ? SIZE_N - part.n : 0;
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i += WIDE) {
            if (Part::down(i) >= rows || Part::right(j) >= columns) continue;
            Stored *const at = c + (Part::down(i) + Part::right(j) * SIZE_M);
            Pack<WIDE> old, result;
            if (BETA != 0) old = load<WIDE>(at);
            UNROLL for (int e = 0; e < WIDE; e++)
                result.element[e] = scaled(s, sum[j][i + e], BETA != 0 ? old.element[e] : zero());
            *(typename Vector<WIDE * SIZE>::Type *)at = result.vector;
        }
    }

    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        constexpr bool READS = BETA != 0 && !BEGINS;
        Stored *const mine = own();
        Places places(x, ldc);
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            places.asked();
            // What is read of C comes before the first of it is written.
            Pack<EACH> old[ROWS / EACH];
            if (READS) UNROLL for (int i = 0; i < ROWS; i += VM) UNROLL for (int p = 0; p < PIECES; p++)
                if (places.in(p, i, j)) old[i / EACH + p] = load<EACH>(places.at[p] + Part::down(i));
            UNROLL for (int i = 0; i < ROWS; i += VM) {
                Pack<VM> taken;
                UNROLL for (int e = 0; e < VM; e++) taken.element[e] = sum[j][i + e];
                if (EXCHANGED) {
                    *(Whole *)mine = taken.vector;
                    __syncwarp();
                    UNROLL for (int p = 0; p < PIECES; p++) taken.element[p] = room()[p * 32 + threadIdx.x % 32];
                    __syncwarp();
                }
                UNROLL for (int p = 0; p < PIECES; p++) {
                    if (!places.in(p, i, j)) continue;
                    Pack<EACH> result;
                    UNROLL for (int e = 0; e < EACH; e++) {
                        const Element x = taken.element[p + e];
                        result.element[e] = BEGINS ? x : scaled(s, x, READS ? old[i / EACH + p].element[e] : zero());
                    }
                    *(typename Vector<EACH * SIZE>::Type *)(places.at[p] + Part::down(i)) = result.vector;
                }
            }
            places.after(j);
        }
    }
};
