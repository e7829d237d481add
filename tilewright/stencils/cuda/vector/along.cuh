// Runs along the sum: each times the vector is an element of C.
#pragma once

INLINE float lane_xor(float x, int lanes) { return __shfl_xor_sync(0xffffffff, x, lanes); }
INLINE double lane_xor(double x, int lanes) { return __shfl_xor_sync(0xffffffff, x, lanes); }
#if COMPLEX
INLINE Element lane_xor(Element x, int lanes) { return Element{lane_xor(x.re, lanes), lane_xor(x.im, lanes)}; }
#endif

// Elements of the vector that meet the words at one place of all runs, as they are read: two words of 16 bytes of neighbours, of
// which the first begins up to a word earlier, or element by element.
template <bool SAFE> struct Asked {
    static constexpr bool BY_WORDS = SAFE && !STRIDED, ALIGNED = UNIT == 16 && UNIT_X == 16;
    Word low, high;
    Stored element[WORD];
    int at, shift;

    INLINE void read(const Product &p, int first) {
        at = first;
        if constexpr (BY_WORDS) {
            const Stored *const from = p.x + at;
            shift = ALIGNED ? 0 : (int)((unsigned long long)from / SIZE & (WORD - 1));
            low = high = no_word();
            // Words are read that have an element of the vector.
            if (at + WORD - shift > 0 && at - shift < p.length) read_x(low.vector, from - shift);
            if (!ALIGNED && shift > 0 && at + WORD - shift < p.length) read_x(high.vector, from - shift + WORD);
        } else {
            UNROLL for (int e = 0; e < WORD; e++) {
                element[e] = Stored();
                if (inside(p, at + e)) read_x(*(typename Vector<SIZE>::Type *)&element[e], p.x + (at + e) * p.step_x);
            }
        }
    }
    static INLINE bool inside(const Product &p, int at) { return (unsigned int)at < (unsigned int)p.length; }

    // The word that begins so many elements later, with no index that is known at run time alone.
    INLINE Word shifted() const {
        constexpr int STEP = SIZE < 4 ? 1 : SIZE / 4;  // words of 4 bytes of an element
        unsigned int from[8];
        UNROLL for (int i = 0; i < 4; i++) from[i] = low.words[i], from[i + 4] = high.words[i];
        const int whole = SIZE < 4 ? shift / 2 : shift * STEP;
        UNROLL for (int i = 0; i < 6; i++) from[i] = whole & 2 ? from[i + 2] : from[i];
        if (STEP == 1) UNROLL for (int i = 0; i < 5; i++) from[i] = whole & 1 ? from[i + 1] : from[i];
        Word out;
        UNROLL for (int i = 0; i < 4; i++) out.words[i] = SIZE < 4 ? __funnelshift_r(from[i], from[i + 1], 16 * (shift & 1)) : from[i];
        return out;
    }
};

// What the words at one place of all runs meet: elements of the vector, 0 outside of the run, and which bits are of it: what is
// read of a neighbouring run may be infinite.
struct Opposite {
    Element x[WORD];
    Word mask;

    template <bool SAFE> INLINE void prepare(const Product &p, const Asked<SAFE> &asked) {
        if constexpr (!EVEN) {
            UNROLL for (int word = 0; word < 4; word++) mask.words[word] = 0;
            UNROLL for (int b = 0; b < 16; b += smaller(SIZE, 4))
                if (Asked<SAFE>::inside(p, asked.at + b / SIZE)) mask.words[b / 4] |= SIZE == 2 ? 0xffffu << b % 4 * 8 : 0xffffffffu;
        }
        Word some;
        if constexpr (Asked<SAFE>::BY_WORDS)
            some = masked(Asked<SAFE>::ALIGNED ? asked.low : asked.shifted());
        else
            UNROLL for (int e = 0; e < WORD; e++) some.element[e] = asked.element[e];
        UNROLL for (int e = 0; e < WORD; e++) x[e] = conjugated(CONJ_X, widened(some.element[e]));
    }
    INLINE Word masked(Word found) const {
        if constexpr (!EVEN) UNROLL for (int word = 0; word < 4; word++) found.words[word] &= mask.words[word];
        return found;
    }
    INLINE void add(Element &sum, Word found) const {
        found = masked(found);
        UNROLL for (int e = 0; e < WORD; e++) multiply_add(sum, conjugated(CONJ_MATRIX, widened(found.element[e])), x[e]);
    }
};

// The sums of a team's runs, which its lanes have in parts.
struct Sums {
    Element sum[RUNS];

    INLINE Sums() { UNROLL for (int r = 0; r < RUNS; r++) sum[r] = zero(); }

    // Lanes add up what they have. Of several runs each half of the lanes goes on with a half, so that every sum is sent once or
    // twice, and not as often as lanes are halved. Calls act with a run of these and its sum, by one lane each.
    template <typename Act> INLINE void each(int lane, Act act) {
        int count = RUNS, mine = 0;
        UNROLL for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            const bool upper = lane & lanes;
            if (count > 1) {
                count /= 2;
                UNROLL for (int r = 0; r < count; r++) {
                    const Element kept = upper ? sum[r + count] : sum[r], sent = upper ? sum[r] : sum[r + count];
                    sum[r] = sum_of(kept, lane_xor(sent, lanes));
                }
                mine += upper ? count : 0;
            } else {
                sum[0] = sum_of(sum[0], lane_xor(sum[0], lanes));
            }
        }
        // Lanes that differ in the last bits alone have the same.
        if (LANES > RUNS && lane % (LANES > RUNS ? LANES / RUNS : 1) != 0) return;
        UNROLL for (int r = 0; r < ceiling(RUNS, LANES); r++) act(mine + r, sum[r]);
    }
};

#if SPLIT > 1
// What the block has of the tile.
__shared__ Element partial[TILE];
#endif

template <bool SAFE> INLINE void multiply(const Product &p, const Scalars &scalars) {
    const int team = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const long long apart = TEAMS * p.ld;
    int first = p.first + team;
    Words runs(p.matrix + first * p.ld);
    // All runs of a team begin at the same place in a word.
    const int words = ceiling(runs.head + p.length, WORD);
    Asked<SAFE> asked[WORDS];
    Opposite opposite[HELD ? WORDS : 1];
    auto ask = [&](int word) {
        UNROLL for (int i = 0; i < WORDS; i++) asked[i].read(p, (word + i * LANES) * WORD - runs.head);
    };
    if (HELD) {
        ask(lane);
        UNROLL for (int i = 0; i < WORDS; i++) opposite[HELD ? i : 0].prepare(p, asked[i]);
    }
    _Pragma("unroll 1") for (int turn = 0; turn < TURNS; turn++) {
        Sums sums;
        auto step = [&](int word) {
            if (!HELD) ask(word);
            Word found[WORDS][RUNS];
            UNROLL for (int i = 0; i < WORDS; i++) UNROLL for (int r = 0; r < RUNS; r++)
                found[i][r] = Words(runs, r * apart).template read<SAFE>(
                    word + i * LANES, word + i * LANES < words && first + r * TEAMS < p.runs, p.all);
            UNROLL for (int i = 0; i < WORDS; i++) {
                if (!HELD) opposite[0].prepare(p, asked[i]);
                UNROLL for (int r = 0; r < RUNS; r++) opposite[HELD ? i : 0].add(sums.sum[r], found[i][r]);
            }
        };
        if (HELD)
            step(lane);
        else
            _Pragma("unroll 1") for (int word = lane; word < words; word += LANES * WORDS) step(word);
        sums.each(lane, [&](int r, Element sum) {
            const int run = first + r * TEAMS;
#if SPLIT > 1
            partial[run - p.first] = sum;
#else
            if (run < p.runs) keep(p.c + run * p.step_c, sum, scalars);
#endif
        });
        first += TEAMS * RUNS;
        runs.base += RUNS * apart;
        if (first - team >= p.runs) break;
    }
#if SPLIT > 1
    join(partial, smaller(p.runs - p.first, TILE), p, scalars);
#endif
}
