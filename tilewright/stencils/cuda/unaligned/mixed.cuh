// Products of a warp group whose rows lie in registers, and whose columns across k in shared memory (wgmma.cuh has the rest).
#pragma once

#define WGMMA_MIXED_OF(N, SIXTEENS, A0, A1, A2, A3, B, ADD)                                                             \
    if constexpr (COUNT == N)                                                                                           \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #ADD ", 0;\n\t"                                           \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." HALF_NAME "." HALF_NAME                          \
                     " {" WGMMA_D##SIXTEENS "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1, 1;\n\t}"         \
                     : WGMMA_C##SIXTEENS(c) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));

// C is set and not added to where `add` is 0.
template <int COUNT> WGMMA_INLINE void wgmma_16_mixed(float *c, const unsigned int (&a)[4], unsigned long long b, int add) {
    static_assert(COUNT % 64 == 0 && COUNT <= 256, "wgmma: so many columns");
    WGMMA_MIXED_OF(64, 4, 32, 33, 34, 35, 36, 37)
    WGMMA_MIXED_OF(128, 8, 64, 65, 66, 67, 68, 69)
    WGMMA_MIXED_OF(192, 12, 96, 97, 98, 99, 100, 101)
    WGMMA_MIXED_OF(256, 16, 128, 129, 130, 131, 132, 133)
}
