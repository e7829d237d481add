// What kernels of large products are called with beside their operands, and the products of a batch as one wide product.
//
// The tiles of a batch are those of one matrix in which the products stand side by side, whole tiles of clusters each. So the order
// of tiles, and which of them are cut, are those of one product (warpgroup/tiles.cuh), and a tile knows its own (warpgroup/place.cuh).
//
// What is included after element.cuh.
#pragma once

#ifndef BATCHED
#define BATCHED 0  // whether there are several products
#endif

// `band`: tiles of clusters that a band has along n. Of a batch n counts the columns of all tiles of all products.
struct Product {
    Stored *c;
    long long ldc;
    int m, n, k, band;
    double alpha[2], beta[2];
#if BATCHED
    long long stride_a, stride_b, stride_c;  // elements from one matrix to the next, 0 where all products have the same one
    int columns, across;                     // of one product, and of its tiles
#endif
};
