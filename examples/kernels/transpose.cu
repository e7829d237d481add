/* The transposed of a matrix: tiles of TILE x TILE elements go through shared memory, so that both its rows and
   those of the result are read and written in their order. */

#ifndef TILE
#define TILE 32    /* rows and columns of a tile */
#endif
#ifndef HIGH
#define HIGH 8     /* rows that the block's threads move at once */
#endif
#ifndef GAP
#define GAP 1      /* elements from the end of a tile's row to its next one: with 1 no two lanes meet in a bank */
#endif

static_assert(TILE % HIGH == 0, "high: a tile is whole passes");

extern "C" __global__ void __launch_bounds__(TILE * HIGH)
    transpose(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[TILE][TILE + GAP];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int r = 0; r < TILE; r += HIGH)
        if (row + r < rows && column < columns)
            tile[threadIdx.y + r][threadIdx.x] = x[(long long)(row + r) * columns + column];
    __syncthreads();
    row = blockIdx.x * TILE + threadIdx.y;
    column = blockIdx.y * TILE + threadIdx.x;
#pragma unroll
    for (int r = 0; r < TILE; r += HIGH)
        if (row + r < columns && column < rows)
            y[(long long)(row + r) * rows + column] = tile[threadIdx.x][threadIdx.y + r];
}
