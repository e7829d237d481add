/* Runs one MKL JIT kernel over a batch. Strides are in bytes; every thread takes one contiguous share. */
typedef void (*kernel_t)(void *jitter, void *a, void *b, void *c);

void run(kernel_t kernel, void *jitter, char *a, char *b, char *c, long stride_a, long stride_b,
         long stride_c, long batch, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (long i = 0; i < batch; ++i)
        kernel(jitter, a + i * stride_a, b + i * stride_b, c + i * stride_c);
}
