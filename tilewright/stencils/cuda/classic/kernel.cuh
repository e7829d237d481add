// classic: C = alpha * op(A) * op(B) + beta * C for matrices of any size, one tile of C per block.
//
// The universal GEMM stencil of J. Kurzak, S. Tomov, J. Dongarra, "Autotuning GEMM kernels for the
// Fermi GPU" (2012), section 6.3: its nine sizes, its reshaped thread grids for reading A and B, its
// skewed shared memory and its software-pipelined loop (algorithm 4), with VEC = WIDE = BUFFERS =
// SPLIT = 1. The other values are what later devices pay for: wide reads, fewer barriers, a warp that
// covers a nearly square piece of the tile, and several blocks for one tile where tiles are few.
//
//              N_BLK                     one block: M_DIM x N_DIM threads, all of K (or its share)
//            +-------+                   one k-tile: K_BLK of the tile of A and of that of B,
//      K_BLK |   B   |  N_DIMB threads     device memory -> registers    (while the k-tile before it
//            +-------+                     registers -> shared memory     is being multiplied)
//   K_BLK                                one thread: every M_DIM-th group of VEC rows of the tile,
//   +---+    +-------+                     times every N_DIM-th group of VEC columns
//   |   |    |       |
//   | A |    |   C   |  M_BLK            shared memory: A as [k][m], B as [k][n], each row VEC elements
//   |   |    |       |                     longer than the tile, so that rows start in different banks.
//   +---+    +-------+                     With VEC = 1, B lies as [n][k] like the paper's.
//   M_DIMA threads
//
// Requires: addresses, leading dimensions, batch strides and extents along the stored columns that are
// multiples of WIDE elements. k may be anything: the first k-tile takes the remainder of k by K_BLK, so that
// all others are whole. Rows and columns outside the matrix are read from its last ones and not stored.
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"  // of 32 and 64 bits

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef N_DIM
#define N_DIM 16  // threads of a block along n
#endif
#ifndef M_DIM
#define M_DIM 16  // threads of a block along m
#endif
#ifndef K_BLK
#define K_BLK 8  // k of a k-tile
#endif
#ifndef N_BLK
#define N_BLK 128  // columns of a block's tile of C
#endif
#ifndef M_BLK
#define M_BLK 128  // rows of a block's tile of C
#endif
#ifndef M_DIMA
#define M_DIMA 32  // threads along the stored columns of A while it is read
#endif
#ifndef N_DIMA
#define N_DIMA 8  // threads along its stored rows
#endif
#ifndef M_DIMB
#define M_DIMB 2  // the same for B
#endif
#ifndef N_DIMB
#define N_DIMB 128
#endif
#ifndef READ
#define READ 0  // 0: plain loads, 1: through the read-only path, 2: 1-D texture, 3: 2-D texture
#endif
#ifndef WIDE
#define WIDE 4  // elements of one read from device memory
#endif
#ifndef VEC
#define VEC 4  // neighbouring rows (and columns) of a thread; elements of one read from shared memory
#endif
#ifndef LANES
#define LANES 8  // lanes of a warp along m
#endif
#ifndef BUFFERS
#define BUFFERS 2  // k-tiles in shared memory: a second one saves a barrier per k-tile
#endif
#ifndef ORDER
#define ORDER 1  // of the multiply-adds: 0 rows, 1 rows there and back, 2 columns there and back
#endif
#ifndef SPLIT
#define SPLIT 1  // blocks of a cluster that share the k of one tile
#endif
#ifndef EARLY
#define EARLY 0  // C prefetch, 1: C is brought to the second-level cache before the mainloop begins
#endif
#ifndef MMA
#define MMA 0  // 1: float64 tensor cores multiply (sm_90), else multiply-add units
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/cluster.cuh"
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "lib/opaque.cuh"
#if MMA
#include "lib/fragment.cuh"
#endif

constexpr int THREADS = M_DIM * N_DIM;
constexpr int M_THR = M_BLK / M_DIM, N_THR = N_BLK / N_DIM;  // elements of C of one thread
// How far apart neighbours in k and in m (or n) lie in shared memory.
constexpr bool AS_IN_PAPER = VEC == 1 && !MMA;
constexpr int SKEW = MMA ? 32 / SIZE : VEC;  // four rows of k, read together, in different banks
constexpr int A_STEP_K = M_BLK + SKEW, A_STEP_M = 1;
constexpr int B_STEP_K = AS_IN_PAPER ? 1 : N_BLK + SKEW, B_STEP_N = AS_IN_PAPER ? K_BLK + 1 : 1;
constexpr int A_ELEMENTS = A_STEP_K * K_BLK;
constexpr int B_ELEMENTS = AS_IN_PAPER ? B_STEP_N * N_BLK : B_STEP_K * K_BLK;
constexpr int COLUMNS = !MMA ? VEC : COMPLEX ? 2 : 4;  // neighbouring columns of C of a thread
constexpr int STAGE = A_ELEMENTS + B_ELEMENTS;
// Whether what follows from a thread's number is computed for each matrix anew: held from one to the next it spills, where blocks
// share the registers or tensor cores have sums copied.
constexpr bool ANEW = MMA || MIN_BLOCKS > 1;

static_assert(M_BLK % M_DIM == 0 && N_BLK % N_DIM == 0, "tile-overlaid: the thread grid overlays the tile");
static_assert(M_THR % VEC == 0 && N_THR % VEC == 0, "vec-divides: groups of vec rows and columns fill a thread's tile");
static_assert(VEC * SIZE <= 16 && WIDE * SIZE <= 16, "access-width: one access moves 16 bytes at most");
static_assert(M_DIMA * N_DIMA == THREADS, "grid-a: reading A takes all threads");
static_assert(M_DIMB * N_DIMB == THREADS, "grid-b: reading B takes all threads");
static_assert((TRANS_A ? K_BLK : M_BLK) % (M_DIMA * WIDE) == 0,
              "overlay-a: the grid that reads A overlays its stripe");
static_assert((TRANS_A ? M_BLK : K_BLK) % N_DIMA == 0, "overlay-a: the grid that reads A overlays its stripe");
static_assert((TRANS_B ? N_BLK : K_BLK) % (M_DIMB * WIDE) == 0,
              "overlay-b: the grid that reads B overlays its stripe");
static_assert((TRANS_B ? K_BLK : N_BLK) % N_DIMB == 0, "overlay-b: the grid that reads B overlays its stripe");
static_assert(THREADS % 32 == 0, "whole-warps: threads come in warps");
static_assert(M_DIM % LANES == 0 && N_DIM % (32 / LANES) == 0, "lanes-divide: warps overlay the thread grid");
static_assert(!EARLY || (BETA != 0 && SPLIT == 1), "early-c: there is a C to read, and one block reads it");
static_assert(!MMA || (TYPE_BITS == 64 && LANES == 8), "mma-type: tensor cores take float64, in warps of 8 x 4 threads");
static_assert(!MMA || (M_THR % 2 == 0 && N_THR % COLUMNS == 0 && K_BLK % 4 == 0 && VEC == (COMPLEX ? 1 : 2)),
              "mma-tile: a tensor-core product is 16 x 8 x 4");
static_assert(READ < 2 || WIDE == 1, "texel: a texture read is one element");

// ---- vectors ------------------------------------------------------------------------------------------
INLINE void texel(unsigned int &w, unsigned int x, unsigned, unsigned, unsigned) { w = x; }
INLINE void texel(uint2 &w, unsigned int x, unsigned y, unsigned, unsigned) { w = make_uint2(x, y); }
INLINE void texel(uint4 &w, unsigned int x, unsigned y, unsigned z, unsigned q) { w = make_uint4(x, y, z, q); }

// ---- arithmetic -----------------------------------------------------------------------------------------
#if MMA
// Groups of four k that an instruction takes. With two, sums are half as often copied to other registers, and fewer spill.
constexpr int QUADS = !COMPLEX && K_BLK % 8 == 0 ? 2 : 1;

#if COMPLEX
INLINE void product(Element (&c)[4], const Element (&a)[1][2], const Element (&b)[1]) {
    const Element a0 = a[0][0], a1 = a[0][1];
    mma_16x8x4(c[0].re, c[1].re, c[2].re, c[3].re, a0.re, a1.re, b[0].re);
    mma_16x8x4(c[0].im, c[1].im, c[2].im, c[3].im, a0.re, a1.re, b[0].im);
    mma_16x8x4(c[0].re, c[1].re, c[2].re, c[3].re, -a0.im, -a1.im, b[0].im);
    mma_16x8x4(c[0].im, c[1].im, c[2].im, c[3].im, a0.im, a1.im, b[0].re);
}
#else
INLINE void product(Element (&c)[4], const Element (&a)[QUADS][2], const Element (&b)[QUADS]) {
    mma_16x8<QUADS>(c, a, b);
}
#endif
#endif

// ---- one operand: device memory -> registers -> shared memory ----------------------------------------
// Stored columns run along the first index. FREE is m for A and n for B; the other index is k.
template <int THREADS_ALONG, int THREADS_ACROSS, bool K_ALONG, bool CONJ, int FREE_BLK, int STEP_K, int STEP_FREE>
struct Operand {
    static constexpr int ALONG = K_ALONG ? K_BLK : FREE_BLK, ACROSS = K_ALONG ? FREE_BLK : K_BLK;
    static constexpr int P = ALONG / (THREADS_ALONG * WIDE), Q = ACROSS / THREADS_ACROSS;
    // Neighbours along m or n can be stored together where they lie together in shared memory.
    static constexpr int STORE = K_ALONG || STEP_FREE != 1 ? 1 : (WIDE < VEC ? WIDE : VEC);

    Pack<WIDE> piece[P][Q];
    const Element *at[Q];     // this thread's first element of each stored column that it reads
    int row[P];               // further rows, relative to it
    int along, across;        // this thread's place in the read grid
    long long step;           // elements from one k to the next
#if READ >= 2
    unsigned long long texture;
    int x[P], y[Q];           // texel coordinates instead of addresses
    int ld;
#endif

    INLINE void start(const void *base, unsigned long long handle, long long leading, unsigned int thread, int free_first,
                      int free_size, int k_first) {
        along = thread % THREADS_ALONG * WIDE;
        across = thread / THREADS_ALONG;
        step = K_ALONG ? 1 : leading;
        const int last = free_size - (K_ALONG ? 1 : WIDE);
        const int first = K_ALONG ? k_first + along : min(free_first + along, last);
        UNROLL for (int p = 0; p < P; p++) {
            const int r = along + p * THREADS_ALONG * WIDE;
            row[p] = p == 0 ? 0 : K_ALONG ? p * THREADS_ALONG * WIDE : min(free_first + r, last) - first;
        }
        UNROLL for (int q = 0; q < Q; q++) {
            const int c = across + q * THREADS_ACROSS;
            const int column = K_ALONG ? min(free_first + c, last) : k_first + c;
            at[q] = (const Element *)base + first + column * leading;
#if READ >= 2
            y[q] = column;
#endif
        }
#if READ >= 2
        texture = handle;
        ld = (int)leading;
        UNROLL for (int p = 0; p < P; p++) x[p] = first + row[p];
#endif
    }

    // Moves on by a number of k.
    INLINE void advance(int count) {
#if READ >= 2
        UNROLL for (int p = 0; p < P; p++) x[p] += K_ALONG ? count : 0;
        UNROLL for (int q = 0; q < Q; q++) y[q] += K_ALONG ? 0 : count;
#else
        UNROLL for (int q = 0; q < Q; q++) at[q] += count * step;
#endif
    }

    INLINE void read(int p, int q) {
        typedef typename Vector<WIDE * SIZE>::Type Access;
#if READ == 0
        piece[p][q].vector = *(const Access *)(at[q] + row[p]);
#elif READ == 1
        piece[p][q].vector = __ldg((const Access *)(at[q] + row[p]));
#else
        unsigned int v0, v1, v2, v3;
#if READ == 2
        asm("tex.1d.v4.u32.s32 {%0,%1,%2,%3}, [%4, {%5}];"
            : "=r"(v0), "=r"(v1), "=r"(v2), "=r"(v3) : "l"(texture), "r"(x[p] + y[q] * ld));
#else
        asm("tex.2d.v4.u32.s32 {%0,%1,%2,%3}, [%4, {%5,%6}];"
            : "=r"(v0), "=r"(v1), "=r"(v2), "=r"(v3) : "l"(texture), "r"(x[p]), "r"(y[q]));
#endif
        texel(piece[p][q].vector, v0, v1, v2, v3);
#endif
    }

    INLINE void fetch() {
        UNROLL for (int q = 0; q < Q; q++) UNROLL for (int p = 0; p < P; p++) read(p, q);
    }

    // Fetches the first k-tile, which has only `count` k: the rest is set to zero, and no memory behind it is read.
    INLINE void fetch_some(int count) {
        UNROLL for (int q = 0; q < Q; q++) UNROLL for (int p = 0; p < P; p++) {
            const int k = K_ALONG ? along + p * THREADS_ALONG * WIDE : across + q * THREADS_ACROSS;
            if (k < count) read(p, q); else clear(piece[p][q].vector);
        }
    }

    INLINE void store(Element *shared) const {
        UNROLL for (int q = 0; q < Q; q++) UNROLL for (int p = 0; p < P; p++) UNROLL for (int w = 0; w < WIDE; w += STORE) {
            const int r = along + p * THREADS_ALONG * WIDE + w, c = across + q * THREADS_ACROSS;
            Pack<STORE> out;
            UNROLL for (int s = 0; s < STORE; s++) out.element[s] = conjugated(CONJ, piece[p][q].element[w + s]);
            Element *to = shared + (K_ALONG ? r : c) * STEP_K + (K_ALONG ? c : r) * STEP_FREE;
            *(typename Vector<STORE * SIZE>::Type *)to = out.vector;
        }
    }
};

typedef Operand<M_DIMA, N_DIMA, TRANS_A, CONJ_A, M_BLK, A_STEP_K, A_STEP_M> OperandA;
typedef Operand<M_DIMB, N_DIMB, !TRANS_B, CONJ_B, N_BLK, B_STEP_K, B_STEP_N> OperandB;

typedef Vector<VEC * SIZE>::Type Access;  // VEC elements

INLINE void update(const Scalars &s, Element *c, Element sum) { *c = scaled(s, sum, BETA == 0 ? zero() : *c); }

#if SPLIT > 1
// VEC elements of another block's shared memory.
INLINE Pack<VEC> remote(unsigned int address, unsigned int block) {
    Pack<VEC> out;
    cluster_read<VEC * SIZE / 4>((unsigned int *)&out.vector, address, block);
    return out;
}
#endif

extern __shared__ __align__(16) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) classic(const __grid_constant__ Gemm g) {
    Element *const shared = (Element *)shared_memory;
    // This block's part of k: whole k-tiles for all but the last of a cluster.
    const int steps_all = (g.k + K_BLK - 1) / K_BLK, share = (steps_all + SPLIT - 1) / SPLIT;
    const int k_first = min((int)blockIdx.y * share * K_BLK, g.k), k_last = min(k_first + share * K_BLK, g.k);
    const int steps = (k_last - k_first + K_BLK - 1) / K_BLK;
    const int left_over = k_last - k_first - (steps - 1) * K_BLK;

    const int tiles_m = (g.m + M_BLK - 1) / M_BLK;
    const int first_m = blockIdx.x % tiles_m * M_BLK, first_n = blockIdx.x / tiles_m * N_BLK;
    // Most blocks lie inside the matrix, and need no test of each element.
    const bool inside = first_m + M_BLK <= g.m && first_n + N_BLK <= g.n;

    for (int matrix = blockIdx.z; matrix < g.batch; matrix += gridDim.z) {
        const unsigned int thread = ANEW ? opaque(threadIdx.x) : threadIdx.x;
        // Lanes t and t ^ 1 read the same of one operand, t and t ^ 2 of the other: wide reads of shared
        // memory are served in fewer passes when such neighbours agree.
        const int lane = thread % 32, warp = thread / 32, warps_m = M_DIM / LANES;
        const int two = lane / 16 * 2 + lane % 2, eight = lane / 2 % 8;
        const int lane_m = MMA ? lane / 4 : LANES == 8 ? eight : LANES == 4 ? two : lane % LANES;
        const int lane_n = MMA ? lane % 4 : LANES == 8 ? two : LANES == 4 ? eight : lane / LANES;
        const int warp_m = warp % warps_m * LANES, warp_n = warp / warps_m * (32 / LANES);
        const int thread_m = (warp_m + lane_m) * VEC, thread_n = (warp_n + lane_n) * COLUMNS;
        // Row i and column j of this thread's elements.
        auto row = [&](int i) { return first_m + thread_m + i / VEC * M_DIM * VEC + i % VEC; };
        auto column = [&](int j) { return first_n + thread_n + j / COLUMNS * N_DIM * COLUMNS + j % COLUMNS; };

        Element *const base_c = (Element *)g.c + matrix * g.stride_c;
        const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
        const bool whole = g.ldc % VEC == 0 && (unsigned long long)base_c % (VEC * SIZE) == 0;
        Element c[N_THR][M_THR];
        UNROLL for (int j = 0; j < N_THR; j++) UNROLL for (int i = 0; i < M_THR; i++) c[j][i] = zero();
#if EARLY
        UNROLL for (int j = 0; j < N_THR; j++) UNROLL for (int i = 0; i < M_THR; i += VEC)
            if (inside || (row(i) < g.m && column(j) < g.n))
                asm volatile("prefetch.global.L2 [%0];" :: "l"(base_c + row(i) + column(j) * g.ldc));
#endif

        if (steps > 0) {
            OperandA a;
            OperandB b;
            a.start((const Element *)g.a + matrix * g.stride_a, g.texture_a, g.lda, thread, first_m, g.m, k_first);
            b.start((const Element *)g.b + matrix * g.stride_b, g.texture_b, g.ldb, thread, first_n, g.n, k_first);

            auto multiply = [&](const Element *tiles) {
#if MMA
                // Lane l holds k = l % 4 of both operands, so that rows l / 4 and columns l / 4 of a 16 x 8
                // product may be any: neighbours in shared memory, which one read brings.
                const Element *from_a = tiles + lane_n * A_STEP_K + thread_m;
                const Element *from_b = tiles + A_ELEMENTS + lane_n * B_STEP_K + (2 * warp_n + lane_m) * (COLUMNS / 2);
                UNROLL for (int k = 0; k < K_BLK; k += 4 * QUADS) {
                    Pack<VEC> x[QUADS][M_THR / VEC];
                    Pack<COLUMNS / 2> y[QUADS][N_THR / COLUMNS];
                    UNROLL for (int q = 0; q < QUADS; q++) {
                        UNROLL for (int i = 0; i < M_THR / VEC; i++)
                            x[q][i].vector = *(const Access *)(from_a + (k + 4 * q) * A_STEP_K + i * M_DIM * VEC);
                        UNROLL for (int j = 0; j < N_THR / COLUMNS; j++)
                            y[q][j].vector = *(const uint4 *)(from_b + (k + 4 * q) * B_STEP_K + j * N_DIM * COLUMNS);
                    }
                    UNROLL for (int j = 0; j < N_THR / COLUMNS; j++) UNROLL for (int h = 0; h < COLUMNS / 2; h++)
                        UNROLL for (int i = 0; i < M_THR; i += 2) {
                            const int left = j * COLUMNS + h, right = left + COLUMNS / 2;
                            Element sums[4] = {c[left][i], c[right][i], c[left][i + 1], c[right][i + 1]};
                            Element rows[QUADS][2], columns[QUADS];
                            UNROLL for (int q = 0; q < QUADS; q++) {
                                UNROLL for (int r = 0; r < 2; r++) rows[q][r] = x[q][(i + r) / VEC].element[(i + r) % VEC];
                                columns[q] = y[q][j].element[h];
                            }
                            product(sums, rows, columns);
                            c[left][i] = sums[0], c[right][i] = sums[1], c[left][i + 1] = sums[2], c[right][i + 1] = sums[3];
                        }
                }
#else
                const Element *from_a = tiles + thread_m * A_STEP_M;
                const Element *from_b = tiles + A_ELEMENTS + thread_n * B_STEP_N;
                Pack<VEC> fragment_a[2][M_THR / VEC], fragment_b[2][N_THR / VEC];
                auto load = [&](int k) {
                    UNROLL for (int i = 0; i < M_THR / VEC; i++)
                        fragment_a[k & 1][i].vector =
                            *(const Access *)(from_a + k * A_STEP_K + i * M_DIM * VEC * A_STEP_M);
                    UNROLL for (int j = 0; j < N_THR / VEC; j++)
                        fragment_b[k & 1][j].vector =
                            *(const Access *)(from_b + k * B_STEP_K + j * N_DIM * VEC * B_STEP_N);
                };
                load(0);
                UNROLL for (int k = 0; k < K_BLK; k++) {
                    if (k + 1 < K_BLK) load(k + 1);
                    const auto &x = fragment_a[k & 1];
                    const auto &y = fragment_b[k & 1];
#if ORDER == 2
                    UNROLL for (int i = 0; i < M_THR; i++) UNROLL for (int q = 0; q < N_THR; q++) {
                        const int j = i % 2 ? N_THR - 1 - q : q;
#else
                    UNROLL for (int j = 0; j < N_THR; j++) UNROLL for (int q = 0; q < M_THR; q++) {
                        const int i = ORDER == 1 && j % 2 ? M_THR - 1 - q : q;
#endif
                        multiply_add(c[j][i], x[i / VEC].element[i % VEC], y[j / VEC].element[j % VEC]);
                    }
                }
#endif
            };

            // Algorithm 4: the next k-tile is on its way from device memory to registers while this one is
            // multiplied.
            a.fetch_some(left_over);
            b.fetch_some(left_over);
            a.advance(left_over);
            b.advance(left_over);
            a.store(shared);
            b.store(shared + A_ELEMENTS);
            __syncthreads();
            int now = 0;
            _Pragma("unroll 1") for (int step = 1; step < steps; step++) {
                a.fetch();
                b.fetch();
                a.advance(K_BLK);
                b.advance(K_BLK);
                multiply(shared + now);
                if (BUFFERS == 1) __syncthreads(); else now = STAGE - now;
                a.store(shared + now);
                b.store(shared + now + A_ELEMENTS);
                __syncthreads();
            }
            multiply(shared + now);
        }

#if SPLIT == 1
        if (inside && whole) {
            // All of a column is read before any of it is written: loads do not overtake stores.
            UNROLL for (int j = 0; j < N_THR; j++) {
                Element *const at = base_c + row(0) + column(j) * g.ldc;
                Pack<VEC> out[M_THR / VEC];
                if (BETA != 0) UNROLL for (int i = 0; i < M_THR; i += VEC) out[i / VEC].vector = *(Access *)(at + i * M_DIM);
                UNROLL for (int i = 0; i < M_THR; i += VEC) {
                    UNROLL for (int e = 0; e < VEC; e++)
                        out[i / VEC].element[e] = scaled(scalars, c[j][i + e], out[i / VEC].element[e]);
                    *(Access *)(at + i * M_DIM) = out[i / VEC].vector;
                }
            }
        } else {
            UNROLL for (int j = 0; j < N_THR; j++) if (column(j) < g.n) UNROLL for (int i = 0; i < M_THR; i++)
                if (row(i) < g.m) update(scalars, base_c + row(i) + column(j) * g.ldc, c[j][i]);
        }
        if (gridDim.z < g.batch) __syncthreads();  // the next matrix takes over the shared memory
#else
        // Partial sums meet in shared memory: every block of the cluster adds up and stores its part.
        __syncthreads();
        UNROLL for (int j = 0; j < N_THR; j++) UNROLL for (int i = 0; i < M_THR; i += VEC) {
            Pack<VEC> out;
            UNROLL for (int e = 0; e < VEC; e++) out.element[e] = c[j][i + e];
            *(Access *)(shared + (column(j) - first_n) * M_BLK + row(i) - first_m) = out.vector;
        }
        cluster_sync();
        const unsigned int mine = (unsigned int)__cvta_generic_to_shared(shared);
        for (int group = blockIdx.y * THREADS + threadIdx.x; group < M_BLK * N_BLK / VEC; group += SPLIT * THREADS) {
            const int m = group % (M_BLK / VEC) * VEC, n = group / (M_BLK / VEC);
            if (first_m + m >= g.m || first_n + n >= g.n) continue;
            Pack<VEC> sum = remote(mine + group * VEC * SIZE, 0);
            UNROLL for (int block = 1; block < SPLIT; block++) {
                const Pack<VEC> more = remote(mine + group * VEC * SIZE, block);
                UNROLL for (int e = 0; e < VEC; e++) sum.element[e] = sum_of(sum.element[e], more.element[e]);
            }
            Element *const at = base_c + first_m + m + (first_n + n) * g.ldc;
            if (inside && whole) {
                Pack<VEC> old;
                if (BETA != 0) old.vector = *(Access *)at;
                UNROLL for (int e = 0; e < VEC; e++) sum.element[e] = scaled(scalars, sum.element[e], old.element[e]);
                *(Access *)at = sum.vector;
            } else {
                UNROLL for (int e = 0; e < VEC; e++) if (first_m + m + e < g.m) update(scalars, at + e, sum.element[e]);
            }
        }
        cluster_sync();  // no block may leave, or go on, while others read its shared memory
#endif
    }
}
