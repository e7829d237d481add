// The loads: one thread asks for the pieces in the order in which they are used, across the borders of products.
#pragma once

// Behind the last of so many elements of each matrix of an operand.
INLINE const void *end_of(const void *base, long long stride, int batch, int elements) {
    return (const Stored *)base + (batch - 1) * stride + elements;
}

// Which piece of which product: of A, or of a tile of B.
struct Loads {
    const Gemm &g;
    const Maps &maps;
    int item, tile, number;  // the next one: its product, its tile, and its number there, A's before B's
    bool stored;             // whether elements came by ordinary stores, the first and last of an operand alone do

    INLINE Loads(const Gemm &gemm, const Maps &all)
        : g(gemm), maps(all), item(blockIdx.x), tile(0), number(0), stored(false) {}

    INLINE unsigned char *slot_at(int slot) const { return shared_memory + AT_RING + slot * SLOT; }

    // The barrier of a slot's bytes, or, of number STAGES, of those of C; and that of its readers.
    INLINE unsigned int barrier(int slot) const { return shared_address(shared_memory) + 8 * slot; }
    INLINE unsigned int read_barrier(int slot) const { return barrier(STAGES + 1 + slot); }

    // So many columns of an operand, from one of a piece on.
    template <typename Of> INLINE Run run(int of, int tile, int piece, int columns) const {
        const Stored *const base = (const Stored *)(Of::IS_A ? g.a : g.b);
        const int first = (Of::IS_A ? 0 : tile * TILE_N) + piece * Of::EACH;
        return Run(base + of * (Of::IS_A ? g.stride_a : g.stride_b) + first * Of::ROWS_OF_IT, columns * Of::ROWS_OF_IT);
    }
    // How many columns a piece has: the last one has what is left over.
    template <typename Of> static INLINE int columns(int tile, int piece) {
        return smaller(Of::EACH, (Of::IS_A ? Of::COLS : TRANS_B ? SIZE_K : columns_of(tile)) - piece * Of::EACH);
    }

    template <typename Of> INLINE int load(int piece, unsigned char *to, unsigned int arrived) {
        const void *const base = Of::IS_A ? g.a : g.b;
        const long long stride = Of::IS_A ? g.stride_a : g.stride_b;
        const void *const end = end_of(base, stride, g.batch, SIZE_K * (Of::IS_A ? SIZE_M : PARTS_OF_K * SIZE_N));
        const Run all = run<Of>(item, tile, piece, columns<Of>(tile, piece));
        const int expected = all.load(to, base, end, arrived);
        stored |= expected < all.head() + all.bytes;
        return expected;
    }

    // Asks for all pieces of this block, each as soon as its slot has been read: a whole warp, whose first lane acts.
    INLINE void run_ahead() {
        int slot = 0;
        unsigned int parity = 1;  // nothing has to be read before the first ones
        _Pragma("unroll 1") while (item < g.batch) {
            barrier_wait(read_barrier(slot), parity);
            __syncwarp();  // lanes may leave the wait apart
            if (threadIdx.x % 32 == 0) fetch(slot);
            go_on();
            if (++slot == STAGES) {
                slot = 0;
                parity ^= 1;
            }
        }
    }

    INLINE void fetch(int slot) {
        if (DIRECT) {
            barrier_expect(barrier(slot), OperandA::COMES + OperandB::COMES);
            unsigned char *const to = slot_at(slot);
            if (BOXED_A) box_load(to, *maps.a, 0, 0, g.stride_a ? item : 0, barrier(slot));
            else bulk_load<false>(to, (const Stored *)g.a + item * g.stride_a, OperandA::COMES, barrier(slot), 0);
            unsigned char *const b = to + OperandA::BYTES;
            if (BOXED_B) box_load(b, *maps.b, 0, 0, g.stride_b ? item : 0, barrier(slot));
            else bulk_load<false>(b, (const Stored *)g.b + item * g.stride_b, OperandB::COMES, barrier(slot), 0);
            return;
        }
        if (stored) async_fence();
        stored = false;
        const int of_b = number - OperandA::PIECES;
        barrier_expect(barrier(slot), of_b < 0 ? load<OperandA>(number, slot_at(slot), barrier(slot))
                                               : load<OperandB>(of_b, slot_at(slot), barrier(slot)));
    }

    INLINE void go_on() {
        if (DIRECT) {
            item += (int)gridDim.x;
            return;
        }
        if (++number < OperandA::PIECES + pieces_of(tile)) return;
        number = OperandA::PIECES;  // A stays
        if (++tile < TILES) return;
        tile = number = 0;
        item += (int)gridDim.x;
    }
};
