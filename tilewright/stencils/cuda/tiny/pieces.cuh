// Pieces of runs along a batch axis, between device memory and shared memory (PATH 2, OUTER).
//
// Bulk copies take multiples of 16 bytes, and runs may begin and end anywhere. So a piece comes with the bytes before it up
// to such a multiple, and the last bytes, less than 16, by a copy that ends with them. What leaves goes by a bulk copy of
// whole vectors, and element by element before and behind them.
#pragma once

#include "tiny/copy.cuh"
#include "tiny/multiply_several.cuh"
#if MMA && SEVERAL > 1
#include "tiny/multiply_stacked.cuh"
#elif PAIRS
#include "tiny/multiply_pair.cuh"
#elif ODD
#include "tiny/multiply_odd.cuh"
#endif

// What is known of a piece in a stage: its C, its products, by how much A, B and C begin behind where they have room, and the
// stages in which A and B are, where those may be of an earlier group (REUSE).
struct Known {
    Stored *c;
    unsigned int rest, stages;
    INLINE int products() const { return (int)(rest >> 13); }
    INLINE int skew(int operand) const { return (int)(rest >> 4 * operand & (operand == 2 ? 31 : 15)); }
    INLINE int stage(int operand) const { return (int)(stages >> 8 * operand & 255); }
};
static_assert(sizeof(Known) == 16, "needs.py counts 16 bytes");
// Of piece number `mine`.
INLINE Known known_of(int mine, int products, const Stored *a, const Stored *b, Stored *c, unsigned int stages) {
    auto skew = [](const Stored *at) { return (unsigned int)(unsigned long long)at % 16; };
    const unsigned int skew_c = SHIFTED_C ? ((unsigned int)(unsigned long long)c - mine * ROOM_C) % 32 : 0;
    return Known{c, (unsigned int)products << 13 | skew_c << 8 | skew(b) << 4 | skew(a), stages};
}

// What a thread asked for last of an operand, and the stage in which it is. With REUSE what the next group has as well is not
// brought again, and each operand goes round the ring by itself: of the groups of which a stage may still be read, as many as
// there are stages, none has what lies in the stage that is filled, as that is of a group before them.
struct Asked {
    const Stored *from = nullptr;
    int bytes = 0, stage = STAGES - 1;
    // Whether so many bytes must be brought for a group whose own stage is `own`.
    INLINE bool anew(const Stored *at, int count, int own) {
        if (REUSE && from == at && bytes == count) return false;
        from = at;
        bytes = count;
        stage = !REUSE ? own : stage == STAGES - 1 ? 0 : stage + 1;
        return true;
    }
    INLINE unsigned char *place() const { return shared_memory + AT_RING + stage * STAGE; }
};
INLINE unsigned int stages_of(const Asked &a, const Asked &b) { return (unsigned int)(a.stage | b.stage << 8); }

// Asks for a piece of so many bytes. The bytes of the bulk copy are those of whole_vectors().
INLINE int whole_vectors(const Stored *from, int bytes) { return ((int)((unsigned long long)from % 16) + bytes) / 16 * 16; }
template <bool SKEWED> INLINE void fetch_piece(unsigned char *to, const Stored *from, int bytes, unsigned int barrier, unsigned long long policy) {
    const int skew = SKEWED ? (int)((unsigned long long)from % 16) : 0, whole = (skew + bytes) / 16 * 16;
    const unsigned char *const start = (const unsigned char *)from - skew;
    if (!SKEWED || whole) bulk_load<EVICT>(to, start, whole, barrier, policy);
    if (SKEWED && whole < skew + bytes) cp_async<16>(to + whole, start + whole, skew + bytes - whole);
}

// Bytes of a piece of C before its first whole vector, and of its whole vectors.
INLINE int bytes_before(const Known &of) { return SKEWED_C ? min((32 - of.skew(2)) % 16, of.products() * STEP_C * SIZE) : 0; }
INLINE int bytes_whole(const Known &of) { return (of.products() * STEP_C * SIZE - bytes_before(of)) / 16 * 16; }

// Writes the whole vectors of a piece, by one thread.
INLINE void write_whole(const Known &of, const unsigned char *from, unsigned long long policy) {
    const int before = bytes_before(of), whole = bytes_whole(of);
    if (whole) bulk_store<EVICT>((unsigned char *)of.c + before, from + of.skew(2) + before, whole, policy);
}

// Writes what lies before and behind them, an element by a thread.
INLINE void write_edges(const Known *pieces, const unsigned char *from) {
    if constexpr (SKEWED_C && SIZE < 16) {
        constexpr int EDGE = SIZE < 16 ? 16 / SIZE - 1 : 1;
        _Pragma("unroll 1") for (int item = threadIdx.x; item < PIECES * 2 * EDGE; item += THREADS) {
            const int piece = item / (2 * EDGE), element = item % (2 * EDGE);
            const Known &of = pieces[piece];
            const int before = bytes_before(of);
            const int at = element < EDGE ? element * SIZE : before + bytes_whole(of) + (element - EDGE) * SIZE;
            if (at < (element < EDGE ? before : of.products() * STEP_C * SIZE))
                of.c[at / SIZE] = *(const Stored *)(from + piece * ROOM_C + of.skew(2) + at);
        }
    }
}

// Where the matrices of a product are in shared memory, and how many products its piece has from it on.
struct Spot {
    const Stored *a, *b, *c;
    Stored *out;
    int left;
};

// Multiplies the products of a group, which lie at INNER by ALONG positions: `find` says where those of a position are, and
// whether they are there at all; if not, nor are those behind it. A thread has SEVERAL products of which A or B is the same,
// along the second axis where one of them is (ONE_A, ONE_B; BY_ALONG), else along the first.
template <int INNER, int ALONG, bool BY_ALONG, bool ONE_A, bool ONE_B, typename Find>
INLINE void multiply_products(Find find, const Scalars &s) {
    constexpr int UNITS_IN = BY_ALONG ? INNER : ceiling(INNER, SEVERAL), UNITS_OUT = BY_ALONG ? ceiling(ALONG, SEVERAL) : ALONG;
    constexpr int UNITS = UNITS_IN * UNITS_OUT;
    [[maybe_unused]] constexpr int AT_A = vector_bytes(LD_A * SIZE, APART_A * SIZE), AT_B = vector_bytes(LD_B * SIZE, APART_B * SIZE);
    [[maybe_unused]] constexpr int AT_C = vector_bytes(LD_C * SIZE, APART_C * SIZE);
    _Pragma("unroll 1") for (int item = threadIdx.x / (THREADS / SLOTS); item < UNITS * TILES; item += SLOTS) {
        const int unit = ACROSS ? item % UNITS : item / TILES;
        [[maybe_unused]] const int tile = ACROSS ? item / UNITS : item % TILES;
        const int inner = unit % UNITS_IN, along = unit / UNITS_IN;
        Spot spot;
#if MMA && SEVERAL > 1
        // Products of a warp are neighbours in a run.
        const int first = inner * SEVERAL;
        if (!find(first, along, spot)) continue;
        const int count = min(min(SEVERAL, INNER - first), spot.left);
        constexpr int MINE = ONE_A && ONE_B ? 0 : ONE_A ? STEP_B : STEP_A;
        const Neighbours<MINE> of = {ONE_A ? spot.a : spot.b, ONE_A ? spot.b : spot.a, spot.c, spot.out, count};
        if (count == SEVERAL) MultiplyStacked<ONE_A, Eight<MINE>>(of, s).all();
        else MultiplyStacked<ONE_A, Neighbours<MINE>>(of, s).all();
#elif MMA
        if (!find(inner, along, spot)) continue;
        multiply_mma(tile, spot.a, LD_A, spot.b, LD_B, spot.c, spot.out, LD_C, s);
#elif PAIRS
        if (!find(2 * inner, along, spot)) continue;
        Spot next = spot;
        const bool both = 2 * inner + 1 < INNER && find(2 * inner + 1, along, next);
        const Stored *const a[2] = {spot.a, next.a}, *const b[2] = {spot.b, next.b};
        multiply_pair<ONE_A, ONE_B, !TURNED_A, !TURNED_B>(a, b, spot.c, spot.out, both, s);
#elif ODD
        if (!find(inner, along, spot)) continue;
        multiply_odd(tile, spot.a, spot.b, spot.c, spot.out, s);
#elif SEVERAL == 1
        if (!find(inner, along, spot)) continue;
        multiply<ROWS, COLUMNS, AT_A, AT_B, AT_C, TURN>(tile, unit, spot.a, LD_A, spot.b, LD_B, spot.c, spot.out, LD_C, s);
#else
        if (!find(inner, along, spot)) continue;
        Several<SEVERAL> of;
        UNROLL for (int o = 0; o < SEVERAL; o++) {
            const int in = inner + (BY_ALONG ? 0 : o * UNITS_IN), out = along + (BY_ALONG ? o * UNITS_OUT : 0);
            Spot other = spot;
            of.there[o] = o == 0 || (in < INNER && out < ALONG && find(in, out, other));
            of.a[o] = other.a;
            of.b[o] = other.b;
            of.c[o] = other.c;
            of.out[o] = other.out;
        }
        multiply_several<SEVERAL, ONE_A, ONE_B, ROWS, COLUMNS, AT_A, AT_B, AT_C>(tile, of, s);
#endif
    }
}

// A piece of each operand that a thread asks for, and products of that of C.
struct Request {
    const Stored *a = nullptr, *b = nullptr;
    Stored *c = nullptr;
    int bytes_a = 0, bytes_b = 0, products = 0;
};

// The number of a thread among those that ask: neighbours are in different warps, the first ones in the last warps, which have
// the fewest tiles.
INLINE int asker() { return WARPS - 1 - threadIdx.x / 32 + threadIdx.x % 32 * WARPS; }

// Walks over the groups of a block. The first ASKERS threads, by `mine`, ask for what a group reads: `locate` says what that
// is, which takes as long as some multiply-adds and is done before threads wait for each other; `fetch` asks, for a
// stage, and writes down what is known of its pieces in a slot. `multiply` makes the results of a stage.
template <int ASKERS, bool TWICE, typename Locate, typename Fetch, typename Multiply>
INLINE void walk(int groups, int mine, Known *known, unsigned long long policy, Locate locate, Fetch fetch, Multiply multiply_stage) {
    const bool asks = mine < ASKERS;
    // Blocks go over the groups side by side, or with REUSE each over neighbouring ones.
    const int step = REUSE ? 1 : gridDim.x;
    const long long begin = REUSE ? (long long)groups * blockIdx.x / gridDim.x : blockIdx.x;
    const long long end = REUSE ? (long long)groups * (blockIdx.x + 1) / gridDim.x : groups;
    unsigned char *const ring = shared_memory + AT_RING;
    const unsigned int barriers = shared_address(shared_memory);
    auto ask = [&](const Request &request, int to, int slot) { fetch(request, to, barriers + 8 * to, known[slot * ASKERS + mine]); };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, ASKERS * (TWICE ? 2 : 1));
        barriers_started();
    }
    block_sync();
    if (asks) UNROLL for (int i = 0; i < STAGES; i++) if (begin + (long long)i * step < end) ask(locate(begin + (long long)i * step), i, i);
    int now = 0, out = 0, slot = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (long long group = begin; group < end; group += step) {
        unsigned char *const to = shared_memory + AT_OUT + out * BYTES_C;
        const Known *const pieces = known + slot * ASKERS;
        barrier_wait(barriers + 8 * now, parity);
        multiply_stage(group, pieces, ring + now * STAGE, to);
        const bool goes_on = asks && group + (long long)STAGES * step < end;
        Request next;
        if (goes_on) next = locate(group + (long long)STAGES * step);
        if (!DIRECT || TWICE) async_fence();   // bulk copies read what threads wrote, and write where they did
        if (!DIRECT && asks) bulk_read<0>();  // the other buffer, which the next group is written to, has been read
        block_sync();  // this one is written, and the stage is free
        if (!DIRECT) write_edges(pieces, to);
        if (asks) {
            if (!DIRECT && mine < PIECES) write_whole(pieces[mine], to + mine * ROOM_C, policy);
            if (goes_on) ask(next, now, slot ? slot - 1 : STAGES);
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
