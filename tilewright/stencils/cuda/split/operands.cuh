// Operands on their way into shared memory: warps of their own read a slice, split its numbers and leave planes of their parts where
// tensor cores read them. What they read next is on its way meanwhile.
//
// A product of complex numbers is one of real ones, with twice the k and twice the columns, whose results lie as complex numbers do:
// what is multiplied are the parts of A, side by side along k, with those of B, of which each column is (re, -im) for the real
// parts and (im, re) for the imaginary ones.
#pragma once

constexpr int FOUR = 4;  // numbers of a word

// The numbers of a thread of a slice of an operand, which TILE rows (of B: columns) of a tile are made of. ALONG: stored columns run
// along k. WIDE: they are whole words of 16 bytes, and begin at such ones.
template <bool IS_A, bool ALONG, bool CONJUGATED, int TILE, bool WIDE> struct Operand {
    // Whether the real and imaginary parts of a word go to two lines, or all of it to two, as it is and turned.
    static constexpr bool APART = PAIRS && IS_A && !ALONG, TWICE = PAIRS && !IS_A;
    // Stored columns of a slice, real numbers of a unit of one, such units of a column, and columns that all threads have at a time.
    static constexpr int COLUMNS = ALONG ? TILE / (TWICE ? 2 : 1) : SLICE / PARTS_OF, UNIT = APART ? 8 : FOUR;
    static constexpr int UNITS = ALONG ? SLICE / UNIT : TILE / FOUR, STEP = SPLITTERS / UNITS, EACH = COLUMNS / STEP;
    static_assert(COLUMNS % STEP == 0, "all threads have as many units");

    const int first, at;  // the thread's first column, and its unit of all
    float x[EACH][UNIT];

    INLINE Operand(int thread) : first(thread / UNITS), at(thread % UNITS) {}

    // Asks for all of a slice that begins at `from`, of which `columns` columns of `length` numbers are there: zeros take the place of
    // others.
    INLINE void ask(const float *from, long long ld, int columns, int length) {
        UNROLL for (int i = 0; i < EACH; i++) {
            const int column = first + i * STEP;
            ask_one(i, from + column * (ld * PARTS_OF) + at * UNIT, column < columns ? length - at * UNIT : 0);
        }
    }

    INLINE void ask_one(int i, const float *here, int left) {
        UNROLL for (int w = 0; w < UNIT; w += FOUR) {
            if (WIDE) {
                float4 word = make_float4(0, 0, 0, 0);
                if (w < left) word = *(const float4 *)(here + w);
                x[i][w] = word.x;
                x[i][w + 1] = word.y;
                x[i][w + 2] = word.z;
                x[i][w + 3] = word.w;
            } else {
                UNROLL for (int e = 0; e < FOUR; e++) {
                    x[i][w + e] = 0;
                    if (w + e < left) x[i][w + e] = here[w + e];
                }
            }
        }
    }

    // Where a word goes in a plane: of line number `line` of a slice, its 8 bytes number `at`.
    static INLINE int place(int line, int at) {
        const int box = ALONG ? 0 : at / 16 * BOX, of_line = ALONG ? at : at % 16;
        return box + line * LINE + ((of_line / 2 ^ line % 8) * 16 + of_line % 2 * 8);
    }

    // Splits all units and leaves their parts in the planes of a slot. Of what runs along k columns that are not there meet nothing that
    // is stored.
    INLINE void put(int columns, const int (&planes)[PLANES]) const {
        Infinite infinite;
        UNROLL for (int i = 0; i < EACH; i++) UNROLL for (int w = 0; w < UNIT; w += FOUR)
            infinite.note({x[i][w], x[i][w + 1], x[i][w + 2], x[i][w + 3]});
        if (__any_sync(0xffffffff, infinite.any()))
            put_all<true>(columns, planes);
        else
            put_all<false>(columns, planes);
    }

    template <bool CAREFUL> INLINE void put_all(int columns, const int (&planes)[PLANES]) const {
        UNROLL for (int i = 0; i < EACH; i++)
            if (!ALONG || i * STEP < columns) put_one<CAREFUL>(i, planes);
    }

    template <bool CAREFUL> INLINE void put_one(int i, const int (&planes)[PLANES]) const {
        const int column = first + i * STEP;
        UNROLL for (int w = 0; w < UNIT; w += FOUR) {
            const float *const y = x[i];
            float word[FOUR];
            UNROLL for (int e = 0; e < FOUR; e++) word[e] = APART ? y[2 * e + w / FOUR] : y[e];
            unsigned int low[PLANES], high[PLANES];
            split_pair<CAREFUL>(word[0], word[1], low);
            split_pair<CAREFUL>(word[2], word[3], high);
            // Signs of the two numbers of a register.
            constexpr unsigned int FIRST = 0x8000, SECOND = 0x80000000, BOTH = FIRST | SECOND;
            UNROLL for (int plane = 0; plane < PLANES; plane++) {
                const auto store = [&](int line, unsigned int lower, unsigned int upper) {
                    *(uint2 *)(shared_memory + planes[plane] + (IS_A ? 0 : OF_A) + place(line, at)) = make_uint2(lower, upper);
                };
                if (TWICE) {
                    // Along k the lines are columns, (re, -im) and (im, re). Across k they meet real and imaginary parts of A: of each
                    // number one has re and im, for two columns, and the other one -im and re.
                    const unsigned int flip = ALONG ? (CONJUGATED ? 0 : SECOND) : (CONJUGATED ? SECOND : 0);
                    const unsigned int other = ALONG ? (CONJUGATED ? FIRST : 0) : (CONJUGATED ? 0 : FIRST);
                    store(2 * column, low[plane] ^ flip, high[plane] ^ flip);
                    store(2 * column + 1, __byte_perm(low[plane], 0, 0x1032) ^ other, __byte_perm(high[plane], 0, 0x1032) ^ other);
                } else {
                    const unsigned int flip = !CONJUGATED ? 0 : !APART ? SECOND : w ? BOTH : 0;
                    store(APART ? 2 * column + w / FOUR : column, low[plane] ^ flip, high[plane] ^ flip);
                }
            }
        }
    }
};

// The slices of all tiles of a block, one after the other: where the next one begins, and how much of it is there.
struct Source {
    const Product &g;
    const Tiles tiles;
    Walk walk;
    const float *a, *b;
    int rows, columns, k = 0;  // that are left, of k from this slice on; no k behind the last tile

    INLINE Source(const Product &product, const Cut &cut) : g(product), tiles(product), walk(tiles, cut) {}

    INLINE void next() {
        k -= SLICE;
        if (k > 0) {
            a += A_ALONG ? SLICE : SLICE * g.lda;
            b += B_ALONG ? SLICE : SLICE * g.ldb;
            return;
        }
        rows = columns = k = 0;
        if (!walk.next()) return;
        const Place place(g, tiles, walk.number);
        rows = g.m - place.m;
        columns = g.columns - place.n;
        k = g.k;
        a = g.a + PARTS_OF * (place.product * g.stride_a + place.m * (A_ALONG ? g.lda : 1));
        b = g.b + PARTS_OF * (place.product * g.stride_b) + place.n * (B_ALONG ? g.ldb : 1);
    }
};

typedef Operand<true, A_ALONG, CONJ_A, TILE_M, WIDE_A> OperandA;
typedef Operand<false, B_ALONG, CONJ_B, TILE_N, WIDE_B> OperandB;

// By all threads that split.
INLINE void split_slices(const Product &g, const Cut &cut) {
    const int thread = threadIdx.x - 128 * GROUPS;
    OperandA of_a(thread);
    OperandB of_b(thread);
    Source source(g, cut);
    Turn<STAGES> turn;
    turn.parity = 1;  // nothing has to be read before the first ones
    const auto ask_a = [&] { of_a.ask(source.a, g.lda, A_ALONG ? source.rows : source.k / PARTS_OF, A_ALONG ? source.k : source.rows * PARTS_OF); };
    const auto ask_b = [&] { of_b.ask(source.b, g.ldb, (B_ALONG ? source.columns : source.k) / PARTS_OF, B_ALONG ? source.k : source.columns); };
    source.next();
    ask_a();
    ask_b();
    _Pragma("unroll 1") while (source.k > 0) {
        int planes[PLANES];  // where their slots begin
        UNROLL for (int i = 0; i < PLANES; i++) {
            barrier_wait(gone_barrier(turn.at), turn.parity);
            // In the order in which they are multiplied.
            planes[PLANES == 2 ? i : (i + 2) % 3] = turn.at * STAGE;
            turn.next();
        }
        const int rows = source.rows, columns = source.columns / PARTS_OF;
        source.next();
        of_a.put(rows, planes);
        ask_a();
        of_b.put(columns, planes);
        ask_b();
        async_fence();
        __syncwarp();
        if (threadIdx.x % 32 == 0) UNROLL for (int i = 0; i < PLANES; i++) barrier_expect(come_barrier(planes[i] / STAGE), 0);
    }
}
