/* Cholesky factors of many symmetric positive definite matrices of order N <= 32, and what they are mostly for:
   X = A^-1 B, the small inverse of a Kalman filter, in the same pass.

   LANES threads share a matrix, row i lies in the registers of lane i % LANES:

       lane 0   a00                          step j: l_ij = a_ij / sqrt(a_jj) in every row at once,
       lane 1   a10 a11                      lanes tell one another column j of L (BROADCAST),
       lane 0   a20 a21 a22                  and every row takes l_ij l_kj from its a_ik.
       lane 1   a30 a31 a32 a33

   With M defined this is solve, for M right-hand sides, else cholesky. Matrices are row-major without gaps. The lower triangle is read, as LAPACK's "L" has it; above L are zeros.
   A matrix that is not positive definite gives NaN. */

#ifndef N
#define N 8          /* the order */
#endif
#ifndef REAL
#define REAL float
#endif
#ifndef LANES
#define LANES 8      /* threads of a matrix: 1, 2, 4, ... 32 */
#endif
#ifndef MATRICES
#define MATRICES 16  /* matrices of a block */
#endif
#ifndef BROADCAST
#define BROADCAST 0  /* 0: columns go from lane to lane by shuffles; 1: through shared memory */
#endif
#ifndef STAGED
#define STAGED 1     /* 1: a block reads and writes its matrices in their order, through shared memory */
#endif
#ifndef WIDE
#define WIDE 1       /* elements of one access to global memory: 1, 2 or 4 */
#endif

#define THREADS (LANES * MATRICES)
#define ROWS ((N + LANES - 1) / LANES)
/* An odd step from row to row: lanes that read their rows meet in no bank. */
#define STEP (N | 1)
#define ALL 0xffffffffu

static_assert(N >= 1 && N <= 32, "order: up to 32");
static_assert(32 % LANES == 0, "lanes: a matrix lies in one warp");
static_assert(THREADS % 32 == 0, "warps: a block is whole warps");
static_assert(N % WIDE == 0 || WIDE == 1, "wide: an access lies in one row");

struct __align__(sizeof(REAL) * WIDE) Wide { REAL of[WIDE]; };

__device__ __forceinline__ REAL inverse_root(REAL x) {
    return sizeof(REAL) == 4 ? (REAL)(1.0f / sqrtf((float)x)) : (REAL)(1.0 / sqrt((double)x));
}

/* The lanes of a matrix, and where its rows are between registers and global memory. */
struct Part {
    int lane, matrix;
    long long first;   /* the block's first matrix */
    long long batch;
    __device__ __forceinline__ Part(long long count)
        : lane(threadIdx.x % LANES), matrix(threadIdx.x / LANES),
          first((long long)blockIdx.x * MATRICES), batch(count) {}
    __device__ __forceinline__ bool inside() const { return first + matrix < batch; }
    /* Accesses to global memory that the block's matrices take. */
    __device__ __forceinline__ int words() const {
        const long long left = batch - first;
        return (int)(left < MATRICES ? left : MATRICES) * (N * N / WIDE);
    }
};

/* Where the w-th access to a block's matrices lies in the stage. */
__device__ __forceinline__ int staged(int w) {
    const int at = w * WIDE;
    return at / N * STEP + at % N;
}

/* Rows of A from global memory to registers, by way of shared memory or not. */
__device__ __forceinline__ void load(REAL (&row)[ROWS][N], const REAL *from, REAL *stage, const Part &p) {
#if STAGED
    const Wide *source = (const Wide *)(from + p.first * (N * N));
    for (int w = threadIdx.x; w < p.words(); w += THREADS) {
        const Wide got = source[w];
        REAL *to = stage + staged(w);
#pragma unroll
        for (int e = 0; e < WIDE; e++) to[e] = got.of[e];
    }
    __syncthreads();
#endif
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int i = r * LANES + p.lane;
        const bool there = i < N && p.inside();
#if STAGED
#pragma unroll
        for (int k = 0; k < N; k++) row[r][k] = there ? stage[(p.matrix * N + i) * STEP + k] : (REAL)0;
#else
        const REAL *mine = from + ((p.first + p.matrix) * N + i) * N;
#pragma unroll
        for (int k = 0; k < N; k += WIDE) {
            Wide got = {};
            if (there) got = *(const Wide *)(mine + k);
#pragma unroll
            for (int e = 0; e < WIDE; e++) row[r][k + e] = got.of[e];
        }
#endif
    }
}

/* Rows of L from registers to global memory. */
__device__ __forceinline__ void store(const REAL (&row)[ROWS][N], REAL *to, REAL *stage, const Part &p) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int i = r * LANES + p.lane;
#if STAGED
#pragma unroll
        for (int k = 0; k < N; k++)
            if (i < N) stage[(p.matrix * N + i) * STEP + k] = row[r][k];
#else
        REAL *mine = to + ((p.first + p.matrix) * N + i) * N;
#pragma unroll
        for (int k = 0; k < N; k += WIDE) {
            Wide put;
#pragma unroll
            for (int e = 0; e < WIDE; e++) put.of[e] = row[r][k + e];
            if (i < N && p.inside()) *(Wide *)(mine + k) = put;
        }
#endif
    }
#if STAGED
    __syncthreads();
    Wide *target = (Wide *)(to + p.first * (N * N));
    for (int w = threadIdx.x; w < p.words(); w += THREADS) {
        const REAL *from = stage + staged(w);
        Wide put;
#pragma unroll
        for (int e = 0; e < WIDE; e++) put.of[e] = from[e];
        target[w] = put;
    }
#endif
}

/* Rows of A to rows of L, and with RIGHT > 0 also of B to L^-1 B; root[r] is one over the diagonal of row r. */
template <int RIGHT>
__device__ __forceinline__ void factor(REAL (&a)[ROWS][N], REAL (&b)[ROWS][RIGHT ? RIGHT : 1], REAL (&root)[ROWS],
                                       REAL *column, const Part &p) {
#pragma unroll
    for (int j = 0; j < N; j++) {
        REAL pivot = inverse_root(__shfl_sync(ALL, a[j / LANES][j], j % LANES, LANES));
#pragma unroll
        for (int r = j / LANES; r < ROWS; r++) {
            a[r][j] *= pivot;
            if (r * LANES + p.lane == j) root[r] = pivot;
        }
#if BROADCAST
        /* Two columns in turns: who is late still reads the one before. */
        REAL *told = column + (j & 1) * (ROWS * LANES);
#pragma unroll
        for (int r = j / LANES; r < ROWS; r++) told[r * LANES + p.lane] = a[r][j];
        __syncwarp();
#endif
#pragma unroll
        for (int k = j + 1; k < N; k++) {
#if BROADCAST
            REAL other = told[k];
#else
            REAL other = __shfl_sync(ALL, a[k / LANES][j], k % LANES, LANES);
#endif
#pragma unroll
            for (int r = k / LANES; r < ROWS; r++) a[r][k] -= a[r][j] * other;
        }
#pragma unroll
        for (int c = 0; c < RIGHT; c++) {
            REAL solved = __shfl_sync(ALL, b[j / LANES][c], j % LANES, LANES) * pivot;
#pragma unroll
            for (int r = j / LANES; r < ROWS; r++) {
                int i = r * LANES + p.lane;
                b[r][c] = i == j ? solved : i > j ? b[r][c] - a[r][j] * solved : b[r][c];
            }
        }
    }
}

#define COLUMN_WORDS (BROADCAST ? 2 * ROWS * LANES : 0)
#define STAGE_WORDS (STAGED ? N * STEP : 0)

#ifndef M
extern "C" __global__ void __launch_bounds__(THREADS) cholesky(const REAL *a_, REAL *l_, long long batch) {
    extern __shared__ __align__(16) unsigned char shared_memory[];
    REAL *stage = (REAL *)shared_memory, *columns = stage + MATRICES * STAGE_WORDS;
    const Part p(batch);
    REAL a[ROWS][N], none[ROWS][1], root[ROWS];
    load(a, a_, stage, p);
    factor<0>(a, none, root, columns + p.matrix * COLUMN_WORDS, p);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int k = 0; k < N; k++)
            if (k > r * LANES + p.lane) a[r][k] = 0;
    store(a, l_, stage, p);
}
#else

extern "C" __global__ void __launch_bounds__(THREADS)
    solve(const REAL *a_, const REAL *b_, REAL *x_, long long batch) {
    extern __shared__ __align__(16) unsigned char shared_memory[];
    REAL *stage = (REAL *)shared_memory, *columns = stage + MATRICES * STAGE_WORDS;
    const Part p(batch);
    REAL a[ROWS][N], b[ROWS][M], root[ROWS];
    load(a, a_, stage, p);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int i = r * LANES + p.lane;
#pragma unroll
        for (int c = 0; c < M; c++)
            b[r][c] = i < N && p.inside() ? b_[((p.first + p.matrix) * N + i) * M + c] : (REAL)0;
    }
    factor<M>(a, b, root, columns + p.matrix * COLUMN_WORDS, p);
    /* Upwards: x_j = (y_j - sum of l_ij x_i over i > j) / l_jj; the lanes sum over their rows. */
#pragma unroll
    for (int j = N - 1; j >= 0; j--)
#pragma unroll
        for (int c = 0; c < M; c++) {
            REAL sum = 0;
#pragma unroll
            for (int r = j / LANES; r < ROWS; r++) {
                int i = r * LANES + p.lane;
                sum += i == j ? b[r][c] : i > j && i < N ? -a[r][j] * b[r][c] : (REAL)0;
            }
#pragma unroll
            for (int step = LANES / 2; step; step /= 2) sum += __shfl_xor_sync(ALL, sum, step, LANES);
            if (j % LANES == p.lane) b[j / LANES][c] = sum * root[j / LANES];
        }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int i = r * LANES + p.lane;
#pragma unroll
        for (int c = 0; c < M; c++)
            if (i < N && p.inside()) x_[((p.first + p.matrix) * N + i) * M + c] = b[r][c];
    }
}
#endif
