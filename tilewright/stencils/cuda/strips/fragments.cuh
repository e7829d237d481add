// A warp's part of a tile by tensor cores, in float64 whatever the type: its rows of A are fragments in registers for all of k,
// and every lane reads what it multiplies of B by itself, a turn ahead. Numbers of 32 bits are widened, so that their products
// and sums are exact but for the one rounding of what is written.
//
// Columns of C are rows of the product (PTX ISA, "mma.m16n8k16 with .f64"), so that a lane has neighbours in a column of C:
//
//                 8 rows of C: a lane has two of each product,         lane 4 r + q: columns r and r + 8,
//                 and a whole vector of PARTS products                  of k the STEPS from STEPS q on
//     column r    | q 0 | q 1 | q 2 | q 3 |
//     column r+8  | q 0 | q 1 | q 2 | q 3 |                            (MMA 8: column r alone)
//
// With LINES every other lane r has two products of the columns of its neighbour in place of its own: two lanes then write
// 128 bytes of one column with one instruction, and not 64 bytes of two.
#pragma once

#include "strips/read.cuh"

constexpr int STEPS = (K + 3) / 4;          // numbers of k of a lane
constexpr int PARTS = RUN / 2;              // products that make a vector of C
constexpr int SETS = WARP_M / (8 * PARTS);  // of such products a warp has
constexpr int HIGH = MMA / 8, PIECES = COLUMNS / 8;  // pieces of 8 columns of a product, and of a turn
constexpr int LEFT_OVER = 4 * STEPS - K;    // numbers of k that there are not

static_assert(!COMPLEX, "mma-type: tensor cores multiply real numbers");
static_assert(MMA == 8 || MMA == 16, "mma-rows: a product has 8 or 16 columns of C");
static_assert(COLUMNS % MMA == 0, "columns-mma: a turn is made of whole products");
static_assert(SETS % (1 + LINES) == 0, "lines-whole: pairs of vectors make 128 bytes");

// A value that the compiler does not look behind: it would hold all addresses of a loop in registers, and not one.
template <class T> INLINE void hidden(T &x) { asm volatile("" : "+l"(x)); }

// A lane's STEPS numbers of k of a row of op(A) or a column of op(B), from the first of them on.
template <bool ALONG, int VEC> INLINE void read_part(Stored (&x)[STEPS], const Stored *from, long long ld, int q) {
    constexpr int COUNT = ALONG ? divisor_of(divisor_of(VEC, K), STEPS) : 1;
    UNROLL for (int i = 0; i < STEPS; i += COUNT) {
        Stored found[COUNT];
        if (LEFT_OVER) UNROLL for (int e = 0; e < COUNT; e++) found[e] = zero();
        if (LEFT_OVER == 0 || STEPS * q + i < K) read(found, from + i * (ALONG ? 1 : ld));
        UNROLL for (int e = 0; e < COUNT; e++) x[i + e] = found[e];
    }
}

// C of a product: columns r (and r + 8) in pairs of rows.
typedef double Sum[HIGH][2];

template <int DEPTH> INLINE void product(Sum &c, const double (&a)[HIGH][STEPS], const double (&b)[STEPS], int i) {
    constexpr int H = HIGH - 1;
    if constexpr (HIGH == 1)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c[0][0]), "+d"(c[0][1]) : "d"(a[0][i]), "d"(b[i]));
    else if constexpr (DEPTH == 4)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
            "{%0,%1,%2,%3};"
            : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[H][0]), "+d"(c[H][1])
            : "d"(a[0][i]), "d"(a[H][i]), "d"(a[0][i + 1]), "d"(a[H][i + 1]), "d"(a[0][i + 2]), "d"(a[H][i + 2]),
              "d"(a[0][i + 3]), "d"(a[H][i + 3]), "d"(b[i]), "d"(b[i + 1]), "d"(b[i + 2]), "d"(b[i + 3]));
    else if constexpr (DEPTH == 2)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[H][0]), "+d"(c[H][1])
            : "d"(a[0][i]), "d"(a[H][i]), "d"(a[0][i + 1]), "d"(a[H][i + 1]), "d"(b[i]), "d"(b[i + 1]));
    else
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[H][0]), "+d"(c[H][1]) : "d"(a[0][i]), "d"(a[H][i]), "d"(b[i]));
}

INLINE void multiply(Sum &c, const double (&a)[HIGH][STEPS], const double (&b)[STEPS]) {
    UNROLL for (int h = 0; h < HIGH; h++) c[h][0] = c[h][1] = 0;
    constexpr int DEPTH = STEPS % 4 == 0 ? 4 : STEPS % 2 == 0 ? 2 : 1;
    UNROLL for (int i = 0; i < STEPS; i += HIGH == 1 ? 1 : DEPTH) product<DEPTH>(c, a, b, i);
}

// Rows of C of a lane: those of its columns c of a product's B lie so far behind its first one, row 2 q of the first product.
INLINE constexpr int below(int t, int p) { return t * 8 * PARTS + 2 * p; }

// Columns of B of a turn, of which a lane reads r and, with LINES, r ^ 1 of each piece of 8; the last one in place of those that
// there are not.
struct Turn {
    Stored x[1 + LINES][PIECES][STEPS];

    INLINE void load(const Stored *b, long long ldb, int left, int r, int q) {
        UNROLL for (int other = 0; other <= LINES; other++) UNROLL for (int j = 0; j < PIECES; j++)
            read_part<B_ALONG, VEC_B>(x[other][j], b + min(8 * j + (r ^ other), left - 1) * (B_ALONG ? ldb : 1), ldb, q);
    }
};

// Rows of A for all of k, as fragments; the first one in place of those that there are not.
INLINE void load_rows(double (&x)[SETS][PARTS][STEPS], const Stored *a, long long lda, int rows, int r, int q) {
    const Stored *from = a + STEPS * q * (A_ALONG ? 1 : lda);
    hidden(from);
    const int mine = r / 2 * RUN + r % 2;
    UNROLL for (int t = 0; t < SETS; t++) UNROLL for (int p = 0; p < PARTS; p++) {
        const int row = below(t, p) + mine;
        Stored found[STEPS];
        read_part<A_ALONG, VEC_A>(found, from + (row < rows ? row : 0) * (A_ALONG ? lda : 1), lda, q);
        UNROLL for (int i = 0; i < STEPS; i++) x[t][p][i] = found[i];
    }
}

// C from a lane's first element on: `rows` and `columns` are left from there on, or all of a turn if INSIDE.
template <bool INSIDE>
INLINE void multiply_turn(const double (&x)[SETS][PARTS][STEPS], const Turn &turn, Stored *c, long long ldc, int rows, int columns,
                          bool odd) {
    UNROLL for (int j = 0; j < PIECES; j += HIGH) {
        double y[1 + LINES][HIGH][STEPS];
        UNROLL for (int other = 0; other <= LINES; other++) UNROLL for (int h = 0; h < HIGH; h++)
            UNROLL for (int i = 0; i < STEPS; i++) y[other][h][i] = turn.x[other][j + h][i];
        Stored *to[HIGH][1 + LINES];
        UNROLL for (int h = 0; h < HIGH; h++) UNROLL for (int other = 0; other <= LINES; other++) {
            to[h][other] = c + (8 * (j + h) + other) * ldc;
            hidden(to[h][other]);
        }
        UNROLL for (int t = 0; t < SETS; t += 1 + LINES) {
            Pack<RUN> found[1 + LINES][HIGH];
            UNROLL for (int other = 0; other <= LINES; other++) UNROLL for (int p = 0; p < PARTS; p++) {
                Sum sum;
                multiply(sum, y[other], x[t + other][p]);
                UNROLL for (int h = 0; h < HIGH; h++) UNROLL for (int e = 0; e < 2; e++)
                    found[other][h].element[2 * p + e] = sum[h][e];
            }
            UNROLL for (int h = 0; h < HIGH; h++) {
                // Lanes with an odd r have the second set in their own column, and the first in their neighbour's.
                if (LINES) UNROLL for (int w = 0; w < RUN * SIZE / 4; w++) {
                    const unsigned int one = found[0][h].words[w], two = found[LINES][h].words[w];
                    found[0][h].words[w] = odd ? two : one;
                    found[LINES][h].words[w] = odd ? one : two;
                }
                UNROLL for (int other = 0; other <= LINES; other++) {
                    // With LINES c begins in the column with an even r, for lanes with an odd one at the second set.
                    const int column = 8 * (j + h) + other;
                    const int row = below(t, 0) + (LINES && other ? (odd ? -1 : 1) * below(1, 0) : 0);
                    if (INSIDE || (column < columns && row < rows))
                        global_store((typename Vector<RUN * SIZE>::Type *)(to[h][other] + row), found[other][h].vector);
                }
            }
        }
    }
}

// One tile of a warp, whose first row in it is `first`.
INLINE void multiply_tile(const TileScheduler &tile, int first, int lane) {
    const Segments &g = tile.groups.g;
    const int r = lane / 4, q = lane % 4;
    const bool odd = LINES && r % 2;
    int left = min(TILE_N, tile.end_n - tile.n), rows = tile.end_m - first;
    const bool whole = rows >= WARP_M;
    const long long step = B_ALONG ? g.ldb : 1;
    const Stored *b = tile.b() + tile.n * step + STEPS * q * (B_ALONG ? 1 : g.ldb);
    double x[SETS][PARTS][STEPS];
    load_rows(x, tile.a() + first * (A_ALONG ? g.lda : 1), g.lda, rows, r, q);
    const int row = q * RUN + odd * below(1, 0), column = r - odd;
    rows -= row;
    Stored *c = tile.c() + first + row + (tile.n + column) * g.ldc;
    _Pragma("unroll 1") for (; left > 0; left -= COLUMNS) {
        hidden(b);
        hidden(c);
        Turn turn;
        turn.load(b, g.ldb, left, r, q);
        if (whole && left >= COLUMNS) multiply_turn<true>(x, turn, c, g.ldc, rows, left - column, odd);
        else multiply_turn<false>(x, turn, c, g.ldc, rows, left - column, odd);
        b += COLUMNS * step;
        c += COLUMNS * g.ldc;
    }
}

// Columns that are no group's, of which products have no terms.
INLINE void clear_tile(const TileScheduler &tile, int first, int lane) {
    const int columns = min(TILE_N, tile.end_n - tile.n), rows = min(WARP_M, tile.end_m - first);
    typename Vector<RUN * SIZE>::Type none;
    clear(none);
    _Pragma("unroll 1") for (int n = 0; n < columns; n++) _Pragma("unroll 1") for (int row = lane * RUN; row < rows; row += 32 * RUN)
        global_store((typename Vector<RUN * SIZE>::Type *)(tile.c() + first + row + (tile.n + n) * tile.groups.g.ldc), none);
}

// The block's tiles of a chunk of groups.
INLINE void multiply_tiles(const Groups &groups, int warp, int lane) {
    _Pragma("unroll 1") for (TileScheduler tile(groups); tile.valid(); tile.next()) {
        const int first = tile.m + warp * WARP_M;
        if (first >= tile.end_m) continue;
        if (tile.k_left() > 0) multiply_tile(tile, first, lane);
        else clear_tile(tile, first, lane);
    }
}
