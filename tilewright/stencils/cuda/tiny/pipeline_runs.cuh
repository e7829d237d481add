// The pipeline of bulk copies for batches along several axes (PATH 2, OUTER): a group is a piece of a run along the innermost
// axis, or several whole runs. A thread asks for each piece.
#pragma once

#include "tiny/pieces.cuh"

INLINE void multiply_batch(const Nested &given, const Scalars &scalars) {
    const Gemm &g = given.gemm;
    const int groups = given.pieces / PIECES + (given.pieces % PIECES != 0);
    // One more than there are stages: a group's are read while those of another come into its stage.
    Known *const known = (Known *)(shared_memory + AT_KNOWN);
    if (STAYS_A) fetch_once<ROWS_A, COLS_A * STAYING_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (STAYS_B) fetch_once<ROWS_B, COLS_B * STAYING_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    // A thread asks for piece number `mine`, if there is one.
    const int mine = asker();
    const unsigned long long policy = EVICT ? evict_first() : 0;
    // By a thread that asks. It arrives with the bytes of its bulk copies, and once more when its other copies have come.
    constexpr bool TWICE = SKEWED_A || SKEWED_B || (BETA && SKEWED_C);
    auto locate = [&](long long group) {
        Request out;
        const long long piece = group * PIECES + mine;
        if (PIECES > 1 && piece >= given.pieces) return out;
        const Place at = place(given, (unsigned int)piece);
        const long long first = (long long)at.inner * PIECE;
        out.products = min(PIECE, given.run - at.inner * PIECE);
        out.a = (const Stored *)g.a + at.a + first * g.stride_a;
        out.b = (const Stored *)g.b + at.b + first * g.stride_b;
        out.c = (Stored *)g.c + at.c + first * g.stride_c;
        out.bytes_a = STAYS_A ? 0 : (RUN_A ? 1 : out.products) * LD_A * COLS_A * SIZE;
        out.bytes_b = STAYS_B ? 0 : (RUN_B ? 1 : out.products) * LD_B * COLS_B * SIZE;
        return out;
    };
    Asked asked_a, asked_b;
    auto fetch = [&](const Request &of, int own, unsigned int barrier, Known &about) {
        if (PIECES > 1 && !of.products) {
            about = Known{nullptr, 0, 0};
            barrier_expect(barrier, 0);
        } else {
            const int bytes_c = BETA ? of.products * STEP_C * SIZE : 0;
            const bool brings_a = !STAYS_A && asked_a.anew(of.a, of.bytes_a, own), brings_b = !STAYS_B && asked_b.anew(of.b, of.bytes_b, own);
            about = known_of(mine, of.products, of.a, of.b, of.c, stages_of(asked_a, asked_b));
            barrier_expect(barrier, (brings_a ? whole_vectors(of.a, of.bytes_a) : 0) + (brings_b ? whole_vectors(of.b, of.bytes_b) : 0) +
                                        (BETA ? whole_vectors(of.c, bytes_c) : 0));
            if (brings_a) fetch_piece<SKEWED_A>(asked_a.place() + mine * ROOM_A, of.a, of.bytes_a, barrier, policy);
            if (brings_b) fetch_piece<SKEWED_B>(asked_b.place() + STAGE_B + mine * ROOM_B, of.b, of.bytes_b, barrier, policy);
            if (BETA) fetch_piece<SKEWED_C>(shared_memory + AT_RING + own * STAGE + STAGE_C + mine * ROOM_C + about.skew(2) / 16 * 16, of.c, bytes_c, barrier, policy);
        }
        if (TWICE) arrive_when_copied(barrier);
    };
    auto multiply_pieces = [&](long long group, const Known *pieces, const unsigned char *stage, unsigned char *out) {
        const unsigned char *const in_ring = REUSE ? shared_memory + AT_RING : stage;
        const unsigned char *const a = STAYS_A ? shared_memory + AT_A : in_ring;
        const unsigned char *const b = STAYS_B ? shared_memory + AT_B : in_ring + STAGE_B;
        // The number of the first product in its run. Several pieces are whole runs.
        const int first = (KEPT_A || KEPT_B) && PIECES == 1 ? place(given, (unsigned int)group).inner * PIECE : 0;
        auto find = [&](int product, int piece, Spot &spot) {
            const Known &known = pieces[piece];
            if (product >= known.products()) return false;
            const int at_c = piece * ROOM_C + known.skew(2) + product * STEP_C * SIZE;
            const int there_a = REUSE ? known.stage(0) * STAGE : 0, there_b = REUSE ? known.stage(1) * STAGE : 0;
            spot.a = (const Stored *)(a + (STAYS_A ? 0 : there_a + piece * ROOM_A + known.skew(0))) + (KEPT_A ? first + product : product) * STEP_A;
            spot.b = (const Stored *)(b + (STAYS_B ? 0 : there_b + piece * ROOM_B + known.skew(1))) + (KEPT_B ? first + product : product) * STEP_B;
            spot.c = (const Stored *)(stage + STAGE_C + at_c);
            spot.out = DIRECT ? known.c + product * STEP_C : (Stored *)(out + at_c);
            spot.left = known.products() - product;
            return true;
        };
        multiply_products<PIECE, PIECES, false, SHARED_A || RUN_A, SHARED_B || RUN_B>(find, scalars);
    };
    walk<PIECES, TWICE>(groups, mine, known, policy, locate, fetch, multiply_pieces);
}
