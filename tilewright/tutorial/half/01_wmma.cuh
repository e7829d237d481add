// Step 1: tensor cores. A warp multiplies 16 x 16 x 16 numbers by one instruction, straight from device memory.
//
//     C = alpha A B + beta C, row-major, numbers of 16 bits, sums in float32; A is M x K, B is K x N, C is M x N
//
//          WARPS_N * 16                    K                 16
//        +----+----+----+           +----+----+----+       +----+
//        | W0 | W1 | .. |  16    16 | -> |    |    |       | |  |  16
//        +----+----+----+           +----+----+----+       | v  |
//        | .. |    |    |              A: a warp's rows    |    |  K
//        +----+----+----+                                  +----+
//          C of a block                                 B: its columns
//
// Adds: 8192 operations by one instruction of a warp, where a multiply-add of all its lanes does 64. What a lane holds of
// the operands is the instruction's own business, and so results go through shared memory to where they belong.
// Bound by: the way to the operands. Each 16 numbers of C ask for 512 bytes of A and B for 16 steps of k, four operations
// for each byte, and the first-level cache, which serves the neighbours in a block, is asked as often as tensor cores are.
//
// Requires: M, N, K, the distances between rows and all bases are multiples of 16 numbers: a load cannot leave anything out.
#include "half/fragments.cuh"

#ifndef WARPS_M
#define WARPS_M 4  // warps of a block, one below the other
#endif
#ifndef WARPS_N
#define WARPS_N 4  // warps of a block, side by side
#endif

constexpr int WARPS = WARPS_M * WARPS_N, THREADS = 32 * WARPS;
static_assert(WARPS <= 32, "a block has no more than 32 warps");

extern "C" __global__ void __launch_bounds__(THREADS) wmma(const __grid_constant__ Gemm g) {
    __shared__ __align__(32) float out[WARPS][16 * 16];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = (blockIdx.y * WARPS_M + warp / WARPS_N) * 16, column = (blockIdx.x * WARPS_N + warp % WARPS_N) * 16;
    if (row >= g.m || column >= g.n) return;

    const Half *a = (const Half *)g.a + row * g.lda, *b = (const Half *)g.b + column;
    const int K = depth(g);
    Sums c = {};
    for (int k = 0; k < K; k += 16) {
        Fragment of_a, of_b;
        load_a(of_a, a + k, (int)g.lda);
        load_b(of_b, b + k * g.ldb, (int)g.ldb);
        multiply(c, of_a, of_b);
    }

    store(out[warp], c, 16);
    __syncwarp();
    for (int i = lane; i < 128; i += 32) put(g, row + i / 8, column + i % 8 * 2, out[warp][2 * i], out[warp][2 * i + 1]);
}
