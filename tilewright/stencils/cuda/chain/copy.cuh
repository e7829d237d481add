// Copies by all threads of a block: some matrices between device memory and shared memory.
#pragma once

// Matrices as they are stored, in the largest pieces without gaps: whole matrices, or columns.
template <int STORED_ROWS, int STORED_COLUMNS, bool PACKED, int UNIT> struct Pieces {
    static constexpr int PIECE = (PACKED ? STORED_COLUMNS : 1) * STORED_ROWS * SIZE, PIECES = PACKED ? 1 : STORED_COLUMNS;
    static constexpr int VECTOR = vector_bytes(UNIT, PIECE), EACH = PIECE / VECTOR;
    typedef typename Vector<VECTOR>::Type Moved;

    // Calls act with the offsets in shared and in device memory of this thread's vectors of `count` matrices.
    template <typename Act> static INLINE void each(long long ld, long long stride, int count, Act act) {
        _Pragma("unroll 4") for (int v = threadIdx.x; v < count * (EACH * PIECES); v += THREADS) {
            const int matrix = v / (EACH * PIECES), piece = v / EACH % PIECES;
            act(v * VECTOR, matrix * (PACKED ? (long long)PIECE : stride * SIZE) + piece * ld * SIZE + v % EACH * VECTOR);
        }
    }
    static INLINE void fetch(unsigned char *to, const unsigned char *from, long long ld, long long stride, int count) {
        each(ld, stride, count, [&](int here, long long there) { cp_async<VECTOR>(to + here, from + there, VECTOR); });
    }
    static INLINE void write(unsigned char *to, const unsigned char *from, long long ld, long long stride, int count) {
        each(ld, stride, count, [&](int here, long long there) { *(Moved *)(to + there) = *(const Moved *)(from + here); });
    }
};

// Asks for the matrices from `at` on of operand X and all that follow: those of the whole batch (`ONCE`), or of a stage.
template <int X, bool ONCE> INLINE void fetch(unsigned char *to, const Chain &g, long long at, int count) {
    if constexpr (X < INPUTS) {
        typedef Pieces<rows_in(X), columns_in(X), packed_in(X), unit_in(X)> In;
        const unsigned char *const from = (const unsigned char *)g.in[X] + at * g.stride[X] * SIZE;
        if (once_in(X) == ONCE) In::fetch(to + before(X, ONCE), from, g.ld[X], g.stride[X], count);
        fetch<X + 1, ONCE>(to, g, at, count);
    }
}

// Writes results from `at` on.
INLINE void write(const Chain &g, const unsigned char *from, long long at, int count) {
    unsigned char *const to = (unsigned char *)g.out + at * g.stride_out * SIZE;
    Pieces<SIZE_M, SIZE_N, PACKED_OUT, UNIT_OUT>::write(to, from, g.ld_out, g.stride_out, count);
}
