"""Kernels as a library in C: exported, built by the machine's compiler, and called without Tilewright."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tw

folder = Path(tempfile.mkdtemp())
record = tw.export_kernels("d:3x3x3", folder)
print("instruction sets:", ", ".join(record["targets"]))

compiler = shutil.which("cc")
if compiler is None:
    print("needs a C compiler; there is none here.")
    raise SystemExit

sources = [*folder.glob("src/*.c"), *folder.glob("objects/*/*.o")]
subprocess.run(
    [compiler, "-O1", "-shared", "-fPIC", f"-I{folder / 'include'}", "-o", folder / "kernels.so", *sources],
    check=True,
)
library = ctypes.CDLL(str(folder / "kernels.so"))
library.tw_cpu.restype = ctypes.c_char_p
print("what runs here:", library.tw_cpu().decode())

# Column-major matrices are the transposes of NumPy's, so the operands change places.
rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 10_000, 3, 3))
c = np.empty_like(a)
one, none, step = ctypes.c_double(1), ctypes.c_double(0), ctypes.c_ssize_t(9)
first, second, result = (ctypes.c_void_p(x.ctypes.data) for x in (b, a, c))
status = library.tw_d_nn_3x3x3(ctypes.c_size_t(len(a)), one, first, step, second, step, none, result, step)
print("status:", status, "right:", np.allclose(c, a @ b))
shutil.rmtree(folder)
