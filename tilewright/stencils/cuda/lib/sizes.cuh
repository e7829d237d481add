// Sizes that follow from others: what divides what, and room in shared memory. Included after SIZE is known.
#pragma once

#define CONSTANT __host__ __device__ constexpr

constexpr int WORD = 16 / SIZE;  // elements of 16 bytes

CONSTANT int ceiling(int a, int b) { return (a + b - 1) / b; }
CONSTANT int smaller(int a, int b) { return a < b ? a : b; }
CONSTANT int larger(int a, int b) { return a < b ? b : a; }
CONSTANT int padded(int bytes) { return ceiling(bytes, 128) * 128; }

// Bytes of the widest vector, at most 16, that divide both.
CONSTANT int vector_bytes(int a, int b) {
    int w = 16;
    while (a % w || b % w) w /= 2;
    return w;
}
// Elements of the widest vector that divide an alignment and two numbers of elements.
CONSTANT int vector(int unit, int extent, int tile) {
    int v = 16 / SIZE;
    while (v > 1 && (unit % (v * SIZE) || extent % v || tile % v)) v /= 2;
    return v;
}
