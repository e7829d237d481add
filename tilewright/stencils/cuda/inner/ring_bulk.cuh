// The ring of bulk copies (PATH 2): the lanes of as many warps as have runs fill it, and barriers count the bytes that arrived.
#pragma once

// Warps that fill the ring: the lanes of one start their copies one after the other.
constexpr int FILLERS = smaller(WARPS, ceiling(SlabA::RUNS + SlabB::RUNS, 4));

struct Ring {
    const Products &products;
    const unsigned int barriers = shared_address(shared_memory);
    Cursor next;
    int now = 0;
    unsigned int parity = 0;

    INLINE Ring(const Products &all) : products(all) {
        if (threadIdx.x == 0) {
            UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, 32 * FILLERS);
            barriers_started();
        }
        block_sync();
        if (threadIdx.x < 32 * FILLERS) _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fill(i);
    }

    // By the first warps, each of whose lanes arrives for its own runs, those of A and then those of B.
    INLINE void fill(int to) {
        if (next.item >= products.items || (SHARING && products.pieces <= 0)) return;
        const Gemm &g = products.g;
        const Item x = products.at(next.item);
        unsigned char *const stage = shared_memory + AT_RING + to * STAGE;
        const int count = products.count(next.piece);
        const Stored *const a = products.a(x, next.piece), *const b = products.b(x, next.piece);
        const int of_a = SlabA::runs(x.rows, count), all = of_a + SlabB::runs(x.columns, count);
        int expected = 0;
        _Pragma("unroll 1") for (int i = threadIdx.x % 32 * FILLERS + threadIdx.x / 32; i < all; i += 32 * FILLERS) {
            const bool second = i >= of_a;
            const int number = second ? i - of_a : i;
            const Run run = second ? SlabB::run(b, g.ldb, number, x.columns, count) : SlabA::run(a, g.lda, number, x.rows, count);
            unsigned char *const here = stage + (second ? STAGE_B + number * SlabB::ROOM * SIZE : number * SlabA::ROOM * SIZE);
            const Span &whole = second ? products.all_b : products.all_a;
            expected += run.load(here, whole.begin, whole.end, barriers + 8 * to);
        }
        barrier_expect(barriers + 8 * to, expected);
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
        // Elements at the ends of an operand were stored one by one where copies come next.
        if (threadIdx.x < 32 * FILLERS) async_fence();
        block_sync();
        if (threadIdx.x < 32 * FILLERS) fill(now);
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
};
