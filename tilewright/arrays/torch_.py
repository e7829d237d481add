"""PyTorch: its tensors on GPUs, and those in this process's memory, which NumPy sees as arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.arrays.dlpack import Exported
from tilewright.arrays.layout import LETTERS
from tilewright.arrays.library import Library
from tilewright.arrays.shaping import Look
from tilewright.arrays.view import Array, ArrayView, Looker, Owner, address_of, view_at
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF
from tilewright.errors import DTypeError


def is_tensor(value: Any) -> bool:
    """Whether an argument is a tensor of PyTorch, wherever it lies. Imports nothing."""
    # An argument can only be a tensor where somebody has imported torch.
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def listening(*values: Any) -> bool:
    """Whether PyTorch is to know of what is done with some arguments, all of them tensors of one type: one of
    them wants a gradient, or calls are being traced or transformed."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not all(is_tensor(value) and value.dtype is values[0].dtype for value in values):
        return False
    return bool(torch.is_grad_enabled() and any(value.requires_grad for value in values)) or traced(torch)


def traced(torch: Any) -> bool:
    """Whether calls are being traced or transformed by PyTorch."""
    inside = torch._C
    return bool(inside._len_torch_dispatch_stack() or inside._functorch.peek_interpreter_stack() is not None)


def put_off(tensor: Any) -> bool:
    """Whether conjugation or negation of a tensor was put off: its memory is not what it stands for."""
    return bool(tensor.is_conj() or tensor.is_neg())


def looker(value: Any) -> Looker:
    """What tells tensors of one class apart, wherever they lie."""
    kind: Any = type(value)

    def look(x: Any) -> Any:
        if type(x) is not kind:
            return None
        return x.shape, x.stride(), x.dtype, x.device, x.is_conj(), x.is_neg(), x.requires_grad

    return Looker(look, kind.data_ptr)


# ---- tensors in this process's memory


def shared(tensor: Any, name: str) -> Array:
    """The memory of a tensor as an array; a copy where conjugation or negation was put off.

    Raises ``DTypeError`` for tensors that are elsewhere, that want a gradient or that NumPy has no type for.
    """
    torch: Any = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise DTypeError(f"{name} is a tensor on {tensor.device}; accepted: the CPU, or an NVIDIA GPU")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise DTypeError(
            f"{name} is a tensor that requires a gradient, which this product does not record; "
            f"accepted: {name}.detach(), or any tensor under torch.no_grad()"
        )
    try:
        return behind(tensor.detach().resolve_conj().resolve_neg())
    except (TypeError, RuntimeError) as error:
        raise DTypeError(f"{name} is a tensor of {tensor.dtype} that NumPy cannot hold: {error}") from error


def behind(tensor: Any) -> Array:
    """The memory of a tensor without a gradient as an array. Raises ``TypeError`` or ``RuntimeError`` where
    NumPy cannot hold it, or it is not what its memory says."""
    torch: Any = sys.modules["torch"]
    # Types that NumPy has not, or not of its own: the same memory under another name.
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(BFLOAT16)  # type: ignore[no-any-return]
    if tensor.dtype == torch.complex32:
        return dtypes.paired(torch.view_as_real(tensor).numpy())
    array: Array = tensor.numpy()
    return array


def all_behind(values: Sequence[Any]) -> list[Array | None] | None:
    """The arrays behind tensors, None among them staying, where each one is a plain tensor in this process's
    memory; None where one is anything else: on a GPU, of another class or of a type that NumPy has not, to be
    conjugated, or to get a gradient; and where calls are traced."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    # This is what a call that is looked up spends its time on, so nothing is asked twice.
    tensor, unknown = torch.Tensor, (torch.bfloat16, torch.complex32)
    if type(values[0]) is not tensor or not values[0].is_cpu or traced(torch):
        return None
    arrays: list[Array | None] = []
    before = array = None
    for value in values:
        if value is not before:
            before = value
            if value is None:
                array = None
            elif type(value) is not tensor or not value.is_cpu:
                return None
            else:
                if value.requires_grad:
                    if torch.is_grad_enabled():
                        return None
                    value = value.detach()
                try:
                    array = behind(value) if value.dtype in unknown else value.numpy()
                except (TypeError, RuntimeError):
                    return None
        # A result that is added to is one array, too.
        arrays.append(array)
    return arrays


def tensor_of(array: Array) -> Any:
    """How a result goes to a caller who gave tensors: one that shares the memory of an array."""
    torch: Any = sys.modules["torch"]
    if array.dtype.kind != "V":
        return torch.from_numpy(array)
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype == COMPLEX_HALF:
        return torch.view_as_complex(torch.from_numpy(dtypes.unpaired(array)))
    return torch.from_numpy(array)


# ---- tensors on GPUs


class Torch(Library):
    """PyTorch. Tensors are seen through ``detach``, so nothing here makes a graph for gradients."""

    name = "torch"
    backwards = False

    def __init__(self, module: Any):
        super().__init__(module)
        t = module
        self.types = {getattr(t, known.name): dtype for dtype, known in LETTERS.items()}
        others = ("bool", "uint8", "int8", "int16", "int32", "int64")
        self.types |= {getattr(t, name): np.dtype(name) for name in others}
        self.names = {dtype: kind for kind, dtype in self.types.items()}
        # The public way makes an object of the stream: a microsecond.
        self.raw_stream = getattr(t._C, "_cuda_getCurrentRawStream", self._stream)

    def _stream(self, index: int) -> int:
        found: int = self.module.cuda.current_stream(index).cuda_stream
        return found

    def stream(self, index: int) -> int:
        return int(self.raw_stream(index))

    def on_gpu(self, value: Any) -> bool:
        return bool(value.device.type == "cuda")

    def index(self, value: Any) -> int:
        return int(value.get_device())

    def dtype(self, value: Any) -> np.dtype[Any] | None:
        return self.types.get(value.dtype)

    def check(self, value: Any, name: str) -> None:
        """Raises ``DTypeError`` for a tensor that wants a gradient or is not strided."""
        t = self.module
        if value.requires_grad and t.is_grad_enabled():
            raise DTypeError(
                f"{name} is a tensor that requires a gradient, which this product does not record; "
                f"accepted: {name}.detach(), or any tensor under torch.no_grad()"
            )
        if value.layout != t.strided:
            raise DTypeError(f"{name} is a tensor of layout {value.layout}; accepted: torch.strided")

    def view(self, value: Any, name: str) -> ArrayView | None:
        self.check(value, name)
        dtype = self.types.get(value.dtype)
        if dtype is None:
            return None
        tensor = value.detach()
        # Negation was put off by .imag of a conjugated tensor: rare, so a copy.
        tensor = tensor.resolve_neg() if tensor.is_neg() else tensor
        lazy = bool(tensor.is_conj())
        # Conjugating what is to be conjugated gives what is in memory.
        tensor = tensor.conj() if lazy else tensor
        index = self.index(tensor)
        try:
            address = tensor.data_ptr()
        except RuntimeError as error:
            raise DTypeError(f"{name} is a tensor without memory: {error}") from error
        size = dtype.itemsize
        return view_at(
            address,
            tuple(tensor.shape),
            tuple(step * size for step in tensor.stride()),
            dtype,
            Owner(tensor, self, index, self.stream(index)),
            conj=lazy,
        )

    def put_off(self, value: Any) -> bool:
        return put_off(value)

    def traced(self) -> bool:
        return traced(self.module)

    def key(self, x: Any) -> Any:
        return x.shape, x.stride(), x.dtype

    def look(self, key: Any) -> Look:
        shape, strides, dtype = key
        return Look(tuple(shape), strides, self.types.get(dtype))

    def own(self, equation: str, arrays: Sequence[Any]) -> Any:
        return self.module.einsum(equation, *arrays)

    def viewed(
        self, x: Any, axes: tuple[int, ...] | None, shape: tuple[int, ...], steps: tuple[int, ...] | None
    ) -> Any:
        # One call to PyTorch is shorter than two.
        if steps is not None:
            return x.as_strided(shape, steps)
        return self.copied(x if axes is None else x.permute(axes)).reshape(shape)

    def maker(
        self,
        made: tuple[int, ...],
        axes: tuple[int, ...] | None,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        dtype: np.dtype[Any],
        like: Any,
    ) -> Callable[[], Any]:
        # One call to PyTorch is shorter than two.
        strided, kind, device = self.module.empty_strided, self.names[dtype], like.device
        return lambda: strided(shape, steps, dtype=kind, device=device)

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        return self.module.empty(shape, dtype=self.names[dtype], device=like.device)

    def diagonal(self, x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        return x.as_strided(shape, strides)

    def summed(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.sum(axes).contiguous()

    def times(self, a: Any, b: Any) -> Any:
        return (a * b).contiguous()

    def wait(self, index: int, stream: int) -> None:
        gpu = self.module.cuda
        other = gpu.default_stream(index) if stream == 0 else gpu.ExternalStream(stream, device=index)
        gpu.current_stream(index).wait_stream(other)

    @contextmanager
    def guard(self, index: int) -> Iterator[None]:
        with self.module.cuda.device(index):
            yield

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        return self.module.empty(shape, dtype=self.names[dtype], device=f"cuda:{index}")

    def real(self, array: ArrayView) -> Any:
        owner = array.owner
        assert owner is not None
        if array.size == 0:
            return self.empty(array.shape, array.dtype, owner.index)
        if array.backwards:
            return self.real(array.reversed(array.backwards)).flip(array.backwards)
        if owner.library is self:
            tensor, size, shape, steps = owner.value, array.itemsize, array.shape, array.strides
            start = address_of(array) - tensor.data_ptr()
            of_pairs = array.dtype == COMPLEX_HALF and tensor.dtype == self.module.float16
            if of_pairs:
                size //= 2
                shape, steps = (*shape, 2), (*steps, size)
            made = tensor.as_strided(
                shape, [step // size for step in steps], tensor.storage_offset() + start // size
            )
            made = self.module.view_as_complex(made) if of_pairs else made
        else:
            made = self.module.as_tensor(Exported(array), device=f"cuda:{owner.index}")
            if array.dtype == BFLOAT16:
                made = made.view(self.module.bfloat16)
            elif array.dtype == COMPLEX_HALF:
                made = self.module.view_as_complex(made)
        return made.conj() if array.conj else made

    def pairs(self, value: Any) -> Any:
        return self.module.view_as_real(value)

    def widened(self, value: Any) -> Any:
        # By way of the parts: float16 has every operation that is needed, complex half only some.
        t, lazy = self.module, value.is_conj()
        made = t.view_as_complex(t.view_as_real(value.conj() if lazy else value).float())
        return made.conj() if lazy else made

    def narrow(self, target: Any, source: Any) -> None:
        t = self.module
        t.view_as_real(target).copy_(t.view_as_real(source.resolve_conj()))

    def copied(self, value: Any) -> Any:
        return value.resolve_conj().clone(memory_format=self.module.contiguous_format)

    def cast(self, value: Any, dtype: np.dtype[Any]) -> Any:
        return value.resolve_conj().to(self.names[dtype])

    def assign(self, target: Any, source: Any) -> None:
        target.copy_(source)

    def conjugate(self, value: Any) -> Any:
        return value.conj()

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        try:
            return self.module.matmul(a, b) if out is None else self.module.matmul(a, b, out=out)
        except RuntimeError as error:
            # A type that it has no product for; what else it says (no memory left) is its own to say.
            if "not implemented for" in str(error) or "same dtype" in str(error):
                raise DTypeError(f"a and b are {a.dtype} and {b.dtype}: {error}") from error
            raise

    def narrows(self, letter: str) -> bool:
        switches = {
            "h": "allow_fp16_reduced_precision_reduction",
            "b": "allow_bf16_reduced_precision_reduction",
        }
        found = getattr(self.module.backends.cuda.matmul, switches.get(letter, ""), False)
        # Newer versions have a second switch beside it, and tell both.
        return bool(found[0] if isinstance(found, tuple) else found)

    def gemm(self, a: Any, b: Any, out: Any, alpha: complex, beta: complex) -> None:
        plain = not (out.is_conj() or out.is_neg())
        if (alpha, beta) != (1, 0) and plain and a.dim() == b.dim() == out.dim():
            # One call of cuBLAS, which neither reads nor writes anything twice.
            if out.dim() == 2:
                out.addmm_(a, b, alpha=alpha, beta=beta)
                return
            if out.dim() == 3 and a.shape[0] == b.shape[0] == out.shape[0]:
                out.baddbmm_(a, b, alpha=alpha, beta=beta)
                return
        super().gemm(a, b, out, alpha, beta)


class Followed(Torch):
    """PyTorch where somebody follows what is done with tensors: for gradients, or to transform it."""

    follows = True

    def viewed(
        self, x: Any, axes: tuple[int, ...] | None, shape: tuple[int, ...], steps: tuple[int, ...] | None
    ) -> Any:
        # Views that gradients go back through cheaply, whatever the strides turn out to be.
        return (x if axes is None else x.permute(axes)).reshape(shape)
