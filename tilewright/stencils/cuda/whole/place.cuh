// Piece after piece from the ring to its place, by all threads; in a slot that has been read the next piece is asked for.
#pragma once

struct Ring : Loads {
    int slot;             // of the piece that comes next
    unsigned int parity;  // of its barrier

    INLINE Ring(const Gemm &g) : Loads(g), slot(0), parity(0) {
        if (threadIdx.x == 0) {
            UNROLL for (int i = 0; i <= STAGES; i++) barrier_start(barrier(i));
            barriers_started();
            _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fetch(i);
        }
        block_sync();  // all threads know the barriers
    }

    // Puts one piece in its place. Of the first piece of a tile the block knows before it writes, or before it goes on,
    // that C of the tile before has left; then C of this one is asked for, where it is read.
    template <typename Of>
    INLINE void place(int item, int tile, int piece, Stored *columns_at, bool first, const Run &c) {
        const int head = run<Of>(item, tile, piece, 0).head();
        barrier_wait(barrier(slot), parity);
        if (SHARED_PLACE && first) {
            if (threadIdx.x == 0) bulk_read<0>();
            block_sync();
        }
        Of::realign(slot_at(slot), head, columns_at + piece * Of::EACH * Of::LD, columns<Of>(tile, piece));
        if (!SHARED_PLACE && first && threadIdx.x == 0) bulk_read<0>();
        block_sync();  // the piece has been read
        if (threadIdx.x == 0) {
            if (BETA != 0 && first) {
                const void *const end = end_of(g.c, g.stride_c, g.batch, SIZE_M * SIZE_N);
                barrier_expect(barrier(STAGES), c.load(shared_memory + AT_C, g.c, end, barrier(STAGES)));
            }
            fetch(slot);
        }
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
};
