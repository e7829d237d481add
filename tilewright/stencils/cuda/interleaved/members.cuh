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

// ---- where elements lie -----------------------------------------------------------------------------------------
// Elements of an operand are numbered row by row. EVEN: they are equally far apart in device memory, so that addresses
// follow from one another; so they are but in a view of part of an array, or of its transpose.
constexpr int ROWS_A = SIZE_M * SIZE_K, ROWS_B = SIZE_K * SIZE_N, AREA_C = SIZE_M * SIZE_N;
constexpr bool WHOLE_VECTORS = ALIGN == 16;
constexpr int ACROSS_MEMBERS = MEMBERS * SIZE / 16;  // vectors of the matrices of a group, of one element
// Bytes from an element's matrices to the next one's: an odd number of vectors, so that neighbours lie in different banks.
constexpr int PITCH = 16 * (ACROSS_MEMBERS + !WHOLE_VECTORS | 1), PITCH_OUT = 16 * (ACROSS_MEMBERS | 1);
constexpr int STAGE_BYTES = (ROWS_A + ROWS_B) * PITCH;

struct Lying {
    const unsigned char *base;
    long long row, column, pack;  // bytes
};
INLINE Lying lying(const void *base, long long row, long long column, long long pack) {
    return {(const unsigned char *)base, row * SIZE, column * SIZE, pack * SIZE};
}
template <int HEIGHT, int WIDTH> INLINE bool even(const Lying &x) {
    return HEIGHT == 1 || WIDTH == 1 || x.row == WIDTH * x.column;
}
// The address of element `number` of the matrix where the batch begins.
template <int WIDTH, bool EVEN> INLINE const unsigned char *element_of(const Lying &x, int number) {
    if (EVEN) return x.base + number * (WIDTH == 1 ? x.row : x.column);
    return x.base + number / WIDTH * x.row + number % WIDTH * x.column;
}
// Bytes from the first of all matrices of a pack of several to another one.
INLINE long long packed_at(const Lying &x, int matrix) {
    constexpr int PACK = PACKED ? PACK_SIZE : 1;
    return matrix / PACK * x.pack + matrix % PACK * SIZE;
}

// Calls act with elements and vectors of a group, one after another: its number, its address and which vector it is.
template <int HEIGHT, int WIDTH, bool EVEN, typename Act> INLINE void each_vector(const Lying &x, int at, const Act &act) {
    constexpr int COUNT = HEIGHT * WIDTH;
    if constexpr (PACKED) {
        // Neighbouring threads have neighbouring elements of one pack.
        _Pragma("unroll 2") for (int v = threadIdx.x; v < COUNT * ACROSS_MEMBERS; v += THREADS) {
            const int number = v % COUNT, which = v / COUNT;
            act(number, element_of<WIDTH, EVEN>(x, number) + packed_at(x, at + 8 * which), which);
        }
    } else {
        constexpr int PASS = THREADS / ACROSS_MEMBERS;
        const int which = threadIdx.x % ACROSS_MEMBERS, first = threadIdx.x / ACROSS_MEMBERS;
        const unsigned char *next = element_of<WIDTH, true>(x, first) + (long long)at * SIZE;
        const long long step = PASS * (WIDTH == 1 ? x.row : x.column);
        constexpr int AT_ONCE = EVEN ? WHOLE_VECTORS ? 4 : 2 : 1;
        _Pragma("unroll AT_ONCE") for (int number = first; number < COUNT; number += PASS) {
            act(number, EVEN ? next : element_of<WIDTH, false>(x, number) + (long long)at * SIZE, which);
            next += step;
        }
    }
}

// ---- copies -----------------------------------------------------------------------------------------------------
// A vector of the row of an element, which begins `beside` bytes before its matrices. Beyond the last of them come zeros.
INLINE void fetch_vector(unsigned char *row, const unsigned char *matrices, int which, int count) {
    const int beside = WHOLE_VECTORS || PACKED ? 0 : (int)((unsigned long long)matrices % 16);
    const unsigned char *const from = matrices - beside + (PACKED ? 0 : 16 * which);
    cp_async<16>(row + 16 * which, from, max(0, min(count * SIZE + beside - 16 * which, 16)));
}
template <int HEIGHT, int WIDTH, bool EVEN>
INLINE void fetch_rows(unsigned char *rows, const Lying &x, int at, int count) {
    each_vector<HEIGHT, WIDTH, EVEN>(x, at, [&](int number, const unsigned char *from, int which) {
        fetch_vector(rows + number * PITCH, from, which, count);
    });
    if constexpr (!WHOLE_VECTORS) {
        // The last vector of each row, which is there if the first is not full.
        _Pragma("unroll 1") for (int number = threadIdx.x; number < HEIGHT * WIDTH; number += THREADS)
            fetch_vector(rows + number * PITCH, element_of<WIDTH, EVEN>(x, number) + (long long)at * SIZE, ACROSS_MEMBERS, count);
    }
}
template <int HEIGHT, int WIDTH> INLINE void fetch_operand(unsigned char *rows, const Lying &x, int at, int count) {
    if (even<HEIGHT, WIDTH>(x))
        fetch_rows<HEIGHT, WIDTH, true>(rows, x, at, count);
    else
        fetch_rows<HEIGHT, WIDTH, false>(rows, x, at, count);
}

// Starts the copies of `count` matrices from `at` on.
INLINE void fetch_members(const Interleaved &g, unsigned char *stage, int at, int count) {
    fetch_operand<SIZE_M, SIZE_K>(stage, lying(g.a, g.row_a, g.column_a, g.pack_a), at, count);
    fetch_operand<SIZE_K, SIZE_N>(stage + ROWS_A * PITCH, lying(g.b, g.row_b, g.column_b, g.pack_b), at, count);
}

// Two words of which the second follows the first, from half `half` of the first on.
INLINE unsigned int shifted(unsigned int word, unsigned int next, bool half) {
    return __byte_perm(word, next, half ? 0x5432 : 0x3210);
}

// LANES neighbouring matrices of one element, `place` bytes after the first of the group: as pairs of halves.
template <bool OF_A>
INLINE void neighbours(unsigned int (&x)[LANES / 2], const Interleaved &g, const unsigned char *stage, int row, int column,
                       int place) {
    const int number = OF_A ? row * SIZE_K + column : ROWS_A + row * SIZE_N + column;
    const unsigned char *const from = stage + number * PITCH;
    if constexpr (WHOLE_VECTORS) {
        Pack<LANES> some;
        some.vector = *(decltype(some.vector) const *)(from + place);
        UNROLL for (int i = 0; i < LANES / 2; i++) x[i] = some.words[i];
    } else {
        // A group begins at a multiple of 16 bytes after the first matrix. The low bits of addresses are enough.
        const unsigned int base = (unsigned int)(unsigned long long)(OF_A ? g.a : g.b);
        const unsigned int steps = OF_A ? row * (unsigned int)g.row_a + column * (unsigned int)g.column_a
                                        : row * (unsigned int)g.row_b + column * (unsigned int)g.column_b;
        const unsigned int begins = (base + steps * SIZE) % 16;
        const unsigned int *const words = (const unsigned int *)(from + place + begins / 4 * 4);
        const bool half = begins % 4;
        unsigned int word = words[0];
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            const unsigned int next = i + 1 < LANES / 2 || half ? words[i + 1] : 0;
            x[i] = shifted(word, next, half);
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
        _Pragma("unroll 4") for (int v = threadIdx.x; v < count * AREA_C / 8; v += THREADS)
            global_store((uint4 *)run + v, ((const uint4 *)from)[v]);
        done = count * AREA_C / 8 * 8;
    }
    // Neighbouring threads write neighbouring elements where C lies by rows or by columns.
    const bool by_rows = g.column_c <= g.row_c;
    _Pragma("unroll 1") for (int each = done + threadIdx.x; each < count * AREA_C; each += THREADS) {
        const int which = each / AREA_C, element = each % AREA_C;
        const int i = by_rows ? element / SIZE_N : element % SIZE_M, j = by_rows ? element % SIZE_N : element / SIZE_M;
        ((Stored *)g.c)[place(g, at + which, g.step_c, g.pack_c) + i * g.row_c + j * g.column_c] =
            ((const Stored *)from)[which * AREA_C + i * SIZE_N + j];
    }
}
#else
// Rows of the matrices of an element, from shared memory to where they begin.
template <bool EVEN> INLINE void write_rows(const Lying &x, const unsigned char *out, int at, int count) {
    if (WHOLE_VECTORS) {
        each_vector<SIZE_M, SIZE_N, EVEN>(x, at, [&](int number, const unsigned char *matrices, int which) {
            Stored *const to = (Stored *)matrices + (PACKED ? 0 : 8 * which);
            const Stored *const from = (const Stored *)(out + number * PITCH_OUT) + 8 * which;
            if (8 * which + 8 <= count) {
                global_store((uint4 *)to, *(const uint4 *)from);
            } else {
                _Pragma("unroll 1") for (int one = 0; 8 * which + one < count; one++) to[one] = from[one];
            }
        });
    } else if (count == MEMBERS) {
        // Whole vectors of device memory, but for the first and the last, in parts.
        each_vector<SIZE_M, SIZE_N, EVEN>(x, at, [&](int number, const unsigned char *matrices, int which) {
            const int beside = (int)((unsigned long long)matrices % 16), from = 16 * which + 16 - beside;
            if (which == ACROSS_MEMBERS - 1) return;
            const unsigned int *const words = (const unsigned int *)(out + number * PITCH_OUT + from / 4 * 4);
            const bool half = from % 4;
            uint4 some;
            const unsigned int last = half ? words[4] : 0;
            some.x = shifted(words[0], words[1], half);
            some.y = shifted(words[1], words[2], half);
            some.z = shifted(words[2], words[3], half);
            some.w = shifted(words[3], last, half);
            global_store((uint4 *)(matrices + from), some);
        });
        // Both parts together are eight elements.
        _Pragma("unroll 2") for (int v = threadIdx.x; v < AREA_C * 8; v += THREADS) {
            Stored *const to = (Stored *)(element_of<SIZE_N, EVEN>(x, v / 8) + (long long)at * SIZE);
            const int one = v % 8, before = (int)((unsigned long long)to % 16) / SIZE;
            const int member = one < 8 - before ? one : MEMBERS - 8 + one;
            to[member] = ((const Stored *)(out + v / 8 * PITCH_OUT))[member];
        }
    } else {
        _Pragma("unroll 1") for (int v = threadIdx.x; v < AREA_C * MEMBERS; v += THREADS) {
            const int number = v / MEMBERS, member = v % MEMBERS;
            Stored *const to = (Stored *)(element_of<SIZE_N, EVEN>(x, number) + (long long)at * SIZE);
            if (member < count) to[member] = ((const Stored *)(out + number * PITCH_OUT))[member];
        }
    }
}
INLINE void write_members(const Interleaved &g, const unsigned char *out, int at, int count) {
    const Lying x = lying(g.c, g.row_c, g.column_c, g.pack_c);
    if (even<SIZE_M, SIZE_N>(x))
        write_rows<true>(x, out, at, count);
    else
        write_rows<false>(x, out, at, count);
}
#endif

INLINE void multiply_groups(const Interleaved &g, const Scalars &scalars) {
    unsigned char *const ring = shared_memory, *const out = ring + STAGES * STAGE_BYTES;
    const int groups = ceiling(g.batch, MEMBERS), blocks = gridDim.x;
    int now = 0, to = 0;
    // The ring is filled by the first turns, which have nothing to multiply yet.
    _Pragma("unroll 1") for (int group = blockIdx.x - (STAGES - 1) * blocks; group < groups; group += blocks) {
        if (group >= 0) {
            cp_async_wait<STAGES - 2>();
            __syncthreads();  // all threads see this group, and the stage before it and the last results are free
        }
        const int next = group + (STAGES - 1) * blocks;
        if (next < groups) fetch_members(g, ring + to * STAGE_BYTES, next * MEMBERS, min(MEMBERS, g.batch - next * MEMBERS));
        cp_async_commit();  // an empty group, too: waits count groups
        to = to + 1 == STAGES ? 0 : to + 1;
        if (group < 0) continue;
        multiply_members(g, scalars, ring + now * STAGE_BYTES, out);
        __syncthreads();
        write_members(g, out, group * MEMBERS, min(MEMBERS, g.batch - group * MEMBERS));
        now = now + 1 == STAGES ? 0 : now + 1;
    }
}
