// Values whose origin the compiler does not see.
//
// What follows from one of them is computed where it is used. Made in a loop, it leaves no index and no address to be computed
// before that loop and then held in a register, or spilled, for as long as it takes.
#pragma once

__device__ __forceinline__ unsigned int opaque(unsigned int x) {
    asm volatile("" : "+r"(x));
    return x;
}

__device__ __forceinline__ long long opaque(long long x) {
    asm volatile("" : "+l"(x));
    return x;
}
