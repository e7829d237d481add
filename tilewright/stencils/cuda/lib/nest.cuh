// Batches along several axes, of which no one stride covers all: where the matrices of a product lie.
//
// Products are numbered along the innermost axis first, whose strides are those of Gemm; OUTER axes lie around it, the
// innermost of them first in these arrays, or in the order in which a block walks along them. Extents are divided by with a multiplication: for a number below 2^31,
// number / count is number * factor >> (31 + shift). args.py finds the factors.
#pragma once

#include "lib/gemm.cuh"

#ifndef OUTER
#define OUTER 0  // batch axes beside the innermost one, at most 4
#endif
#ifndef HELD_A
#define HELD_A 0  // whether A is shared along the innermost axis, but not by the whole batch
#endif
#ifndef HELD_B
#define HELD_B 0  // the same for B
#endif
#ifndef KEPT_A
#define KEPT_A 0  // matrices A of a run, where all runs have the same and they stay in shared memory
#endif
#ifndef KEPT_B
#define KEPT_B 0  // the same for B
#endif
#ifndef RUN_LENGTH
#define RUN_LENGTH 0  // products along the innermost axis, where a group has several runs
#endif

#ifndef TILE
#define TILE 0  // positions along the first outer axis that a group has, where a group is a tile of two axes; else 0
#endif
#ifndef TURNED_A
#define TURNED_A 0  // whether the runs of A that a tile has lie along the first outer axis
#endif
#ifndef TURNED_B
#define TURNED_B 0  // the same for B
#endif
#ifndef ALONG_A
#define ALONG_A 0  // whether A goes on along the first outer axis, where a group is a tile
#endif
#ifndef ALONG_B
#define ALONG_B 0  // the same for B
#endif
#ifndef INNER_AT
#define INNER_AT 0  // how many outer axes are walked along before the pieces of a run: 0 where those come first
#endif
#ifndef ALONG_AT
#define ALONG_AT 0  // where the outer axis of a tile is among the outer axes
#endif
#ifndef JOINED_A
#define JOINED_A 0  // whether the runs of A that a tile has lie next to each other, and are one
#endif
#ifndef JOINED_B
#define JOINED_B 0  // the same for B
#endif
#ifndef JOINED_C
#define JOINED_C 0  // and for C
#endif

#define NEST_INLINE __device__ __forceinline__

// A product's, a piece's or a tile's number in its run, a tile's first position along its outer axis, and elements from
// the first matrices to those at its outer positions.
struct Place {
    int inner, along;
    long long a, b, c;
};

#if OUTER
// What a kernel is called with: one block of arguments, by value. gemm.batch counts all products.
struct Nested {
    Gemm gemm;
    unsigned int count[4], factor[4];           // products, pieces or tiles of a run, and of all other axes, but for the last
    int shift[4];
    long long step_a[4], step_b[4], step_c[4];  // elements from one position to the next along each outer axis
    int run, pieces;                            // products along the innermost axis, and pieces of all runs, or tiles
    int across;                                 // positions along the outer axis of a tile
};
typedef Nested Given;
NEST_INLINE const Gemm &gemm_of(const Nested &n) { return n.gemm; }

NEST_INLINE Place place(const Nested &n, unsigned int number) {
    Place out = {0, 0, 0, 0, 0};
    unsigned int left = number;
    _Pragma("unroll") for (int axis = 0; axis <= OUTER; axis++) {
        // What is left over at the outermost axis is its position.
        unsigned int at = left;
        if (axis < OUTER) {
            left = (unsigned int)((unsigned long long)at * n.factor[axis] >> (31 + n.shift[axis]));
            at -= left * n.count[axis];
        }
        if (axis == INNER_AT) {
            out.inner = (int)at;
        } else {
            const int outer = axis - (axis > INNER_AT);
            if (TILE && outer == ALONG_AT) out.along = (int)(at *= TILE);
            out.a += at * n.step_a[outer];
            out.b += at * n.step_b[outer];
            out.c += at * n.step_c[outer];
        }
    }
    return out;
}
#else
typedef Gemm Given;
NEST_INLINE const Gemm &gemm_of(const Gemm &g) { return g; }
NEST_INLINE Place place(const Gemm &, int number) { return Place{number, 0, 0, 0, 0}; }
#endif
