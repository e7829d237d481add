// Fragments: the parts of matrices that the lanes of a warp hold while tensor cores multiply them.
//
// One function for one instruction, and nothing else; mma.cuh, which comes first, has the products of one. Which lane holds
// what, with r = lane / 4 and t = lane % 4 (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"):
//
//   16 x 8 x 16, halves      a[q + 2 h]: row r + 8 q, k = 2 t + {0, 1} + 8 h    two numbers in a register
//                            b[h]: column r, k = 2 t + {0, 1} + 8 h
//   R x 8 x K, float64       a[q + R / 8 * h]: row r + 8 q, k = t + 4 h
//                            b[h]: column r, k = t + 4 h
//   both                     c[2 q + e]: row r + 8 q, column 2 t + e
//
// Fragments of wmma hold their numbers in an order that PTX leaves open: they are loaded, multiplied, stored, and
// changed where all numbers are changed alike.
//
// What is included after TYPE_BITS is defined, BRAIN for 16 bits, and WMMA_M (16, 32 or 8) where wmma is wanted.
#pragma once

#define FRAGMENT_INLINE __device__ __forceinline__

FRAGMENT_INLINE unsigned int fragment_address(const void *p) { return (unsigned int)__cvta_generic_to_shared(p); }

#if TYPE_BITS == 16
// ---- halves in registers, two to a register ------------------------------------------------------------------------
// Two numbers with the sign bits of SIGNS flipped: 0x8000 is that of the first, 0x80000000 that of the second.
template <unsigned int SIGNS> FRAGMENT_INLINE unsigned int signs_flipped(unsigned int pair) {
    return SIGNS ? pair ^ SIGNS : pair;
}

// The two numbers of a register in the other order.
FRAGMENT_INLINE unsigned int halves_swapped(unsigned int pair) { return __byte_perm(pair, 0, 0x1032); }

// ---- ldmatrix, stmatrix and mma.sync -------------------------------------------------------------------------------------
// Matrices of 8 x 8 halves: lane l says where row l % 8 of matrix l / 8 lies, 16 bytes, and receives columns
// 2 t + {0, 1} of row r of each, or, TRANSPOSED, rows 2 t + {0, 1} of column r.
template <bool TRANSPOSED>
FRAGMENT_INLINE void ldmatrix(unsigned int &x0, unsigned int &x1, unsigned int &x2, unsigned int &x3, const void *row) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(fragment_address(row)) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(fragment_address(row)) : "memory");
}

// Two of them; the addresses of lanes from 16 on are ignored.
template <bool TRANSPOSED> FRAGMENT_INLINE void ldmatrix(unsigned int &x0, unsigned int &x1, const void *row) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(x0), "=r"(x1) : "r"(fragment_address(row)) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(x0), "=r"(x1) : "r"(fragment_address(row)) : "memory");
}

// Stores the transposed matrices: lane l gives the address of row l % 8 of matrix l / 8 in shared memory, and holds columns
// 2 t + {0, 1} of row r of its transpose. stmatrix came with sm_90; before it, lanes exchange halves.
#if __CUDA_ARCH__ < 900
FRAGMENT_INLINE void stmatrix_emulated(unsigned int x, unsigned int row, int matrix) {
    const int lane = threadIdx.x % 32;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    const unsigned int to = __shfl_sync(0xffffffff, row, matrix * 8 + lane / 4) + lane % 4 * 4;
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
#endif

FRAGMENT_INLINE void stmatrix_transposed(unsigned int x0, unsigned int x1, unsigned int x2, unsigned int x3, void *row) {
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(fragment_address(row)), "r"(x0), "r"(x1), "r"(x2), "r"(x3) : "memory");
#else
    const unsigned int x[4] = {x0, x1, x2, x3};
    _Pragma("unroll") for (int i = 0; i < 4; i++) stmatrix_emulated(x[i], fragment_address(row), i);
#endif
}

FRAGMENT_INLINE void stmatrix_transposed(unsigned int x0, unsigned int x1, void *row) {
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};"
                 ::"r"(fragment_address(row)), "r"(x0), "r"(x1) : "memory");
#else
    const unsigned int x[2] = {x0, x1};
    _Pragma("unroll") for (int i = 0; i < 2; i++) stmatrix_emulated(x[i], fragment_address(row), i);
#endif
}

#if __CUDA_ARCH__ >= 900
// Stores the matrices as ldmatrix loads them.
FRAGMENT_INLINE void stmatrix(unsigned int x0, unsigned int x1, unsigned int x2, unsigned int x3, void *row) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(fragment_address(row)), "r"(x0), "r"(x1), "r"(x2), "r"(x3) : "memory");
}
#endif

// ---- wmma ----------------------------------------------------------------------------------------------------------
#ifdef WMMA_M
// Registers of a fragment of A and of B: eight of each for float16, which holds numbers twice.
#if WMMA_M == 16
#define WMMA_SHAPE "m16n16k16"
constexpr int WMMA_A = BRAIN ? 4 : 8, WMMA_B = BRAIN ? 4 : 8;
#elif WMMA_M == 32
#define WMMA_SHAPE "m32n8k16"
constexpr int WMMA_A = 8, WMMA_B = BRAIN ? 2 : 8;
#else
#define WMMA_SHAPE "m8n32k16"
constexpr int WMMA_A = BRAIN ? 2 : 8, WMMA_B = 8;
#endif
#if BRAIN
#define WMMA_TYPES "f32.bf16.bf16.f32"
#else
#define WMMA_TYPES "f32.f32"
#endif

#define WMMA_LOAD_OF(OPERAND, LAYOUT)                                                                                   \
    if constexpr (COUNT == 8)                                                                                           \
        asm volatile("wmma.load." OPERAND ".sync.aligned." LAYOUT "." WMMA_SHAPE ".shared." HALF_NAME                   \
                     " {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"                                                            \
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])   \
                     : "r"(fragment_address(from)), "r"(pitch) : "memory");                                             \
    else if constexpr (COUNT == 4)                                                                                      \
        asm volatile("wmma.load." OPERAND ".sync.aligned." LAYOUT "." WMMA_SHAPE ".shared." HALF_NAME                   \
                     " {%0,%1,%2,%3}, [%4], %5;"                                                                        \
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])                                                   \
                     : "r"(fragment_address(from)), "r"(pitch) : "memory");                                             \
    else                                                                                                                \
        asm volatile("wmma.load." OPERAND ".sync.aligned." LAYOUT "." WMMA_SHAPE ".shared." HALF_NAME                   \
                     " {%0,%1}, [%2], %3;"                                                                              \
                     : "=r"(x[0]), "=r"(x[1]) : "r"(fragment_address(from)), "r"(pitch) : "memory");

// From shared memory, where K_ALONG says that neighbours in k are neighbours there, and pitch counts numbers.
template <bool K_ALONG, int COUNT> FRAGMENT_INLINE void wmma_load_a(unsigned int (&x)[COUNT], const void *from, int pitch) {
    if constexpr (K_ALONG) { WMMA_LOAD_OF("a", "row") } else { WMMA_LOAD_OF("a", "col") }
}
template <bool K_ALONG, int COUNT> FRAGMENT_INLINE void wmma_load_b(unsigned int (&x)[COUNT], const void *from, int pitch) {
    if constexpr (K_ALONG) { WMMA_LOAD_OF("b", "col") } else { WMMA_LOAD_OF("b", "row") }
}

#define WMMA_C "{%0,%1,%2,%3,%4,%5,%6,%7}"
#define WMMA_SUMS(c) \
    "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
#define WMMA_8(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7])
#define WMMA_MULTIPLY_OF(LAYOUTS)                                                                                        \
    if constexpr (COUNT_A == 8 && COUNT_B == 8)                                                                         \
        asm("wmma.mma.sync.aligned." LAYOUTS "." WMMA_SHAPE "." WMMA_TYPES " " WMMA_C                                   \
            ", {%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, " WMMA_C ";"                         \
            : WMMA_SUMS(c) : WMMA_8(a), WMMA_8(b));                                                                     \
    else if constexpr (COUNT_A == 4)                                                                                    \
        asm("wmma.mma.sync.aligned." LAYOUTS "." WMMA_SHAPE "." WMMA_TYPES " " WMMA_C                                   \
            ", {%8,%9,%10,%11}, {%12,%13,%14,%15}, " WMMA_C ";"                                                         \
            : WMMA_SUMS(c)                                                                                              \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));                  \
    else if constexpr (COUNT_A == 8)                                                                                    \
        asm("wmma.mma.sync.aligned." LAYOUTS "." WMMA_SHAPE "." WMMA_TYPES " " WMMA_C                                   \
            ", {%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17}, " WMMA_C ";"                                                 \
            : WMMA_SUMS(c) : WMMA_8(a), "r"(b[0]), "r"(b[1]));                                                          \
    else                                                                                                                \
        asm("wmma.mma.sync.aligned." LAYOUTS "." WMMA_SHAPE "." WMMA_TYPES " " WMMA_C                                   \
            ", {%8,%9}, {%10,%11,%12,%13,%14,%15,%16,%17}, " WMMA_C ";"                                                 \
            : WMMA_SUMS(c) : "r"(a[0]), "r"(a[1]), WMMA_8(b));

// The layouts of the loads are part of the product.
template <bool A_K_ALONG, bool B_K_ALONG, int COUNT_A, int COUNT_B>
FRAGMENT_INLINE void wmma_multiply(float *c, const unsigned int (&a)[COUNT_A], const unsigned int (&b)[COUNT_B]) {
    if constexpr (A_K_ALONG && B_K_ALONG) { WMMA_MULTIPLY_OF("row.col") }
    else if constexpr (A_K_ALONG) { WMMA_MULTIPLY_OF("row.row") }
    else if constexpr (B_K_ALONG) { WMMA_MULTIPLY_OF("col.col") }
    else { WMMA_MULTIPLY_OF("col.row") }
}

// To shared memory, column by column; pitch counts numbers from one column to the next.
FRAGMENT_INLINE void wmma_store(float *to, const float *c, int pitch) {
    asm volatile("wmma.store.d.sync.aligned.col." WMMA_SHAPE ".shared.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
                 ::"r"(fragment_address(to)), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]),
                   "f"(c[6]), "f"(c[7]), "r"(pitch) : "memory");
}
#endif
#endif

#if TYPE_BITS == 64
// ---- float64: products of 8 rows came with sm_80, those of 16 with sm_90 -----------------------------------------------
// a[QUADS][2] as a[h][q], b[QUADS]: 16 x 8 x (4 * QUADS).
template <int QUADS> FRAGMENT_INLINE void mma_16x8(double *c, const double (&a)[QUADS][2], const double (&b)[QUADS]) {
    static_assert(QUADS == 1 || QUADS == 2 || QUADS == 4, "mma: a k of 4, 8 or 16");
    if constexpr (QUADS == 1)
        mma_16x8x4(c[0], c[1], c[2], c[3], a[0][0], a[0][1], b[0]);
    else if constexpr (QUADS == 2)
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
            "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]), "d"(a[3][0]),
              "d"(a[3][1]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
#endif
