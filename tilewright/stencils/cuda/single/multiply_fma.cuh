// A thread's part of C by multiply-add units, put into shared memory.
#pragma once

#include "middle/products_fma.cuh"

// An element times alpha, of which nobody but the caller knows that it is 1. What is stored as it was summed would be summed in
// the registers of a vector, which lie in the banks of those that vectors of A come in, so that multiply-adds wait for each other.
INLINE Element moved(const Scalars &s, Element x) {
#if COMPLEX
    return Element{x.re * s.alpha.re, x.im * s.alpha.re};
#else
    return x * s.alpha;
#endif
}

struct Sums : Products {
    INLINE void add(const Stored *a, const Stored *b) { Products::add(a, b, SIZE_K); }

    // Where C is read it is there.
    INLINE void keep(Stored *c, const Scalars &s) const {
        const Part part(threadIdx.x);
        constexpr int WIDE = vector_bytes(UNIT_C, VM * SIZE) / SIZE;
        const int rows = SIZE_M - part.m, columns = part.in ? SIZE_N - part.n : 0;
        c += part.m + part.n * SIZE_M;
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i += WIDE) {
            if (Part::down(i) >= rows || Part::right(j) >= columns) continue;
            Stored *const at = c + (Part::down(i) + Part::right(j) * SIZE_M);
            Pack<WIDE> old, result;
            if (BETA != 0) old = load<WIDE>(at);
            UNROLL for (int e = 0; e < WIDE; e++)
                result.element[e] = scaled(s, ALPHA_ONE && WIDE * SIZE > 4 ? moved(s, sum[j][i + e]) : sum[j][i + e], BETA != 0 ? old.element[e] : zero());
            *(typename Vector<WIDE * SIZE>::Type *)at = result.vector;
        }
    }
};
