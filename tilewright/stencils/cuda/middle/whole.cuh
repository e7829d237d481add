// Whole products: a block has room for one, which comes, is multiplied and goes by bulk copies. Other blocks of the same
// multiprocessor are busy meanwhile: their products are what a ring would hold.
#pragma once

// A matrix of COUNT runs of LENGTH neighbours without gaps, whose address UNIT bytes divide, and in shared memory at multiples of LD.
// It begins there as far behind a multiple of 16 bytes as in device memory.
template <int LENGTH, int COUNT, int LD, int UNIT> struct Matrix {
    static constexpr int BYTES = LENGTH * COUNT * SIZE, ROOM = UNIT == 16 ? LD * COUNT * SIZE : ceiling(BYTES + 16 - UNIT, 16) * 16;

    static INLINE int skew(const Stored *from) { return UNIT == 16 ? 0 : (int)((unsigned long long)from % 16); }
    // Bytes of bulk copies: whole vectors of 16 bytes, from the one that it begins in. The others are copied by themselves.
    static INLINE int bytes(const Stored *from) { return UNIT == 16 ? BYTES : (skew(from) + BYTES) / 16 * 16; }
    static INLINE void load(unsigned char *to, const Stored *from, unsigned int barrier) {
        if (LD == LENGTH) {
            if (threadIdx.x > 0) return;
            const unsigned char *const start = (const unsigned char *)from - skew(from);
            const int whole = bytes(from), rest = skew(from) + BYTES - whole;
            bulk_load<false>(to, start, whole, barrier, 0);
            if (rest > 0) cp_async<16>(to + whole, start + whole, rest);
        } else {
            _Pragma("unroll 1") for (int run = threadIdx.x; run < COUNT; run += 32)
                bulk_load<false>(to + run * LD * SIZE, from + run * LENGTH, LENGTH * SIZE, barrier, 0);
        }
    }
    // By a warp.
    static INLINE void store(Stored *to, const unsigned char *from) {
        const int begins = skew(to), first = begins ? 16 - begins : 0, whole = (BYTES - first) / 16 * 16;
        from += begins;
        if (threadIdx.x == 0) bulk_store<false>((unsigned char *)to + first, from + first, whole, 0);
        if (UNIT < 16) {
            const int lane = threadIdx.x, at = lane < 8 ? lane * SIZE : first + whole + (lane - 8) * SIZE;
            if (lane < 16 && at < (lane < 8 ? first : BYTES)) *(Stored *)((unsigned char *)to + at) = *(const Stored *)(from + at);
            __syncwarp();
        }
    }
};

typedef Matrix<STORED_A, COLUMNS_A, LD_A, UNIT_A> MatrixA;
typedef Matrix<STORED_B, COLUMNS_B, LD_B, UNIT_B> MatrixB;
typedef Matrix<SIZE_M, SIZE_N, SIZE_M, UNIT_C> MatrixC;
// C takes the place of A where it is not read. Parts read beyond A and B, but not before.
constexpr int AT_WHOLE_C = 128, AT_WHOLE_A = AT_WHOLE_C + (BETA ? MatrixC::ROOM : 0), AT_WHOLE_B = AT_WHOLE_A + MatrixA::ROOM;

// Whether matrices may end inside a vector of 16 bytes.
constexpr bool RESTS = UNIT_A < 16 || UNIT_B < 16 || (BETA && UNIT_C < 16);

struct Product {
    const Stored *a, *b;
    Stored *c;

    INLINE Product(const Gemm &g, int number)
        : a((const Stored *)g.a + number * g.stride_a), b((const Stored *)g.b + number * g.stride_b), c((Stored *)g.c + number * g.stride_c) {}

    // By a warp.
    INLINE void load(unsigned int barrier) const {
        if (threadIdx.x == 0) barrier_expect(barrier, MatrixA::bytes(a) + MatrixB::bytes(b) + (BETA ? MatrixC::bytes(c) : 0));
        __syncwarp();
        MatrixA::load(shared_memory + AT_WHOLE_A, a, barrier);
        MatrixB::load(shared_memory + AT_WHOLE_B, b, barrier);
        if (BETA) MatrixC::load(shared_memory + AT_WHOLE_C, c, barrier);
        if (RESTS && threadIdx.x == 0) arrive_when_copied(barrier);
    }
};

INLINE void multiply_whole(const Gemm &g, const Scalars &scalars) {
    const unsigned int barrier = shared_address(shared_memory);
    if (threadIdx.x == 0) {
        barrier_start_for(barrier, 1 + RESTS);
        barriers_started();
    }
    block_sync();
    if (threadIdx.x < 32) Product(g, blockIdx.x).load(barrier);
    unsigned int parity = 0;
    _Pragma("unroll 1") for (int number = blockIdx.x; number < g.batch; number += (int)gridDim.x) {
        const Product product(g, number);
        barrier_wait(barrier, parity);
        parity ^= 1;
        Sums sums;
        sums.add((const Stored *)(shared_memory + AT_WHOLE_A + MatrixA::skew(product.a)),
                 (const Stored *)(shared_memory + AT_WHOLE_B + MatrixB::skew(product.b)), SIZE_K);
        if (!BETA) block_sync();  // all threads have read A
        sums.keep((Stored *)(shared_memory + AT_WHOLE_C + MatrixC::skew(product.c)), scalars);
        async_fence();
        block_sync();
        if (threadIdx.x < 32) {
            MatrixC::store(product.c, shared_memory + AT_WHOLE_C);
            if (threadIdx.x == 0) bulk_read<0>();
            __syncwarp();
            if (number + (int)gridDim.x < g.batch) Product(g, number + (int)gridDim.x).load(barrier);
        }
    }
    if (threadIdx.x == 0) bulk_done();
}
