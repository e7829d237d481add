// The tile loader: tiles of A and B from device memory to a stage in shared memory, by cp.async (STAGES > 1), or through
// registers (STAGES 1), where pairs are split into planes if SPLIT asks for it.
#pragma once

INLINE constexpr int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

// COUNT neighbours of a stage, moved as one vector.
template <int COUNT> union KeptVector {
    typename Vector<COUNT * KEPT>::Type vector;
    Kept number[COUNT];
    INLINE KeptVector() {}
};

// One operand. FREE is m for A and n for B. An operand tile is FREE_BLK by BLK_K for each matrix of the group; its stored
// columns, one matrix after the other, are dealt out to DOWN threads along the columns and ACROSS the others.
// In a SWIZZLED tile, the vectors of 16 bytes of a stored column of 128 bytes are permuted: see wgmma.cuh.
template <bool K_ALONG, int FREE_BLK, int PITCH, bool SWIZZLED> struct TileLoader {
    static constexpr int ALONG = K_ALONG ? BLK_K : FREE_BLK, COLUMNS = K_ALONG ? FREE_BLK : BLK_K;
    static constexpr int DOWN = common_divisor(DIM_X, ALONG / VEC), ACROSS = THREADS / DOWN;
    static constexpr int P = ALONG / VEC / DOWN, Q = (GROUP * COLUMNS + ACROSS - 1) / ACROSS;
    static constexpr bool EVEN = GROUP * COLUMNS % ACROSS == 0;

#if STAGES == 1
    Pack<VEC> piece[P][Q];       // the k-tile on its way
#endif
    const Stored *at;            // this thread's first element of the next k-tile
    long long leading, matrix;   // elements from one column, and from one matrix, to the next
    int along, across;           // this thread's position in the tile
    int free_left, matrices_left;

    INLINE void start(const void *base, long long ld, long long stride, int first_matrix, int batch, int first, int size) {
        along = threadIdx.x % DOWN * VEC;
        across = threadIdx.x / DOWN;
        leading = ld;
        matrix = stride;
        free_left = size - first;
        matrices_left = batch - first_matrix;
        at = (const Stored *)base + first_matrix * stride + (K_ALONG ? first * ld : (long long)first) + along;
        if (GROUP == 1) at += across * ld;
    }

    INLINE const Stored *address(int p, int q) const {
        if (GROUP == 1) return at + p * DOWN * VEC + q * ACROSS * leading;
        const int column = across + q * ACROSS;
        return at + p * DOWN * VEC + column / COLUMNS * matrix + column % COLUMNS * leading;
    }

    INLINE bool inside(int k_left) const {
        return free_left >= FREE_BLK && k_left >= BLK_K && (GROUP == 1 || matrices_left >= GROUP);
    }

    // The elements of a vector that lie inside the matrix. Both operands must be zero outside of k.
    INLINE int valid(int p, int q, int k_left) const {
        const int column = across + q * ACROSS, c = column % COLUMNS, last = along + p * DOWN * VEC;
        const bool column_valid = c < (K_ALONG ? free_left : k_left) && (GROUP == 1 || column / COLUMNS < matrices_left);
        return column_valid ? max(0, min(VEC, (K_ALONG ? k_left : free_left) - last)) : 0;
    }

#if STAGES > 1
    // Copies the first elements of a vector. A copy of a whole vector with fewer source bytes would do, but some tools
    // take it for a read of all bytes. A single element of 2 bytes passes a register; the barrier that publishes the
    // stage comes after it.
    INLINE void fetch_part(int count, const Stored *from, Kept *to) const {
        constexpr int UNIT = SIZE < 4 ? 2 : 1;
        UNROLL for (int v = 0; v < VEC; v += UNIT) {
            const bool copied = v + UNIT <= count;
            if (UNIT == 2 && v + 1 == count)
                *(unsigned int *)(to + v) = *(const unsigned short *)(from + v);
            else
                cp_async<UNIT * SIZE>(to + v, copied ? from + v : at, copied ? UNIT * SIZE : 0);
        }
    }
#endif

    template <bool WHOLE> INLINE void fetch_as(int k_left, Kept *tile) {
        // Edge tiles are rare, so their code is kept short; with VEC 1 of float64 all tiles of odd sizes are edge tiles.
        constexpr int TOGETHER = WHOLE || STAGES == 1 || (VEC == 1 && !HALVES) ? Q : 1;
        _Pragma("unroll (TOGETHER)") for (int q = 0; q < Q; q++) {
            if (!EVEN && across + q * ACROSS >= GROUP * COLUMNS) break;
            UNROLL for (int p = 0; p < P; p++) {
                const int count = WHOLE ? VEC : valid(p, q, k_left);
#if STAGES > 1
                const int column = across + q * ACROSS, at_k = along + p * DOWN * VEC;
                Kept *const to = tile + column * PITCH + (SWIZZLED ? at_k ^ column % 8 * VEC : at_k);
                if (WHOLE || VEC == 1 || count == VEC || count == 0)
                    cp_async<VEC * SIZE>(to, count ? address(p, q) : at, count ? VEC * SIZE : 0);
                else
                    fetch_part(count, address(p, q), to);
#else
                if (count == VEC) {
                    global_load(piece[p][q].vector, (const typename Vector<VEC * SIZE>::Type *)address(p, q));
                } else {
                    clear(piece[p][q].vector);
                    UNROLL for (int v = 0; v < VEC; v++) if (v < count) piece[p][q].element[v] = address(p, q)[v];
                }
#endif
            }
        }
    }

    // Starts to load a k-tile, of which k_left are inside the matrix, and moves on to the next one.
    INLINE void fetch(int k_left, Kept *tile) {
        if (inside(k_left)) fetch_as<true>(k_left, tile); else fetch_as<false>(k_left, tile);
        at += BLK_K * (K_ALONG ? 1 : leading);
    }

#if STAGES == 1
    // Writes what has been fetched to shared memory; with SPLIT, re and im to their planes.
    INLINE void offload(Kept *tile) const {
        UNROLL for (int q = 0; q < Q; q++) {
            if (!EVEN && across + q * ACROSS >= GROUP * COLUMNS) break;
            UNROLL for (int p = 0; p < P; p++) {
                Kept *const to = tile + (across + q * ACROSS) * PITCH + along + p * DOWN * VEC;
#if COMPLEX && SPLIT
                KeptVector<VEC> re, im;
                UNROLL for (int v = 0; v < VEC; v++) {
                    re.number[v] = piece[p][q].element[v].re;
                    im.number[v] = piece[p][q].element[v].im;
                }
                *(typename Vector<VEC * KEPT>::Type *)to = re.vector;
                *(typename Vector<VEC * KEPT>::Type *)(to + GROUP * COLUMNS * PITCH) = im.vector;
#else
                *(typename Vector<VEC * SIZE>::Type *)to = piece[p][q].vector;
#endif
            }
        }
    }
#endif
};

typedef TileLoader<A_ALONG, BLK_M, PITCH_A, false> TileLoaderA;
typedef TileLoader<B_ALONG, BLK_N, PITCH_B, WGMMA> TileLoaderB;
