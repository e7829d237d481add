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

// Operand X of the kernel's argument: its first matrix, and how its columns and matrices are apart.
template <int X> INLINE const unsigned char *base_of(const Chain &g) {
    return (const unsigned char *)picked(X, g.in_0, g.in_1, g.in_2, g.in_3);
}
template <int X> INLINE long long ld_of(const Chain &g) { return picked(X, g.ld_0, g.ld_1, g.ld_2, g.ld_3); }
template <int X> INLINE long long stride_of(const Chain &g) {
    return picked(X, g.stride_0, g.stride_1, g.stride_2, g.stride_3);
}

// Asks for the matrices from `at` on of operand X and all that follow: those of the whole batch (`ONCE`), or of a stage.
template <int X, bool ONCE> INLINE void fetch(unsigned char *to, const Chain &g, long long at, int count) {
    if constexpr (X < INPUTS) {
        typedef Pieces<rows_in(X), columns_in(X), packed_in(X), unit_in(X)> In;
        const unsigned char *const from = base_of<X>(g) + at * stride_of<X>(g) * SIZE;
        if constexpr (once_in(X) == ONCE) In::fetch(to + before(X, ONCE), from, ld_of<X>(g), stride_of<X>(g), count);
        fetch<X + 1, ONCE>(to, g, at, count);
    }
}

// Writes results from `at` on.
INLINE void write(const Chain &g, const unsigned char *from, long long at, int count) {
    unsigned char *const to = (unsigned char *)g.out + at * g.stride_out * SIZE;
    Pieces<SIZE_M, SIZE_N, PACKED_OUT, UNIT_OUT>::write(to, from, g.ld_out, g.stride_out, count);
}
