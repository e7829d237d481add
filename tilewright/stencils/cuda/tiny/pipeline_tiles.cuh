// The pipeline of bulk copies for batches of which an operand does not lie along the innermost axis, or whose runs are short
// (PATH 2, OUTER, TILE): a group is a tile of two batch axes, the innermost one and the first outer one. Of each operand it
// has runs along one of the two, or one run where the operand is shared along the other, or where the tile has whole runs and
// they lie next to each other (JOINED). A thread asks for each run.
#pragma once

#include "tiny/pieces.cuh"

// What a tile has of an operand: runs, and matrices of a run, of those that there are along both axes.
template <bool TURNED, bool HELD, bool ALONG, bool JOINED> struct Runs {
    static INLINE int one(bool turned, int inner, int along, int none) { return turned ? (HELD ? none : inner) : (ALONG ? along : none); }
    static INLINE int count(int inner, int along) { return JOINED ? 1 : one(TURNED, inner, along, 1); }
    static INLINE int length(int inner, int along) { return JOINED ? inner * along : one(!TURNED, inner, along, 1); }
    // The run of a product, and its matrix in it.
    static INLINE int run(int inner, int along) { return JOINED ? 0 : one(TURNED, inner, along, 0); }
    static INLINE int matrix(int inner, int along) { return JOINED ? along * PIECE + inner : one(!TURNED, inner, along, 0); }
};
typedef Runs<TURNED_A, HELD_A, ALONG_A, JOINED_A> RunsA;
typedef Runs<TURNED_B, HELD_B, ALONG_B, JOINED_B> RunsB;
typedef Runs<false, false, true, JOINED_C> RunsC;

INLINE void multiply_batch(const Nested &given, const Scalars &scalars) {
    const Gemm &g = given.gemm;
    // One more than there are stages: a tile's are read while those of another come into its stage.
    Known *const known = (Known *)(shared_memory + AT_KNOWN);
    if (SHARED_A) fetch_once<ROWS_A, COLS_A, LD_A>(shared_memory + AT_A, g.a, g.lda);
    if (SHARED_B) fetch_once<ROWS_B, COLS_B, LD_B>(shared_memory + AT_B, g.b, g.ldb);
    // A thread asks for run number `mine` of each operand, if there is one.
    const int mine = asker();
    const unsigned long long policy = EVICT ? evict_first() : 0;
    // By a thread that asks. It arrives with the bytes of its bulk copies, and once more when its other copies have come.
    constexpr bool TWICE = SKEWED_A || SKEWED_B || (BETA && SKEWED_C);
    auto locate = [&](long long number) {
        Request out;
        const Place at = place(given, (unsigned int)number);
        const long long first = (long long)at.inner * PIECE;
        const int inner = min(PIECE, given.run - at.inner * PIECE), along = min(TILE, given.across - at.along);
        const bool asks_a = !SHARED_A && mine < RunsA::count(inner, along), asks_b = !SHARED_B && mine < RunsB::count(inner, along);
        const bool writes = mine < RunsC::count(inner, along);
        out.products = writes ? RunsC::length(inner, along) : 0;
        out.a = (const Stored *)g.a + at.a + first * g.stride_a + mine * (TURNED_A ? g.stride_a : given.step_a[ALONG_AT]);
        out.b = (const Stored *)g.b + at.b + first * g.stride_b + mine * (TURNED_B ? g.stride_b : given.step_b[ALONG_AT]);
        out.c = (Stored *)g.c + at.c + first * g.stride_c + mine * given.step_c[ALONG_AT];
        out.bytes_a = asks_a ? RunsA::length(inner, along) * STEP_A * SIZE : 0;
        out.bytes_b = asks_b ? RunsB::length(inner, along) * STEP_B * SIZE : 0;
        return out;
    };
    Asked asked_a, asked_b;
    auto fetch = [&](const Request &of, int own, unsigned int barrier, Known &known_here) {
        const int bytes_c = BETA ? of.products * STEP_C * SIZE : 0;
        const bool brings_a = of.bytes_a && asked_a.anew(of.a, of.bytes_a, own), brings_b = of.bytes_b && asked_b.anew(of.b, of.bytes_b, own);
        known_here = known_of(mine, of.products, of.a, of.b, of.c, stages_of(asked_a, asked_b));
        barrier_expect(barrier, (brings_a ? whole_vectors(of.a, of.bytes_a) : 0) + (brings_b ? whole_vectors(of.b, of.bytes_b) : 0) +
                                    (bytes_c ? whole_vectors(of.c, bytes_c) : 0));
        if (brings_a) fetch_piece<SKEWED_A>(asked_a.place() + mine * ROOM_A, of.a, of.bytes_a, barrier, policy);
        if (brings_b) fetch_piece<SKEWED_B>(asked_b.place() + STAGE_B + mine * ROOM_B, of.b, of.bytes_b, barrier, policy);
        if (bytes_c) fetch_piece<SKEWED_C>(shared_memory + AT_RING + own * STAGE + STAGE_C + mine * ROOM_C + known_here.skew(2) / 16 * 16, of.c, bytes_c, barrier, policy);
        if (TWICE) arrive_when_copied(barrier);
    };
    auto multiply_tile = [&](long long, const Known *runs, const unsigned char *stage, unsigned char *out) {
        const unsigned char *const in_ring = REUSE ? shared_memory + AT_RING : stage;
        const unsigned char *const a = SHARED_A ? shared_memory + AT_A : in_ring;
        const unsigned char *const b = SHARED_B ? shared_memory + AT_B : in_ring + STAGE_B;
        auto find = [&](int inner, int along, Spot &spot) {
            const int run_c = RunsC::run(inner, along), in_run = RunsC::matrix(inner, along);
            const Known &known = runs[run_c];
            if (in_run >= known.products()) return false;
            const int at_c = run_c * ROOM_C + known.skew(2) + in_run * STEP_C * SIZE;
            const int run_a = RunsA::run(inner, along), run_b = RunsB::run(inner, along);
            const int skew_a = SKEWED_A ? runs[run_a].skew(0) : 0, skew_b = SKEWED_B ? runs[run_b].skew(1) : 0;
            const int there_a = REUSE ? runs[run_a].stage(0) * STAGE : 0, there_b = REUSE ? runs[run_b].stage(1) * STAGE : 0;
            spot.a = (const Stored *)(a + (SHARED_A ? 0 : there_a + run_a * ROOM_A + skew_a)) + (SHARED_A ? 0 : RunsA::matrix(inner, along)) * STEP_A;
            spot.b = (const Stored *)(b + (SHARED_B ? 0 : there_b + run_b * ROOM_B + skew_b)) + (SHARED_B ? 0 : RunsB::matrix(inner, along)) * STEP_B;
            spot.c = (const Stored *)(stage + STAGE_C + at_c);
            spot.out = DIRECT ? known.c + in_run * STEP_C : (Stored *)(out + at_c);
            spot.left = known.products() - in_run;
            return true;
        };
        // Pairs, and eight products of a warp, are neighbours in a run.
        constexpr bool BY_ALONG = !PAIRS && SEVERAL < 8 && (!ALONG_A || !ALONG_B);
        multiply_products<PIECE, TILE, BY_ALONG, SHARED_A || (BY_ALONG ? !ALONG_A : HELD_A), SHARED_B || (BY_ALONG ? !ALONG_B : HELD_B)>(find, scalars);
    };
    walk<ASKING, TWICE>(given.pieces, mine, known, policy, locate, fetch, multiply_tile);
}
