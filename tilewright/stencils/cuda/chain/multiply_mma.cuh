// The products of a group in shared memory, by tensor cores: a warp computes MMA rows of C from beginning to end.
//
//   X1, MMA rows    X2             a strip of X1 X2, in the accumulators of one warp
//   |xxxxxxxxx|  *  |       |  =  |ttttttt|
//                                     |  register by register it is a left operand again
//                                 |ttttttt|  *  |  X3  |  +  |qqqqqq|  =  |cccccc|
//
// Which k a register of a left fragment stands for is free as long as the right fragment agrees, so the columns 2q and
// 2q + 1 that a lane has of an accumulator are its k of the next product. The product in between goes nowhere, and no warp
// waits for another. X1 (X2 X3) is computed as its transpose, (X3^T X2^T) X1^T, and so is a chain of two factors whose
// C fills fragments better that way (TURNED).
//
// multiply_mma_f16.cuh and multiply_mma_f64.cuh have the accumulators of a strip (Strip), `multiply`, which sums a product
// of two factors in one, and `multiply_between`, which sums a strip times a factor in another.
#pragma once

#include "lib/mma.cuh"
#include "chain/factor.cuh"

CONSTANT int filled(int rows, int columns) { return ceiling(rows, MMA) * MMA * ceiling(columns, 8); }
constexpr bool TURNED = FACTORS == 3 ? FIRST : filled(SIZE_N, SIZE_M) < filled(SIZE_M, SIZE_N);

// The factors in the order in which they are multiplied: Left * Middle [* Right].
constexpr int IN_LEFT = !TURNED ? IN_1 : FACTORS == 3 ? IN_3 : IN_2;
constexpr bool TRANS_LEFT = !TURNED ? TRANS_1 : FACTORS == 3 ? TRANS_3 : TRANS_2;
constexpr bool CONJ_LEFT = !TURNED ? CONJ_1 : FACTORS == 3 ? CONJ_3 : CONJ_2;
constexpr int IN_MIDDLE = FACTORS == 2 && TURNED ? IN_1 : IN_2, IN_RIGHT = FACTORS == 2 ? 0 : TURNED ? IN_1 : IN_3;
constexpr bool TRANS_MIDDLE = FACTORS == 2 && TURNED ? TRANS_1 : TRANS_2, TRANS_RIGHT = TURNED ? TRANS_1 : TRANS_3;
constexpr bool CONJ_MIDDLE = FACTORS == 2 && TURNED ? CONJ_1 : CONJ_2, CONJ_RIGHT = TURNED ? CONJ_1 : CONJ_3;
constexpr int ROWS_C = TURNED ? SIZE_N : SIZE_M, COLUMNS_C = TURNED ? SIZE_M : SIZE_N, STRIPS = ceiling(ROWS_C, MMA);
constexpr int INNER = FACTORS == 3 && FIRST ? SIZE_L : SIZE_K, BETWEEN = FIRST ? SIZE_K : SIZE_L;

// A factor as fragments read it: by its free index, a row of a left operand or a column of a right one, and by k.
template <class F, bool BY_ROWS> struct Side {
    static constexpr bool ALONG = F::TRANS == BY_ROWS;  // neighbours in k are neighbours in memory
    static constexpr int FREE = ALONG ? F::LD : 1, FAR = ALONG ? 1 : F::LD;
    const Stored *base;
    INLINE Element element(int free, int k) const { return conjugated(F::CONJ, widened(base[free * FREE + k * FAR])); }
};
typedef Side<Given<IN_LEFT, TRANS_LEFT, CONJ_LEFT>, !TURNED> Left;
typedef Side<Given<IN_MIDDLE, TRANS_MIDDLE, CONJ_MIDDLE>, TURNED> Middle;
typedef Side<Given<IN_RIGHT, TRANS_RIGHT, CONJ_RIGHT>, TURNED> Right;
typedef Side<Given<IN_ADD < 0 ? 0 : IN_ADD, TRANS_ADD, CONJ_ADD>, !TURNED> Added;

#if TYPE_BITS == 64
#include "chain/multiply_mma_f64.cuh"
#else
#include "chain/multiply_mma_f16.cuh"
#endif

// Writes columns `column` and column + 1 of a row of C, or of its transpose, with Q added. What lies outside goes nowhere.
template <int PAIR = TURNED && SIZE_M % 2 == 0 && SIZE <= 8 ? 2 : 1>
INLINE void put(Stored *out, const Added &added, int row, int column, Element x, Element y) {
    if ((ROWS_C % MMA && row >= ROWS_C) || (COLUMNS_C % 8 && column >= COLUMNS_C)) return;
    const bool second = COLUMNS_C % 2 == 0 || column + 1 < COLUMNS_C;
    if constexpr (IN_ADD >= 0) {
        x = sum_of(x, added.element(row, column));
        if (second) y = sum_of(y, added.element(row, column + 1));
    }
    if constexpr (PAIR == 2) {
        const Element both[PAIR] = {x, y};
        *(typename Vector<PAIR * SIZE>::Type *)(out + column + row * SIZE_M) = packed(both).vector;
    } else {
        constexpr int NEXT_ROW = TURNED ? SIZE_M : 1, NEXT_COLUMN = TURNED ? 1 : SIZE_M;
        Stored *const to = out + row * NEXT_ROW + column * NEXT_COLUMN;
        to[0] = narrowed(x);
        if (second) to[NEXT_COLUMN] = narrowed(y);
    }
}

// Writes a strip whose first element is that of row `first` and column `from`.
template <class S> INLINE void put_all(const S &sum, Stored *out, const Added &added, int first, int from) {
    each_pair(sum, [&](int row, int column, Element x, Element y) { put(out, added, first + row, from + column, x, y); });
}

// Multiplies `count` matrices of a stage. All warps of the block call it, and see its results after their next barrier.
INLINE void multiply_group(const unsigned char *stage, Stored *out, int count) {
    _Pragma("unroll 1") for (int item = threadIdx.x / 32; item < count * STRIPS; item += WARPS) {
        const int which = item / STRIPS, first = item % STRIPS * MMA;
        const Left left = {matrix_of<IN_LEFT>(stage, which)};
        const Middle middle = {matrix_of<IN_MIDDLE>(stage, which)};
        const Added added = {matrix_of<IN_ADD>(stage, which)};
        if constexpr (FACTORS == 3) {
            const Right right = {matrix_of<IN_RIGHT>(stage, which)};
            Strip<BETWEEN> between;
            const auto words = multiply<INNER, BETWEEN>(between, left, middle, first);
            UNROLL for (int from = 0; from < COLUMNS_C; from += PASS) {
                Strip<PASS> sum;
                multiply_between(sum, between, words, right, from);
                put_all(sum, out + which * MATRIX_OUT, added, first, from);
            }
        } else {
            Strip<COLUMNS_C> sum;
            multiply<INNER, COLUMNS_C>(sum, left, middle, first);
            put_all(sum, out + which * MATRIX_OUT, added, first, 0);
        }
    }
}
