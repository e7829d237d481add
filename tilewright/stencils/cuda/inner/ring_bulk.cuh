// The ring of bulk copies (PATH 2): the lanes of one warp fill it, and barriers count the bytes that arrived.
#pragma once

struct Ring {
    const Products &products;
    const unsigned int barriers = shared_address(shared_memory);
    Cursor next;
    int now = 0;
    unsigned int parity = 0;

    INLINE Ring(const Products &all) : products(all) {
        if (threadIdx.x == 0) {
            UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, 32);
            barriers_started();
        }
        block_sync();
        if (threadIdx.x < 32) _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fill(i);
    }

    // By the first warp, each of whose lanes arrives for its own runs.
    INLINE void fill(int to) {
        if (next.item >= products.items || (SPLIT > 1 && products.pieces <= 0)) return;
        const Gemm &g = products.g;
        const Item x = products.at(next.item);
        unsigned char *const stage = shared_memory + AT_RING + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        const int count = products.count(next.piece);
        const Stored *const a = products.a(x, next.piece), *const b = products.b(x, next.piece);
        int expected = SlabA::load(stage, a, g.lda, x.rows, count, products.all_a, barrier);
        expected += SlabB::load(stage + STAGE_B, b, g.ldb, x.columns, count, products.all_b, barrier);
        barrier_expect(barrier, expected);
        next.advance(products.pieces);
    }

    // The stage that comes next, when it is there.
    INLINE const unsigned char *wait() {
        barrier_wait(barriers + 8 * now, parity);
        __syncwarp();  // lanes may leave the wait apart
        return shared_memory + AT_RING + now * STAGE;
    }

    // It has been read.
    INLINE void release() {
        block_sync();
        if (threadIdx.x < 32) fill(now);
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
};
