/* Runs one LIBXSMM kernel over a batch. Strides are in bytes; every thread takes one contiguous share. */
#include <libxsmm.h>
#include <stdio.h>

/* A kernel may prefetch the operands of the next product, which the loop below hands over; one made
   without prefetching ignores them. */
typedef void (*kernel_t)(const void *a, const void *b, void *c, const void *next_a, const void *next_b,
                         const void *next_c);

void *dispatch_s(int m, int n, int k, int beta, int prefetch)
{
    const float one = 1.0f, scale = (float)beta;
    return (void *)libxsmm_smmdispatch(m, n, k, NULL, NULL, NULL, &one, &scale, NULL, &prefetch);
}

void *dispatch_d(int m, int n, int k, int beta, int prefetch)
{
    const double one = 1.0, scale = (double)beta;
    return (void *)libxsmm_dmmdispatch(m, n, k, NULL, NULL, NULL, &one, &scale, NULL, &prefetch);
}

const char *describe(void)
{
    static char text[120];
    libxsmm_init();
    snprintf(text, sizeof text, "%s (target %s)", LIBXSMM_VERSION, libxsmm_get_target_arch());
    return text;
}

void run(kernel_t kernel, const char *a, const char *b, char *c, long stride_a, long stride_b,
         long stride_c, long batch, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (long i = 0; i < batch; ++i) {
        const char *ai = a + i * stride_a, *bi = b + i * stride_b;
        char *ci = c + i * stride_c;
        kernel(ai, bi, ci, ai + stride_a, bi + stride_b, ci + stride_c);
    }
}
