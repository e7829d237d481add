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

static void measure(const tw_problem *p, double bytes, const char *where)
{
    size_t size = p->type == 's' ? 4 : p->type == 'z' ? 16 : 8;
    size_t real = p->type == 's' || p->type == 'c' ? 4 : 8;
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k, mk = m * k, kn = k * n, mn = m * n;
    size_t count = (size_t)(bytes / (double)((mk + kn + mn) * size)), i, passes = 0, turn;
    double flops = (size == real ? 2.0 : 8.0) * p->m * p->n * p->k, best = 1e30;
    char *a, *b, *c;
    if (!count)
        count = 1;
    a = malloc(count * mk * size);
    b = malloc(count * kn * size);
    c = malloc(count * mn * size);
    if (a && b && c) {
        for (i = 0; i < count * mk * size / real; ++i)
            if (real == 4)
                ((float *)a)[i] = (float)rand() / (float)RAND_MAX;
            else
                ((double *)a)[i] = (double)rand() / RAND_MAX;
        for (i = 0; i < count * kn * size / real; ++i)
            if (real == 4)
                ((float *)b)[i] = (float)rand() / (float)RAND_MAX;
            else
                ((double *)b)[i] = (double)rand() / RAND_MAX;
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
