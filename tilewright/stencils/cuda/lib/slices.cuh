// Slices of operands of 16 bits in shared memory, as boxes of tensors leave them, and their products by a warp group.
//
// A slice is 64 along k. Of an operand that runs along k it is lines of 128 bytes, one for each row (of B: column); of one that
// runs across k it is boxes of 64 across and 64 along k, one after the other. Both are swizzled, and aligned to 1024 bytes.
//
// What is included after TYPE_BITS is defined, with mma.cuh and wgmma.cuh before it.
#pragma once

#include "lib/ring.cuh"

constexpr int SLICE = 64, LINE = 128;  // elements along k of a slice, and bytes of the swizzle
constexpr int BOX = 64 * LINE;         // bytes of a box of 64 x 64

// The descriptor of a slice; the next 64 rows lie BOX bytes further.
template <bool ALONG> WGMMA_INLINE unsigned long long slice_operand(const void *at) {
    return ALONG ? wgmma_operand(at) : wgmma_operand_across(at, BOX);
}

// The product of a slice, STACKS times 64 rows of A by so many columns of B; it is added where `add` is not 0.
template <int COLUMNS, bool A_ALONG_K, bool B_ALONG_K, int STACKS>
WGMMA_INLINE void multiply_slice(float *sum, unsigned long long a, unsigned long long b, int add) {
    wgmma_fence();
    _Pragma("unroll") for (int step = 0; step < SLICE / 16; step++)
        _Pragma("unroll") for (int i = 0; i < STACKS; i++)
            wgmma_16_shared<COLUMNS, !A_ALONG_K, !B_ALONG_K>(sum + i * (COLUMNS / 2),
                                                             a + i * (BOX / 16) + step * (A_ALONG_K ? 2 : LINE),
                                                             b + step * (B_ALONG_K ? 2 : LINE), add | step);
    wgmma_commit();
}
