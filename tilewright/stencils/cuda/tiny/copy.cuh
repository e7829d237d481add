// Copies by all threads of a block: groups of matrices between device memory and shared memory.
#pragma once

#include "tiny/group.cuh"

// Vector after vector of column after column of matrix after matrix: this thread's vectors are THREADS apart, and it goes
// from one to the next by additions alone.
template <int VECTORS, int OF_MATRIX> struct VectorWalk {
    int vector = threadIdx.x % VECTORS, column = threadIdx.x / VECTORS % OF_MATRIX;
    int matrix = threadIdx.x / (VECTORS * OF_MATRIX);
    bool next_column = false, next_matrix = false;  // whether the last step was beyond the end of one

    INLINE void advance() {
        vector += THREADS % VECTORS;
        next_column = THREADS % VECTORS != 0 && vector >= VECTORS;
        if (next_column) vector -= VECTORS;
        column += THREADS / VECTORS % OF_MATRIX + next_column;
        next_matrix = (THREADS / VECTORS % OF_MATRIX != 0 || THREADS % VECTORS != 0) && column >= OF_MATRIX;
        if (next_matrix) column -= OF_MATRIX;
        matrix += THREADS / (VECTORS * OF_MATRIX) + next_matrix;
    }
    // Bytes from the first vector to this one, where vectors, columns and matrices are so far apart; and of the last step.
    template <typename Bytes> INLINE Bytes position(Bytes per_vector, Bytes per_column, Bytes per_matrix) const {
        return vector * per_vector + column * per_column + matrix * per_matrix;
    }
    template <typename Bytes> INLINE Bytes advanced(Bytes per_vector, Bytes per_column, Bytes per_matrix) const {
        Bytes bytes = THREADS % VECTORS * per_vector + THREADS / VECTORS % OF_MATRIX * per_column +
                      THREADS / (VECTORS * OF_MATRIX) * per_matrix;
        if (next_column) bytes += per_column - VECTORS * per_vector;
        if (next_matrix) bytes += per_matrix - OF_MATRIX * per_column;
        return bytes;
    }
};

// The type of distances in device memory: narrow where the compiler knows them.
template <bool KNOWN> struct Distance { typedef int Type; };
template <> struct Distance<false> { typedef long long Type; };

// A group as it is stored, in the largest pieces without gaps: all MATRICES of it, whole matrices, or columns.
template <int STORED_ROWS, int STORED_COLS, int LD, bool FLAT, int UNIT, int LEAD, int NEXT, int MATRICES, bool SKEWED = false>
struct Group {
    typedef Matrices<STORED_ROWS, STORED_COLS, FLAT, false> There;
    static constexpr bool WHOLE = FLAT && LD == STORED_ROWS, ONE_PIECE = WHOLE && !LISTED;
    static constexpr int COLUMN = (WHOLE ? STORED_COLS : 1) * STORED_ROWS * SIZE, COLUMNS_OF_IT = WHOLE ? 1 : STORED_COLS;
    static constexpr int MATRIX = STORED_ROWS * STORED_COLS * SIZE;
    static constexpr int VECTOR = ONE_PIECE ? vector_bytes(ALIGN, MATRICES * MATRIX) : vector_bytes(WHOLE && !OUTER ? ALIGN : UNIT, COLUMN);
    static constexpr int IN_COLUMN = (ONE_PIECE ? MATRICES * MATRIX : COLUMN) / VECTOR;
    static constexpr int COUNT = ONE_PIECE ? IN_COLUMN : IN_COLUMN * COLUMNS_OF_IT * MATRICES;
    static constexpr int AT_ONCE = smaller(ceiling(COUNT, THREADS), 4);
    typedef typename Distance<(LEAD || FLAT)>::Type Far;
    typedef typename Vector<VECTOR>::Type Moved;

    // Some vectors of a thread: offsets in shared memory, addresses in device memory, and valid bytes, which are fewer
    // than VECTOR, or none, behind the last matrix.
    struct Some {
        int here[AT_ONCE], bytes[AT_ONCE];
        const unsigned char *there[AT_ONCE];
    };

    // Calls act with all of this thread's vectors of matrices first to first + count - 1, AT_ONCE at a time, so that
    // their latencies overlap.
    template <typename Act> static INLINE void each(const void *base, long long ld, long long stride, int first, int count, Act act) {
        Some some;
        if (ONE_PIECE) {
            const unsigned char *const from = (const unsigned char *)There::at(base, stride, first);
            _Pragma("unroll 1") for (int w = threadIdx.x; w < COUNT; w += AT_ONCE * THREADS) {
                UNROLL for (int i = 0; i < AT_ONCE; i++) {
                    some.here[i] = (w + i * THREADS) * VECTOR;
                    some.there[i] = from + some.here[i];
                    some.bytes[i] = smaller(count * MATRIX - some.here[i], VECTOR);
                }
                act(some);
            }
        } else {
            constexpr int HERE_COLUMN = LD * SIZE, HERE_MATRIX = LD * STORED_COLS * SIZE;
            const Far per_column = (LEAD ? LEAD : FLAT ? STORED_ROWS : (Far)ld) * SIZE;
            const Far per_matrix = LISTED ? 0 : (LEAD ? NEXT : FLAT ? STORED_ROWS * STORED_COLS : (Far)stride) * SIZE;
            const unsigned char *const from = (const unsigned char *)(LISTED ? base : There::at(base, stride, first));
            const int vectors = count * (IN_COLUMN * COLUMNS_OF_IT);
            VectorWalk<IN_COLUMN, COLUMNS_OF_IT> walk;
            int here = walk.position(VECTOR, HERE_COLUMN, HERE_MATRIX);
            Far there = walk.position((Far)VECTOR, per_column, per_matrix);
            _Pragma("unroll 1") for (int w = threadIdx.x; w < COUNT; w += AT_ONCE * THREADS) {
                UNROLL for (int i = 0; i < AT_ONCE; i++) {
                    some.bytes[i] = w + i * THREADS < vectors ? VECTOR : 0;
                    some.here[i] = here;
                    // Where matrices are LISTED, base is a list of addresses in shared memory; for no valid bytes any of them will do.
                    const int matrix = COUNT % (AT_ONCE * THREADS) ? min(walk.matrix, MATRICES - 1) : walk.matrix;
                    some.there[i] = (LISTED ? (const unsigned char *)There::at(base, 0, first + matrix) : from) + there;
                    walk.advance();
                    here += walk.advanced(VECTOR, HERE_COLUMN, HERE_MATRIX);
                    there += walk.advanced((Far)VECTOR, per_column, per_matrix);
                }
                act(some);
            }
        }
    }

    // Whole matrices at the addresses of a list, from the multiple of 16 bytes before each on.
    static INLINE void fetch_skewed(unsigned char *to, const unsigned long long *list, int count) {
        constexpr int ROOM = room(MATRIX, true), VECTORS = ROOM / 16;
        _Pragma("unroll 4") for (int w = threadIdx.x; w < count * VECTORS; w += THREADS) {
            const unsigned long long from = list[w / VECTORS];
            const int at = w % VECTORS * 16, bytes = min((int)(from % 16) + MATRIX - at, 16);
            if (bytes > 0) cp_async<16>(to + w / VECTORS * ROOM + at, (const unsigned char *)(from / 16 * 16) + at, bytes);
        }
    }

    static INLINE void fetch(unsigned char *to, const void *from, long long ld, long long stride, int first, int count) {
        if (SKEWED) return fetch_skewed(to, (const unsigned long long *)from, count);
        each(from, ld, stride, first, count, [&](const Some &some) {
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                if (some.bytes[i] == VECTOR) cp_async<VECTOR>(to + some.here[i], some.there[i], VECTOR);
                // Nothing behind the last matrix is requested, not even as a part of a vector that is not copied.
                else if (ONE_PIECE) _Pragma("unroll 1") for (int at = 0; at < some.bytes[i]; at += SIZE)
                    *(Stored *)(to + some.here[i] + at) = *(const Stored *)(some.there[i] + at);
            }
        });
    }

    static INLINE void write(const void *to, const unsigned char *from, long long ld, long long stride, int first, int count) {
        each(to, ld, stride, first, count, [&](const Some &some) {
            Moved vector[AT_ONCE];
            UNROLL for (int i = 0; i < AT_ONCE; i++)
                if (some.bytes[i] == VECTOR) vector[i] = *(const Moved *)(from + some.here[i]);
            UNROLL for (int i = 0; i < AT_ONCE; i++) {
                unsigned char *const at = (unsigned char *)some.there[i];
                if (some.bytes[i] == VECTOR) *(Moved *)at = vector[i];
                else if (ONE_PIECE) _Pragma("unroll 1") for (int e = 0; e < some.bytes[i]; e += SIZE)
                    *(Stored *)(at + e) = *(const Stored *)(from + some.here[i] + e);
            }
        });
    }
};

typedef Group<ROWS_A, COLS_A, LD_A, FLAT_A, UNIT_A, LEAD_A, NEXT_A, GROUP, (PATH == 1 && SKEWED_A)> GroupA;
typedef Group<ROWS_B, COLS_B, LD_B, FLAT_B, UNIT_B, LEAD_B, NEXT_B, GROUP, (PATH == 1 && SKEWED_B)> GroupB;
typedef Group<SIZE_M, SIZE_N, LD_C, FLAT_C, UNIT_C, LEAD_C, NEXT_C, GROUP> GroupC;

// Writes a group of C from shared memory, where its layout is that of device memory: its columns and nothing between them.
INLINE void write_columns(unsigned char *to, const unsigned char *from) {
    constexpr int VECTORS = ceiling(SIZE_M * SIZE, UNIT_C), REST = SIZE_M * SIZE % UNIT_C;
    typedef typename Vector<UNIT_C>::Type Moved;
    VectorWalk<VECTORS, SIZE_N> walk;
    int at = walk.position(UNIT_C, LD_C * SIZE, STEP_C * SIZE);
    _Pragma("unroll 4") for (int w = threadIdx.x; w < GROUP * SIZE_N * VECTORS; w += THREADS) {
        if (REST == 0 || walk.vector != VECTORS - 1) {
            *(Moved *)(to + at) = *(const Moved *)(from + at);
        } else {
            if (REST & 8) *(uint2 *)(to + at) = *(const uint2 *)(from + at);
            if (REST & 4) *(unsigned int *)(to + at + REST / 8 * 8) = *(const unsigned int *)(from + at + REST / 8 * 8);
            if (REST & 2)
                *(unsigned short *)(to + at + REST / 4 * 4) = *(const unsigned short *)(from + at + REST / 4 * 4);
        }
        walk.advance();
        at += walk.advanced(UNIT_C, LD_C * SIZE, STEP_C * SIZE);
    }
}

// Copies an operand that the whole batch shares, element by element.
template <int STORED_ROWS, int STORED_COLS, int LD> INLINE void fetch_once(unsigned char *to, const void *from, long long ld) {
    for (int i = threadIdx.x; i < STORED_ROWS * STORED_COLS; i += THREADS) {
        const int row = i % STORED_ROWS, column = i / STORED_ROWS;
        ((Stored *)to)[row + column * LD] = ((const Stored *)from)[row + column * ld];
    }
}
