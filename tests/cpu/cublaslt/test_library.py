"""What is taken from cuBLASLt's headers, where the library is looked for, and what it refuses."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cpu.cublaslt.library import INT, PLAIN, SIZE, VERSION, Lt, one, product_of, stored
from tilewright.errors import DeviceError
from tilewright.runtime import cublaslt, cublaslt_library, fastcall_cuda

pytestmark = pytest.mark.cpu


# ---- what the headers say


def test_the_constants_are_those_of_the_headers() -> None:
    """library_types.h, cublas_api.h and cublasLt.h of CUDA 11 to 13."""
    assert {
        "CUDA_R_32F": cublaslt.REAL_32,
        "CUDA_R_64F": cublaslt.REAL_64,
        "CUDA_R_16F": cublaslt.REAL_16,
        "CUDA_C_32F": cublaslt.COMPLEX_32,
        "CUDA_C_64F": cublaslt.COMPLEX_64,
        "CUDA_R_16BF": cublaslt.BFLOAT_16,
        "CUBLAS_COMPUTE_32F": cublaslt.COMPUTE_32,
        "CUBLAS_COMPUTE_64F": cublaslt.COMPUTE_64,
        "CUBLAS_COMPUTE_32F_FAST_TF32": cublaslt.COMPUTE_TF32,
        "CUBLASLT_MATMUL_DESC_TRANSA": cublaslt.DESC_TRANSA,
        "CUBLASLT_MATMUL_DESC_TRANSB": cublaslt.DESC_TRANSB,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": cublaslt.LAYOUT_BATCH_COUNT,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": cublaslt.LAYOUT_BATCH_STRIDE,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": cublaslt.PREFERENCE_WORKSPACE,
        "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": cublaslt.PREFERENCE_REDUCTION,
        "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": cublaslt.REDUCTION_COMPUTE,
        "CUBLASLT_REDUCTION_SCHEME_MASK": cublaslt.REDUCTION_ANY,
    } == {
        "CUDA_R_32F": 0,
        "CUDA_R_64F": 1,
        "CUDA_R_16F": 2,
        "CUDA_C_32F": 4,
        "CUDA_C_64F": 5,
        "CUDA_R_16BF": 14,
        "CUBLAS_COMPUTE_32F": 68,
        "CUBLAS_COMPUTE_64F": 70,
        "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
        "CUBLASLT_MATMUL_DESC_TRANSA": 3,
        "CUBLASLT_MATMUL_DESC_TRANSB": 4,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": 5,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": 6,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": 1,
        "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": 3,
        "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": 2,
        "CUBLASLT_REDUCTION_SCHEME_MASK": 7,
    }
    assert cublaslt.OPERATIONS == {"n": 0, "t": 1, "c": 2}
    assert cublaslt.PREFERENCE_ALIGNMENT == (5, 6, 7, 8)
    assert list(cublaslt.CONFIG.values()) == list(range(9))
    result = cublaslt.Heuristic
    assert (ctypes.sizeof(result), result.workspace.offset, result.state.offset) == (96, 64, 72)
    assert (result.waves.offset, result.reserved.offset) == (76, 80)


# ---- where the library is


def test_the_order_in_which_the_library_is_looked_for(tmp_path: Path) -> None:
    files = [
        "cu13/lib/libcublasLt.so.13",
        "cublas/lib/libcublasLt.so.12",
        "cublas/lib/libcublas.so.12",
        "cu13/lib/libcublasLt.so.99",
    ]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    maps = "7f00-7f01 r-xp 0 08:01 5 /opt/x/libcublasLt.so.12.8.4\n7f02-7f03 r-xp 0 0 0 [heap]\n"
    names = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"]
    wheels = [str(tmp_path / name) for name in files[:2]]
    assert cublaslt_library.paths(maps, [tmp_path], 13) == ["/opt/x/libcublasLt.so.12.8.4", *wheels, *names]
    assert cublaslt_library.paths("", [tmp_path, tmp_path / "none"], 12) == [*wheels[1:], *names[1:]]
    assert cublaslt_library.paths("", [], 13) == names


def test_a_library_that_does_not_load_or_lacks_a_function_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def load(path: str) -> Any:
        tried.append(path)
        if path == "broken":
            raise OSError("no such file")
        return SimpleNamespace() if path == "old" else made.library

    made = Lt()
    monkeypatch.setattr(cublaslt_library, "paths", lambda *_: ["broken", "old", "good", "never"])
    only = SimpleNamespace(CDLL=load, c_int=INT, c_size_t=SIZE)
    monkeypatch.setattr(cublaslt_library, "ctypes", only)
    cublaslt_library.library.cache_clear()
    try:
        assert cublaslt_library.library() is made.library
        assert cublaslt_library.version() == VERSION
        assert tried == ["broken", "old", "good"]
        cublaslt_library.library.cache_clear()
        monkeypatch.setattr(cublaslt_library, "paths", lambda *_: ["broken"])
        assert cublaslt_library.library() is None
        assert cublaslt_library.version() == 0
        assert cublaslt.product(one("s:8x8x8"), (1, 0), 0) == "cuBLASLt is not here"
    finally:
        cublaslt_library.library.cache_clear()


# ---- errors, and where there is no compiled program


def test_what_the_library_refuses_is_tried_with_a_context_and_then_an_error(lt: Any) -> None:
    lt.works = False
    lt.offers = [PLAIN]
    _, start, slow = product_of()
    lt.statuses = [13, 13, 0]
    start(1, 2, 3, 5)
    assert len(slow) == 1
    assert lt.contexts == [0]
    lt.statuses = [13] * 3
    with pytest.raises(
        DeviceError, match=r"cublasLtMatmul of s:nn:8x8x8@1 failed \(CUBLAS_STATUS_EXECUTION_F"
    ):
        start(1, 2, 3, 5)
    with pytest.raises(TypeError):
        start(1, 2, 3)


def test_without_a_compiled_program_python_calls(lt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcall_cuda, "_loaded", lambda: None)
    problem = one("d:9x7x5")
    a, b, c = (stored(problem, name, 1) for name in "abc")
    made = cublaslt.product(problem, (1, 0), 0)
    assert isinstance(made, cublaslt.Product)
    made.starting(True)(b.ctypes.data, a.ctypes.data, c.ctypes.data, 3)
    np.testing.assert_allclose(c, a @ b)
