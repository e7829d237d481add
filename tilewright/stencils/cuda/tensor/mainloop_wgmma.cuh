// The mainloop of warp groups (TC 7): tensor cores read B from shared memory by themselves, A comes as fragments, and a
// warp goes on while they multiply.
#pragma once

#include "lib/wgmma.cuh"

// The fragments of A of one product along k: for re and im of the accumulators, 16 rows of each warp. B is read as it is
// stored, so signs are flipped in A: re of (ar, ai) (br, bi) is the product of (ar, -ai) with (br, bi), im is that of
// (ai, ar).
struct FragmentsA {
    Register x[COMPONENTS][SUBS_M][4];

    INLINE void load(const Kept *a, int lane) {
        Register found[PARTS][BLOCKS_M][QUADS];
        fragments_load<A_ALONG, false, BLOCKS_M, RUN_A, PITCH_A, PLANE_A>(found, a, lane);
        UNROLL for (int i = 0; i < SUBS_M; i++) UNROLL for (int e = 0; e < 4; e++) {
            const Register pair = found[0][2 * i + e % 2][e / 2];
#if COMPLEX
            x[0][i][e] = signs_flipped<CONJ_A == CONJ_B ? 0x80000000u : 0u>(pair);
            x[1][i][e] = signs_flipped<(CONJ_A ? 0x8000u : 0u) | (CONJ_B ? 0x80000000u : 0u)>(halves_swapped(pair));
#else
            x[0][i][e] = pair;
#endif
        }
    }
    INLINE void multiply(Accumulators &sum, unsigned long long b) const {
        UNROLL for (int p = 0; p < COMPONENTS; p++) UNROLL for (int i = 0; i < SUBS_M; i++)
            wgmma_16<WARP_N>(&sum[p][i][0][0], x[p][i][0], x[p][i][1], x[p][i][2], x[p][i][3], b);
    }
};

struct Mainloop {
    static constexpr int PRODUCTS = BLK_K / STEP;
    typedef FragmentsA Prefetched[PRODUCTS];  // of a k-tile; the first one is loaded while its predecessor is multiplied
    Kept *const stages;
    const int from_a, from_b, lane;
    OperandLoader &loader;
    int stage = 0;
    Prefetched &fragments;

    INLINE Mainloop(OperandLoader &loader, Prefetched &fragments, Kept *stages, const WarpPosition &warp)
        : stages(stages), from_a(warp.from_a), from_b(warp.from_b), lane(warp.lane), loader(loader), fragments(fragments) {
        UNROLL for (int i = 0; i < STAGES - 1; i++) {
            loader.fetch(stages + i * STAGE);
            cp_async_commit();
        }
        cp_async_wait<STAGES - 2>();
        async_fence();
        block_sync();
        fragments[0].load(stages + from_a, lane);
    }

    // Tensor cores have all of this k-tile to multiply while the next one arrives and its first fragments are loaded. No
    // product is in flight across the border of k-tiles: ptxas would make every product wait.
    INLINE void run(Accumulators &sum, int k_tiles, int) {
        _Pragma("unroll 1") for (int tile = 0; tile < k_tiles; tile++) {
            const Kept *const here = stages + stage * STAGE;
            const unsigned long long columns = wgmma_operand(here + from_b);
            UNROLL for (int i = 0; i < PRODUCTS; i++) {
                if (i) fragments[i].load(here + from_a + i * STEP * (A_ALONG ? 1 : PITCH_A), lane);
                wgmma_fence();
                fragments[i].multiply(sum, columns + 2 * i);
                wgmma_commit();
            }
            cp_async_wait<STAGES - 3>();
            async_fence();
            block_sync();  // all warp groups see the next k-tile, and the stage before this one is free
            loader.fetch(stages + (stage ? stage - 1 : STAGES - 1) * STAGE);
            cp_async_commit();  // an empty group, too: waits count groups
            if (++stage == STAGES) stage = 0;
            wgmma_wait<PRODUCTS - 1>();
            fragments[0].load(stages + stage * STAGE + from_a, lane);
            wgmma_wait<0>();
        }
    }
};
