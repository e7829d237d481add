// Fragments of wmma, as nvcuda::wmma has them in C++: products of 16 x 16 x 16 by a warp, C += A * B, all row-major.
//
// A warp holds a fragment together; which lane has which element is not said. Addresses are of device memory or of shared
// memory, multiples of 32 bytes, and a pitch counts elements from one row to the next, a multiple of 8 (of 4 for floats).
// PTX ISA, "wmma". Of float16 each lane holds 16 numbers, every one twice in the warp; of bfloat16 8.
#pragma once

#include "half/numbers.cuh"

constexpr int HELD = BRAIN ? 4 : 8;
struct Fragment {
    unsigned int x[HELD];
};
struct Sums {
    float x[8];
};

#if BRAIN
#define FRAGMENT_LOAD(OPERAND)                                                                                    \
    asm volatile("wmma.load." OPERAND ".sync.aligned.row.m16n16k16.bf16 {%0,%1,%2,%3}, [%4], %5;"                \
                 : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3]) : "l"(from), "r"(pitch) : "memory")
#else
#define FRAGMENT_LOAD(OPERAND)                                                                                    \
    asm volatile("wmma.load." OPERAND ".sync.aligned.row.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"     \
                 : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3]), "=r"(f.x[4]), "=r"(f.x[5]),           \
                   "=r"(f.x[6]), "=r"(f.x[7]) : "l"(from), "r"(pitch) : "memory")
#endif

INLINE void load_a(Fragment &f, const Half *from, int pitch) { FRAGMENT_LOAD("a"); }
INLINE void load_b(Fragment &f, const Half *from, int pitch) { FRAGMENT_LOAD("b"); }

#define FRAGMENT_SUMS(c) \
    "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3]), "+f"(c.x[4]), "+f"(c.x[5]), "+f"(c.x[6]), "+f"(c.x[7])
#define FRAGMENT_4(f, i) "r"(f.x[i]), "r"(f.x[i + 1]), "r"(f.x[i + 2]), "r"(f.x[i + 3])
INLINE void multiply(Sums &c, const Fragment &a, const Fragment &b) {
#if BRAIN
    asm("wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, "
        "{%12,%13,%14,%15}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : FRAGMENT_SUMS(c) : FRAGMENT_4(a, 0), FRAGMENT_4(b, 0));
#else
    asm("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
        "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : FRAGMENT_SUMS(c) : FRAGMENT_4(a, 0), FRAGMENT_4(a, 4), FRAGMENT_4(b, 0), FRAGMENT_4(b, 4));
#endif
}

INLINE void store(float *to, const Sums &c, int pitch) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
                 ::"l"(to), "f"(c.x[0]), "f"(c.x[1]), "f"(c.x[2]), "f"(c.x[3]), "f"(c.x[4]), "f"(c.x[5]), "f"(c.x[6]),
                   "f"(c.x[7]), "r"(pitch) : "memory");
}
