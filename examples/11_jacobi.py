"""A kernel of one's own on the processor: a sweep of Jacobi's method in C, tuned in a second or two."""

import shutil

import numpy as np

import tilewright as tw

# Strips of STRIP columns stay in a cache while a sweep goes down them, ROWS rows at a time.
SWEEP = r"""
#include <string.h>

void sweep(const float *restrict x, float *restrict y, long rows, long columns) {
    memcpy(y, x, columns * sizeof(float));
    memcpy(y + (rows - 1) * columns, x + (rows - 1) * columns, columns * sizeof(float));
    for (long i = 1; i < rows - 1; i++) {
        y[i * columns] = x[i * columns];
        y[i * columns + columns - 1] = x[i * columns + columns - 1];
    }
    for (long left = 1; left < columns - 1; left += STRIP) {
        long right = left + STRIP < columns - 1 ? left + STRIP : columns - 1;
        long i = 1;
        for (; i + ROWS <= rows - 1; i += ROWS)
            for (long j = left; j < right; j++)
                for (int r = 0; r < ROWS; r++) {
                    const float *at = x + (i + r) * columns + j;
                    y[(i + r) * columns + j] = 0.25f * (at[-columns] + at[columns] + at[-1] + at[1]);
                }
        for (; i < rows - 1; i++)
            for (long j = left; j < right; j++) {
                const float *at = x + i * columns + j;
                y[i * columns + j] = 0.25f * (at[-columns] + at[columns] + at[-1] + at[1]);
            }
    }
}
"""


def swept(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
    return y


def main() -> None:
    sweep = tw.Stencil(
        "sweep",
        SWEEP,
        {"STRIP": [32, 128, 512, 2048], "ROWS": [1, 2, 4, 8]},
        [
            tw.Input("x", "float32", ("rows", "columns")),
            tw.Output("y", "float32", ("rows", "columns")),
            tw.Scalar("height", "int64", "rows"),
            tw.Scalar("width", "int64", "columns"),
        ],
        rules={"strip-rows": "STRIP * ROWS <= 4096"},
        reference=swept,
        cases=[{"rows": 3, "columns": 3}, {"rows": 67, "columns": 131}],
        language="c",
    )
    if shutil.which("cc") is None:
        print("needs a C compiler; there is none here.")
        return
    x = np.random.default_rng(1).standard_normal((500, 1000), np.float32)
    print("untuned right:", np.allclose(sweep(x), swept(x), atol=1e-5))
    result = sweep.tune({"rows": 500, "columns": 1000}, budget=1.5, regime="cached")
    print(f"{result.tried} tries in {result.seconds:.1f} s: {result.statuses}")
    print(sweep.explain({"rows": 500, "columns": 1000}))
    print("tuned right:", np.allclose(sweep(x), swept(x), atol=1e-5))


# Functions of this file go to child processes by value: that needs cloudpickle.
if __name__ == "__main__":
    main()
