/* Every problem of the library against a reference in double precision: odd counts, alpha and beta of every class,
 * beta 0 over NaN, matrices that lie apart, shared operands, addresses that only an element divides, and guard
 * elements around every C that must stay as they are. Exit code 0: all is right; 77: nothing here could run. */
#include <math.h>
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
    case 's': *re = ((const float *)from)[at]; break;
    case 'd': *re = ((const double *)from)[at]; break;
    case 'c': *re = ((const float *)from)[2 * at]; *im = ((const float *)from)[2 * at + 1]; break;
    default: *re = ((const double *)from)[2 * at]; *im = ((const double *)from)[2 * at + 1];
    }
}

static void put(char type, void *to, ptrdiff_t at, double re, double im)
{
    switch (type) {
    case 's': ((float *)to)[at] = (float)re; break;
    case 'd': ((double *)to)[at] = re; break;
    case 'c': ((float *)to)[2 * at] = (float)re; ((float *)to)[2 * at + 1] = (float)im; break;
    default: ((double *)to)[2 * at] = re; ((double *)to)[2 * at + 1] = im;
    }
}

static size_t size_of(char type)
{
    return type == 's' ? 4 : type == 'z' ? 16 : 8;
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
    int turned = op == 't' || op == 'c';
    get(type, x, turned ? column + (ptrdiff_t)row * stored : row + (ptrdiff_t)column * stored, re, im);
    if (op == 'c' || op == 'j')
        *im = -*im;
}

static const void *moved(const void *from, ptrdiff_t elements, char type)
{
    return (const char *)from + elements * (ptrdiff_t)size_of(type);
}

/* Whether a C is alpha op(A) op(B) + beta old within the bound of |A||B| for sums of so many terms. */
static int right(const tw_problem *p, const void *a, const void *b, const void *old, const void *c, const double *alpha,
                 const double *beta)
{
    int i, j, l, reads = beta[0] != 0 || beta[1] != 0;
    double unit = p->type == 's' || p->type == 'c' ? 6e-8 : 1.2e-16;
    for (j = 0; j < p->n; ++j)
        for (i = 0; i < p->m; ++i) {
            double re = 0, im = 0, size = 0, x, y, u, v, got_re, got_im, want_re, want_im, bound;
            for (l = 0; l < p->k; ++l) {
                of_op(p->type, p->trans_a, a, p->trans_a == 't' || p->trans_a == 'c' ? p->k : p->m, i, l, &x, &y);
                of_op(p->type, p->trans_b, b, p->trans_b == 't' || p->trans_b == 'c' ? p->n : p->k, l, j, &u, &v);
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
            bound *= 4 * (p->k + 4) * unit;
            /* A comparison with NaN is false. */
            if (!(fabs(got_re - want_re) <= bound && fabs(got_im - want_im) <= bound))
                return 0;
        }
    return 1;
}

typedef struct operands {
    char *memory[4], *a, *b, *c, *old;
    ptrdiff_t step[3], reach;
} operands;

/* Random A and B, C as it was before and a copy of it; elements of C that no product owns are guards. */
static operands make(const tw_problem *p, int count, int gap, int shared, int reads)
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
    x.reach = 2 * GUARD + x.step[2] * count;
    for (which = 0; which < 4; ++which) {
        ptrdiff_t length = which < 2 ? 1 + sizes[which] + x.step[which] * count : x.reach;
        x.memory[which] = memory((size_t)length * size);
        for (i = 0; i < length; ++i)
            put(p->type, x.memory[which], i, which < 2 ? uniform() : GUARDED, which < 2 ? uniform() : GUARDED);
    }
    /* One element on: a multiple of nothing wider. */
    x.a = x.memory[0] + size;
    x.b = x.memory[1] + size;
    x.c = x.memory[2] + GUARD * size + size;
    x.old = x.memory[3] + GUARD * size + size;
    for (at = 0; at < count; ++at)
        for (i = 0; i < sizes[2]; ++i) {
            double re = reads ? uniform() : NAN, im = reads ? uniform() : NAN;
            put(p->type, x.c, at * x.step[2] + i, re, im);
            put(p->type, x.old, at * x.step[2] + i, re, im);
        }
    return x;
}

static void check(const tw_problem *p, operands *x, int count, const double *alpha, const double *beta, int status,
                  const char *what)
{
    ptrdiff_t i, size = (ptrdiff_t)size_of(p->type);
    int at, good = status == TW_OK;
    for (at = 0; good && at < count; ++at) {
        const void *old = moved(x->old, at * x->step[2], p->type), *c = moved(x->c, at * x->step[2], p->type);
        good = right(p, moved(x->a, at * x->step[0], p->type), moved(x->b, at * x->step[1], p->type), old, c, alpha, beta);
    }
    for (i = 0; good && i < x->reach; ++i) {
        ptrdiff_t from = i - GUARD - 1, inside = from >= 0 ? from % x->step[2] : -1;
        if (from < 0 || from >= count * x->step[2] || inside >= (ptrdiff_t)p->m * p->n)
            good = !memcmp(x->memory[2] + i * size, x->memory[3] + i * size, (size_t)size);
    }
    if (!good) {
        ++failures;
        printf("WRONG %s %s: count %d, alpha %g%+gi, beta %g%+gi, status %d (%s)\n", p->name, what, count, alpha[0],
               alpha[1], beta[0], beta[1], status, tw_status_text(status));
    }
    for (at = 0; at < 4; ++at)
        free(x->memory[at]);
}

static void scalar(char type, const double *value, double *to)
{
    put(type, to, 0, value[0], value[1]);
}

static void test_problem(const tw_problem *p)
{
    static const double SCALARS[][4] = {{1, 0, 0, 0}, {1, 0, 1, 0}, {-0.75, 0, 0, 0}, {0.5, 0, -2, 0}, {1.5, -0.5, 0.25, 1}};
    static const int COUNTS[] = {1, 2, 7, 33, MOST};
    int complex = p->type == 'c' || p->type == 'z';
    size_t s, n;
    for (s = 0; s < sizeof SCALARS / sizeof *SCALARS - !complex; ++s)
        for (n = 0; n < sizeof COUNTS / sizeof *COUNTS; ++n) {
            const double *alpha = SCALARS[s], *beta = SCALARS[s] + 2;
            double factors[2][2];
            int count = COUNTS[n], reads = beta[0] != 0, form, at, status;
            scalar(p->type, alpha, factors[0]);
            scalar(p->type, beta, factors[1]);
            for (form = 0; form < 4; ++form) {
                static const char *const FORMS[] = {"packed", "apart", "shared A", "shared B"};
                operands x = make(p, count, form == 1 ? GAP : 0, form > 1 ? form - 1 : 0, reads);
                status = tw_gemm(p, (size_t)count, factors[0], x.a, x.step[0], x.b, x.step[1], factors[1], x.c, x.step[2]);
                check(p, &x, count, alpha, beta, status, FORMS[form]);
            }
            for (form = 0; form < 2; ++form) {
                operands x = make(p, count, GAP, 0, reads);
                const void *a[MOST], *b[MOST];
                void *c[MOST];
                for (at = 0; at < count; ++at) {
                    /* In order, and in an order that leaves no two neighbours evenly spaced for long. */
                    int to = form ? (at * 29) % count : at;
                    if (form && count > 1 && count % 29 == 0)
                        to = at;
                    a[at] = moved(x.a, to * x.step[0], p->type);
                    b[at] = moved(x.b, to * x.step[1], p->type);
                    c[at] = (char *)x.c + to * x.step[2] * (ptrdiff_t)size_of(p->type);
                }
                status = tw_gemm_pointers(p, (size_t)count, factors[0], a, b, factors[1], c);
                check(p, &x, count, alpha, beta, status, form ? "pointers, shuffled" : "pointers");
            }
        }
}

static void test_groups(void)
{
    static const double ONE[2] = {1, 0}, ZERO[2] = {0, 0};
    tw_group *groups = memory((size_t)tw_problem_count * sizeof *groups);
    operands *all = memory((size_t)tw_problem_count * sizeof *all);
    int at, status;
    for (at = 0; at < tw_problem_count; ++at) {
        const tw_problem *p = tw_problems + at;
        operands x = make(p, 5 + at % 4, 0, 0, 0);
        tw_group group = {p, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0};
        all[at] = x;
        group.count = (size_t)(5 + at % 4);
        group.a = x.a, group.b = x.b, group.c = x.c;
        group.stride_a = x.step[0], group.stride_b = x.step[1], group.stride_c = x.step[2];
        groups[at] = group;
    }
    status = tw_gemm_grouped(groups, (size_t)tw_problem_count);
    for (at = 0; at < tw_problem_count; ++at)
        check(tw_problems + at, all + at, 5 + at % 4, ONE, ZERO, status, "grouped");
    free(groups);
    free(all);
}

static void expect(int got, int wanted, const char *what)
{
    if (got != wanted) {
        ++failures;
        printf("WRONG %s: status %d in place of %d\n", what, got, wanted);
    }
}

static void test_refusals(void)
{
    double x[1] = {0};
    const tw_problem *p = tw_problems;
    tw_group group = {NULL, 1, NULL, NULL, 0, NULL, 0, NULL, NULL, 0};
    expect(tw_gemm(NULL, 1, NULL, x, 0, x, 0, NULL, x, 1), TW_BAD_ARGUMENT, "no problem");
    expect(tw_gemm(p, 1, NULL, NULL, 0, x, 0, NULL, x, 1), TW_BAD_ARGUMENT, "no A");
    expect(tw_gemm(p, 2, NULL, x, 0, x, 0, NULL, x, 0), TW_BAD_ARGUMENT, "a shared C");
    expect(tw_gemm(p, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0), TW_OK, "no products");
    expect(tw_gemm_pointers(p, 1, NULL, NULL, NULL, NULL, NULL), TW_BAD_ARGUMENT, "no addresses");
    expect(tw_gemm_grouped(&group, 1), TW_BAD_ARGUMENT, "a group without a problem");
    expect(tw_gemm_grouped(NULL, 0), TW_OK, "no groups");
}

int main(void)
{
    int at;
    if (!*tw_cpu()) {
        printf("no kernel of this library runs on this processor\n");
        return 77;
    }
    test_refusals();
    for (at = 0; at < tw_problem_count; ++at)
        test_problem(tw_problems + at);
    test_groups();
    printf("%s: %d problems, %d wrong\n", tw_cpu(), tw_problem_count, failures);
    return failures ? 1 : 0;
}
