// Operands that run across k, copied along k into the workspace by the same launch, before anything is multiplied: what tensor
// maps bring from there lies as tensor cores read it. It costs a pass over the operand, and what is turned in shared memory
// passes its banks three times in place of once for every tile that needs it. Elements have 32 bits.
//
// Who includes this says which operands these are: COPY_A, COPY_B. In front of the workspace are two counters, then come sums of
// tiles that are cut, and then the copies.
//
// Warps take pieces by their turn, and the ones that load wait until all are done: nobody waits who has a piece, so blocks need
// not run at the same time. Of a piece a lane has four tiles of 4 x 4 numbers: it reads 16 bytes of four columns each, of which
// eight lanes have a line, and writes 16 bytes of four rows, of which four lanes have half a line.
#pragma once

#include "lib/global.cuh"

constexpr bool COPIES = COPY_A || COPY_B;
constexpr int IN_FRONT = COPIES ? 128 : 0;                           // bytes of the workspace before what else is there
constexpr int PIECE_ACROSS = 32, PIECE_ALONG = 64, STRIPS = PIECE_ALONG / 16;  // of a piece; and what four lanes have along k

// Where the operands lie, with the elements from column to column, and how many bytes of the workspace are in front of copies.
struct Copied {
    const Stored *a, *b;
    long long lda, ldb, at_a, at_b;
};

// How far the turns have come: pieces that somebody has, and that are done.
struct Turns {
    unsigned int next, done;
};

struct Copy {
    const Stored *from;
    long long leading;
    Stored *to;
    int across, k;

    INLINE int along() const { return ceiling(k, PIECE_ALONG); }
    INLINE int pieces() const { return ceiling(across, PIECE_ACROSS) * along(); }

    INLINE void make(int piece, int lane) const {
        const int begin = piece / along() * PIECE_ACROSS, start = piece % along() * PIECE_ALONG;
        const int row = begin + lane % 8 * 4, first = start + lane / 8 * 4;
        const bool whole = begin + PIECE_ACROSS <= across && start + PIECE_ALONG <= k;
        uint4 x[STRIPS][4];
        if (whole) {
            // Without a branch, so that all are on their way together.
            UNROLL for (int s = 0; s < STRIPS; s++)
                UNROLL for (int i = 0; i < 4; i++)
                    global_load(x[s][i], (const uint4 *)(from + row + (first + 16 * s + i) * leading));
        } else {
            UNROLL for (int s = 0; s < STRIPS; s++) UNROLL for (int i = 0; i < 4; i++) x[s][i] = edge(row, first + 16 * s + i);
        }
        const long long length = ceiling(k, SLICE) * SLICE;
        UNROLL for (int s = 0; s < STRIPS; s++) {
            const uint4 *const t = x[s];
            const uint4 turned[4] = {make_uint4(t[0].x, t[1].x, t[2].x, t[3].x), make_uint4(t[0].y, t[1].y, t[2].y, t[3].y),
                                     make_uint4(t[0].z, t[1].z, t[2].z, t[3].z), make_uint4(t[0].w, t[1].w, t[2].w, t[3].w)};
            UNROLL for (int i = 0; i < 4; i++)
                if (whole || (row + i < across && first + 16 * s < k))
                    global_store((uint4 *)(to + (row + i) * length + first + 16 * s), turned[i]);
        }
    }

    // Four elements of a column, as far as they are there: behind the last row another operand may begin, or nothing.
    INLINE uint4 edge(int row, int at) const {
        uint4 x = make_uint4(0, 0, 0, 0);
        const unsigned int *const column = (const unsigned int *)(from + row + at * leading);
        if (at < k && row + 4 <= across) {
            global_load(x, (const uint4 *)column);
        } else if (at < k) {
            if (row < across) global_load(x.x, column);
            if (row + 1 < across) global_load(x.y, column + 1);
            if (row + 2 < across) global_load(x.z, column + 2);
        }
        return x;
    }
};

INLINE Copy copy_of_a(const Product &g, const Copied &copied, const Cut &cut) {
    return Copy{copied.a, copied.lda, (Stored *)(cut.workspace + copied.at_a), g.m, g.k};
}
INLINE Copy copy_of_b(const Product &g, const Copied &copied, const Cut &cut) {
    return Copy{copied.b, copied.ldb, (Stored *)(cut.workspace + copied.at_b), g.n, g.k};
}
INLINE unsigned int pieces(const Product &g, const Copied &copied, const Cut &cut) {
    return (COPY_A ? copy_of_a(g, copied, cut).pieces() : 0) + (COPY_B ? copy_of_b(g, copied, cut).pieces() : 0);
}

// By all warps: pieces, until all have somebody who makes them.
INLINE void copy_operands(const Product &g, const Copied &copied, const Cut &cut, int lane) {
    if (!COPIES) return;
    Turns *const turns = (Turns *)cut.workspace;
    const Copy a = copy_of_a(g, copied, cut), b = copy_of_b(g, copied, cut);
    const unsigned int in_a = COPY_A ? a.pieces() : 0, all = pieces(g, copied, cut);
    unsigned int next = 0, done = 0;
    if (lane == 0) next = atomicAdd(&turns->next, 1u);
    _Pragma("unroll 1") for (;; done++) {
        const unsigned int piece = __shfl_sync(0xffffffff, next, 0);
        if (piece >= all) break;
        // Which is the next one is found out meanwhile.
        if (lane == 0) next = atomicAdd(&turns->next, 1u);
        if (COPY_A && piece < in_a) a.make(piece, lane);
        else if (COPY_B) b.make(piece - in_a, lane);
    }
    // Copies of boxes read it by the other proxy, on other SMs, too.
    asm volatile("fence.proxy.async;" ::: "memory");
    __threadfence();
    __syncwarp();
    if (lane == 0 && done) atomicAdd(&turns->done, done);
}

// A whole warp, of which one lane acts: until all pieces are done.
INLINE void operands_copied(const Product &g, const Copied &copied, const Cut &cut, bool acts) {
    if (!COPIES) return;
    const unsigned int all = pieces(g, copied, cut);
    unsigned int done = acts ? 0 : all;
    while (done < all) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(&((Turns *)cut.workspace)->done) : "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncwarp();
}
