// Named barriers of some warps of a block; 0 is that of the whole block.
#pragma once

// So many threads meet there.
__device__ __forceinline__ void meet(int name, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory"); }

// They arrive there and go on, and the others of so many wait.
__device__ __forceinline__ void pass(int name, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory"); }
