// An operand that runs across k, copied along k into the workspace by the same launch: what tensor maps bring from there lies as
// tensor cores read it. It costs a pass over the operand; what is turned in shared memory passes its banks three times in place
// of once, for every tile that needs it. Elements have 32 bits.
//
// Who includes this says which operand it is: COPY_A or COPY_B. In front of the workspace are counters, then come sums of tiles
// that are cut, and then the copy.
//
//   ahead    all of it, or with BEHIND what the first tiles of all blocks need, by all warps, before anything is multiplied
//   behind   the rest, while these tiles are multiplied, by the warps of the group that loads which have nothing else to do
//
// Warps take pieces by their turn, and the ones that load wait until all are done that they need: nobody waits who has a piece,
// so blocks need not run at the same time. Of a piece a lane has four tiles of 4 x 4 numbers: it reads 16 bytes of four columns
// each, of which eight lanes have a line, and writes 16 bytes of four rows, of which four lanes have half a line.
#pragma once

#include "lib/global.cuh"

constexpr bool COPIES = COPY_A || COPY_B;
constexpr int STRIP = 32, PIECE = 64, PARTS_OF_PIECE = PIECE / 16;  // lines, elements along k of a piece, and parts of four lanes
constexpr int FRONT = 128;                                          // bytes that counters are a multiple of

// Where the operand lies, with the elements from column to column, and how many bytes of the workspace are in front of its copy.
struct Copied {
    const Stored *from;
    long long leading, at;
};

// Pieces that somebody has and that are done of what is copied ahead, that somebody has of the rest, and those of each strip that
// are done of it.
struct Turns {
    unsigned int next, done, behind, strips[1];
};

// Bytes of the workspace that count.
INLINE int in_front(const Product &g) {
    return COPIES ? ceiling(12 + 4 * ceiling(COPY_A ? g.m : g.n, STRIP), FRONT) * FRONT : 0;
}

struct Copy {
    const Product &g;
    const Copied &copied;
    const Cut &cut;

    INLINE Copy(const Product &product, const Copied &operand, const Cut &given) : g(product), copied(operand), cut(given) {}

    INLINE Turns *turns() const { return (Turns *)cut.workspace; }
    INLINE int lines() const { return COPY_A ? g.m : g.n; }
    INLINE int strips() const { return ceiling(lines(), STRIP); }
    INLINE int along() const { return ceiling(g.k, PIECE); }  // pieces of a strip

    // Strips that the first tiles of all blocks need.
    INLINE int ahead() const {
        if (!BEHIND) return strips();
        const int width = min(g.band, Tiles(g).across), down = ceiling(gridDim.x, width);
        return min(strips(), COPY_A ? down * (CLUSTER_M * TILE_M / STRIP) : width * (CLUSTER_N * TILE_N / STRIP));
    }

    // COUNT parts of it are on their way together.
    template <int COUNT> INLINE void make(unsigned int piece, int lane) const {
        const int begin = piece / along() * STRIP, start = piece % along() * PIECE, row = begin + lane % 8 * 4;
        const bool whole = begin + STRIP <= lines() && start + PIECE <= g.k;
        const long long length = ceiling(g.k, SLICE) * SLICE;
        Stored *const to = (Stored *)(cut.workspace + copied.at) + row * length;
        _Pragma("unroll 1") for (int part = 0; part < PARTS_OF_PIECE; part += COUNT) {
            const int first = start + 16 * part + lane / 8 * 4;
            uint4 x[COUNT][4];
            if (whole) {
                // Without a branch between them.
                const Stored *from = copied.from + row + first * copied.leading;
                UNROLL for (int p = 0; p < COUNT; p++, from += 12 * copied.leading)
                    UNROLL for (int i = 0; i < 4; i++, from += copied.leading) global_load(x[p][i], (const uint4 *)from);
            } else {
                UNROLL for (int p = 0; p < COUNT; p++) UNROLL for (int i = 0; i < 4; i++) x[p][i] = edge(row, first + 16 * p + i);
            }
            UNROLL for (int p = 0; p < COUNT; p++) {
                const uint4 *const t = x[p];
                const int k = first + 16 * p;
                put(to, row, k, 0, length, whole, make_uint4(t[0].x, t[1].x, t[2].x, t[3].x));
                put(to, row, k, 1, length, whole, make_uint4(t[0].y, t[1].y, t[2].y, t[3].y));
                put(to, row, k, 2, length, whole, make_uint4(t[0].z, t[1].z, t[2].z, t[3].z));
                put(to, row, k, 3, length, whole, make_uint4(t[0].w, t[1].w, t[2].w, t[3].w));
            }
        }
    }

    // Four numbers along k of line `row` + i. Behind the end of a line they are anything: maps end there.
    INLINE void put(Stored *to, int row, int k, int i, long long length, bool whole, uint4 x) const {
        if (whole || (row + i < lines() && k < g.k)) global_store((uint4 *)(to + i * length + k), x);
    }

    // Four numbers of a column, as far as they are there: behind the last row another operand may begin, or nothing.
    INLINE uint4 edge(int row, int k) const {
        uint4 x = make_uint4(0, 0, 0, 0);
        const unsigned int *const column = (const unsigned int *)(copied.from + row + k * copied.leading);
        if (k < g.k && row + 4 <= lines()) {
            global_load(x, (const uint4 *)column);
        } else if (k < g.k) {
            if (row < lines()) global_load(x.x, column);
            if (row + 1 < lines()) global_load(x.y, column + 1);
            if (row + 2 < lines()) global_load(x.z, column + 2);
        }
        return x;
    }
};

// What a warp has copied comes before what it says of it: copies of boxes read it by the other proxy, on other SMs, too.
INLINE void copies_shown() {
    asm volatile("fence.proxy.async;" ::: "memory");
    __threadfence();
    __syncwarp();
}

INLINE unsigned int counted(const unsigned int *counter) {
    unsigned int found;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory");
    return found;
}

// By all warps: what the first tiles need. Warp `waits` returns when all of it is done.
INLINE void copy_ahead(const Product &g, const Copied &copied, const Cut &cut, bool waits, int lane) {
    if (!COPIES) return;
    const Copy copy(g, copied, cut);
    Turns *const turns = copy.turns();
    const unsigned int all = copy.ahead() * copy.along();
    unsigned int next = 0, done = 0;
    if (lane == 0) next = atomicAdd(&turns->next, 1u);
    _Pragma("unroll 1") for (;; done++) {
        const unsigned int piece = __shfl_sync(0xffffffff, next, 0);
        if (piece >= all) break;
        // Which is the next one is found out meanwhile.
        if (lane == 0) next = atomicAdd(&turns->next, 1u);
        copy.make<PARTS_OF_PIECE>(piece, lane);
    }
    copies_shown();
    if (lane == 0 && done) atomicAdd(&turns->done, done);
    if (!waits) return;
    while (lane == 0 && counted(&turns->done) < all) __nanosleep(32);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncwarp();
}

// By a warp that has nothing else to do: what other tiles need.
INLINE void copy_behind(const Product &g, const Copied &copied, const Cut &cut, int lane) {
    if (!BEHIND) return;
    const Copy copy(g, copied, cut);
    Turns *const turns = copy.turns();
    const unsigned int all = copy.strips() * copy.along();
    _Pragma("unroll 1") while (true) {
        unsigned int piece = 0;
        if (lane == 0) piece = copy.ahead() * copy.along() + atomicAdd(&turns->behind, 1u);
        piece = __shfl_sync(0xffffffff, piece, 0);
        if (piece >= all) break;
        copy.make<2>(piece, lane);
        copies_shown();
        if (lane == 0) atomicAdd(&turns->strips[piece / copy.along()], 1u);
    }
}

// By the warp that loads: until what a tile needs is there, each lane for a strip of it.
INLINE void copies_there(const Product &g, const Copied &copied, const Cut &cut, const Tile &tile, int lane) {
    if (!BEHIND) return;
    const Copy copy(g, copied, cut);
    const int begin = (COPY_A ? tile.m : tile.n) / STRIP, strip = begin + lane, ahead = copy.ahead();
    constexpr int MOST = (COPY_A ? TILE_M : TILE_N) / STRIP;
    static_assert(MOST <= 32, "strips: a lane waits for each of a tile");
    if (begin + MOST <= ahead) return;
    if (lane < MOST && strip >= ahead && strip < copy.strips())
        while (counted(&copy.turns()->strips[strip]) < copy.along()) __nanosleep(32);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncwarp();
}
