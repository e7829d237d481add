// Slices of operands in shared memory, as boxes of tensors leave them, and their products by a warp group.
//
// A slice is 128 bytes along k: 64 numbers of 16 bits, 32 of 32 or 32 complex halves. Of an operand that runs along k it is lines of 128 bytes, one
// for each row (of B: column); of one that runs across k it is boxes of as many across and along k, one after the other. Both
// are swizzled, and aligned to 1024 bytes. Numbers of 32 bits are multiplied along k alone, as tf32.
//
// What is included after TYPE_BITS is defined, with mma.cuh and wgmma.cuh before it.
#pragma once

#include "lib/ring.cuh"

constexpr int LINE = 128;                      // bytes of the swizzle
constexpr int SLICE = LINE * 8 / TYPE_BITS / (COMPLEX ? 2 : 1);  // elements along k of a slice
constexpr int BOX = 64 * LINE;                 // bytes of 64 lines

// The descriptor of a slice; the next 64 rows lie BOX bytes further.
template <bool ALONG> WGMMA_INLINE unsigned long long slice_operand(const void *at) {
    return ALONG ? wgmma_operand(at) : wgmma_operand_across(at, BOX);
}

// The product of a slice, STACKS times 64 rows of A by so many columns of B; it is added where `add` is not 0.
template <int COLUMNS, bool A_ALONG_K, bool B_ALONG_K, int STACKS>
WGMMA_INLINE void multiply_slice(float *sum, unsigned long long a, unsigned long long b, int add) {
    wgmma_fence();
    _Pragma("unroll") for (int step = 0; step < LINE / 32; step++)
        _Pragma("unroll") for (int i = 0; i < STACKS; i++)
#if TYPE_BITS == 32
            wgmma_8_shared<COLUMNS>(sum + i * (COLUMNS / 2), a + i * (BOX / 16) + step * 2, b + step * 2, add | step);
#else
            wgmma_16_shared<COLUMNS, !A_ALONG_K, !B_ALONG_K>(sum + i * (COLUMNS / 2),
                                                             a + i * (BOX / 16) + step * (A_ALONG_K ? 2 : LINE),
                                                             b + step * (B_ALONG_K ? 2 : LINE), add | step);
#endif
    wgmma_commit();
}
