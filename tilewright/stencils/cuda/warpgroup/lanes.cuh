// Products of float32 where an operand runs across k, and comes from shared memory as fragments in registers (LANES).
//
// What tensor cores call rows may be any columns of C, or rows where the operand is A, as long as results go there. Of 64, in two
// boxes, row 16 w + 8 e + r of warp w is the one below: the eight rows and four k that a warp reads at once then lie in all banks.
#pragma once

INLINE int lane_row(int warp, int e, int r) {
    return warp % 4 / 2 * 32 + r / 4 * 16 + (warp % 2 * 2 + e) * 4 + r % 4;
}

#if TYPE_BITS == 32
// `rows`: those of the group in a slice of the operand; `other`: of the other one. What C is before is added where `add` is not 0.
INLINE void multiply_by_lanes(Sums &sum, const unsigned char *rows, unsigned long long other, int add, int warp, int lane) {
    constexpr int STEPS = LINE / 32;
    const int r = lane / 4, q = lane % 4;
    unsigned int x[STEPS][STACKS][4];
    UNROLL for (int step = 0; step < STEPS; step++)
        UNROLL for (int i = 0; i < STACKS; i++)
            UNROLL for (int e = 0; e < 4; e++) {
                const int row = lane_row(warp, e % 2, r), k = q + e / 2 * 4;
                const unsigned char *const line = rows + (2 * i + row / 32) * SLICE * LINE + (8 * step + k) * LINE;
                x[step][i][e] = *(const unsigned int *)(line + (row % 32 / 4 ^ k) * 16 + row % 4 * 4);
            }
    wgmma_fence();
    UNROLL for (int step = 0; step < STEPS; step++)
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_8<WIDTH>(sum[i], x[step][i], other + step * 2, add | step);
    wgmma_commit();
}
#endif
