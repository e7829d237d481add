// Real numbers of 16 bits on tensor cores (MEMBERS): a warp multiplies LANES neighbouring matrices, one instruction for 16 x 8
// of the C of each.
//
//   device memory   row (i, k) of A |m0 m1 m2 m3 m4 m5 ...|   MEMBERS neighbouring matrices of a group, all rows of A and B
//                           |                                 copied by all threads (cp.async), STAGES groups in a ring
//   shared memory   row (i, k)      |m0 m1 m2 m3|             a lane reads LANES matrices of row (i, k)
//                   row (i, k + 4)  |m0 m1 m2 m3|             and of another k,
//                           |
//   registers       |k k+4| of m0, of m1, of m2, of m3        and has a register of two k for each of them: a fragment
//                           |
//   shared memory   C on its way out, as it lies in device memory
//
// A matrix whose elements lie apart would be gathered by elements; reading neighbours together and exchanging their halves
// takes as many instructions as there are registers. Which k are in which register is free as long as A and B agree.
//
// Rows may begin anywhere: copies are of whole aligned vectors, the first and the last of which bring some bytes of the row's
// neighbours, and halves of words are shifted into place as they are read. Persistent blocks walk over the groups.
#pragma once

#include "lib/bulk.cuh"
#include "lib/mma.cuh"

static_assert(TYPE_BITS == 16 && !COMPLEX, "members-type: tensor cores multiply real numbers of 16 bits");
static_assert(!SHARED_A && !SHARED_B, "members-both: every matrix has its own A and B");
static_assert(!BETA, "members-new: a C that is read does not come through the ring");
static_assert(LANES >= 2 && MEMBERS % LANES == 0, "members-lanes: a warp multiplies pairs of neighbours");
static_assert(!PACKED || (PACK_SIZE % 8 == 0 && ALIGN == 16), "members-packs: packs are of whole vectors");
static_assert(TEAM == 1 && DEPTH == 1 && !STAGED && !GROUP && !BULK,
              "members-alone: with tensor cores threads have no parts of C, and nothing comes in another way");
static_assert(STAGES >= 2, "members-ring: one stage is multiplied while others are filled");

#define CONSTANT __host__ __device__ constexpr
CONSTANT int ceiling(int a, int b) { return (a + b - 1) / b; }

// ---- where elements lie in shared memory ------------------------------------------------------------------------
constexpr bool WHOLE_VECTORS = ALIGN == 16;
constexpr int VECTORS = MEMBERS * SIZE / 16 + !WHOLE_VECTORS;  // that hold the matrices of a group, of one element
// Bytes from an element's matrices to the next one's: an odd number of vectors, so that neighbours lie in different banks.
constexpr int PITCH = 16 * (VECTORS | 1), PITCH_OUT = 16 * (MEMBERS * SIZE / 16 | 1);
constexpr int ROWS_A = SIZE_M * SIZE_K, ROWS_B = SIZE_K * SIZE_N, AREA_C = SIZE_M * SIZE_N;
constexpr int STAGE_BYTES = (ROWS_A + ROWS_B) * PITCH;

// The address of an element of A or B of the matrix where a group begins.
template <bool OF_A> INLINE const unsigned char *element_of(const Interleaved &g, int row, int column) {
    if (OF_A) return (const unsigned char *)((const Stored *)g.a + row * g.row_a + column * g.column_a);
    return (const unsigned char *)((const Stored *)g.b + row * g.row_b + column * g.column_b);
}
template <bool OF_A> INLINE int number_of(int row, int column) {
    return OF_A ? row * SIZE_K + column : ROWS_A + row * SIZE_N + column;
}

// Starts the copies of `count` matrices from `at` on. Beyond them come zeros.
INLINE void fetch_members(const Interleaved &g, unsigned char *stage, int at, int count) {
    constexpr int ROWS_OF_BOTH = ROWS_A + ROWS_B;
    _Pragma("unroll 4") for (int v = threadIdx.x; v < ROWS_OF_BOTH * VECTORS; v += THREADS) {
        // Neighbouring threads have neighbouring vectors: of one element, and in packs of one pack.
        const int number = PACKED ? v % ROWS_OF_BOTH : v / VECTORS, which = PACKED ? v / ROWS_OF_BOTH : v % VECTORS;
        const bool of_a = number < ROWS_A;
        const int mine = of_a ? number : number - ROWS_A;
        const unsigned char *const element = of_a ? element_of<true>(g, mine / SIZE_K, mine % SIZE_K)
                                                  : element_of<false>(g, mine / SIZE_N, mine % SIZE_N);
        const unsigned char *from;
        int left;
        if (PACKED) {
            const int matrix = at + 8 * which;
            const long long pack = of_a ? g.pack_a : g.pack_b;
            from = element + (matrix / (PACK_SIZE + !PACKED) * pack + matrix % (PACK_SIZE + !PACKED)) * SIZE;
            left = (count - 8 * which) * SIZE;
        } else {
            const unsigned char *const first = element + (long long)at * SIZE;
            const int beside = WHOLE_VECTORS ? 0 : (int)((unsigned long long)first % 16);
            from = first - beside + 16 * which;
            left = count * SIZE + beside - 16 * which;
        }
        // Of nothing an aligned address that there is.
        if (left <= 0) from = element - (unsigned long long)element % 16;
        cp_async<16>(stage + number * PITCH + 16 * which, from, max(0, min(left, 16)));
    }
}

// LANES neighbouring matrices of one element, `place` bytes after the first of the group: as pairs of halves.
template <bool OF_A>
INLINE void neighbours(unsigned int (&x)[LANES / 2], const Interleaved &g, const unsigned char *stage, int row, int column,
                       int place) {
    const unsigned char *const from = stage + number_of<OF_A>(row, column) * PITCH;
    if constexpr (WHOLE_VECTORS) {
        Pack<LANES> some;
        some.vector = *(decltype(some.vector) const *)(from + place);
        UNROLL for (int i = 0; i < LANES / 2; i++) x[i] = some.words[i];
    } else {
        // A group begins at a multiple of 16 bytes after the first matrix.
        const unsigned int begins = (unsigned int)(unsigned long long)element_of<OF_A>(g, row, column) % 16 + place;
        const unsigned int *const words = (const unsigned int *)(from + begins / 4 * 4);
        const bool half = begins % 4;
        unsigned int word = words[0];
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            const unsigned int next = i + 1 < LANES / 2 || half ? words[i + 1] : 0;
            x[i] = __byte_perm(word, next, half ? 0x5432 : 0x3210);
            word = next;
        }
    }
}

// ---- fragments --------------------------------------------------------------------------------------------------
CONSTANT int filled(int rows, int columns) { return ceiling(rows, 16) * 16 * ceiling(columns, 8) * 8; }
// C, or its transpose where that fills fragments better: HIGH rows by sixteens, ACROSS columns by eights.
constexpr bool TURNED = filled(SIZE_N, SIZE_M) < filled(SIZE_M, SIZE_N);
constexpr int HIGH = TURNED ? SIZE_N : SIZE_M, ACROSS = TURNED ? SIZE_M : SIZE_N;
constexpr int STRIPS = ceiling(HIGH, 16), BLOCKS_ACROSS = ceiling(ACROSS, 8), EIGHTS = ceiling(SIZE_K, 8);

// Registers of two k, first and first + 4, of a row of the left factor (or a column of the right one) of LANES matrices.
template <bool OF_LEFT, bool ENDS>
INLINE void fragments(unsigned int (&x)[LANES], const Interleaved &g, const unsigned char *stage, int free, int first, int place) {
    constexpr bool OF_A = OF_LEFT != TURNED;
    unsigned int near[LANES / 2] = {}, far[LANES / 2] = {};
    if (!ENDS || first < SIZE_K) neighbours<OF_A>(near, g, stage, OF_A ? free : first, OF_A ? first : free, place);
    if (!ENDS || first + 4 < SIZE_K) neighbours<OF_A>(far, g, stage, OF_A ? free : first + 4, OF_A ? first + 4 : free, place);
    UNROLL for (int i = 0; i < LANES / 2; i++) {
        x[2 * i] = __byte_perm(near[i], far[i], 0x5410);
        x[2 * i + 1] = __byte_perm(near[i], far[i], 0x7632);
    }
}

// Adds 16 k, or 8 if there are no more, from 16 * STEP on.
template <int STEP>
INLINE void multiply_step(float (&sum)[BLOCKS_ACROSS][LANES][4], const Interleaved &g, const unsigned char *stage, int strip,
                          int place) {
    if constexpr (2 * STEP < EIGHTS) {
        constexpr bool WIDE = 2 * STEP + 1 < EIGHTS, TALL = HIGH > 8;
        constexpr bool ENDS = 16 * STEP + 8 > SIZE_K, ENDS_LATER = 16 * STEP + 16 > SIZE_K;
        const int lane = threadIdx.x % 32, r = lane / 4, k = 16 * STEP + lane % 4;
        const int upper = min(16 * strip + r, HIGH - 1), lower = min(16 * strip + 8 + r, HIGH - 1);
        unsigned int a[4][LANES] = {};
        fragments<true, ENDS>(a[0], g, stage, upper, k, place);
        if constexpr (TALL) fragments<true, ENDS>(a[1], g, stage, lower, k, place);
        if constexpr (WIDE) fragments<true, ENDS_LATER>(a[2], g, stage, upper, k + 8, place);
        if constexpr (WIDE && TALL) fragments<true, ENDS_LATER>(a[3], g, stage, lower, k + 8, place);
        UNROLL for (int j = 0; j < BLOCKS_ACROSS; j++) {
            unsigned int b[2][LANES];
            const int column = min(8 * j + r, ACROSS - 1);
            fragments<false, ENDS>(b[0], g, stage, column, k, place);
            if constexpr (WIDE) fragments<false, ENDS_LATER>(b[1], g, stage, column, k + 8, place);
            UNROLL for (int m = 0; m < LANES; m++) {
                if constexpr (WIDE)
                    mma_16x8x16(sum[j][m], a[0][m], a[1][m], a[2][m], a[3][m], b[0][m], b[1][m]);
                else
                    mma_16x8x8(sum[j][m], a[0][m], a[1][m], b[0][m]);
            }
        }
        multiply_step<STEP + 1>(sum, g, stage, strip, place);
    }
}

// ---- results ----------------------------------------------------------------------------------------------------
// Puts LANES matrices' element (i, j) of C into shared memory, of which the first is number `first` of the group.
INLINE void put_members(unsigned char *out, const float (&x)[LANES], int i, int j, int first) {
    if (SCATTERED) {
        UNROLL for (int m = 0; m < LANES; m++) ((Stored *)out)[(first + m) * AREA_C + i * SIZE_N + j] = narrowed(x[m]);
    } else {
        typedef typename Vector<LANES * SIZE>::Type Wide;
        *(Wide *)(out + (i * SIZE_N + j) * PITCH_OUT + first * SIZE) = packed(x).vector;
    }
}

// All products of a group, of which the threads of a block see the results after their next barrier.
INLINE void multiply_members(const Interleaved &g, const Scalars &scalars, const unsigned char *stage, unsigned char *out) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    _Pragma("unroll 1") for (int item = threadIdx.x / 32; item < MEMBERS / LANES * STRIPS; item += WARPS) {
        const int strip = item % STRIPS, first = item / STRIPS * LANES;
        float sum[BLOCKS_ACROSS][LANES][4] = {};
        multiply_step<0>(sum, g, stage, strip, first * SIZE);
        UNROLL for (int j = 0; j < BLOCKS_ACROSS; j++) UNROLL for (int e = 0; e < 4; e++) {
            if (HIGH <= 8 && e >= 2) continue;
            const int row = 16 * strip + r + e / 2 * 8, column = 8 * j + 2 * q + e % 2;
            if ((HIGH % 8 && row >= HIGH) || (HIGH % 16 && row >= HIGH) || (ACROSS % 8 && column >= ACROSS)) continue;
            float x[LANES];
            UNROLL for (int m = 0; m < LANES; m++) x[m] = scaled(scalars, sum[j][m][e], 0);
            put_members(out, x, TURNED ? column : row, TURNED ? row : column, first);
        }
    }
}

#if SCATTERED
// `count` matrices that lie one after the other in shared memory, row by row, to where they belong.
INLINE void write_members(const Interleaved &g, const unsigned char *from, int at, int count) {
    const bool dense = g.step_c == AREA_C && g.column_c == 1 && (g.row_c == SIZE_N || SIZE_M == 1);
    Stored *const run = (Stored *)g.c + (long long)at * AREA_C;
    int done = 0;
    if (!PACKED && dense && (unsigned long long)run % 16 == 0) {
        for (int v = threadIdx.x; v < count * AREA_C / 8; v += THREADS) global_store((uint4 *)run + v, ((const uint4 *)from)[v]);
        done = count * AREA_C / 8 * 8;
    }
    // Neighbouring threads write neighbouring elements where C lies by rows or by columns.
    const bool by_rows = g.column_c <= g.row_c;
    for (int each = done + threadIdx.x; each < count * AREA_C; each += THREADS) {
        const int which = each / AREA_C, element = each % AREA_C;
        const int i = by_rows ? element / SIZE_N : element % SIZE_M, j = by_rows ? element % SIZE_N : element / SIZE_M;
        ((Stored *)g.c)[place(g, at + which, g.step_c, g.pack_c) + i * g.row_c + j * g.column_c] =
            ((const Stored *)from)[which * AREA_C + i * SIZE_N + j];
    }
}
#else
INLINE void write_members(const Interleaved &g, const unsigned char *from, int at, int count) {
    constexpr int EACH = WHOLE_VECTORS ? 8 : 1, PIECES = MEMBERS / EACH;
    typedef typename Vector<EACH * SIZE>::Type Moved;
    _Pragma("unroll 4") for (int v = threadIdx.x; v < AREA_C * PIECES; v += THREADS) {
        const int number = PACKED ? v % AREA_C : v / PIECES, member = (PACKED ? v / AREA_C : v % PIECES) * EACH;
        if (member >= count) continue;
        const int i = number / SIZE_N, j = number % SIZE_N, matrix = at + member;
        Stored *const to = (Stored *)g.c + i * g.row_c + j * g.column_c +
                           (PACKED ? matrix / (PACK_SIZE + !PACKED) * g.pack_c + matrix % (PACK_SIZE + !PACKED) : matrix);
        const Stored *const here = (const Stored *)(from + number * PITCH_OUT) + member;
        if (member + EACH <= count) {
            global_store((Moved *)to, *(const Moved *)here);
        } else {
            _Pragma("unroll 1") for (int one = 0; member + one < count; one++) to[one] = here[one];
        }
    }
}
#endif

INLINE void multiply_groups(const Interleaved &g, const Scalars &scalars) {
    unsigned char *const ring = shared_memory, *const out = ring + STAGES * STAGE_BYTES;
    const int groups = ceiling(g.batch, MEMBERS), blocks = gridDim.x;
    auto fetch_group = [&](long long group, int to) {
        if (group < groups)
            fetch_members(g, ring + to * STAGE_BYTES, group * MEMBERS, min(MEMBERS, g.batch - (int)group * MEMBERS));
        cp_async_commit();  // an empty group, too: waits count groups
    };
    UNROLL for (int i = 0; i < STAGES - 1; i++) fetch_group(blockIdx.x + (long long)i * blocks, i);
    int now = 0;
    _Pragma("unroll 1") for (int group = blockIdx.x; group < groups; group += blocks) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();  // all threads see this group, and the stage before it and the last results are free
        fetch_group(group + (long long)(STAGES - 1) * blocks, now ? now - 1 : STAGES - 1);
        multiply_members(g, scalars, ring + now * STAGE_BYTES, out);
        __syncthreads();
        write_members(g, out, group * MEMBERS, min(MEMBERS, g.batch - group * MEMBERS));
        now = now + 1 == STAGES ? 0 : now + 1;
    }
}
