// The ring of pieces: one thread asks for them in the order in which they are used, across the borders of products.
#pragma once

// Behind the last of so many elements of each matrix of an operand.
INLINE const void *end_of(const void *base, long long stride, int batch, int elements) {
    return (const Stored *)base + (batch - 1) * stride + elements;
}

struct Loads {
    const Gemm &g;
    int now;           // the product that is multiplied
    int item, number;  // the next piece: of which product, and its number there, A's before B's

    INLINE Loads(const Gemm &gemm) : g(gemm), now(0), item(blockIdx.x), number(0) {}

    INLINE unsigned char *slot_at(int slot) const { return shared_memory + AT_RING + slot * SLOT; }

    template <typename Of> INLINE const Stored *base() const { return (const Stored *)(Of::IS_A ? g.a : g.b); }
    template <typename Of> INLINE long long stride() const { return Of::IS_A ? g.stride_a : g.stride_b; }
    template <typename Of> INLINE Run run(int of, int piece, int columns) const {
        return Run(base<Of>() + of * stride<Of>() + piece * Of::EACH * Of::ROWS_OF_IT, columns * Of::ROWS_OF_IT);
    }
    // Bytes from a multiple of 16 to where a piece of the product that is multiplied begins.
    template <typename Of> INLINE int head(int piece) const { return run<Of>(now, piece, 0).head(); }

    template <typename Of> INLINE int load(int piece, unsigned char *to, unsigned int barrier) const {
        const void *const end = end_of(base<Of>(), stride<Of>(), g.batch, Of::ROWS_OF_IT * Of::COLS);
        return run<Of>(item, piece, Of::columns(piece)).load(to, base<Of>(), end, barrier);
    }

    // Asks for the next piece, if there is one.
    INLINE void fetch(int slot) {
        if (item >= g.batch) return;
        unsigned char *const to = slot_at(slot);
        const unsigned int barrier = shared_address(shared_memory) + 8 * slot;
        const int of_b = number - OperandA::PIECES;
        const int expected = of_b < 0 ? load<OperandA>(number, to, barrier) : load<OperandB>(of_b, to, barrier);
        barrier_expect(barrier, expected);
        if (++number == OperandA::PIECES + OperandB::PIECES) {
            number = 0;
            item += (int)gridDim.x;
        }
    }
};
