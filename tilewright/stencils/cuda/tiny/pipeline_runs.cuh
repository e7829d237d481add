// The pipeline of bulk copies for batches along several axes (PATH 2, OUTER): a group is a piece of a run along the innermost
// axis, or several whole runs. The lanes of the first warp ask for a piece each.
//
// Bulk copies take multiples of 16 bytes, and runs may begin and end anywhere. So a piece comes with the bytes before it up
// to such a multiple, and the last bytes, less than 16, by a copy that ends with them. What leaves goes by a bulk copy of
// whole vectors, and element by element before and behind them.
#pragma once

#include "tiny/copy.cuh"

// What is known of a piece in a stage: its products, and by how much A, B and C begin behind a multiple of 16 bytes.
INLINE unsigned int note(int count, const Stored *a, const Stored *b, const Stored *c) {
    auto skew = [](const Stored *at) { return (unsigned int)(unsigned long long)at % 16; };
    return (unsigned int)count << 12 | skew(c) << 8 | skew(b) << 4 | skew(a);
}
INLINE int products_of(unsigned int note) { return (int)(note >> 12); }
INLINE int skew_of(unsigned int note, int operand) { return (int)(note >> 4 * operand & 15); }

// Asks for a piece of so many bytes. The bytes of the bulk copy are those of whole_vectors().
INLINE int whole_vectors(const Stored *from, int bytes) { return ((int)((unsigned long long)from % 16) + bytes) / 16 * 16; }
template <bool SKEWED> INLINE void fetch_piece(unsigned char *to, const Stored *from, int bytes, unsigned int barrier, unsigned long long policy) {
    const int skew = SKEWED ? (int)((unsigned long long)from % 16) : 0, whole = (skew + bytes) / 16 * 16;
    const unsigned char *const start = (const unsigned char *)from - skew;
    if (!SKEWED || whole) bulk_load<EVICT>(to, start, whole, barrier, policy);
    if (SKEWED && whole < skew + bytes) cp_async<16>(to + whole, start + whole, skew + bytes - whole);
}

// Writes a piece of C.
INLINE void write_piece(Stored *to, const unsigned char *from, int bytes, unsigned long long policy) {
    const int skew = SKEWED_C ? (int)((unsigned long long)to % 16) : 0;
    const int before = SKEWED_C ? smaller((16 - skew) % 16, bytes) : 0, whole = (bytes - before) / 16 * 16;
    auto single = [&](int first, int last) {
        _Pragma("unroll 1") for (int at = first; at < last; at += SIZE)
            *(Stored *)((unsigned char *)to + at) = *(const Stored *)(from + skew + at);
    };
    if (SKEWED_C) {
        single(0, before);
        single(before + whole, bytes);
    }
    if (!SKEWED_C || whole) bulk_store<EVICT>((unsigned char *)to + before, from + skew + before, whole, policy);
}

// Multiplies the pieces of a group, of which the first product has number `first` of its run.
INLINE void multiply_pieces(const unsigned int *notes, int first, const unsigned char *a, const unsigned char *b, const unsigned char *c,
                            unsigned char *out, const Scalars &s) {
    constexpr int MATRICES = PIECES * PIECE;
    _Pragma("unroll 1") for (int item = threadIdx.x / (THREADS / SLOTS); item < MATRICES * TILES; item += SLOTS) {
        const int matrix = ACROSS ? item % MATRICES : item / TILES, tile = ACROSS ? item / MATRICES : item % TILES;
        const int piece = matrix / PIECE, product = matrix % PIECE;
        const unsigned int known = notes[piece];
        if (product >= products_of(known)) continue;
        const int at_c = piece * ROOM_C + skew_of(known, 2) + product * STEP_C * SIZE;
        const Stored *const from_a = (const Stored *)(a + (STAYS_A ? 0 : piece * ROOM_A + skew_of(known, 0))) + (KEPT_A ? first + product : product) * STEP_A;
        const Stored *const from_b = (const Stored *)(b + (STAYS_B ? 0 : piece * ROOM_B + skew_of(known, 1))) + (KEPT_B ? first + product : product) * STEP_B;
#if MMA
        multiply_mma(tile, from_a, from_b, (const Stored *)(c + at_c), (Stored *)(out + at_c), s);
#else
        multiply<ROWS, COLUMNS, vector_bytes(LD_A * SIZE, APART_A * SIZE), vector_bytes(LD_B * SIZE, APART_B * SIZE),
                 vector_bytes(LD_C * SIZE, APART_C * SIZE), TURN>(tile, matrix, from_a, LD_A, from_b, LD_B,
                                                                  (const Stored *)(c + at_c), (Stored *)(out + at_c), LD_C, s);
#endif
    }
}

INLINE void multiply_batch(const Nested &given, const Scalars &scalars) {
    const Gemm &g = given.gemm;
    const int blocks = gridDim.x, groups = given.pieces / PIECES + (given.pieces % PIECES != 0);
    unsigned char *const ring = shared_memory + AT_RING;
    unsigned int *const notes = (unsigned int *)(shared_memory + AT_NOTES);
    if (STAYS_A) fetch_once<ROWS_A, COLS_A * STAYING_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (STAYS_B) fetch_once<ROWS_B, COLS_B * STAYING_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    const bool asks = threadIdx.x < PIECES;
    const unsigned int barriers = shared_address(shared_memory);
    const unsigned long long policy = EVICT ? evict_first() : 0;
    // What is left of a piece's run, and the first of its C.
    auto products_at = [&](const Place &at) { return min(PIECE, given.run - at.inner * PIECE); };
    auto c_at = [&](const Place &at) { return (Stored *)g.c + at.c + (long long)at.inner * PIECE * g.stride_c; };
    // By a lane that asks. It arrives with the bytes of its bulk copies, and once more when its other copies have come.
    constexpr bool TWICE = SKEWED_A || SKEWED_B || (BETA && SKEWED_C);
    auto fetch = [&](long long group, int to) {
        if (group >= groups) return;
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        const long long piece = group * PIECES + threadIdx.x;
        if (PIECES > 1 && piece >= given.pieces) {
            notes[to * PIECES + threadIdx.x] = 0;
            barrier_expect(barrier, 0);
        } else {
            const Place at = place(given, (unsigned int)piece);
            const int count = products_at(at);
            const long long first = (long long)at.inner * PIECE;
            const Stored *const a = (const Stored *)g.a + at.a + first * g.stride_a;
            const Stored *const b = (const Stored *)g.b + at.b + first * g.stride_b;
            const Stored *const c = c_at(at);
            const int bytes_a = STAYS_A ? 0 : (RUN_A ? 1 : count) * LD_A * COLS_A * SIZE;
            const int bytes_b = STAYS_B ? 0 : (RUN_B ? 1 : count) * LD_B * COLS_B * SIZE, bytes_c = BETA ? count * STEP_C * SIZE : 0;
            notes[to * PIECES + threadIdx.x] = note(count, a, b, c);
            barrier_expect(barrier, (STAYS_A ? 0 : whole_vectors(a, bytes_a)) + (STAYS_B ? 0 : whole_vectors(b, bytes_b)) +
                                        (BETA ? whole_vectors(c, bytes_c) : 0));
            if (!STAYS_A) fetch_piece<SKEWED_A>(stage + threadIdx.x * ROOM_A, a, bytes_a, barrier, policy);
            if (!STAYS_B) fetch_piece<SKEWED_B>(stage + STAGE_B + threadIdx.x * ROOM_B, b, bytes_b, barrier, policy);
            if (BETA) fetch_piece<SKEWED_C>(stage + STAGE_C + threadIdx.x * ROOM_C, c, bytes_c, barrier, policy);
        }
        if (TWICE) arrive_when_copied(barrier);
    };
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, PIECES * (TWICE ? 2 : 1));
            barriers_started();
        }
        __syncwarp();
        if (asks) UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i);
    }
    block_sync();
    int now = 0, out = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + out * BYTES_C;
        barrier_wait(barriers + 8 * now, parity);
        // Several pieces are whole runs.
        const int first = (KEPT_A || KEPT_B) && PIECES == 1 ? place(given, (unsigned int)group).inner * PIECE : 0;
        multiply_pieces(notes + now * PIECES, first, STAYS_A ? shared_memory + AT_A : stage,
                        STAYS_B ? shared_memory + AT_B : stage + STAGE_B, stage + STAGE_C, to, scalars);
        async_fence();
        if (asks) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();              // this one is written, and the stage is free
        if (asks) {
            const long long piece = group * PIECES + threadIdx.x;
            if (PIECES == 1 || piece < given.pieces) {
                const Place at = place(given, (unsigned int)piece);
                write_piece(c_at(at), to + threadIdx.x * ROOM_C, products_at(at) * STEP_C * SIZE, policy);
            }
            fetch(group + (long long)STAGES * blocks, now);
        }
        out ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (asks) bulk_done();
}
