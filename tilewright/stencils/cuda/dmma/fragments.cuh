// Fragments from slices: which numbers a lane reads, and the products of them.
//
// The left operand of tensor cores, of 16 rows, is A, but of real numbers where A lies along k it is B; the right one has 8
// columns. With r = lane / 4 and q = lane % 4 a lane holds at place 2 j + i of a fragment (places of k, four lanes each):
//
//   complex numbers                      element 2q + j, its part i ^ (q & 1)
//   both operands along k                8 (q & 1) + 2 (2j + i) + q / 2
//   otherwise                            2 (c ^ j) + i, where c is 0, 2, 5, 7 of the four lanes
//
// which are the 16 numbers of a line for j = 0 and 1. So 16 lanes that read 8 bytes each, and 8 that read 16, find all banks.
// Where 16 bytes serve: of a left operand across k they are two rows at one k, which are then rows r and r + 8 of the fragment;
// of a right one along k they are two places of one column.
#pragma once

constexpr bool LEFT_ALONG = LEFT_A ? A_ALONG : B_ALONG, RIGHT_ALONG = LEFT_A ? B_ALONG : A_ALONG;
constexpr bool BOTH_ALONG = !COMPLEX && LEFT_ALONG && RIGHT_ALONG;
constexpr bool LEFT_WIDE = !COMPLEX && !LEFT_ALONG, RIGHT_WIDE = !COMPLEX && RIGHT_ALONG && !BOTH_ALONG;  // 16 bytes at a time
constexpr bool CONJ_LEFT = LEFT_A ? CONJ_A : CONJ_B, CONJ_RIGHT = LEFT_A ? CONJ_B : CONJ_A;
constexpr int LEFT_ROWS = (LEFT_A ? WARP_M : WARP_N) / 16, RIGHT_COLUMNS = (LEFT_A ? WARP_N : WARP_M) / 8;  // products of a warp
constexpr int PLACES = MMA_K == 16 ? 4 : 2, STEPS = DEPTH * NUMBERS / (4 * PLACES);  // of a step, and steps of a slice
constexpr int LEFT_BLOCK = LEFT_A ? BLOCK_A : BLOCK_B, RIGHT_BLOCK = LEFT_A ? BLOCK_B : BLOCK_A;

typedef double Left[PLACES][2], Right[PLACES];
typedef double Number, Sums[NUMBERS][LEFT_ROWS][RIGHT_COLUMNS][4];

// The sums of a thread one after the other.
#define MET_TURNS (LOOSE ? 2 : 1)  // the compiler would have more on their way than registers hold
constexpr int IN_FRONT = 0;  // bytes of the workspace before flags
constexpr int SUMMED = NUMBERS * LEFT_ROWS * RIGHT_COLUMNS * 4;
INLINE Number &number_of(Sums &sum, int i) {
    const int product = i / 4, column = product % RIGHT_COLUMNS, row = product / RIGHT_COLUMNS;
    return sum[row / LEFT_ROWS][row % LEFT_ROWS][column][i % 4];
}

// Where the numbers of a lane begin in the lines of 16 rows (8 columns), for j = 0 and i = 0.
INLINE unsigned int first_left(int r, int q) {
    const int c = 2 * q + q / 2;
    if (COMPLEX) return (LEFT_ALONG ? r * LINE : 2 * q * LINE) + (r ^ 2 * q) * 16 + q % 2 * 8;
    if (LEFT_ALONG) return r * LINE + (r ^ q % 2 * 4) * 16 + q / 2 * 8;
    return 2 * c * LINE + (r ^ c % 4 * 2) * 16;
}
INLINE unsigned int first_right(int r, int q) {
    const int c = 2 * q + q / 2;
    if (COMPLEX) return (RIGHT_ALONG ? r * LINE : 2 * q * LINE) + (r ^ 2 * q) * 16 + q % 2 * 8;
    if (BOTH_ALONG) return r * LINE + (r ^ q % 2 * 4) * 16 + q / 2 * 8;
    if (RIGHT_ALONG) return r * LINE + (r ^ c) * 16;
    return 2 * c * LINE + (r / 2 ^ c % 4 * 2) * 16 + r % 2 * 8;
}

// Bits in which the address of place 2 j + i differs from that of the first one.
CONSTANT unsigned int turned(bool along, int j, int i) {
    if (COMPLEX) return (along ? j * 16 : j * (LINE + 16)) ^ i * 8;
    if (BOTH_ALONG) return (2 * j + i) * 16;
    return along ? j * 16 : j * 2 * (LINE + 16) ^ i * (LINE + 16);
}

INLINE void shared_number(double &x, unsigned int at) { asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at) : "memory"); }
INLINE void shared_pair(double &x, double &y, unsigned int at) {
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "r"(at) : "memory");
}

// The fragment of a step, 16 rows further on for each `row`; `at` is where the lane begins in the slice.
INLINE void load_left(Left &x, unsigned int at, int step, int row) {
    UNROLL for (int place = 0; place < PLACES; place++) {
        const int j = (step * PLACES + place) / 2, i = place % 2;
        const unsigned int from = (at ^ turned(LEFT_ALONG, j % 2, i)) + j / 2 * LEFT_BLOCK + row * 16 * LINE;
        if (LEFT_WIDE) {
            shared_pair(x[place][0], x[place][1], from);
        } else {
            shared_number(x[place][0], from);
            shared_number(x[place][1], from + 8 * LINE);
        }
    }
}

// The same of 8 columns. Across k a line has the real numbers of 16 of them.
INLINE void load_right(Right &x, unsigned int at, int step, int column) {
    const unsigned int further = (HALVES ? column / 2 * 16 : column * 8) * LINE, half = HALVES ? column % 2 * (LINE / 2) : 0;
    UNROLL for (int place = 0; place < PLACES; place += RIGHT_WIDE ? 2 : 1) {
        const int j = (step * PLACES + place) / 2, i = place % 2;
        const unsigned int from = (at ^ turned(RIGHT_ALONG, j % 2, i) ^ half) + j / 2 * RIGHT_BLOCK + further;
        if (RIGHT_WIDE) shared_pair(x[place], x[place + 1], from); else shared_number(x[place], from);
    }
}

// ---- products ------------------------------------------------------------------------------------------------------------
// With the sign bit of `sign` flipped.
INLINE double flipped(double x, unsigned int sign) {
    return __hiloint2double(__double2hiint(x) ^ (int)sign, __double2loint(x));
}

// All rows of a warp times 8 columns. `odd`: whether this lane has an imaginary part at the places with i = 0.
INLINE void multiply_column(Sums &sum, const Left (&a)[LEFT_ROWS], const Right &b, int column, unsigned int odd) {
    Right of_re, of_im;
    UNROLL for (int place = 0; place < PLACES; place++) {
        const unsigned int imaginary = (place & 1 ? odd ^ 1 : odd) << 31, real = imaginary ^ 0x80000000u;
        if (!COMPLEX) of_re[place] = b[place];
        else {
            of_re[place] = CONJ_LEFT == CONJ_RIGHT ? flipped(b[place], imaginary) : b[place];
            const unsigned int sign = (CONJ_LEFT ? imaginary : 0) ^ (CONJ_RIGHT ? real : 0);
            of_im[place] = CONJ_LEFT || CONJ_RIGHT ? flipped(b[place ^ 1], sign) : b[place ^ 1];
        }
    }
    UNROLL for (int row = 0; row < LEFT_ROWS; row++) {
        mma_16x8<PLACES>(sum[0][row][column], a[row], of_re);
        if (COMPLEX) mma_16x8<PLACES>(sum[NUMBERS - 1][row][column], a[row], of_im);
    }
}
