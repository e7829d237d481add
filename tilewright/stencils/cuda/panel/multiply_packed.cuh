// The multiplier of multiply-add units with the small operand packed: WIDTH neighbours of it for each k, as they are multiplied, at
// multiples of 16 bytes, which one vector brings to all threads of a warp, whatever its size and transposition are.
#pragma once

constexpr int LENGTH = LONG_M ? ROWS : COLUMNS, WIDTH = LONG_M ? COLUMNS : ROWS;
constexpr int AT_ONCE = 16 / (int)sizeof(Element), ROOM = ceiling(WIDTH, AT_ONCE) * AT_ONCE;  // elements of a vector, of WIDTH
constexpr int ACROSS = ceiling(SHORT, WIDTH), LD_PACKED = ACROSS * ROOM;

template <int COUNT> union Elements {
    uint4 vector;
    Element element[COUNT];
    INLINE Elements() {}
};

// By MANY threads: the small operand from shared or device memory to its place.
template <int MANY> INLINE void pack(const Stored *small, long long ld, int buffer) {
    Element *const to = (Element *)(shared_memory + AT_PACKED + buffer * BYTES_PACKED);
    constexpr bool ALONG_K = LONG_M ? !TRANS_B : TRANS_A, CONJUGATED = LONG_M ? CONJ_B : CONJ_A;
    _Pragma("unroll 4") for (int e = threadIdx.x; e < SIZE_K * SHORT; e += MANY) {
        const int k = ALONG_K ? e % SIZE_K : e / SHORT, s = ALONG_K ? e / SIZE_K : e % SHORT;
        const Stored x = small[ALONG_K ? k + s * (int)ld : s + k * (int)ld];
        to[k * LD_PACKED + s / WIDTH * ROOM + s % WIDTH] = conjugated(CONJUGATED, widened(x));
    }
}

// Part number `part` of a tile: LENGTH places along the panel times WIDTH of the small operand.
template <int AT_PANEL, int AT_C, typename Lead, typename LeadC, typename Out>
INLINE void multiply_packed(int part, const Stored *panel, Lead lead, int buffer, const Stored *c, Out out, LeadC ldc,
                            const Scalars &s) {
    constexpr bool CONJUGATED = LONG_M ? CONJ_A : CONJ_B;
    // Vectors run along the panel, or along k.
    constexpr int V = LONG_M ? vector(ALONG ? smaller(AT_C, AT_PANEL) : AT_C, TILE, LENGTH)
                             : ALONG ? vector(AT_PANEL, TILE, LENGTH) : 1;
    constexpr int VK = ALONG ? 1 : vector(AT_PANEL, SIZE_K, SIZE_K);
    constexpr int AROUND = ceiling(TILE, LENGTH), STEPS = SIZE_K / VK;
    constexpr bool WHOLE = AROUND * LENGTH == TILE;
    constexpr int COST = LENGTH * WIDTH * VK * (COMPLEX ? 4 : 1);
    // Where there are many threads the compiler has no registers for all that it would read ahead in a long loop without branches.
    constexpr int AT_ALL = THREADS * BLOCKS >= 640 || THREADS >= 512 ? 128 : THREADS > 384 ? 256 : 512, SOME = smaller(256, AT_ALL);
    constexpr int UNROLLED = COST * STEPS <= AT_ALL ? STEPS : COST >= SOME ? 1 : smaller(STEPS, SOME / COST);
    const int at = part % AROUND, across = part / AROUND, first = across * WIDTH;
    const Element *const small =
        (const Element *)(shared_memory + AT_PACKED + buffer * BYTES_PACKED) + across * ROOM;
    auto place = [&](int i) { return (i / V * AROUND + at) * V + i % V; };
    auto inside = [&](int i) { return WHOLE ? place(i) : min(place(i), TILE - V + i % V); };

    Element sum[WIDTH][LENGTH];
    UNROLL for (int j = 0; j < WIDTH; j++) UNROLL for (int i = 0; i < LENGTH; i++) sum[j][i] = zero();
    _Pragma("unroll UNROLLED") for (int step = 0; step < STEPS; step++) {
        Pack<VK> deep[ALONG ? 1 : LENGTH];
        if (!ALONG) UNROLL for (int i = 0; i < LENGTH; i++) deep[ALONG ? 0 : i] = load<VK>(panel + step * VK + inside(i) * lead);
        UNROLL for (int q = 0; q < VK; q++) {
            const int k = step * VK + q;
            Element x[LENGTH];
            const auto column = k * lead;
            UNROLL for (int i = 0; i < LENGTH; i += V) {
                Pack<V> piece;
                if (ALONG) piece = load<V>(panel + inside(i) + column);
                UNROLL for (int e = 0; e < V; e++)
                    x[i + e] = conjugated(CONJUGATED, widened(ALONG ? piece.element[e] : deep[ALONG ? 0 : i + e].element[q]));
            }
            UNROLL for (int j = 0; j < WIDTH; j += AT_ONCE) {
                Elements<AT_ONCE> y;
                y.vector = *(const uint4 *)(small + k * LD_PACKED + j);
                UNROLL for (int e = 0; e < AT_ONCE; e++) if (j + e < WIDTH) UNROLL for (int i = 0; i < LENGTH; i++)
                    multiply_add(sum[j + e < WIDTH ? j + e : 0][i], x[i], y.element[e]);
            }
        }
    }

    if constexpr (LONG_M) {
        UNROLL for (int j = 0; j < WIDTH; j++) UNROLL for (int i = 0; i < LENGTH; i += V) {
            const int row = place(i), column = first + j;
            if ((!WHOLE && row >= TILE) || (ACROSS * WIDTH != SHORT && column >= SHORT)) continue;
            Pack<V> old;
            if (BETA != 0) old = load<V>(c + row + column * ldc);
            Element result[V];
            UNROLL for (int e = 0; e < V; e++) result[e] = scaled(s, sum[j][i + e], BETA != 0 ? widened(old.element[e]) : zero());
            keep<V>(out, row, column, ldc, packed(result));
        }
    } else {
        UNROLL for (int i = 0; i < LENGTH; i++) {
            const int column = place(i);
            if (!WHOLE && column >= TILE) continue;
            constexpr int VC = vector(AT_C, SHORT, WIDTH);
            UNROLL for (int j = 0; j < WIDTH; j += VC) {
                const int row = first + j;
                if (ACROSS * WIDTH != SHORT && row >= SHORT) continue;
                Pack<VC> old;
                if (BETA != 0) old = load<VC>(c + row + column * ldc);
                Element result[VC];
                UNROLL for (int e = 0; e < VC; e++)
                    result[e] = scaled(s, sum[j + e][i], BETA != 0 ? widened(old.element[e]) : zero());
                keep<VC>(out, row, column, ldc, packed(result));
            }
        }
    }
}
