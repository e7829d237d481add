// Runs a fixed-size Eigen product over a batch; every thread takes one contiguous share.
// Compiled with -DSCALAR=type -DSIZE_M=rows -DSIZE_N=columns -DSIZE_K=depth.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_STACK_ALLOCATION_LIMIT 0
#include <Eigen/Core>
#include <complex>

#define TEXT(x) #x
#define VALUE(x) TEXT(x)

using Scalar = SCALAR;
constexpr int M = SIZE_M, N = SIZE_N, K = SIZE_K;

// Stacks start on a cache line, so a matrix is aligned as far as its size allows.
constexpr int aligned(long bytes)
{
    return bytes % 64 == 0   ? Eigen::Aligned64
           : bytes % 32 == 0 ? Eigen::Aligned32
           : bytes % 16 == 0 ? Eigen::Aligned16
                             : Eigen::Unaligned;
}

template <int rows, int columns>
using Matrix = Eigen::Map<Eigen::Matrix<Scalar, rows, columns>, aligned(sizeof(Scalar) * rows * columns)>;

extern "C" const char *describe()
{
    return VALUE(EIGEN_WORLD_VERSION) "." VALUE(EIGEN_MAJOR_VERSION) "." VALUE(EIGEN_MINOR_VERSION)
        " (" __VERSION__ ", "
#if defined(EIGEN_VECTORIZE_AVX512)
        "AVX512"
#elif defined(EIGEN_VECTORIZE_AVX2)
        "AVX2"
#else
        "baseline"
#endif
        ")";
}

extern "C" void run(Scalar *a, Scalar *b, Scalar *c, long batch, int beta, int threads)
{
    if (beta == 0) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (long i = 0; i < batch; ++i)
            Matrix<M, N>(c + i * M * N).noalias() = Matrix<M, K>(a + i * M * K) * Matrix<K, N>(b + i * K * N);
    } else {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (long i = 0; i < batch; ++i)
            Matrix<M, N>(c + i * M * N).noalias() += Matrix<M, K>(a + i * M * K) * Matrix<K, N>(b + i * K * N);
    }
}
