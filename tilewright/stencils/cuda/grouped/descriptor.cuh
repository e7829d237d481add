// What the host tells the kernel: the list of products, a descriptor each.
#pragma once

// The one argument of the kernel; stencil.py packs it.
struct Products {
    const unsigned int *list;  // descriptors
    const double *scalars;     // (alpha, beta) of every product as four numbers, or null: they are these:
    double alpha[2], beta[2];
    int count, unused;
};
static_assert(sizeof(Products) == 56, "stencil.py packs 56 bytes");

// Words of a descriptor: four for each of A, B and C, then those below. Leading dimensions may be negative; those in
// shared memory have 8 bits each, as m, n and k.
enum Word {
    ADDRESS = 0,     // of an operand: two words
    REGION = 2,      // multiples of 16 bytes that it takes in the ring, and << 13 its begin there, in bytes from the begin
                     // of the product; C takes none where it is not read
    LEADING = 3,     // its leading dimension in elements
    EXTENTS = 12,    // m, n << 8, k << 16
    SHARED_LD = 13,  // of A, B << 8, C << 16
    ROOM = 14,       // multiples of 16 bytes that are reserved for all three, and << 16 how each of them is copied, 4 bits:
                     // 0: whole lines; 1: lines, of the last one only the operand's bytes; else log2 of the bytes of a
                     // vector
    NUMBER = 15,     // the number of the product, by which its scalars are found
};
