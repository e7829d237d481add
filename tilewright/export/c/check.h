/* What the tests share: random operands with guards, the reference and the comparison. */
#ifndef TILEWRIGHT_KERNELS_CHECK_H
#define TILEWRIGHT_KERNELS_CHECK_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright_kernels.h"

enum { MOST = 67, GAP = 3, GUARD = 16 };
static const double GUARDED = 12345;

static int failures;

static void get(char type, const void *from, ptrdiff_t at, double *re, double *im)
{
    *im = 0;
    switch (type) {
    case 'h': *re = tw_from_float16(((const tw_float16 *)from)[at]); break;
    case 'b': *re = tw_from_bfloat16(((const tw_bfloat16 *)from)[at]); break;
    case 'x':
        *re = tw_from_float16(((const tw_float16 *)from)[2 * at]);
        *im = tw_from_float16(((const tw_float16 *)from)[2 * at + 1]);
        break;
    case 's': *re = ((const float *)from)[at]; break;
    case 'd': *re = ((const double *)from)[at]; break;
    case 'c': *re = ((const float *)from)[2 * at]; *im = ((const float *)from)[2 * at + 1]; break;
    default: *re = ((const double *)from)[2 * at]; *im = ((const double *)from)[2 * at + 1];
    }
}

static void put(char type, void *to, ptrdiff_t at, double re, double im)
{
    switch (type) {
    case 'h': ((tw_float16 *)to)[at] = tw_to_float16((float)re); break;
    case 'b': ((tw_bfloat16 *)to)[at] = tw_to_bfloat16((float)re); break;
    case 'x':
        ((tw_float16 *)to)[2 * at] = tw_to_float16((float)re);
        ((tw_float16 *)to)[2 * at + 1] = tw_to_float16((float)im);
        break;
    case 's': ((float *)to)[at] = (float)re; break;
    case 'd': ((double *)to)[at] = re; break;
    case 'c': ((float *)to)[2 * at] = (float)re; ((float *)to)[2 * at + 1] = (float)im; break;
    default: ((double *)to)[2 * at] = re; ((double *)to)[2 * at + 1] = im;
    }
}

static size_t size_of(char type)
{
    switch (type) {
    case 'h':
    case 'b': return 2;
    case 's':
    case 'x': return 4;
    case 'z': return 16;
    default: return 8;
    }
}

static int is_complex(char type)
{
    return type == 'c' || type == 'z' || type == 'x';
}

static double uniform(void)
{
    static unsigned long long state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static void *memory(size_t bytes)
{
    void *made = malloc(bytes);
    if (!made) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return made;
}

/* Element (row, column) of op(X), where X has so many stored rows. */
static void of_op(char type, char op, const void *x, int stored, int row, int column, double *re, double *im)
{
    int is_transposed = op == 't' || op == 'c';
    get(type, x, is_transposed ? column + (ptrdiff_t)row * stored : row + (ptrdiff_t)column * stored, re, im);
    if (op == 'c' || op == 'j')
        *im = -*im;
}

static const void *moved(const void *from, ptrdiff_t elements, char type)
{
    return (const char *)from + elements * (ptrdiff_t)size_of(type);
}

/* Whether a C is alpha op(A) op(B) + beta old within the bound of |A||B| for sums of so many terms. */
static int right(const tw_problem *p, const void *a, const void *b, const void *old, const void *c,
                 const double *alpha, const double *beta)
{
    int i, j, l, reads = beta[0] != 0 || beta[1] != 0;
    double unit = p->type == 'd' || p->type == 'z' ? 1.2e-16 : 6e-8;
    /* What one rounding to 16 bits may add: relative, and of numbers near zero. */
    double rounding = p->type == 'b' ? 0x1p-8 : p->type == 'h' || p->type == 'x' ? 0x1p-11 : 0;
    double least = p->type == 'h' || p->type == 'x' ? 0x1p-25 : 0;
    for (j = 0; j < p->n; ++j)
        for (i = 0; i < p->m; ++i) {
            double re = 0, im = 0, size = 0, x, y, u, v, got_re, got_im, want_re, want_im, bound;
            for (l = 0; l < p->k; ++l) {
                of_op(p->type, p->trans_a, a, p->trans_a == 't' || p->trans_a == 'c' ? p->k : p->m, i, l,
                      &x, &y);
                of_op(p->type, p->trans_b, b, p->trans_b == 't' || p->trans_b == 'c' ? p->n : p->k, l, j,
                      &u, &v);
                re += x * u - y * v;
                im += x * v + y * u;
                size += (fabs(x) + fabs(y)) * (fabs(u) + fabs(v));
            }
            want_re = alpha[0] * re - alpha[1] * im;
            want_im = alpha[0] * im + alpha[1] * re;
            bound = (fabs(alpha[0]) + fabs(alpha[1])) * size;
            if (reads) {
                get(p->type, old, i + (ptrdiff_t)j * p->m, &x, &y);
                want_re += beta[0] * x - beta[1] * y;
                want_im += beta[0] * y + beta[1] * x;
                bound += (fabs(beta[0]) + fabs(beta[1])) * (fabs(x) + fabs(y));
            }
            get(p->type, c, i + (ptrdiff_t)j * p->m, &got_re, &got_im);
            bound = 4 * (p->k + 4) * unit * bound * (1 + rounding) + least;
            /* A comparison with NaN is false. */
            if (!(fabs(got_re - want_re) <= bound + rounding * fabs(want_re) &&
                  fabs(got_im - want_im) <= bound + rounding * fabs(want_im)))
                return 0;
        }
    return 1;
}

typedef struct operands {
    char *memory[4], *a, *b, *c, *old;
    ptrdiff_t step[3], length[3], offset;
} operands;

/* Random A and B, C as it was before and a copy of it; elements of C that no product owns are guards.
 * Matrices begin an offset of elements after a multiple of 16 bytes. */
static operands make(const tw_problem *p, int count, int gap, int shared, int reads, int offset)
{
    operands x;
    ptrdiff_t sizes[3], i;
    int which, at;
    size_t size = size_of(p->type);
    sizes[0] = (ptrdiff_t)p->m * p->k;
    sizes[1] = (ptrdiff_t)p->k * p->n;
    sizes[2] = (ptrdiff_t)p->m * p->n;
    for (which = 0; which < 3; ++which)
        x.step[which] = sizes[which] + gap;
    if (shared)
        x.step[shared - 1] = 0;
    for (which = 0; which < 2; ++which)
        x.length[which] = 1 + sizes[which] + x.step[which] * count;
    x.length[2] = 2 * GUARD + x.step[2] * count;
    x.offset = offset;
    for (which = 0; which < 4; ++which) {
        ptrdiff_t length = x.length[which < 2 ? which : 2];
        x.memory[which] = memory((size_t)length * size);
        for (i = 0; i < length; ++i)
            put(p->type, x.memory[which], i, which < 2 ? uniform() : GUARDED,
                which < 2 ? uniform() : GUARDED);
    }
    x.a = x.memory[0] + (size_t)offset * size;
    x.b = x.memory[1] + (size_t)offset * size;
    x.c = x.memory[2] + (size_t)(GUARD + offset) * size;
    x.old = x.memory[3] + (size_t)(GUARD + offset) * size;
    for (at = 0; at < count; ++at)
        for (i = 0; i < sizes[2]; ++i) {
            double re = reads ? uniform() : NAN, im = reads ? uniform() : NAN;
            put(p->type, x.c, at * x.step[2] + i, re, im);
            put(p->type, x.old, at * x.step[2] + i, re, im);
        }
    return x;
}

static void check(const tw_problem *p, operands *x, int count, const double *alpha, const double *beta,
                  int status, const char *what)
{
    ptrdiff_t i, size = (ptrdiff_t)size_of(p->type);
    int at, good = status == TW_OK;
    for (at = 0; good && at < count; ++at) {
        const void *old = moved(x->old, at * x->step[2], p->type), *c = moved(x->c, at * x->step[2], p->type);
        good = right(p, moved(x->a, at * x->step[0], p->type), moved(x->b, at * x->step[1], p->type), old,
                     c, alpha, beta);
    }
    for (i = 0; good && i < x->length[2]; ++i) {
        ptrdiff_t from = i - GUARD - x->offset, inside = from >= 0 ? from % x->step[2] : -1;
        if (from < 0 || from >= count * x->step[2] || inside >= (ptrdiff_t)p->m * p->n)
            good = !memcmp(x->memory[2] + i * size, x->memory[3] + i * size, (size_t)size);
    }
    if (!good) {
        ++failures;
        printf("WRONG %s %s: count %d, alpha %g%+gi, beta %g%+gi, status %d (%s)\n", p->name, what, count,
               alpha[0], alpha[1], beta[0], beta[1], status, tw_status_text(status));
    }
    for (at = 0; at < 4; ++at)
        free(x->memory[at]);
}

/* alpha or beta, which are float where elements have 16 bits. */
static void scalar(char type, const double *value, double *to)
{
    put(type == 'h' || type == 'b' ? 's' : type == 'x' ? 'c' : type, to, 0, value[0], value[1]);
}

static void expect(int got, int wanted, const char *what)
{
    if (got != wanted) {
        ++failures;
        printf("WRONG %s: status %d in place of %d\n", what, got, wanted);
    }
}

/* alpha and beta of every class, the last pair for complex types alone, and counts that few widths divide. */
enum { PAIRS = 5, COUNTS = 5 };
static const double SCALARS[PAIRS][4] = {{1, 0, 0, 0}, {1, 0, 1, 0}, {-0.75, 0, 0, 0}, {0.5, 0, -2, 0},
                                         {1.5, -0.5, 0.25, 1}};
static const int COUNT[COUNTS] = {1, 2, 7, 33, MOST};

static int pairs_of(const tw_problem *p)
{
    return is_complex(p->type) ? PAIRS : PAIRS - 1;
}

/* Of large products the reference takes its time, so they come in fewer counts. */
static int counts_of(const tw_problem *p)
{
    return (double)p->m * p->n * p->k > 20000 ? COUNTS - 2 : COUNTS;
}

/* Numbers below count in an order in which no two neighbours are evenly spaced for long. */
static int shuffled(int at, int count)
{
    return (at * 29) % count;
}

#endif
