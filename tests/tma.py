"""A kernel that copies a matrix box by box through a tensor map, for who compiles it and for who runs it."""

from __future__ import annotations

from tilewright.model import Launch, Source
from tilewright.targets.cuda.arguments import Argument, Pointer, Scalar, Struct, TensorMap

ROWS, COLUMNS = 16, 32
"""Of a box: COLUMNS are contiguous."""

TEXT = """
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };
struct Result { float *to; int rows, columns; };

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Each block has one box of the matrix brought to shared memory, and writes it times a factor.
extern "C" __global__ void copy_boxes(const __grid_constant__ CUtensorMap from, const float factor,
                                      const __grid_constant__ Result result) {
    __shared__ alignas(128) float box[ROWS][COLUMNS];
    __shared__ alignas(8) unsigned long long arrived;
    const unsigned barrier = shared_address(&arrived);
    const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"((unsigned)sizeof(box)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(box)), "l"(&from), "r"(column),
                     "r"(row), "r"(barrier) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{\\n\\t.reg .pred p;\\n\\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n\\t"
                     "selp.u32 %0, 1, 0, p;\\n\\t}" : "=r"(done) : "r"(barrier) : "memory");
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
        result.to[(row + i / COLUMNS) * (long long)result.columns + column + i % COLUMNS] =
            factor * box[i / COLUMNS][i % COLUMNS];
}
"""
SOURCE = Source(TEXT, "copy_boxes", (), (("ROWS", str(ROWS)), ("COLUMNS", str(COLUMNS))))


def boxes(rows: int, columns: int) -> tuple[int, int]:
    """How many boxes cover a matrix, along its columns and along its rows."""
    return -(-columns // COLUMNS), -(-rows // ROWS)


def launch(rows: int, columns: int) -> Launch:
    return Launch(grid=(*boxes(rows, columns), 1), block=(128, 1, 1))


def arguments(rows: int, columns: int) -> tuple[Argument, ...]:
    """For a row-major matrix of float32 without gaps (address 0), and room for whole boxes (address 2).

    What lies outside of the matrix is read as 0. ``factor`` is given when this is packed."""
    wide, high = boxes(rows, columns)
    room = Scalar("rows", "i", high * ROWS), Scalar("columns", "i", wide * COLUMNS)
    return (
        TensorMap("from", 0, "float32", (columns, rows), (4 * columns,), (COLUMNS, ROWS)),
        Scalar("factor", "f"),
        Struct("Result", (Pointer("to", 2), *room)),
    )
