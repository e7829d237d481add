// Products of tensor cores by a warp group, four warps whose first is a multiple of four: C += A * B, where A lies in
// registers or in shared memory, B in shared memory, and the warps go on while tensor cores multiply.
//
//   A   64 rows by 16 along k: 16 rows of each warp, as fragments of mma.sync (mma.cuh), or as B in shared memory
//   B   16 along k by N columns: N / 8 atoms of 8 columns by 128 bytes along k, 1024 bytes each, one after the other. In a
//       row of an atom, the 16 bytes i of column r lie at position i ^ r % 8 (the 128-byte swizzle). Atoms are aligned to
//       1024 bytes. Or, of an operand that is contiguous across k: atoms of 64 columns by 8 along k, 1024 bytes each, so
//       many after each other as are loaded along k, and then those of the next 64 columns.
//   C   of each warp and each 8 columns, as fragments of mma.sync
//
// PTX ISA 8.0, section 9.7.14. All of it needs sm_90a.
#pragma once

#define WGMMA_INLINE __device__ __forceinline__

// Orders registers that ordinary instructions wrote before the products that begin after this.
WGMMA_INLINE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

WGMMA_INLINE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until all groups of products but the last few are done: their operands may change then, their accumulators may be
// read.
template <int BUT> WGMMA_INLINE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(BUT) : "memory"); }

// Behind the wait, before which the compiler may not read accumulators: it does not know that they are written until then.
template <int COUNT> WGMMA_INLINE void wgmma_settled(float (&c)[COUNT]) {
    _Pragma("unroll") for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(c[i])::"memory");
}

// The descriptor of B, in units of 16 bytes: 1024 bytes from 8 columns to the next 8, and the 128-byte swizzle. The next 16
// along k lie 2 units further.
WGMMA_INLINE unsigned long long wgmma_operand(const void *at) {
    const unsigned long long start = (unsigned int)__cvta_generic_to_shared(at) >> 4;
    return start & 0x3fff | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// The same of an operand that is contiguous across k, with so many bytes from 64 columns to the next 64. The next 16 along k
// lie 128 units further.
WGMMA_INLINE unsigned long long wgmma_operand_across(const void *at, int bytes) {
    const unsigned long long start = (unsigned int)__cvta_generic_to_shared(at) >> 4;
    return start & 0x3fff | (unsigned long long)(bytes >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

#define WGMMA_D1 "%0,%1,%2,%3,%4,%5,%6,%7"
#define WGMMA_D2 WGMMA_D1 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define WGMMA_D3 WGMMA_D2 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define WGMMA_D4 WGMMA_D3 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_D5 WGMMA_D4 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WGMMA_D6 WGMMA_D5 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_D7 WGMMA_D6 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WGMMA_D8 WGMMA_D7 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_D9 WGMMA_D8 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WGMMA_D10 WGMMA_D9 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_D11 WGMMA_D10 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define WGMMA_D12 WGMMA_D11 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_D13 WGMMA_D12 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define WGMMA_D14 WGMMA_D13 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_D15 WGMMA_D14 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define WGMMA_D16 WGMMA_D15 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define WGMMA_SUMS(c, i) \
    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define WGMMA_C1(c) WGMMA_SUMS(c, 0)
#define WGMMA_C2(c) WGMMA_C1(c), WGMMA_SUMS(c, 8)
#define WGMMA_C3(c) WGMMA_C2(c), WGMMA_SUMS(c, 16)
#define WGMMA_C4(c) WGMMA_C3(c), WGMMA_SUMS(c, 24)
#define WGMMA_C5(c) WGMMA_C4(c), WGMMA_SUMS(c, 32)
#define WGMMA_C6(c) WGMMA_C5(c), WGMMA_SUMS(c, 40)
#define WGMMA_C7(c) WGMMA_C6(c), WGMMA_SUMS(c, 48)
#define WGMMA_C8(c) WGMMA_C7(c), WGMMA_SUMS(c, 56)
#define WGMMA_C9(c) WGMMA_C8(c), WGMMA_SUMS(c, 64)
#define WGMMA_C10(c) WGMMA_C9(c), WGMMA_SUMS(c, 72)
#define WGMMA_C11(c) WGMMA_C10(c), WGMMA_SUMS(c, 80)
#define WGMMA_C12(c) WGMMA_C11(c), WGMMA_SUMS(c, 88)
#define WGMMA_C13(c) WGMMA_C12(c), WGMMA_SUMS(c, 96)
#define WGMMA_C14(c) WGMMA_C13(c), WGMMA_SUMS(c, 104)
#define WGMMA_C15(c) WGMMA_C14(c), WGMMA_SUMS(c, 112)
#define WGMMA_C16(c) WGMMA_C15(c), WGMMA_SUMS(c, 120)
#if TYPE_BITS == 16
#define WGMMA_OF(N, SIXTEENS, A0, A1, A2, A3, B)                                                                        \
    if constexpr (COLUMNS == N)                                                                                         \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." HALF_NAME "." HALF_NAME                          \
                     " {" WGMMA_D##SIXTEENS "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", 1, 1, 1, 0;"              \
                     : WGMMA_C##SIXTEENS(c) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));

// c holds the accumulators of 8 columns after each other, four of each.
template <int COLUMNS>
WGMMA_INLINE void wgmma_16(float *c, unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned long long b) {
    static_assert(COLUMNS % 16 == 0 && COLUMNS <= 256 && (COLUMNS <= 128 || COLUMNS % 64 == 0), "wgmma: so many columns");
    WGMMA_OF(16, 1, 8, 9, 10, 11, 12)
    WGMMA_OF(32, 2, 16, 17, 18, 19, 20)
    WGMMA_OF(48, 3, 24, 25, 26, 27, 28)
    WGMMA_OF(64, 4, 32, 33, 34, 35, 36)
    WGMMA_OF(80, 5, 40, 41, 42, 43, 44)
    WGMMA_OF(96, 6, 48, 49, 50, 51, 52)
    WGMMA_OF(112, 7, 56, 57, 58, 59, 60)
    WGMMA_OF(128, 8, 64, 65, 66, 67, 68)
    WGMMA_OF(192, 12, 96, 97, 98, 99, 100)
    WGMMA_OF(256, 16, 128, 129, 130, 131, 132)
}

#define WGMMA_LANES_OF(N, SIXTEENS, A0, A1, A2, A3, B, ADD)                                                             \
    if constexpr (COLUMNS == N)                                                                                         \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #ADD ", 0;\n\t"                                           \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." HALF_NAME "." HALF_NAME                          \
                     " {" WGMMA_D##SIXTEENS "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1, 0;\n\t}"         \
                     : WGMMA_C##SIXTEENS(c) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));

// The same, where C is set and not added to where `add` is 0. Registers of A stay as they are until the product is done.
template <int COLUMNS> WGMMA_INLINE void wgmma_16_lanes(float *c, const unsigned int (&a)[4], unsigned long long b, int add) {
    static_assert(COLUMNS % 32 == 0 && COLUMNS <= 256 && COLUMNS != 224, "wgmma: so many columns");
    WGMMA_LANES_OF(32, 2, 16, 17, 18, 19, 20, 21)
    WGMMA_LANES_OF(64, 4, 32, 33, 34, 35, 36, 37)
    WGMMA_LANES_OF(96, 6, 48, 49, 50, 51, 52, 53)
    WGMMA_LANES_OF(128, 8, 64, 65, 66, 67, 68, 69)
    WGMMA_LANES_OF(160, 10, 80, 81, 82, 83, 84, 85)
    WGMMA_LANES_OF(192, 12, 96, 97, 98, 99, 100, 101)
    WGMMA_LANES_OF(256, 16, 128, 129, 130, 131, 132, 133)
}

#define WGMMA_SHARED_OF(N, SIXTEENS, A, B, ADD, ACROSS)                                                                 \
    if constexpr (COLUMNS == N)                                                                                         \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #ADD ", 0;\n\t"                                           \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." HALF_NAME "." HALF_NAME                          \
                     " {" WGMMA_D##SIXTEENS "}, %" #A ", %" #B ", p, 1, 1, " ACROSS ";\n\t}"                            \
                     : WGMMA_C##SIXTEENS(c) : "l"(a), "l"(b), "r"(add));
#define WGMMA_SHARED(ACROSS)                                                                                            \
    WGMMA_SHARED_OF(16, 1, 8, 9, 10, ACROSS)                                                                            \
    WGMMA_SHARED_OF(32, 2, 16, 17, 18, ACROSS)                                                                          \
    WGMMA_SHARED_OF(48, 3, 24, 25, 26, ACROSS)                                                                          \
    WGMMA_SHARED_OF(64, 4, 32, 33, 34, ACROSS)                                                                          \
    WGMMA_SHARED_OF(80, 5, 40, 41, 42, ACROSS)                                                                          \
    WGMMA_SHARED_OF(96, 6, 48, 49, 50, ACROSS)                                                                          \
    WGMMA_SHARED_OF(112, 7, 56, 57, 58, ACROSS)                                                                         \
    WGMMA_SHARED_OF(128, 8, 64, 65, 66, ACROSS)                                                                         \
    WGMMA_SHARED_OF(144, 9, 72, 73, 74, ACROSS)                                                                         \
    WGMMA_SHARED_OF(160, 10, 80, 81, 82, ACROSS)                                                                        \
    WGMMA_SHARED_OF(176, 11, 88, 89, 90, ACROSS)                                                                        \
    WGMMA_SHARED_OF(192, 12, 96, 97, 98, ACROSS)                                                                        \
    WGMMA_SHARED_OF(208, 13, 104, 105, 106, ACROSS)                                                                     \
    WGMMA_SHARED_OF(224, 14, 112, 113, 114, ACROSS)                                                                     \
    WGMMA_SHARED_OF(240, 15, 120, 121, 122, ACROSS)                                                                     \
    WGMMA_SHARED_OF(256, 16, 128, 129, 130, ACROSS)

// Both operands in shared memory, each along k or ACROSS it; C is set and not added to where `add` is 0.
template <int COLUMNS, bool A_ACROSS, bool B_ACROSS>
WGMMA_INLINE void wgmma_16_shared(float *c, unsigned long long a, unsigned long long b, int add) {
    static_assert(COLUMNS % 16 == 0 && COLUMNS <= 256, "wgmma: so many columns");
    if constexpr (A_ACROSS && B_ACROSS) { WGMMA_SHARED("1, 1") }
    else if constexpr (A_ACROSS) { WGMMA_SHARED("1, 0") }
    else if constexpr (B_ACROSS) { WGMMA_SHARED("0, 1") }
    else { WGMMA_SHARED("0, 0") }
}
#elif TYPE_BITS == 32
#define WGMMA_TF32_OF(N, SIXTEENS, A, B, ADD)                                                                           \
    if constexpr (COLUMNS == N)                                                                                         \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #ADD ", 0;\n\t"                                           \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32"                                           \
                     " {" WGMMA_D##SIXTEENS "}, %" #A ", %" #B ", p, 1, 1;\n\t}"                                        \
                     : WGMMA_C##SIXTEENS(c) : "l"(a), "l"(b), "r"(add));

#define WGMMA_LANES_OF(N, SIXTEENS, A0, A1, A2, A3, B, ADD)                                                             \
    if constexpr (COLUMNS == N)                                                                                         \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #ADD ", 0;\n\t"                                           \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32"                                           \
                     " {" WGMMA_D##SIXTEENS "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1;\n\t}"            \
                     : WGMMA_C##SIXTEENS(c) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));

// The product below with A in registers: rows r and r + 8 at k q, then at k q + 4, of lane 4 r + q.
template <int COLUMNS> WGMMA_INLINE void wgmma_8(float *c, const unsigned int (&a)[4], unsigned long long b, int add) {
    static_assert(COLUMNS % 64 == 0 && COLUMNS <= 256, "wgmma: so many columns");
    WGMMA_LANES_OF(64, 4, 32, 33, 34, 35, 36, 37)
    WGMMA_LANES_OF(128, 8, 64, 65, 66, 67, 68, 69)
    WGMMA_LANES_OF(192, 12, 96, 97, 98, 99, 100, 101)
    WGMMA_LANES_OF(256, 16, 128, 129, 130, 131, 132, 133)
}

// The same of float32 numbers, 8 along k, which is 32 bytes, too: of each its first 19 bits are seen. Both operands run along k.
template <int COLUMNS> WGMMA_INLINE void wgmma_8_shared(float *c, unsigned long long a, unsigned long long b, int add) {
    static_assert(COLUMNS % 64 == 0 && COLUMNS <= 256, "wgmma: so many columns");
    WGMMA_TF32_OF(64, 4, 32, 33, 34)
    WGMMA_TF32_OF(128, 8, 64, 65, 66)
    WGMMA_TF32_OF(192, 12, 96, 97, 98)
    WGMMA_TF32_OF(256, 16, 128, 129, 130)
}
#endif
