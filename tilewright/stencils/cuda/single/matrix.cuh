// What comes and goes: the matrices of a product, by a warp.
#pragma once

// A matrix of COUNT columns of LENGTH elements without gaps, whose address UNIT bytes divide, and in shared memory of columns LD
// elements apart. It begins there as far behind a multiple of 16 bytes as in device memory.
template <int LENGTH, int COUNT, int LD, int UNIT> struct Matrix {
    static constexpr int BYTES = LENGTH * COUNT * SIZE;
    static constexpr int ROOM = UNIT == 16 ? LD * COUNT * SIZE : ceiling(BYTES + 16 - UNIT, 16) * 16;

    static INLINE int skew(const Stored *at) { return UNIT == 16 ? 0 : (int)((unsigned long long)at % 16); }
    // Bytes of bulk copies: vectors of 16 bytes, from the one that it begins in. What it has of another one is copied by itself.
    static INLINE int bytes(const Stored *from) { return UNIT == 16 ? BYTES : (skew(from) + BYTES) / 16 * 16; }

    static INLINE void load(unsigned char *to, const Stored *from, unsigned int barrier) {
        if (LD > LENGTH) {
            _Pragma("unroll 1") for (int column = threadIdx.x; column < COUNT; column += 32)
                bulk_load<false>(to + column * LD * SIZE, from + column * LENGTH, LENGTH * SIZE, barrier, 0);
        } else if (threadIdx.x == 0) {
            const unsigned char *const start = (const unsigned char *)from - skew(from);
            const int whole = bytes(from), rest = skew(from) + BYTES - whole;
            bulk_load<false>(to, start, whole, barrier, 0);
            if (rest > 0) cp_async<16>(to + whole, start + whole, rest);
        }
    }

    // Returns when shared memory has been read.
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

typedef Matrix<LENGTH_A, COUNT_A, LD_A, UNIT_A> MatrixA;
typedef Matrix<LENGTH_B, COUNT_B, LD_B, UNIT_B> MatrixB;
typedef Matrix<SIZE_M, SIZE_N, SIZE_M, UNIT_C> MatrixC;
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

    INLINE void load(unsigned int barrier) const {
        if (threadIdx.x == 0) barrier_expect(barrier, MatrixA::bytes(a) + MatrixB::bytes(b) + (BETA ? MatrixC::bytes(c) : 0));
        __syncwarp();  // bytes are announced before they come
        MatrixA::load(shared_memory + AT_A, a, barrier);
        MatrixB::load(shared_memory + AT_B, b, barrier);
        if (BETA) MatrixC::load(shared_memory + AT_C, c, barrier);
        if (RESTS && threadIdx.x == 0) arrive_when_copied(barrier);
    }
    INLINE void store() const { MatrixC::store(c, shared_memory + AT_C); }
};
