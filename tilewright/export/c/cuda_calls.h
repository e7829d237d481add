/* The same on a GPU. Addresses are the device's, arrays of addresses lie on the device too, and stream is
 * a CUstream or cudaStream_t, null for the default one. A call is launched into the stream and returns;
 * what goes wrong while it runs the driver says later. Nothing of CUDA is needed to build or to start a
 * program: the driver's library is loaded by tw_cuda_load.
 *
 * tw_cuda_load brings all kernels into the current context; it allocates and may wait, so call it once for
 * each context before the first product. tw_cuda_unload, once nothing of it runs any longer, gives them
 * back, before the context is destroyed. Both are for one thread at a time. */
int tw_cuda_load(void);
int tw_cuda_unload(void);
int tw_gemm_cuda(const tw_problem *problem, size_t count, const void *alpha, const void *a,
                 ptrdiff_t stride_a, const void *b, ptrdiff_t stride_b, const void *beta, void *c,
                 ptrdiff_t stride_c, void *stream);
int tw_gemm_cuda_pointers(const tw_problem *problem, size_t count, const void *alpha, const void *const *a,
                          const void *const *b, const void *beta, void *const *c, void *stream);
int tw_gemm_cuda_grouped(const tw_group *groups, size_t count, void *stream);
