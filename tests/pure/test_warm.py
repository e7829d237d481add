"""What a call that comes again is compared with: what could change its product sends it the slow path."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.runtime import device_calls
from tilewright.targets.cuda import devices

pytestmark = pytest.mark.pure

torch: Any = pytest.importorskip("torch")

STREAM = 77
SHAPE = (3, 4, 4)


class Runs(list[tuple[int, int, int, int]]):
    """The launches, by addresses and stream."""

    def __call__(self, a: int, b: int, out: int, stream: int) -> None:
        self.append((a, b, out, stream))


def tensor(dtype: Any = None, shape: tuple[int, ...] = SHAPE, skip: int = 0) -> Any:
    """Zeros at a multiple of 16 bytes, and ``skip`` elements."""
    dtype = torch.float32 if dtype is None else dtype
    count = int(np.prod(shape))
    flat = torch.zeros(count + 64, dtype=dtype)
    start = -(flat.data_ptr() // flat.itemsize) % (16 // min(16, flat.itemsize)) + skip
    return flat[start : start + count].view(shape)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> device_calls.TorchCalls:
    monkeypatch.setattr(devices, "count", lambda: 1)
    return device_calls.TorchCalls(SimpleNamespace(module=torch, raw_stream=lambda index: STREAM, names={}))  # type: ignore[arg-type]


def planned(calls: device_calls.TorchCalls, a: Any, b: Any, out: Any) -> tuple[device_calls.Call, Runs]:
    runs = Runs()
    arrays = tuple(x.detach().resolve_conj().numpy() for x in (a, b, out))
    found = device_calls.Prepared(runs, 0, arrays, (1, 0), ("n", "n"))  # type: ignore[arg-type]
    call = calls.planned(found, a, b, out)
    assert call is not None
    return call, runs


def test_a_call_like_it_launches_at_its_addresses(calls: device_calls.TorchCalls) -> None:
    call, runs = planned(calls, tensor(), tensor(), tensor())
    for _ in range(3):
        a, b, out = tensor(), tensor(), tensor()
        assert call(a, b, out) is out
        assert call(a, a, out) is out
        assert runs[-2:] == [
            (a.data_ptr(), b.data_ptr(), out.data_ptr(), STREAM),
            (a.data_ptr(), a.data_ptr(), out.data_ptr(), STREAM),
        ]


class Own(torch.Tensor):  # type: ignore[misc]
    """A tensor of a user's own class, which may mean something else by everything."""


CHANGES: dict[str, Callable[[Any], Any]] = {
    "class": lambda x: x.as_subclass(Own),
    "parameter": torch.nn.Parameter,
    "no tensor": lambda x: x.numpy(),
    "nothing": lambda x: None,
    "type": lambda x: x.to(torch.float64),
    "type of the same size": lambda x: x.view(torch.int32),
    "half": lambda x: x.to(torch.bfloat16),
    "complex": lambda x: x.to(torch.complex64),
    "rows": lambda x: x[:, :3],
    "batch": lambda x: x[:2],
    "rank": lambda x: x[None],
    "transposed": lambda x: x.mT,
    "leading dimension": lambda x: tensor(shape=(3, 4, 8))[..., :4],
    "batch stride": lambda x: tensor(shape=(6, 4, 4))[::2],
    "shared": lambda x: x[:1].expand(SHAPE),
    "negated": torch._neg_view,
    "gradient": lambda x: x.detach().requires_grad_(),
    "sparse": lambda x: x.to_sparse(),
    "alignment": lambda x: tensor(skip=1),
    "alignment to 8 bytes": lambda x: tensor(skip=2),
}


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_not_like_it_is_left_alone(calls: device_calls.TorchCalls, name: str, which: int) -> None:
    given = [tensor(), tensor(), tensor()]
    call, runs = planned(calls, *given)
    changed = list(given)
    changed[which] = CHANGES[name](given[which])
    assert call(*changed) is NotImplemented
    assert runs == []
    assert call(*given) is given[2]
    # And the other way around, where there is a call to be planned.
    if name in {
        "type",
        "rows",
        "transposed",
        "leading dimension",
        "alignment",
        "parameter",
        "complex",
        "half",
    }:
        with torch.no_grad():
            arrays = tuple(np.zeros(SHAPE, np.float32) for _ in range(3))
            found = device_calls.Prepared(runs, 0, arrays, (1, 0), ("n", "n"))  # type: ignore[arg-type]
            other = calls.planned(found, *changed)
            assert other is not None
            assert other(*given) is NotImplemented
            assert other(*changed) is changed[2]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("lazy", [False, True])
def test_lazy_conjugation(calls: device_calls.TorchCalls, which: int, lazy: bool) -> None:
    plain = [tensor(torch.complex64) for _ in range(3)]
    transposed = list(plain)
    transposed[which] = plain[which].conj()
    given, others = (transposed, plain) if lazy else (plain, transposed)
    call, runs = planned(calls, *given)
    assert call(*others) is NotImplemented
    assert runs == []
    assert call(*given) is given[2]


def test_a_tensor_that_changes_in_place(calls: device_calls.TorchCalls) -> None:
    for change in (
        lambda x: x.transpose_(1, 2),
        lambda x: x.requires_grad_(),
        lambda x: x.resize_(2, 4, 4),
        lambda x: setattr(x, "data", torch.zeros(2, 2)),
        lambda x: x.set_(torch.zeros(3, 4, 4).mT),
        lambda x: x.squeeze_(0).unsqueeze_(0).unsqueeze_(0),
    ):
        a, b, out = tensor(), tensor(), tensor()
        call, runs = planned(calls, a, b, out)
        assert call(a, b, out) is out
        change(a)
        assert call(a, b, out) is NotImplemented
        assert len(runs) == 1


def test_gradients_are_asked_for_only_where_they_are_kept(calls: device_calls.TorchCalls) -> None:
    a, b, out = torch.nn.Parameter(tensor()), tensor(), tensor()
    with torch.no_grad():
        call, runs = planned(calls, a, b, out)
        assert call(a, b, out) is out
    assert call(a, b, out) is NotImplemented
    with torch.no_grad():
        assert call(a, b, out) is out
    assert len(runs) == 2


def test_memory_that_is_shared_with_the_result(calls: device_calls.TorchCalls) -> None:
    flat = torch.zeros(400)
    pieces = {start: flat[start : start + 48].view(SHAPE) for start in (0, 4, 44, 48, 96)}
    call, _ = planned(calls, pieces[0], pieces[48], pieces[96])
    for at_a, at_b, at_out, fine in (
        (0, 48, 96, True),
        (0, 0, 48, True),
        (0, 48, 44, False),
        (48, 0, 44, False),
        (48, 96, 0, True),
        (0, 96, 0, False),
        (96, 4, 0, False),
    ):
        out = pieces[at_out]
        result = call(pieces[at_a], pieces[at_b], out)
        assert (result is out) == fine
        assert (result is NotImplemented) != fine


def test_with_several_gpus_the_current_one_counts(calls: device_calls.TorchCalls) -> None:
    calls.several, calls.current = True, lambda: 0
    a, b, out = tensor(), tensor(), tensor()
    call, runs = planned(calls, a, b, out)
    assert call(a, b, out) is out
    calls.current = lambda: 1
    other, _ = planned(calls, a, b, out)
    assert other(a, b, out) is NotImplemented
    assert len(runs) == 1


def test_no_tensor_is_kept(calls: device_calls.TorchCalls) -> None:
    a, b, out = tensor(), tensor(), tensor()
    seen = [weakref.ref(x) for x in (a, b, out)]
    call, _ = planned(calls, a, b, out)
    del a, b, out
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3
    again = tensor()
    assert call(tensor(), tensor(), again) is again
