/* Every kernel of a table against sums in double, on a processor without an operating system.
 *
 * Operands lie at the first or at the last bytes of pages whose neighbours are not mapped, so that reading or
 * writing beyond them ends the run. What lies between their elements is NaN, and must not be read into a
 * result; around C nothing may change. A line goes to port 0xe9 for each kernel.
 */
#include "check.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define PAGE (2u << 20)
/* The pages of A, B and C, as start.S maps them. */
static u16 *const PAGES[3] = {(u16 *)(3ul * PAGE), (u16 *)(5ul * PAGE), (u16 *)(7ul * PAGE)};

#define MOST (4 * 96 * 96)
static u16 before[MOST];

/* ---- what a freestanding program has to bring along */

void *memset(void *to, int value, unsigned long bytes)
{
    for (u8 *at = to; bytes--; at++)
        *at = (u8)value;
    return to;
}

void *memcpy(void *to, const void *from, unsigned long bytes)
{
    for (unsigned long at = 0; at < bytes; at++)
        ((u8 *)to)[at] = ((const u8 *)from)[at];
    return to;
}

static void say(const char *text)
{
    for (; *text; text++)
        __asm__ volatile("outb %0, $0xe9" : : "a"(*text));
}

static void say_number(long long number)
{
    char digits[24], *at = digits + 23;
    u64 left = number < 0 ? -(u64)number : (u64)number;
    *at = 0;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    say(at);
}

/* Bochs's time stamps count instructions. */
static u64 instructions(void)
{
    u32 low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (u64)high << 32 | low;
}

static u32 state = 1;

static u32 draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* ---- numbers of 16 bits */

static double power(int exponent)
{
    union { u64 bits; double value; } made = {(u64)(exponent + 1023) << 52};
    return made.value;
}

static int infinite_or_none(char letter, u16 bits)
{
    u16 top = letter == 'h' ? 0x7c00 : 0x7f80;
    return (bits & top) == top;
}

static int is_none(char letter, u16 bits)
{
    return infinite_or_none(letter, bits) && bits & (letter == 'h' ? 0x3ff : 0x7f);
}

static double value(char letter, u16 bits)
{
    int digits = letter == 'h' ? 10 : 7, bias = letter == 'h' ? 15 : 127;
    int exponent = (bits & 0x7fff) >> digits, fraction = bits & ((1 << digits) - 1);
    double size = exponent ? (fraction + (1 << digits)) * power(exponent - bias - digits)
                           : fraction * power(1 - bias - digits);
    return bits & 0x8000 ? -size : size;
}

enum { NORMAL, SUBNORMAL };

/* What an infinity counts as: no sum of products with it is near to a sum without. */
#define HUGE_NUMBER 1e305

static u16 number(char letter, int kind)
{
    int digits = letter == 'h' ? 10 : 7, bias = letter == 'h' ? 15 : 127;
    u32 exponent = kind == SUBNORMAL ? 0 : (u32)bias - 1 - draw() % 5;
    return (u16)((draw() & 1) << 15 | exponent << digits | (draw() & ((1u << digits) - 1)));
}

/* ---- a case */

struct matrix {
    u16 *first;
    int rows, columns, apart;
    long long stride;
    unsigned long size;  /* elements of all matrices and what lies between them */
};

static struct matrix placed(int which, int rows, int columns, int apart, int shared, int packed, int count,
                            int at_end)
{
    struct matrix x = {0, rows, columns, apart, 0, 0};
    unsigned long one = columns ? (unsigned long)apart * (unsigned long)(columns - 1) + (unsigned long)rows : 0;
    x.stride = shared ? 0 : (long long)apart * columns + (packed ? 0 : 3);
    x.size = count ? (unsigned long)x.stride * (unsigned long)(count - 1) + one : 0;
    x.first = at_end ? PAGES[which] + PAGE / 2 - x.size : PAGES[which];
    return x;
}

static u16 *at(const struct matrix *x, int matrix, int row, int column)
{
    return x->first + x->stride * matrix + (long long)x->apart * column + row;
}

static void fill(const struct matrix *x, char letter, int count, int kind)
{
    for (unsigned long each = 0; each < x->size; each++)
        x->first[each] = 0x7fff;
    for (int matrix = 0; matrix < (x->stride ? count : 1) && x->size; matrix++)
        for (int column = 0; column < x->columns; column++)
            for (int row = 0; row < x->rows; row++)
                *at(x, matrix, row, column) = number(letter, kind);
}

struct mode {
    int count, at_end, kind, special;
};

#define SIDE 64
static double left[SIDE][SIDE], right[SIDE][SIDE];

/* op(X) as numbers, a row of k after the other. */
static void widen(double to[SIDE][SIDE], const struct matrix *x, char letter, int matrix, int rows, int deep,
                  int along)
{
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < deep; k++) {
            u16 bits = along ? *at(x, matrix, k, row) : *at(x, matrix, row, k);
            to[row][k] = infinite_or_none(letter, bits) ? HUGE_NUMBER : value(letter, bits);
        }
}

static const struct mode MODES[] = {
    {1, 0, NORMAL, 0}, {3, 1, NORMAL, 0}, {2, 1, SUBNORMAL, 0}, {2, 0, NORMAL, 1}, {0, 0, NORMAL, 0},
};

static double size_of(double x) { return x < 0 ? -x : x; }

/* Why the kernel is wrong in a mode; null if it is right. ``took``: instructions of the call. */
static const char *tried(const struct problem *p, const struct mode *mode, u64 *took)
{
    static const float scalars[4] = {-1.25f, 0, 0.75f, 0};
    int rows_a = p->transposed_a ? p->k : p->m, rows_b = p->transposed_b ? p->n : p->k;
    int count = mode->count, end = mode->at_end;
    struct matrix a = placed(0, rows_a, p->m + p->k - rows_a, p->lda, p->shared_a, p->packed, count, end);
    struct matrix b = placed(1, rows_b, p->n + p->k - rows_b, p->ldb, p->shared_b, p->packed, count, end);
    struct matrix c = placed(2, p->m, p->n, p->ldc, 0, p->packed, count, end);
    double alpha = p->any_alpha ? (double)scalars[0] : 1;
    double beta = p->beta == 'a' ? (double)scalars[2] : p->beta - '0';
    double half = p->letter == 'h' ? power(-11) : power(-8);
    double least = p->letter == 'h' ? power(-25) : power(-134);

    if (c.size > MOST)
        return "the result is larger than the buffer of the test";
    fill(&a, p->letter, count, mode->kind);
    fill(&b, p->letter, count, NORMAL);
    fill(&c, p->letter, count, NORMAL);
    if (p->beta == '0')
        for (unsigned long each = 0; each < c.size; each++)
            c.first[each] = 0x7fff;
    if (mode->special)
        *a.first = p->letter == 'h' ? 0x7c00 : 0x7f80;
    for (unsigned long each = 0; each < c.size; each++)
        before[each] = c.first[each];

    *took = instructions();
    p->kernel(a.first, b.first, c.first, a.stride, b.stride, c.stride, count, scalars);
    *took = instructions() - *took;

    for (int matrix = 0; matrix < count; matrix++) {
        widen(left, &a, p->letter, matrix, p->m, p->k, p->transposed_a);
        widen(right, &b, p->letter, matrix, p->n, p->k, !p->transposed_b);
        for (int column = 0; column < p->n; column++)
            for (int row = 0; row < p->m; row++) {
                double sum = 0, sizes = 0, beside = 0;
                u16 got = *at(&c, matrix, row, column);
                u16 *old = before + (at(&c, matrix, row, column) - c.first);
                for (int k = 0; k < p->k; k++) {
                    double product = left[row][k] * right[column][k];
                    sum += product;
                    sizes += size_of(product);
                    beside += size_of(right[column][k]);
                }
                double was = p->beta == '0' ? 0 : beta * value(p->letter, *old);
                double wanted = alpha * sum + was;
                double error = (p->k + 4) * power(-24) * (size_of(alpha) * sizes + size_of(was));
                *old = got;
                if (sizes >= 1e300) {
                    if (!infinite_or_none(p->letter, got) || is_none(p->letter, got))
                        return "an infinity is lost";
                    continue;
                }
                if (infinite_or_none(p->letter, got))
                    return "a result is infinite or no number";
                if (mode->kind == SUBNORMAL && p->flushes) {
                    /* The documented bound: an operand below 2^-126 is as good as zero. */
                    if (size_of(value(p->letter, got) - was) > half * size_of(was) + 1.01 * power(-126) * (beside + 1))
                        return "subnormal operands are worth more than their size";
                    if (p->beta == '0' && got & 0x7fff)
                        return "subnormal operands are not taken for zeros";
                    continue;
                }
                error += half * (size_of(wanted) + error) + least;
                if (!(size_of(value(p->letter, got) - wanted) <= error))
                    return "an element is wrong";
            }
    }
    for (unsigned long each = 0; each < c.size; each++)
        if (c.first[each] != before[each])
            return "something beside C was written";
    return 0;
}

/* Whether the upper half of vcvtne2ps2bf16 is what it is to be. Bochs 3.0 reads it from beyond its operand. */
static int rounds_pairs(void)
{
    static const float low[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const float high[16] = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16};
    u16 got[32];
    __asm__ volatile("vmovups %1, %%zmm1\n\tvmovups %2, %%zmm2\n\t"
                     "vcvtne2ps2bf16 %%zmm1, %%zmm2, %%zmm0\n\tvmovups %%zmm0, %0"
                     : "=m"(got)
                     : "m"(low), "m"(high));
    for (int each = 0; each < 16; each++)
        if (value('b', got[each]) != (double)low[each] || value('b', got[16 + each]) != (double)high[each])
            return 0;
    return 1;
}

void stopped(u64 number, u64 address);
int main(void);

void stopped(u64 number, u64 address)
{
    say(" FAILED: it ended in exception ");
    say_number((long long)number);
    say(", the last address that was not mapped was ");
    say_number((long long)address);
    say("\n");
}

int main(void)
{
    int wrong = 0;
    if (!rounds_pairs()) {
        say("FAULTY: vcvtne2ps2bf16\n");
        return 1;
    }
    for (int number = 0; number < problem_count; number++) {
        const char *why = 0;
        int mode;
        u64 took[sizeof MODES / sizeof *MODES];
        say(problems[number].name);
        for (mode = 0; mode < (int)(sizeof MODES / sizeof *MODES) && !why; mode++)
            why = tried(problems + number, MODES + mode, took + mode);
        wrong += why != 0;
        if (why) {
            say(" FAILED in mode ");
            say_number(mode - 1);
            say(": ");
            say(why);
        } else {
            /* The first two modes are products of one matrix and of three. */
            say(" right, instructions of a product: ");
            say_number((long long)(took[1] - took[0]) / 2);
        }
        say("\n");
    }
    say_number(problem_count);
    say(" kernels, ");
    say_number(wrong);
    say(" wrong\n");
    return wrong;
}
