// A tile of C: it comes, where it is read, and goes by one bulk copy, as a run or as a box of a tensor.
#pragma once

struct Result : Run {
    const Gemm &g;
    const Maps &maps;
    int item;

    INLINE Result(const Gemm &gemm, const Maps &all, int product, int tile, int columns)
        : Run((const Stored *)gemm.c + product * gemm.stride_c + tile * TILE_N * SIZE_M, columns * SIZE_M), g(gemm), maps(all),
          item(product) {}

    // One thread asks for what is read of C.
    INLINE void come(unsigned int barrier) const {
        unsigned char *const to = shared_memory + AT_C;
        if (BOXED_C) {
            barrier_expect(barrier, LD_C * SIZE_N * SIZE);
            box_load(to, *maps.c, 0, 0, item, barrier);
        } else {
            barrier_expect(barrier, load(to, g.c, end_of(g.c, g.stride_c, g.batch, SIZE_M * SIZE_N), barrier));
        }
    }

    // A whole warp.
    INLINE void go(unsigned char *out) const {
        if (BOXED_C) {
            if (threadIdx.x == 0) {
                box_store(*maps.c, 0, 0, item, out);
                bulk_commit();
            }
        } else {
            if (threadIdx.x == 0 && whole<32>() > 0)
                bulk_store<false>((void *)(from + ahead<32>()), out + ahead<32>(), whole<32>(), 0);
            // Of the first and last sector some elements may belong to others.
            if (threadIdx.x < 64 / SIZE) store_edges<32>(out, threadIdx.x);
        }
        __syncwarp();
    }
};
