// Piece after piece from the ring to its place, by the threads that multiply.
#pragma once

struct Ring : Loads {
    int slot;             // of the piece that comes next
    unsigned int parity;  // of its barrier

    INLINE Ring(const Gemm &g, const Maps &maps) : Loads(g, maps), slot(0), parity(0) {
        if (threadIdx.x == 0) {
            UNROLL for (int i = 0; i <= STAGES; i++) barrier_start(barrier(i));
            UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(read_barrier(i), WORKERS);
            barriers_started();
        }
        __syncthreads();  // all threads know the barriers
    }

    // Puts one piece in its place; each thread says when it has read what it takes of it, because the thread that loads
    // may write there by ordinary stores.
    template <typename Of> INLINE void place(int item, int tile, int piece, Stored *columns_at) {
        const int head = run<Of>(item, tile, piece, 0).head();
        barrier_wait(barrier(slot), parity);
        __syncwarp();  // lanes may leave the wait apart
        Of::realign(slot_at(slot), head, columns_at + piece * Of::EACH * Of::LD, columns<Of>(tile, piece));
        been_read();
    }

    // A and B as they came, which are multiplied there.
    INLINE const unsigned char *whole() const {
        barrier_wait(barrier(slot), parity);
        return slot_at(slot);
    }

    // This thread needs a slot no more, and goes on to the next one.
    INLINE void been_read() {
        barrier_expect(read_barrier(slot), 0);
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
};
