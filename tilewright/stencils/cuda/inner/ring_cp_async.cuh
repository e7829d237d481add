// The ring of vector copies (PATH 1): all threads fill it by cp.async.
#pragma once

struct Ring {
    const Products &products;
    Cursor next;
    int now = 0;

    INLINE Ring(const Products &all) : products(all) {
        UNROLL for (int i = 0; i < STAGES - 1; i++) fill(i);
    }

    INLINE void fill(int to) {
        if (next.item < products.items && (!SHARING || products.pieces > 0)) {
            const Gemm &g = products.g;
            const Item x = products.at(next.item);
            unsigned char *const stage = shared_memory + AT_RING + to * STAGE;
            const int count = products.count(next.piece);
            SlabA::fetch(stage, products.a(x, next.piece), (int)g.lda, x.rows, count, products.all_a);
            SlabB::fetch(stage + STAGE_B, products.b(x, next.piece), (int)g.ldb, x.columns, count, products.all_b);
            next.advance(products.pieces);
        }
        cp_async_commit();  // an empty group, too: waits count groups
    }

    // The stage that comes next, when it is there; the one before it has been read by all, and is filled.
    INLINE const unsigned char *wait() {
        cp_async_wait<STAGES - 2>();
        block_sync();
        fill(now ? now - 1 : STAGES - 1);
        return shared_memory + AT_RING + now * STAGE;
    }

    INLINE void release() { now = now + 1 == STAGES ? 0 : now + 1; }
};
