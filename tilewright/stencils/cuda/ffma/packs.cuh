// Operands that do not come as they lie, packed before they are multiplied: all warps of the grid copy them into the workspace,
// slice by slice of each tile, where neighbours in m, or in n, are neighbours. What lies along k is turned: it costs a pass over
// the operand and saves all reads of shared memory from being of neighbours along k, whose registers no product finds in different
// banks. Complex numbers become planes of real ones, one behind the other:
//
//   four products   A: re, im             B: re, -im, im               re A * re B, then im A * -im B; re A * im B, then im A * re B
//   three           A: re + im, re, im    B: re, im - re, -(re + im)   each of A times that of B: the first and the second are the
//                                                                      imaginary part, the first and the third the real one
//
// Warps take pieces of WIDTH rows (of B: columns) and WIDTH * BLOCKS of k by their turn, and those that load wait until all are done:
// nobody waits who has a piece, so blocks need not run at the same time.
#pragma once

constexpr int WIDTH = 32, BLOCKS = 2;  // of what a warp packs at once, and how many in a row
constexpr int PLANES_A = PRODUCTS == 4 ? 2 : PRODUCTS, PLANES_B = PRODUCTS == 4 ? 3 : PRODUCTS;

// The planes of a product.
INLINE int plane_a(int product) { return product % PLANES_A; }
INLINE int plane_b(int product) { return product % PLANES_B; }

// What a plane has of an element of the right operand, or of the left one.
INLINE float part_of(Stored x, bool right, int plane) {
#if COMPLEX
    const float im = (right ? CONJ_B : CONJ_A) ? -x.im : x.im;
    if (PRODUCTS == 3)
        return right ? (plane == 0 ? x.re : plane == 1 ? im - x.re : -(x.re + im)) : (plane == 0 ? x.re + im : plane == 1 ? x.re : im);
    return plane == 0 ? x.re : right && plane == 1 ? -im : im;
#else
    return x;
#endif
}

// How far the turns have come, in front of the workspace, where all is 0 when the kernel begins.
struct Turns {
    unsigned int next, done;
};

// Elements of whole slices along k.
INLINE int whole(int k) { return ceiling(k, DEPTH) * DEPTH; }

template <bool ALONG, bool RIGHT, int PLANES, int TILE> struct Packed {
    const Stored *from;
    long long leading;  // elements from one stored column to the next
    long long plane;
    int rows, k;
    float *to;

    INLINE int pieces_along() const { return ceiling(whole(k), WIDTH * BLOCKS); }
    INLINE int pieces() const { return ceiling(rows, TILE) * (TILE / WIDTH) * pieces_along(); }

    // `room`: WIDTH x (WIDTH + 1) numbers of this warp in shared memory.
    INLINE void copy(int piece, float *room, int lane) const {
        const int along = pieces_along(), row = piece / along * WIDTH, least = row / TILE * TILE;
        _Pragma("unroll 1") for (int block = 0; block < BLOCKS; block++) {
            const int begin = (piece % along * BLOCKS + block) * WIDTH;
            Stored x[WIDTH];
            // Stored columns of so many elements that are there.
            const int down = lane + (ALONG ? begin : row), across = ALONG ? row : begin;
            const int there = down < (ALONG ? k : rows) ? (ALONG ? rows : k) - across : 0;
            const Stored *at = from + down + across * leading;
            UNROLL for (int i = 0; i < WIDTH; i++, at += leading) x[i] = i < there ? *at : zero();
            float *first = to + (long long)least * whole(k) + (long long)begin * TILE + (row - least) + lane;
            const int kept = whole(k) - begin;
            UNROLL for (int p = 0; p < PLANES; p++, first += plane) {
                if (ALONG) {
                    UNROLL for (int i = 0; i < WIDTH; i++) room[i * (WIDTH + 1) + lane] = part_of(x[i], RIGHT, p);
                    __syncwarp();
                }
                UNROLL for (int i = 0; i < WIDTH; i++)
                    if (i < kept) first[i * TILE] = ALONG ? room[lane * (WIDTH + 1) + i] : part_of(x[i], RIGHT, p);
                __syncwarp();
            }
        }
    }
};
typedef Packed<TRANS_A, false, PLANES_A, TILE_M> PackedA;
typedef Packed<!TRANS_B, true, PLANES_B, TILE_N> PackedB;

INLINE PackedA packed_a(const Product &g, const Packs &packs, const Cut &cut) {
    return PackedA{packs.a, packs.lda, packs.plane_a, g.m, g.k, (float *)(cut.workspace + packs.at_a)};
}
INLINE PackedB packed_b(const Product &g, const Packs &packs, const Cut &cut) {
    return PackedB{packs.b, packs.ldb, packs.plane_b, g.n, g.k, (float *)(cut.workspace + packs.at_b)};
}
INLINE int pieces(const Product &g, const Packs &packs, const Cut &cut) {
    return (PACK_A ? packed_a(g, packs, cut).pieces() : 0) + (PACK_B ? packed_b(g, packs, cut).pieces() : 0);
}

// All warps of a block, in the shared memory of slices that have not come yet.
INLINE void pack(const Product &g, const Packs &packs, const Cut &cut, int warp, int lane) {
    if (!PACK_A && !PACK_B) return;
    Turns *const turns = (Turns *)cut.workspace;
    const PackedA a = packed_a(g, packs, cut);
    const PackedB b = packed_b(g, packs, cut);
    const int in_a = PACK_A ? a.pieces() : 0, all = pieces(g, packs, cut);
    float *const room = (float *)shared_memory + warp * WIDTH * (WIDTH + 1);
    int done = 0;
    _Pragma("unroll 1") for (;; done++) {
        int piece = 0;
        if (lane == 0) piece = atomicAdd(&turns->next, 1);
        piece = __shfl_sync(0xffffffff, piece, 0);
        if (piece >= all) break;
        if (PACK_A && piece < in_a) a.copy(piece, room, lane);
        else if (PACK_B) b.copy(piece - in_a, room, lane);
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
