/* Speed of every problem of the library on one core: packed batches in the caches and in memory, alpha 1,
 * beta 0. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tilewright_kernels.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Random reals from 0 to 1 in the type of a problem. */
static void fill(char type, void *to, size_t reals)
{
    size_t i;
    for (i = 0; i < reals; ++i) {
        double value = (double)rand() / RAND_MAX;
        switch (type) {
        case 'h':
        case 'x': ((tw_float16 *)to)[i] = tw_to_float16((float)value); break;
        case 'b': ((tw_bfloat16 *)to)[i] = tw_to_bfloat16((float)value); break;
        case 's':
        case 'c': ((float *)to)[i] = (float)value; break;
        default: ((double *)to)[i] = value;
        }
    }
}

static size_t bytes_of_real(char type)
{
    switch (type) {
    case 'h':
    case 'x':
    case 'b': return 2;
    case 's':
    case 'c': return 4;
    default: return 8;
    }
}

static void measure(const tw_problem *p, double bytes, const char *where)
{
    size_t real = bytes_of_real(p->type);
    size_t size = p->type == 'c' || p->type == 'z' || p->type == 'x' ? 2 * real : real;
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k, mk = m * k, kn = k * n, mn = m * n;
    size_t count = (size_t)(bytes / (double)((mk + kn + mn) * size)), passes = 0, turn;
    double flops = (size == real ? 2.0 : 8.0) * p->m * p->n * p->k, best = 1e30;
    char *a, *b, *c;
    if (!count)
        count = 1;
    a = malloc(count * mk * size);
    b = malloc(count * kn * size);
    c = malloc(count * mn * size);
    if (a && b && c) {
        fill(p->type, a, count * mk * size / real);
        fill(p->type, b, count * kn * size / real);
        memset(c, 0, count * mn * size);
        for (turn = 0; turn < 7; ++turn) {
            double begin = now(), seconds;
            for (passes = 0; (seconds = now() - begin) < 0.02 || !passes; ++passes)
                if (tw_gemm(p, count, NULL, a, (ptrdiff_t)mk, b, (ptrdiff_t)kn, NULL, c, (ptrdiff_t)mn))
                    exit(1);
            if (seconds / (double)passes < best)
                best = seconds / (double)passes;
        }
        printf("%-24s %-7s %9lu products %9.2f Gflop/s %9.2f GB/s\n", p->name, where, (unsigned long)count,
               flops * (double)count / best * 1e-9,
               (double)((mk + kn + mn) * size) * (double)count / best * 1e-9);
    }
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    int at;
    printf("instruction set: %s\n", tw_cpu());
    if (!*tw_cpu())
        return 77;
    for (at = 0; at < tw_problem_count; ++at) {
        measure(tw_problems + at, 256e3, "cached");
        measure(tw_problems + at, 256e6, "memory");
    }
    return 0;
}
