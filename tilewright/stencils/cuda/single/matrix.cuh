// What comes and goes: the matrices of a product.
#pragma once

// A matrix of COUNT elements without gaps, whose address UNIT bytes divide. In shared memory it begins as far behind a multiple
// of 16 bytes as in device memory.
template <int COUNT, int UNIT> struct Matrix {
    static constexpr int BYTES = COUNT * SIZE, ROOM = ceiling(BYTES + 16 - UNIT, 16) * 16;

    static INLINE int skew(const Stored *at) { return UNIT == 16 ? 0 : (int)((unsigned long long)at % 16); }
    // Bytes of bulk copies: whole vectors of 16 bytes, the first of which holds its first byte. A part of one more is copied by itself.
    static INLINE int bytes(const Stored *from) { return UNIT == 16 ? BYTES : (skew(from) + BYTES) / 16 * 16; }

    static INLINE void load(unsigned char *to, const Stored *from, unsigned int barrier) {
        const unsigned char *const start = (const unsigned char *)from - skew(from);
        const int whole = bytes(from), rest = skew(from) + BYTES - whole;
        bulk_load<false>(to, start, whole, barrier, 0);
        if (rest > 0) cp_async<16>(to + whole, start + whole, rest);
    }

    // By a warp. Returns when shared memory has been read, or is to be left alone until it has.
    static INLINE void store(Stored *to, const unsigned char *from) {
        const int skipped = skew(to), before = skipped ? 16 - skipped : 0, whole = (BYTES - before) / 16 * 16;
        unsigned char *const at = (unsigned char *)to;
        from += skipped;
        if (threadIdx.x == 0) bulk_store<false>(at + before, from + before, whole, 0);
        if (UNIT < 16) {
            constexpr int EDGE = 16 / SIZE;
            const int lane = threadIdx.x, offset = lane < EDGE ? lane * SIZE : before + whole + (lane - EDGE) * SIZE;
            if (lane < 2 * EDGE && offset < (lane < EDGE ? before : BYTES))
                *(Stored *)(at + offset) = *(const Stored *)(from + offset);
        }
        if (!EARLY && threadIdx.x == 0) bulk_read<0>();
        __syncwarp();
    }
};

typedef Matrix<SIZE_M * SIZE_K, UNIT_A> MatrixA;
typedef Matrix<SIZE_K * SIZE_N, UNIT_B> MatrixB;
typedef Matrix<SIZE_M * SIZE_N, UNIT_C> MatrixC;
// C takes the place of A where it is not read. Parts read beyond A and B, but not before.
constexpr int AT_C = 128, AT_A = AT_C + (BETA || EARLY ? MatrixC::ROOM : 0), AT_B = AT_A + MatrixA::ROOM;
// Whether matrices may end inside a vector of 16 bytes.
constexpr bool RESTS = UNIT_A < 16 || UNIT_B < 16 || (BETA && UNIT_C < 16);

struct Product {
    const Stored *a, *b;
    Stored *c;

    INLINE Product(const Gemm &g, int number)
        : a((const Stored *)g.a + number * g.stride_a), b((const Stored *)g.b + number * g.stride_b),
          c((Stored *)g.c + number * g.stride_c) {}

    // By one thread.
    INLINE void load(unsigned int barrier) const {
        barrier_expect(barrier, MatrixA::bytes(a) + MatrixB::bytes(b) + (BETA ? MatrixC::bytes(c) : 0));
        MatrixA::load(shared_memory + AT_A, a, barrier);
        MatrixB::load(shared_memory + AT_B, b, barrier);
        if (BETA) MatrixC::load(shared_memory + AT_C, c, barrier);
        if (RESTS) arrive_when_copied(barrier);
    }
    // By a warp.
    INLINE void store() const { MatrixC::store(c, shared_memory + AT_C); }
};
