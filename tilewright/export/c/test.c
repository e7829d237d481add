/* Every problem of the library against a reference in double precision: odd counts, alpha and beta of
 * every class, beta 0 over NaN, matrices that lie apart, shared operands, addresses that only an element
 * divides, and guard elements around every C that must stay as they are. Exit code 0: all is right; 77:
 * nothing here could run. */
#include "check.h"

static void test_problem(const tw_problem *p)
{
    int s, n;
    for (s = 0; s < pairs_of(p); ++s)
        for (n = 0; n < counts_of(p); ++n) {
            const double *alpha = SCALARS[s], *beta = SCALARS[s] + 2;
            double factors[2][2];
            int count = COUNT[n], reads = beta[0] != 0, form, at, status;
            scalar(p->type, alpha, factors[0]);
            scalar(p->type, beta, factors[1]);
            for (form = 0; form < 5; ++form) {
                static const char *const FORMS[] = {"packed", "packed, off by one", "apart", "shared A",
                                                    "shared B"};
                operands x = make(p, count, form == 2 ? GAP : 0, form > 2 ? form - 2 : 0, reads, form > 0);
                status = tw_gemm(p, (size_t)count, factors[0], x.a, x.step[0], x.b, x.step[1], factors[1],
                                 x.c, x.step[2]);
                check(p, &x, count, alpha, beta, status, FORMS[form]);
            }
            for (form = 0; form < 2; ++form) {
                operands x = make(p, count, GAP, 0, reads, 1);
                const void *a[MOST], *b[MOST];
                void *c[MOST];
                for (at = 0; at < count; ++at) {
                    int to = form ? shuffled(at, count) : at;
                    a[at] = moved(x.a, to * x.step[0], p->type);
                    b[at] = moved(x.b, to * x.step[1], p->type);
                    c[at] = x.c + to * x.step[2] * (ptrdiff_t)size_of(p->type);
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
        operands x = make(p, 5 + at % 4, 0, 0, 0, 1);
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

/* Numbers of 16 bits and float: every one there and back, and what lies between two. */
static void test_conversions(void)
{
    static const float FROM[] = {1, -2, 65504, 65519, 65520, 0x1p-14f, 0x1p-24f, 0x1.8p-25f, 0x1p-25f, 2049, 2051};
    static const unsigned HALF[] = {0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x0400, 1, 1, 0, 0x6800, 0x6802};
    static const float BRAIN_FROM[] = {1, -2, 257, 259, 0x1.fep127f, 0x1.ffp127f, 0x1p-133f};
    static const unsigned BRAIN[] = {0x3f80, 0xc000, 0x4380, 0x4382, 0x7f7f, 0x7f80, 1};
    unsigned bits;
    size_t at;
    int good = 1;
    for (bits = 0; bits < 0x10000; ++bits) {
        float half = tw_from_float16((tw_float16)bits), brain = tw_from_bfloat16((tw_bfloat16)bits);
        good &= isnan(half) ? (bits & 0x7fff) > 0x7c00 && isnan(tw_from_float16(tw_to_float16(half)))
                            : tw_to_float16(half) == bits;
        good &= isnan(brain) ? (bits & 0x7fff) > 0x7f80 && isnan(tw_from_bfloat16(tw_to_bfloat16(brain)))
                             : tw_to_bfloat16(brain) == bits;
    }
    for (at = 0; at < sizeof HALF / sizeof *HALF; ++at)
        good &= tw_to_float16(FROM[at]) == HALF[at];
    for (at = 0; at < sizeof BRAIN / sizeof *BRAIN; ++at)
        good &= tw_to_bfloat16(BRAIN_FROM[at]) == BRAIN[at];
#ifdef TW_FLOAT16_BITS
    {
        __extension__ _Float16 own = -2;
        good &= *TW_FLOAT16_BITS(&own) == 0xc000;
    }
#endif
#ifdef TW_BFLOAT16_BITS
    {
        __bf16 own = (__bf16)-2.0f;
        good &= *TW_BFLOAT16_BITS(&own) == 0xc000;
    }
#endif
    expect(good, 1, "conversions of numbers of 16 bits");
}

int main(void)
{
    int at;
    if (!*tw_cpu()) {
        printf("no kernel of this library runs on this processor\n");
        return 77;
    }
    test_refusals();
    test_conversions();
    for (at = 0; at < tw_problem_count; ++at)
        test_problem(tw_problems + at);
    test_groups();
    printf("%s: %d problems, %d wrong\n", tw_cpu(), tw_problem_count, failures);
    return failures ? 1 : 0;
}
