// Vectors of device memory, each moved by one instruction.
//
// The compiler may split the assignment of a vector into its numbers. Every lane of a warp then writes a fourth of its
// 16 bytes at a time, and every sector of device memory is requested four times. These loads and stores stay whole.
#pragma once

#define GLOBAL_INLINE __device__ __forceinline__

GLOBAL_INLINE void global_store(unsigned short *to, unsigned short x) { *to = x; }
GLOBAL_INLINE void global_store(unsigned int *to, unsigned int x) { *to = x; }
GLOBAL_INLINE void global_store(uint2 *to, uint2 x) {
    asm volatile("st.global.v2.b32 [%0], {%1,%2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
}
GLOBAL_INLINE void global_store(uint4 *to, uint4 x) {
    asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

GLOBAL_INLINE void global_load(unsigned short &x, const unsigned short *from) { x = *from; }
GLOBAL_INLINE void global_load(unsigned int &x, const unsigned int *from) { x = *from; }
GLOBAL_INLINE void global_load(uint2 &x, const uint2 *from) {
    asm volatile("ld.global.v2.b32 {%0,%1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from) : "memory");
}
GLOBAL_INLINE void global_load(uint4 &x, const uint4 *from) {
    asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from) : "memory");
}
