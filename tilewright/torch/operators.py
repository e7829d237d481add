"""The operators ``tilewright::matmul``, ``gemm`` and ``gemm_grouped`` of PyTorch, and ``matmul_out`` and
``gemm_out``, which write to a tensor.

PyTorch's own layers stand above a kernel: what an operator returns is told from shapes (``fake``), gradients
and batches are further calls of operators (``gradients``, ``batching``), and autocast converts before. They
are defined by ``Library.define`` and ``impl``: the decorator of ``torch.library.custom_op`` costs twice as
much a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from tilewright.torch import batching, gradients, products, shapes
from tilewright.torch.listeners import plain

SCHEMAS = (
    "matmul(Tensor a, Tensor b) -> Tensor",
    "matmul_out(Tensor a, Tensor b, Tensor(a!) out) -> ()",
    "gemm(Tensor a, Tensor b, Tensor? c=None, Scalar alpha=1, Scalar beta=0, str trans_a='n', "
    "str trans_b='n') -> Tensor",
    "gemm_out(Tensor a, Tensor b, Tensor(a!) out, Scalar alpha=1, Scalar beta=0, str trans_a='n', "
    "str trans_b='n') -> ()",
    "gemm_grouped(Tensor[] a, Tensor[] b, Tensor[] c, Scalar alpha=1, Scalar beta=0, str trans_a='n', "
    "str trans_b='n') -> Tensor[]",
)
DEVICES = ("CPU", "CUDA")
NARROWED = (torch.float32, torch.float16, torch.bfloat16)
"""Types that autocast converts; others stay as they are."""

LIBRARY: Any = torch.library.Library("tilewright", "DEF")


# ---- the kernels: below every layer of PyTorch


def _matmul(a: Any, b: Any) -> Any:
    return products.matmul(a, b)


def _matmul_out(a: Any, b: Any, out: Any) -> None:
    products.matmul(a, b, products.detached(out))


def _gemm(
    a: Any,
    b: Any,
    c: Any = None,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> Any:
    return products.gemm(a, b, c, alpha, beta, trans_a, trans_b)


def _gemm_out(
    a: Any, b: Any, out: Any, alpha: complex = 1, beta: complex = 0, trans_a: str = "n", trans_b: str = "n"
) -> None:
    out = products.detached(out)
    products.gemm(a, b, None if beta == 0 else out, alpha, beta, trans_a, trans_b, out)


def _gemm_grouped(
    a: Sequence[Any],
    b: Sequence[Any],
    c: Sequence[Any],
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> list[Any]:
    out = _fake_gemm_grouped(a, b, c, alpha, beta, trans_a, trans_b)
    if out:
        added = c if beta != 0 else ()
        products.grouped(a, b, added, out, (alpha, beta), (trans_a, trans_b))
    return out


# ---- what they return, for whoever only traces


def _fake_matmul(a: Any, b: Any) -> Any:
    return a.new_empty(shapes.of_matmul(a, b))


def _fake_gemm(
    a: Any,
    b: Any,
    c: Any = None,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> Any:
    return a.new_empty(shapes.of_gemm(a, b, c, beta, trans_a, trans_b))


def _fake_gemm_grouped(
    a: Sequence[Any],
    b: Sequence[Any],
    c: Sequence[Any],
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> list[Any]:
    if len(a) != len(b) or len(c) not in (0, len(a)):
        raise RuntimeError(
            f"a, b and c have {len(a)}, {len(b)} and {len(c)} elements; accepted: as many each"
        )
    if beta != 0 and a and not c:
        raise RuntimeError(f"beta={beta} without c; accepted: one c for each product")
    added = c or [None] * len(a)
    # One memory each: outputs of operators do not share it.
    return [_fake_gemm(x, y, z, alpha, beta, trans_a, trans_b) for x, y, z in zip(a, b, added, strict=True)]


def _nothing(*_: Any) -> None:
    """What an operator returns that writes to ``out``."""


# ---- layers above


def _writing(op: Any, place: int) -> None:
    """The layers of an operator that writes to its argument at ``place``: gradients are refused, as PyTorch
    refuses them for ``out=``, and what was saved for a gradient notices that it was written to."""
    name = op._schema.name
    below, after = torch._C._after_autograd_keyset, torch._C._after_ADInplaceOrView_keyset

    def autograd(keys: Any, *values: Any) -> None:
        if torch.is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in values):
            raise RuntimeError(
                f"{name}: functions with out=... arguments don't support automatic differentiation, but one "
                "of the arguments requires grad"
            )
        with torch._C._AutoDispatchBelowAutograd():
            op.redispatch(keys & below, *values)

    def written(keys: Any, *values: Any) -> None:
        increment_version(values[place])
        op.redispatch(keys & after, *values)

    LIBRARY.impl(name, autograd, "Autograd", with_keyset=True)
    LIBRARY.impl(name, written, "ADInplaceOrView", with_keyset=True)


def _autocast(op: Any, kind: str) -> None:
    """Have autocast convert tensors of 32 bits and fewer to the type that is wanted on a kind of device."""
    key = getattr(torch._C.DispatchKey, f"Autocast{kind.upper()}")
    excluded = torch._C.DispatchKeySet(key)

    def narrowed(value: Any, wanted: Any) -> Any:
        if isinstance(value, list | tuple):
            return [narrowed(each, wanted) for each in value]
        if isinstance(value, torch.Tensor) and value.dtype in NARROWED and value.device.type == kind:
            return value.to(wanted)
        return value

    def cast(keys: Any, *values: Any) -> Any:
        wanted = torch.get_autocast_dtype(kind)
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return op(*(narrowed(value, wanted) for value in values))

    LIBRARY.impl(op._schema.name, cast, f"Autocast{kind.upper()}", with_keyset=True)


def _shortened(op: Any, kernel: Any, tensors: int) -> None:
    """Have the layer for gradients call a kernel at once where there is none to be recorded: PyTorch's own
    goes through the dispatcher, and Python, once more. ``tensors``: how many arguments are some."""
    if not hasattr(torch.library, "get_kernel"):
        return  # PyTorch before 2.9.
    name = op._schema.name
    for device in DEVICES:
        whole = torch.library.get_kernel(name, f"Autograd{device}").call_boxed

        def autograd(keys: Any, *values: Any, whole: Any = whole) -> Any:
            given = values[:tensors]
            wanted = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in given)
            return whole(keys, *values) if wanted or not plain(*given) else kernel(*values)

        LIBRARY.impl(name, autograd, f"Autograd{device}", with_keyset=True)


for _schema in SCHEMAS:
    LIBRARY.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))

MATMUL = torch.ops.tilewright.matmul.default
MATMUL_OUT = torch.ops.tilewright.matmul_out.default
GEMM = torch.ops.tilewright.gemm.default
GEMM_OUT = torch.ops.tilewright.gemm_out.default
GEMM_GROUPED = torch.ops.tilewright.gemm_grouped.default

for _op, _kernel, _fake in (
    (MATMUL, _matmul, _fake_matmul),
    (MATMUL_OUT, _matmul_out, _nothing),
    (GEMM, _gemm, _fake_gemm),
    (GEMM_OUT, _gemm_out, _nothing),
    (GEMM_GROUPED, _gemm_grouped, _fake_gemm_grouped),
):
    _name = _op._schema.name
    for _device in DEVICES:
        LIBRARY.impl(_name, _kernel, _device)
    torch.library.register_fake(_name, _fake, lib=LIBRARY)
for _op, _backward, _saved, _rule in (
    (MATMUL, gradients.of_matmul, gradients.saved_of_matmul, batching.of_matmul),
    (GEMM, gradients.of_gemm, gradients.saved_of_gemm, batching.of_gemm),
    (GEMM_GROUPED, gradients.of_grouped, gradients.saved_of_grouped, batching.of_grouped),
):
    _name = _op._schema.name
    torch.library.register_autograd(_name, _backward, setup_context=_saved, lib=LIBRARY)
    torch.library.register_vmap(_name, _rule, lib=LIBRARY)
    for _device in DEVICES:
        _autocast(_op, _device.lower())
_shortened(MATMUL, _matmul, 2)
_shortened(GEMM, _gemm, 3)
_writing(MATMUL_OUT, 2)
_writing(GEMM_OUT, 2)
