// Products of float32 where B runs across k, and comes from shared memory as fragments in registers (LANES).
//
// What tensor cores call rows may be any columns of C, as long as results go there. Of 64 columns, in two boxes, row 16 w + 8 e + r
// of warp w is the column below: the eight rows and four k that a warp reads at once then lie in all banks.
#pragma once

INLINE int column_of(int warp, int e, int r) {
    return warp % 4 / 2 * 32 + r / 4 * 16 + (warp % 2 * 2 + e) * 4 + r % 4;
}

#if TYPE_BITS == 32
// `of_b`: columns of the group in a slice of B. A slice of C that is added where `add` is not 0.
INLINE void multiply_by_lanes(Sums &sum, const unsigned char *of_b, unsigned long long of_a, int add, int warp, int lane) {
    constexpr int STEPS = LINE / 32;
    const int r = lane / 4, q = lane % 4;
    unsigned int b[STEPS][STACKS][4];
    UNROLL for (int step = 0; step < STEPS; step++)
        UNROLL for (int i = 0; i < STACKS; i++)
            UNROLL for (int x = 0; x < 4; x++) {
                const int column = column_of(warp, x % 2, r), k = q + x / 2 * 4;
                const unsigned char *const line = of_b + (2 * i + column / 32) * SLICE * LINE + (8 * step + k) * LINE;
                b[step][i][x] = *(const unsigned int *)(line + (column % 32 / 4 ^ k) * 16 + column % 4 * 4);
            }
    wgmma_fence();
    UNROLL for (int step = 0; step < STEPS; step++)
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_8<TILE_M>(sum[i], b[step][i], of_a + step * 2, add | step);
    wgmma_commit();
}
#endif
