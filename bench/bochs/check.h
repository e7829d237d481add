/* A kernel under test and what it computes: matrices are column-major, sizes count elements. */
#ifndef TILEWRIGHT_BENCH_CHECK_H
#define TILEWRIGHT_BENCH_CHECK_H

typedef void Kernel(const void *a, const void *b, void *c, long long stride_a, long long stride_b,
                    long long stride_c, long long count, const float *scalars);

struct problem {
    Kernel *kernel;
    const char *name;
    char letter;  /* h: float16, b: bfloat16 */
    int m, n, k;
    int transposed_a, transposed_b;
    int lda, ldb, ldc;
    int shared_a, shared_b;  /* the whole batch has one of them */
    int any_alpha;  /* else alpha is 1 */
    char beta;      /* 0, 1, or a for any */
    int packed;     /* matrices follow one another without a gap */
    int flushes;    /* subnormal operands count as zero */
};

extern const struct problem problems[];
extern const int problem_count;

#endif
