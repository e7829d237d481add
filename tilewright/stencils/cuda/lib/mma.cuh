// Products of tensor cores by a warp, as the instructions have them: C += A * B on fragments in registers.
//
// Of lane l, with r = l / 4 and q = l % 4:
//
//   16 bits, 16 x 8 x 16   A: registers of two k, rows r and r + 8 at k 2q, then at k 2q + 8
//                          B: registers of two k, column r at k 2q, then at k 2q + 8
//   16 bits, 16 x 8 x 8    the first half of that
//   tf32, 16 x 8 x 8       A: rows r and r + 8 at k q, then at k q + 4; B: column r at k q, then at k q + 4
//   float64, 8 x 8 x 4     A: row r at k q; B: column r at k q
//   float64, 16 x 8 x 4    A: rows r and r + 8
//   C of all of them       row r, columns 2q and 2q + 1; then row r + 8 where there is one
//
// PTX ISA 8.0, section 9.7.13.4. The float64 products of 16 rows need sm_90, the others sm_80.
#pragma once

#define MMA_INLINE __device__ __forceinline__

#if TYPE_BITS == 16
#if BRAIN
#define HALF_NAME "bf16"
#else
#define HALF_NAME "f16"
#endif
#define MMA_HALVES "f32." HALF_NAME "." HALF_NAME ".f32"
MMA_INLINE void mma_16x8x16(float *c, unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int b0,
                            unsigned int b1) {
    asm("mma.sync.aligned.m16n8k16.row.col." MMA_HALVES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

MMA_INLINE void mma_16x8x16(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
    mma_16x8x16(c, a[0], a[1], a[2], a[3], b0, b1);
}

MMA_INLINE void mma_16x8x8(float (&c)[4], unsigned int a0, unsigned int a1, unsigned int b0) {
    asm("mma.sync.aligned.m16n8k8.row.col." MMA_HALVES " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
}

// Of each float32 its first 19 bits: sign, exponent and 10 bits of the fraction.
MMA_INLINE void mma_16x8x8_tf32(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
#endif

#if TYPE_BITS == 64
MMA_INLINE void mma_8x8x4(double &c0, double &c1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c0), "+d"(c1) : "d"(a), "d"(b));
}

MMA_INLINE void mma_16x8x4(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3) : "d"(a0), "d"(a1), "d"(b));
}
#endif
