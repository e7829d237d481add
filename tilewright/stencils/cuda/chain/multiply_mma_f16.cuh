// Strips of 16-bit types: 16 rows, sums of float32. The first product is one of halves. What it sums is the left operand of
// a second one in tf32, which has all numbers of 16 bits: in two parts, so that 21 of its 24 bits are used.
#pragma once

template <int COLUMNS_> struct Strip {
    static constexpr int TILES = ceiling(COLUMNS_, 8);
    float sum[TILES][4];
    INLINE Strip() {
        UNROLL for (int j = 0; j < TILES; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
    }
};

// The four k of sixteen that a lane has: neighbours, every fourth, or two and two, which is the order of the instruction.
constexpr int RUN = 0, SPREAD = 1, PAIRS = 2;
CONSTANT int k_of(int order, int q, int number) {
    return order == RUN ? 4 * q + number : order == SPREAD ? q + 4 * number : 2 * q + number % 2 + number / 2 * 8;
}
// Whether a word of two k is one in memory, and whether all four are.
template <class S> CONSTANT bool by_words(int order) { return S::ALONG && order != SPREAD && S::FREE % 2 == 0; }
template <class S> CONSTANT bool by_fours(int order) { return S::ALONG && order == RUN && S::FREE % 4 == 0; }

// How often shared memory is asked for a fragment of a factor: accesses, and how many words of one bank they meet in.
template <class S> CONSTANT int wavefronts(int order) {
    const int bytes = by_fours<S>(order) ? 8 : by_words<S>(order) ? 4 : 2;
    const int unit = bytes == 8 ? 8 : 4, lanes = 128 / unit;  // lanes whose vectors are served together
    int total = 0;
    for (int number = 0; number < 4; number += bytes / 2) for (int begin = 0; begin < 32; begin += lanes) {
        int known[32] = {}, count[32] = {}, found = 0, most = 0;
        for (int lane = begin; lane < begin + lanes; lane++) {
            const int word = (lane / 4 * S::FREE + k_of(order, lane % 4, number) * S::FAR) * 2 / unit;
            bool fresh = true;
            for (int i = 0; i < found; i++) fresh = fresh && known[i] != word;
            if (!fresh) continue;
            known[found++] = word;
            const int now = ++count[word % lanes];
            most = now > most ? now : most;
        }
        total += most;
    }
    return total;
}
template <class X, class Y> CONSTANT int best_order(int tiles) {
    int best = RUN, least = 1 << 20;
    for (int order = RUN; order <= PAIRS; order++) {
        const int cost = 2 * wavefronts<X>(order) + tiles * wavefronts<Y>(order);
        if (cost < least) {
            least = cost;
            best = order;
        }
    }
    return best;
}

// A lane's two words of op(X) at a free index for the product of sixteen k from `begin` on; zero beyond the end.
template <int K, int ORDER, class S> INLINE void words_of(unsigned int (&word)[2], const S &x, int free, int begin) {
    const int q = threadIdx.x % 4;
    const Stored *const from = x.base + free * S::FREE;
    if constexpr (by_fours<S>(ORDER)) {
        const int k = begin + k_of(ORDER, q, 0);
        const uint2 both = *(const uint2 *)(from + (K % 16 ? min(k, K - 4) : k));
        word[0] = K % 16 == 0 || k < K ? both.x : 0;
        word[1] = K % 16 == 0 || k < K ? both.y : 0;
    } else UNROLL for (int h = 0; h < 2; h++) {
        const int k = begin + k_of(ORDER, q, 2 * h), next = begin + k_of(ORDER, q, 2 * h + 1);
        if constexpr (by_words<S>(ORDER)) {
            const unsigned int both = *(const unsigned int *)(from + (K % 16 ? min(k, K - 2) : k));
            word[h] = K % 16 == 0 || k < K ? both : 0;
        } else {
            const unsigned int low = from[(K % 16 ? min(k, K - 1) : k) * S::FAR];
            const unsigned int high = from[(K % 16 ? min(next, K - 1) : next) * S::FAR];
            word[h] = (K % 16 == 0 || k < K ? low : 0) | (K % 16 == 0 || next < K ? high : 0) << 16;
        }
    }
}

// Adds 16 rows of a left factor, from row `first` on, times a right one of N columns.
template <int K, int N, class X, class Y> INLINE void multiply(Strip<N> &strip, const X &x, const Y &y, int first) {
    constexpr int ORDER = best_order<X, Y>(Strip<N>::TILES);
    const int r = threadIdx.x % 32 / 4;
    UNROLL for (int begin = 0; begin < K; begin += 16) {
        unsigned int high[2], low[2];
        words_of<K, ORDER>(high, x, min(first + r, ROWS_C - 1), begin);
        words_of<K, ORDER>(low, x, min(first + r + 8, ROWS_C - 1), begin);
        UNROLL for (int j = 0; j < strip.TILES; j++) {
            unsigned int right[2];
            words_of<K, ORDER>(right, y, min(8 * j + r, N - 1), begin);
            mma_16x8x16(strip.sum[j], high[0], low[0], high[1], low[1], right[0], right[1]);
        }
    }
}

// Adds a strip of K columns times a factor of N columns.
template <int K, int N, class Y> INLINE void multiply_between(Strip<N> &strip, const Strip<K> &between, const Y &y) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int i = 0; i < between.TILES; i++) {
        const int k = 8 * i + 2 * q;
        // In the order of a left fragment: rows r and r + 8 of the first k, then of the second.
        float high[4], rest[4];
        UNROLL for (int e = 0; e < 4; e++) {
            const float t = K % 8 == 0 || k + e / 2 < K ? between.sum[i][e / 2 + e % 2 * 2] : 0;
            high[e] = __uint_as_float(__float_as_uint(t) & 0xffffe000u);
            rest[e] = high[e] == t ? 0 : t - high[e];  // also of infinity, which has no rest
        }
        UNROLL for (int j = 0; j < strip.TILES; j++) {
            const int column = min(8 * j + r, N - 1);
            float right[2];
            if constexpr (Y::ALONG && Y::FREE % 2 == 0) {
                Pack<2> both;
                both.vector = *(const unsigned int *)(y.base + column * Y::FREE + (K % 8 ? min(k, K - 2) : k));
                UNROLL for (int e = 0; e < 2; e++) right[e] = widened(both.element[e]);
            } else {
                UNROLL for (int e = 0; e < 2; e++) right[e] = y.element(column, K % 8 ? min(k + e, K - 1) : k + e);
            }
            if (K % 8) UNROLL for (int e = 0; e < 2; e++) right[e] = k + e < K ? right[e] : 0;
            mma_16x8x8_tf32(strip.sum[j], rest, right);
            mma_16x8x8_tf32(strip.sum[j], high, right);
        }
    }
}

// Calls `put` with row, column, and two neighbours of a row, for all of a strip.
template <int N, class Put> INLINE void each_pair(const Strip<N> &strip, const Put &put) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int j = 0; j < strip.TILES; j++) UNROLL for (int half = 0; half < 2; half++)
        put(8 * half + r, 8 * j + 2 * q, strip.sum[j][2 * half], strip.sum[j][2 * half + 1]);
}
