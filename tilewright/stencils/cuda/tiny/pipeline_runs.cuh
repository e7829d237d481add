// The pipeline of bulk copies for batches along several axes (PATH 2, OUTER): a group is a piece of a run along the innermost
// axis, or several whole runs. A thread asks for each piece.
#pragma once

#include "tiny/pieces.cuh"

// Multiplies the pieces of a group, of which the first product has number `first` of its run.
INLINE void multiply_pieces(const Known *pieces, int first, const unsigned char *a, const unsigned char *b, const unsigned char *c,
                            unsigned char *out, const Scalars &s) {
    constexpr int MATRICES = PIECES * PIECE;
    _Pragma("unroll 1") for (int item = threadIdx.x / (THREADS / SLOTS); item < MATRICES * TILES; item += SLOTS) {
        const int matrix = ACROSS ? item % MATRICES : item / TILES, tile = ACROSS ? item / MATRICES : item % TILES;
        const int piece = matrix / PIECE, product = matrix % PIECE;
        const Known &known = pieces[piece];
        if (product >= known.products()) continue;
        const int at_c = piece * ROOM_C + known.skew(2) + product * STEP_C * SIZE;
        const Stored *const from_a = (const Stored *)(a + (STAYS_A ? 0 : piece * ROOM_A + known.skew(0))) + (KEPT_A ? first + product : product) * STEP_A;
        const Stored *const from_b = (const Stored *)(b + (STAYS_B ? 0 : piece * ROOM_B + known.skew(1))) + (KEPT_B ? first + product : product) * STEP_B;
#if MMA
        multiply_mma(tile, from_a, LD_A, from_b, LD_B, (const Stored *)(c + at_c), (Stored *)(out + at_c), LD_C, s);
#else
        multiply<ROWS, COLUMNS, vector_bytes(LD_A * SIZE, APART_A * SIZE), vector_bytes(LD_B * SIZE, APART_B * SIZE),
                 vector_bytes(LD_C * SIZE, APART_C * SIZE), TURN>(
            tile, matrix, from_a, LD_A, from_b, LD_B, (const Stored *)(c + at_c), (Stored *)(out + at_c), LD_C, s);
#endif
    }
}

INLINE void multiply_batch(const Nested &given, const Scalars &scalars) {
    const Gemm &g = given.gemm;
    const int blocks = gridDim.x, groups = given.pieces / PIECES + (given.pieces % PIECES != 0);
    unsigned char *const ring = shared_memory + AT_RING;
    // One more than there are stages: a group's are read while those of another come into its stage.
    Known *const known = (Known *)(shared_memory + AT_KNOWN);
    if (STAYS_A) fetch_once<ROWS_A, COLS_A * STAYING_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (STAYS_B) fetch_once<ROWS_B, COLS_B * STAYING_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    // A thread asks for piece number `mine`, if there is one: neighbours in different warps, which ask at the same time.
    const int mine = threadIdx.x / 32 + threadIdx.x % 32 * WARPS;
    const bool asks = mine < PIECES;
    const unsigned int barriers = shared_address(shared_memory);
    const unsigned long long policy = EVICT ? evict_first() : 0;
    // By a thread that asks. It arrives with the bytes of its bulk copies, and once more when its other copies have come.
    constexpr bool TWICE = SKEWED_A || SKEWED_B || (BETA && SKEWED_C);
    auto fetch = [&](long long group, int to, int slot) {
        if (group >= groups) return;
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        const long long piece = group * PIECES + mine;
        Known &about = known[slot * PIECES + mine];
        if (PIECES > 1 && piece >= given.pieces) {
            about = Known{nullptr, 0, 0};
            barrier_expect(barrier, 0);
        } else {
            const Place at = place(given, (unsigned int)piece);
            const int count = min(PIECE, given.run - at.inner * PIECE);
            const long long first = (long long)at.inner * PIECE;
            const Stored *const a = (const Stored *)g.a + at.a + first * g.stride_a;
            const Stored *const b = (const Stored *)g.b + at.b + first * g.stride_b;
            Stored *const c = (Stored *)g.c + at.c + first * g.stride_c;
            const int bytes_a = STAYS_A ? 0 : (RUN_A ? 1 : count) * LD_A * COLS_A * SIZE;
            const int bytes_b = STAYS_B ? 0 : (RUN_B ? 1 : count) * LD_B * COLS_B * SIZE, bytes_c = BETA ? count * STEP_C * SIZE : 0;
            about = known_of(count, a, b, c);
            barrier_expect(barrier, (STAYS_A ? 0 : whole_vectors(a, bytes_a)) + (STAYS_B ? 0 : whole_vectors(b, bytes_b)) +
                                        (BETA ? whole_vectors(c, bytes_c) : 0));
            if (!STAYS_A) fetch_piece<SKEWED_A>(stage + mine * ROOM_A, a, bytes_a, barrier, policy);
            if (!STAYS_B) fetch_piece<SKEWED_B>(stage + STAGE_B + mine * ROOM_B, b, bytes_b, barrier, policy);
            if (BETA) fetch_piece<SKEWED_C>(stage + STAGE_C + mine * ROOM_C, c, bytes_c, barrier, policy);
        }
        if (TWICE) arrive_when_copied(barrier);
    };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, PIECES * (TWICE ? 2 : 1));
        barriers_started();
    }
    block_sync();
    if (asks) UNROLL for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + (long long)i * blocks, i, i);
    int now = 0, out = 0, slot = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = blockIdx.x; group < groups; group += blocks) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + out * BYTES_C;
        barrier_wait(barriers + 8 * now, parity);
        // Several pieces are whole runs.
        const int first = (KEPT_A || KEPT_B) && PIECES == 1 ? place(given, (unsigned int)group).inner * PIECE : 0;
        const Known *const pieces = known + slot * PIECES;
        multiply_pieces(pieces, first, STAYS_A ? shared_memory + AT_A : stage,
                        STAYS_B ? shared_memory + AT_B : stage + STAGE_B, stage + STAGE_C, to, scalars);
        async_fence();
        if (asks) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();              // this one is written, and the stage is free
        write_edges(pieces, to);
        if (asks) {
            write_whole(pieces[mine], to + mine * ROOM_C, policy);
            fetch(group + (long long)STAGES * blocks, now, slot ? slot - 1 : STAGES);
        }
        slot = slot == STAGES ? 0 : slot + 1;
        out ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (asks) bulk_done();
}
