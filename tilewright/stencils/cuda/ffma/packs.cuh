// Operands that lie along k, turned before they are multiplied: all warps of the grid copy them into the workspace, slice by slice
// of each tile, where neighbours in m, or in n, are neighbours. It costs two passes over the operand and saves every read of shared
// memory from being one of neighbours along k, whose registers no product finds in different banks.
//
// Warps take pieces of WIDTH rows (of B: columns) and WIDTH * BLOCKS of k by their turn, and those that load wait until all are done:
// nobody waits who has a piece, so blocks need not run at the same time.
#pragma once

constexpr bool PACK_A = TRANS_A, PACK_B = !TRANS_B;  // whether stored columns run along k
constexpr int WIDTH = 32, BLOCKS = 2;                // of what a warp turns at once, and how many in a row

// How far the turns have come, the first 16 bytes of the workspace, which are 0 when the kernel begins.
struct Turns {
    unsigned int next, done;
};

// Elements of whole slices along k.
INLINE int whole(int k) { return ceiling(k, DEPTH) * DEPTH; }

struct Packed {
    const Stored *from;
    long long leading;  // elements from one row (of B: column) to the next
    int rows, k;
    Stored *to;
    int tile;

    INLINE int pieces_along() const { return ceiling(whole(k), WIDTH * BLOCKS); }
    INLINE int pieces() const { return ceiling(rows, tile) * (tile / WIDTH) * pieces_along(); }

    // `room`: WIDTH x (WIDTH + 1) elements of this warp in shared memory.
    INLINE void copy(int piece, Stored *room, int lane) const {
        const int along = pieces_along(), row = piece / along * WIDTH;
        _Pragma("unroll 1") for (int block = 0; block < BLOCKS; block++) {
            const int begin = (piece % along * BLOCKS + block) * WIDTH;
            Stored x[WIDTH];
            UNROLL for (int i = 0; i < WIDTH; i++)
                x[i] = row + i < rows && begin + lane < k ? from[begin + lane + (row + i) * leading] : zero();
            UNROLL for (int i = 0; i < WIDTH; i++) room[i * (WIDTH + 1) + lane] = x[i];
            __syncwarp();
            Stored *const first = to + (long long)(row / tile * tile) * whole(k) + row % tile + lane;
            UNROLL for (int i = 0; i < WIDTH; i++)
                if (begin + i < whole(k)) first[(long long)(begin + i) * tile] = room[lane * (WIDTH + 1) + i];
            __syncwarp();
        }
    }
};

INLINE Packed packed_a(const Product &g, const Packs &packs, const Cut &cut) {
    return Packed{packs.a, packs.lda, g.m, g.k, (Stored *)(cut.workspace + packs.at_a), TILE_M};
}
INLINE Packed packed_b(const Product &g, const Packs &packs, const Cut &cut) {
    return Packed{packs.b, packs.ldb, g.n, g.k, (Stored *)(cut.workspace + packs.at_b), TILE_N};
}
INLINE int pieces(const Product &g, const Packs &packs, const Cut &cut) {
    return (PACK_A ? packed_a(g, packs, cut).pieces() : 0) + (PACK_B ? packed_b(g, packs, cut).pieces() : 0);
}

// All warps of a block, in the shared memory of slices that have not come yet.
INLINE void pack(const Product &g, const Packs &packs, const Cut &cut, int warp, int lane) {
    if (!PACK_A && !PACK_B) return;
    Turns *const turns = (Turns *)cut.workspace;
    const Packed a = packed_a(g, packs, cut), b = packed_b(g, packs, cut);
    const int in_a = PACK_A ? a.pieces() : 0, all = pieces(g, packs, cut);
    Stored *const room = (Stored *)shared_memory + warp * WIDTH * (WIDTH + 1);
    int done = 0;
    _Pragma("unroll 1") for (;; done++) {
        int piece = 0;
        if (lane == 0) piece = atomicAdd(&turns->next, 1);
        piece = __shfl_sync(0xffffffff, piece, 0);
        if (piece >= all) break;
        if (piece < in_a) a.copy(piece, room, lane);
        else b.copy(piece - in_a, room, lane);
    }
    // Copies will read it, and write where it was turned, by the other proxy.
    asm volatile("fence.proxy.async;" ::: "memory");
    __threadfence();
    __syncwarp();
    if (lane == 0 && done) atomicAdd(&turns->done, done);
    __syncthreads();
}

// One thread that loads waits for all pieces.
INLINE void packed(const Product &g, const Packs &packs, const Cut &cut) {
    if (!PACK_A && !PACK_B) return;
    const unsigned int all = pieces(g, packs, cut);
    unsigned int done;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(&((Turns *)cut.workspace)->done) : "memory");
    } while (done != all);
    asm volatile("fence.proxy.async;" ::: "memory");
}
