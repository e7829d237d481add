// What the lanes of a warp read of an operand for float64 tensor cores, from shared memory.
//
// A lane holds line lane / 4 (a row of A, a column of B) and k lane % 4 of a fragment. Which lines and which k these are is free as
// long as both operands and C agree: where a vector is two elements, a lane takes neighbours, which then belong to two
// fragments.
//
// Where matrices are stored multiples of all banks (128 bytes) apart, lanes meet: those that differ in k, or, along k, those
// that differ in their line. TURN has them ask for the same things in different orders, and put them in order in registers:
//
//   lines beside each other    lane r, q asks for fragments 0 ^ q, 1 ^ q, 2 ^ q, 3 ^ q, each in other banks; of two
//                              fragments, half of the lanes that met do so still
//   k beside each other        odd lines ask for the second of two steps first
#pragma once

// Lines of one fragment: 8 of the tile, which has FRAGMENTS of them from line `first` on; the matrix has LINES. Vectors
// are V lines wide, or VK numbers along k (ALONG_K). LEAD: elements from one stored column to the next, where TURN is to
// look at it.
template <int FRAGMENTS, int LINES, bool ALONG_K, bool CONJ, int V, int VK, int LEAD> struct Fragments {
    static constexpr int STEPS = ceiling(SIZE_K, 4 * VK);
    static constexpr bool MEET = TURN && (ALONG_K ? 1 : VK) * LEAD * SIZE % 128 == 0;
    // Orders in which lanes ask for fragments, and steps of k that they ask for together.
    static constexpr int ORDERS = !MEET || ALONG_K ? 1 : FRAGMENTS % 4 == 0 ? 4 : FRAGMENTS % 2 == 0 ? 2 : 1;
    static constexpr int TOGETHER = MEET && ALONG_K && STEPS % 2 == 0 ? 2 : 1;
    static constexpr bool WHOLE_K = SIZE_K % (4 * VK) == 0;

    // Fragments t and t + 1 share vectors if both exist.
    static INLINE bool paired(int t) { return V == 2 && t % 2 == 0 && t + 1 < FRAGMENTS; }
    // Where line i of fragment t is in the tile. In ORDERS those that are asked for together lie in other banks.
    static INLINE int line(int t, int i) {
        if (ORDERS > 1) i ^= SIZE == 16 ? 2 * (t & 3) : 4 * (t / 2 & 1);
        return V == 2 && (t | 1) < FRAGMENTS ? t / 2 * 16 + 2 * i + t % 2 : 8 * t + i;
    }
    static INLINE void exchange_if(bool asked, Element &a, Element &b) {
        const Element other = asked ? a : b;
        a = asked ? b : a;
        b = other;
    }

    // Reads SPAN steps from `step` on. Beyond the end of k all is set to zero: memory may hold anything there, NaN included.
    template <int SPAN, typename Lead>
    static INLINE void read(Element (&x)[SPAN * VK][FRAGMENTS], const Stored *from, Lead lead, int first, int step) {
        const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
        UNROLL for (int s = 0; s < SPAN; s++) {
            const int k = ((step + (TOGETHER == 2 ? s ^ (r & 1) : s)) * 4 + q) * VK;
            UNROLL for (int h = 0; h < VK; h++) UNROLL for (int t = 0; t < FRAGMENTS; t++) x[s * VK + h][t] = zero();
            if (!WHOLE_K && k >= SIZE_K) continue;
            if constexpr (ALONG_K) {
                UNROLL for (int t = 0; t < FRAGMENTS; t++) {
                    const Pack<VK> piece = load<VK>(from + k + min(first + line(t, r), LINES - 1) * lead);
                    UNROLL for (int h = 0; h < VK; h++) x[s * VK + h][t] = conjugated(CONJ, piece.element[h]);
                }
            } else if constexpr (ORDERS > 1) {
                UNROLL for (int h = 0; h < VK; h++) UNROLL for (int t = 0; t < FRAGMENTS; t++)
                    x[s * VK + h][t] = conjugated(CONJ, from[min(first + line(t ^ (q & (ORDERS - 1)), r), LINES - 1) + (k + h) * lead]);
            } else {
                UNROLL for (int h = 0; h < VK; h++) UNROLL for (int t = 0; t < FRAGMENTS; t++) {
                    const int at = first + line(t, r);
                    if (paired(t)) {
                        const Pack<V> piece = load<V>(from + min(at, LINES - V) + (k + h) * lead);
                        UNROLL for (int e = 0; e < V; e++) x[s * VK + h][t + e] = conjugated(CONJ, piece.element[e]);
                    } else if (t == 0 || !paired(t - 1)) {
                        x[s * VK + h][t] = conjugated(CONJ, from[min(at, LINES - 1) + (k + h) * lead]);
                    }
                }
            }
        }
        if (TOGETHER == 2)
            UNROLL for (int h = 0; h < VK; h++) UNROLL for (int t = 0; t < FRAGMENTS; t++)
                exchange_if(r & 1, x[h][t], x[(SPAN - 1) * VK + h][t]);
        UNROLL for (int bit = 1; bit < ORDERS; bit *= 2) UNROLL for (int h = 0; h < SPAN * VK; h++)
            UNROLL for (int t = 0; t < FRAGMENTS; t++) if (!(t & bit)) exchange_if(q & bit, x[h][t], x[h][t | bit]);
    }
};
