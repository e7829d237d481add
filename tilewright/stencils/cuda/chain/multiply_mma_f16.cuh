// Strips of 16-bit types: fragments of 16 rows, sums of float32. The first product is one of halves. What it sums is the left
// operand of the second one, in two parts. Of bfloat16, which has the range of float32, these are bfloat16 again, and 16 bits
// are used; of float16 they are tf32, which has all float16, and 21 bits are.
#pragma once

constexpr int FRAGMENTS = MMA / 16;

constexpr int PASS = COLUMNS_C;  // columns of C that are summed at a time from a strip in between

template <int COLUMNS_> struct Strip {
    static constexpr int TILES = ceiling(COLUMNS_, 8);
    float sum[FRAGMENTS][TILES][4];
    INLINE Strip() {
        UNROLL for (int f = 0; f < FRAGMENTS; f++) UNROLL for (int j = 0; j < TILES; j++)
            UNROLL for (int e = 0; e < 4; e++) sum[f][j][e] = 0;
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

// Whether the product of sixteen k from `begin` on has eight at most, which the instruction of half the k serves.
template <int K> CONSTANT bool is_half(int order, int begin) { return order != RUN && K - begin <= 8; }

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
        word[h] = 0;
        if (begin + k_of(ORDER, 0, 2 * h) >= K) continue;  // of all lanes
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

// The first of the two parts of a sum: the bits that its type has, the others cut off.
INLINE float first_part(float x) { return __uint_as_float(__float_as_uint(x) & (BRAIN ? 0xffff0000u : 0xffffe000u)); }

// Adds the product of sixteen k of either part with halves, or of the first eight.
#if BRAIN
INLINE void multiply_add_part(float (&c)[4], const float (&part)[2][4], const unsigned int (&right)[2], bool half) {
    const unsigned int left[4] = {halves_of(part[0][0], part[0][1]), halves_of(part[0][2], part[0][3]),
                                  halves_of(part[1][0], part[1][1]), halves_of(part[1][2], part[1][3])};
    if (half) mma_16x8x8(c, left[0], left[1], right[0]);
    else mma_16x8x16(c, left, right[0], right[1]);
}
#else
INLINE void multiply_add_part(float (&c)[4], const float (&part)[2][4], const unsigned int (&right)[2], bool half) {
    UNROLL for (int h = 0; h < (half ? 1 : 2); h++) {
        const float left[4] = {part[h][0], part[h][2], part[h][1], part[h][3]};
        const float pair[2] = {real_of((Half)right[h]), real_of((Half)(right[h] >> 16))};
        mma_16x8x8_tf32(c, left, pair);
    }
}
#endif

// The words of all rows of a strip of a left factor of K k: of row r and row r + 8 of each fragment.
template <int K> struct Words {
    static constexpr int STEPS = ceiling(K, 16);
    unsigned int word[STEPS][FRAGMENTS][2][2];
};

// Where the left factor of a chain is the transpose of the right one and a strip is all of it, its words are the right
// fragments, too: columns of the one are rows of the other. Both then have their k in the order of the instruction.
constexpr bool AGAIN = FACTORS == 3 && IN_LEFT == IN_RIGHT && TRANS_LEFT != TRANS_RIGHT && STRIPS == 1;

// Adds MMA rows of a left factor, from row `first` on, times a right one of N columns; says which words it read of the left.
template <int K, int N, class X, class Y>
INLINE Words<K> multiply(Strip<N> &strip, const X &x, const Y &y, int first) {
    constexpr int ORDER = AGAIN ? PAIRS : best_order<X, Y>(Strip<N>::TILES);
    const int r = threadIdx.x % 32 / 4;
    Words<K> left;
    UNROLL for (int step = 0; step < left.STEPS; step++) {
        auto &w = left.word[step];
        UNROLL for (int f = 0; f < FRAGMENTS; f++) UNROLL for (int e = 0; e < 2; e++)
            words_of<K, ORDER>(w[f][e], x, min(first + 16 * f + 8 * e + r, ROWS_C - 1), 16 * step);
        UNROLL for (int j = 0; j < Strip<N>::TILES; j++) {
            unsigned int right[2];
            words_of<K, ORDER>(right, y, min(8 * j + r, N - 1), 16 * step);
            UNROLL for (int f = 0; f < FRAGMENTS; f++) {
                if (is_half<K>(ORDER, 16 * step)) mma_16x8x8(strip.sum[f][j], w[f][0][0], w[f][1][0], right[0]);
                else mma_16x8x16(strip.sum[f][j], w[f][0][0], w[f][1][0], w[f][0][1], w[f][1][1], right[0], right[1]);
            }
        }
    }
    return left;
}

// A lane's words for columns 8 j of a right factor and the sixteen k from 16 * step on, in the order of the instruction.
template <int K, int N, int INNER_K, class Y>
INLINE void right_words(unsigned int (&right)[2], const Words<INNER_K> &left, const Y &y, int j, int step) {
    if constexpr (AGAIN) {
        UNROLL for (int h = 0; h < 2; h++) right[h] = left.word[step][j / 2][j % 2][h];
    } else {
        words_of<K, PAIRS>(right, y, min(8 * j + threadIdx.x % 32 / 4, N - 1), 16 * step);
    }
}

// Adds a strip of K columns times a factor of N columns, all of C's, of which `left` has the words if AGAIN.
template <int K, int N, int INNER_K, class Y>
INLINE void multiply_between(Strip<N> &strip, const Strip<K> &between, const Words<INNER_K> &left, const Y &y, int) {
    const int q = threadIdx.x % 4;
    UNROLL for (int step = 0; step < ceiling(K, 16); step++) {
        // Of each fragment, in the order of a left one: the tiles of columns 0 and 8 from 16 * step on.
        float high[FRAGMENTS][2][4], rest[FRAGMENTS][2][4];
        UNROLL for (int f = 0; f < FRAGMENTS; f++) UNROLL for (int h = 0; h < 2; h++) UNROLL for (int e = 0; e < 4; e++) {
            const int tile = 2 * step + h, k = 8 * tile + 2 * q + e % 2;
            const float t = tile < Strip<K>::TILES && (K % 8 == 0 || k < K) ? between.sum[f][min(tile, Strip<K>::TILES - 1)][e] : 0;
            high[f][h][e] = first_part(t);
            // Never zero but of zero: times infinity it would be none. What takes its place is lost when sums are rounded.
            rest[f][h][e] = high[f][h][e] == t ? t * 0x1p-30f : t - high[f][h][e];
        }
        UNROLL for (int j = 0; j < Strip<N>::TILES; j++) {
            unsigned int right[2];
            right_words<K, N>(right, left, y, j, step);
            UNROLL for (int f = 0; f < FRAGMENTS; f++) {
                multiply_add_part(strip.sum[f][j], rest[f], right, is_half<K>(PAIRS, 16 * step));
                multiply_add_part(strip.sum[f][j], high[f], right, is_half<K>(PAIRS, 16 * step));
            }
        }
    }
}

// Calls `put` with row, column, and two neighbours of a row, for all of a strip.
template <int N, class Put> INLINE void each_pair(const Strip<N> &strip, const Put &put) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
    UNROLL for (int f = 0; f < FRAGMENTS; f++) UNROLL for (int j = 0; j < Strip<N>::TILES; j++)
        UNROLL for (int half = 0; half < 2; half++)
            put(16 * f + 8 * half + r, 8 * j + 2 * q, strip.sum[f][j][2 * half], strip.sum[f][j][2 * half + 1]);
}
