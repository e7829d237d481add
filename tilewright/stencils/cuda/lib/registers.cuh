// Registers that warp groups of a block hand to each other (sm_90a): what loads needs few, what multiplies many.
//
// All warps of a warp group ask together, for a multiple of 8. It takes effect in kernels whose registers at entry are known
// (launch bounds with a number of blocks), and what all groups hold in the end is not more than the block began with.
#pragma once

template <int COUNT> __device__ __forceinline__ void registers_given() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> __device__ __forceinline__ void registers_taken() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
