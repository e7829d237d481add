// What every matrix product is called with: one block of arguments, by value. args.py packs it.
//
//     C = alpha * op(A) * op(B) + beta * C, column-major, for each matrix of a batch
//
// Pointers are addresses of the first matrices; leading dimensions and batch strides count elements.
// The scalars are (re, im) in double whatever the type; texture handles are 0 where none is read.
#pragma once

struct Gemm {
    const void *a, *b;
    void *c;
    long long lda, ldb, ldc;
    long long stride_a, stride_b, stride_c;
    int m, n, k, batch;
    double alpha[2], beta[2];
    unsigned long long texture_a, texture_b;
};
static_assert(sizeof(Gemm) == 136, "args.py packs 136 bytes");
