"""Calls whose workspace finds no room: what runs then, and when the kernel is tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw
from tests.device_arrays import Bare, close
from tests.pretended import Log, Pretended, at, tensor
from tests.products import filled
from tests.streams import RECORDED, Streams
from tilewright.arrays import backend as lookup
from tilewright.calls import grouped
from tilewright.catalog import STENCILS
from tilewright.errors import DeviceError, RoomError
from tilewright.model import Config, Device, Problem
from tilewright.runtime import cublaslt, roomless
from tilewright.space import Param, Space
from tilewright.stencils.cuda import args
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import capability, driver, workspace
from tilewright.targets.cuda.arguments import Workspace, workspaces

pytestmark = pytest.mark.pure

SIZE = 4096
NEED = {
    "h:2304x2304x2304": "warpgroup",
    "d:2304x2304x2304": "dmma",
    "s:nt:2304x2304x2304": "ffma",
    "c:2304x2304x2304": "cfma",
    "hc:2304x2304x2304": "pairs",
    "d:8x8x100000": "inner",
    "h:2303x2303x2303": "unaligned",
}
"""Products by kernels that may need a workspace."""


class Roomy(Pretended):
    """Needs a workspace where tiles are cut."""

    cuts: tuple[int, ...] = (0, 2)

    def space(self, problem: Problem, device: Device) -> Space:
        return Space((Param("cut", self.cuts),))

    def default(self, problem: Problem, device: Device) -> Config:
        return Config({"cut": 2})

    def arguments(self, problem: Problem, config: Config) -> Any:
        return (*args.gemm(problem), *([Workspace("space", SIZE, 8)] if config["cut"] else []))


class Vendor(cublaslt.Product):
    """cuBLASLt's product of a problem, by NumPy. ``calls``: the stream of each, and the addresses."""

    here = True

    def __init__(self, problem: Problem, scalars: tuple[complex, complex], calls: list[Any]):
        self.problem, self.scalars, self.calls = problem, scalars, calls

    def __call__(self, a: int, b: int, c: int, stream: int) -> None:
        p, (alpha, beta) = self.problem, self.scalars
        self.calls.append((stream, a, b, c))

        def stored(which: int, place: int, rows: int, columns: int, turned: bool) -> Any:
            rows, columns = (columns, rows) if turned else (rows, columns)
            steps = p.strides[which], 1, (p.lda, p.ldb, p.ldc)[which] or rows
            found = at(place, (p.batch, rows, columns), steps, p.dtype.numpy)
            return found.swapaxes(1, 2) if turned else found

        left = stored(0, a, p.m, p.k, p.transposed_a)
        right = stored(1, b, p.k, p.n, p.transposed_b)
        out = stored(2, c, p.m, p.n, False)
        out[...] = alpha.real * (left @ right) + (beta.real * out if beta else 0)


@pytest.fixture
def roomy(gpu: Log, streams: Streams, monkeypatch: pytest.MonkeyPatch) -> Roomy:
    made = STENCILS["pretend"] = Roomy()
    monkeypatch.setattr(driver, "capturing", lambda stream: stream >= RECORDED)
    # Products of lists, however small, are products alone.
    monkeypatch.setattr(grouped, "LARGEST", 0)
    return made


@pytest.fixture
def vendor(roomy: Roomy, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """cuBLASLt is here. The calls of its products."""
    calls: list[Any] = []

    def product(problem: Problem, scalars: Any, *_: Any) -> cublaslt.Product | str:
        return Vendor(problem, scalars, calls) if Vendor.here else "it is not here"

    monkeypatch.setattr(cublaslt, "product", product)
    monkeypatch.setattr(Vendor, "here", True)
    return calls


def _needing(stencil: Stencil, problem: Problem, device: Device) -> Config:
    """The default, or a config beside it that needs a workspace."""
    space, default = stencil.space(problem, device), stencil.default(problem, device)
    beside = [default.with_(**{param.name: value}) for param in space.params for value in param.values]
    return next(
        x for x in (default, *beside) if space.member(x) is None and workspaces(stencil.arguments(problem, x))
    )


def ways(a: Any, b: Any, c: Any) -> dict[str, tuple[Callable[[], Any], Any]]:
    """Calls of each kind, which are told apart by what they are remembered as, and their results."""
    made = tw.plan(a, b, out=c)
    return {
        "matmul": (lambda: tw.matmul(a, b), a @ b),
        "matmul into": (lambda: tw.matmul(a, b, out=c), a @ b),
        "gemm": (lambda: tw.gemm(a, b, c.clone().fill_(1), alpha=2, beta=3), 2 * (a @ b) + 3),
        "gemm into": (lambda: tw.gemm(a, b, out=c.fill_(1), alpha=2, beta=3), 2 * (a @ b) + 3),
        "plan": (lambda: made(a, b), a @ b),
        "plan into": (lambda: made(a, b, out=c), a @ b),
        "list": (lambda: tw.gemm_grouped([a], [b])[0], a @ b),
        "einsum": (lambda: tw.einsum("ij,jk->ik", a, b), a @ b),
    }


@pytest.mark.parametrize("served", [True, False])
def test_all_calls_run_what_needs_none_and_the_kernel_again_later(
    roomy: Roomy,
    torch: Any,
    streams: Streams,
    gpu: Log,
    vendor: list[Any],
    served: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """cuBLASLt's product, or the library's where that is not ``served``."""
    if not served:
        roomy.cuts = (2,)
        Vendor.here = False
    a, b, c = (tensor(torch, (8, 8), seed=seed) for seed in range(3))
    calls = ways(a, b, c)
    if not served:
        # The library makes tensors of addresses on a real GPU alone.
        del calls["list"]
    for name, (call, want) in calls.items():
        for full in (True, False, True):
            streams.room, streams.clock = (0 if full else 1 << 30), streams.clock + 100
            # What streams keep is theirs: without it they have to ask.
            monkeypatch.setattr(workspace, "_HELD", workspace.Held())
            asked, launched, done = streams.taken, len(gpu.starts), len(vendor)
            # A loop of calls, each of which is remembered from the second on.
            for _ in range(5):
                close(call().numpy(), want.numpy())
            assert streams.taken == asked + 1, name
            assert len(gpu.starts) == launched + (0 if full else 5), name
            assert len(vendor) == done + (5 if full and served else 0), name
    assert {call[0] for call in vendor} == ({7} if served else set())


def test_where_the_vendor_has_no_product_the_stencil_has_another_config(
    roomy: Roomy, torch: Any, streams: Streams, gpu: Log
) -> None:
    a, b = tensor(torch, (8, 8), seed=1), tensor(torch, (8, 8), seed=2)
    streams.room = 0
    for _ in range(3):
        close(tw.matmul(a, b).numpy(), (a @ b).numpy())
    # One parameter of the block more is the workspace.
    assert [start.spans for start in gpu.starts] == [1, 1, 1]
    streams.room, streams.clock = 1 << 30, streams.clock + 100
    close(tw.matmul(a, b).numpy(), (a @ b).numpy())
    assert gpu.last.spans == 2


def test_within_a_recording_nothing_is_made(
    roomy: Roomy, torch: Any, streams: Streams, gpu: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a handle of cuBLASLt nor a kernel; what was made before is used."""
    made: list[Any] = []
    calls: list[Any] = []

    def product(problem: Problem, scalars: Any, *_: Any) -> cublaslt.Product:
        made.append(problem)
        return Vendor(problem, scalars, calls)

    monkeypatch.setattr(cublaslt, "product", product)
    library = lookup.library("torch")
    stream = [RECORDED]
    monkeypatch.setattr(library, "raw_stream", lambda index: stream[0])
    a, b = tensor(torch, (8, 8), seed=1), tensor(torch, (8, 8), seed=2)
    streams.room = 0

    def run() -> None:
        for calls_ in (tw.matmul, lambda a, b: tw.gemm(a, b)):
            close(calls_(a, b).numpy(), (a @ b).numpy())

    run()
    assert (made, calls, gpu.starts) == ([], [], [])
    # Outside of one it is made with the first call, and is there from then on.
    tw.forget()
    stream[0] = 7
    run()
    assert (len(made), len(calls)) == (1, 2)
    stream[0] = RECORDED
    run()
    assert (len(made), [call[0] for call in calls]) == (1, [7, 7, RECORDED, RECORDED])
    assert gpu.starts == []


@pytest.mark.parametrize("promise", [{"stencil": "pretend"}, {"config": {"cut": 2}}, {"deterministic": True}])
def test_what_was_promised_is_an_error_with_the_bytes(
    roomy: Roomy,
    torch: Any,
    streams: Streams,
    gpu: Log,
    vendor: list[Any],
    promise: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    roomy.steady = lambda problem, device: Config({"cut": 2})  # type: ignore[method-assign]
    a, b = tensor(torch, (8, 8), seed=1), tensor(torch, (8, 8), seed=2)
    made = tw.plan(a, b, **promise)
    calls: list[Callable[[Any, Any], Any]] = [made]
    if "deterministic" in promise:
        calls.append(lambda a, b: tw.matmul(a, b, **promise))
    for _ in range(2):
        streams.room = 0
        for call in calls:
            with pytest.raises(DeviceError, match=f"size={SIZE}: the device has no room.*without stencil="):
                call(a, b)
        # Memory that was freed serves the next call: no time has to go by.
        streams.room = 1 << 30
        close(made(a, b).numpy(), (a @ b).numpy())
        monkeypatch.setattr(workspace, "_HELD", workspace.Held())
    assert (vendor, len(gpu.starts)) == ([], 2)


def test_arrays_of_no_library_have_nobody_else(roomy: Roomy, streams: Streams, gpu: Log) -> None:
    roomy.cuts, streams.room = (2,), 0
    a, out = filled((8, 8)), filled((8, 8), seed=1)
    before = out.copy()
    with pytest.raises(RoomError, match=f"size={SIZE}: .* accepted: as many that are free"):
        tw.matmul(Bare(a), Bare(a), out=Bare(out))
    assert (out == before).all()
    streams.room, streams.clock = 1 << 30, streams.clock + 100
    tw.matmul(Bare(a), Bare(a), out=Bare(out))
    close(out, a @ a)


def test_served_calls_go_on_to_pytorchs_own_kernel(torch: Any) -> None:
    from tilewright.torch.serving import Choice, Serving

    def full(*_: int) -> None:
        raise RoomError("size=4096: the device has no room")

    choice = Choice("d:8x8x8")
    choice.run, choice.clear, choice.shape = full, lambda *_: True, (8, 8)
    a = tensor(torch, (8, 8))
    served = Serving()
    served.stream = lambda index: 7
    assert served._served(choice, a, a, None, None) is NotImplemented
    choice.run = lambda *_: None
    assert served._served(choice, a, a, a, None) is a


@pytest.mark.parametrize("served", [True, False])
def test_runs_of_a_batch_are_multiplied_once(
    roomy: Roomy,
    torch: Any,
    streams: Streams,
    gpu: Log,
    vendor: list[Any],
    served: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The room goes between two runs of a batch that no stride covers; results are updated in place. Where
    only the library of the arrays is left, which would multiply all of them, it is an error."""
    # Without workspaces of streams each run takes its own.
    monkeypatch.setattr(workspace, "STREAMS", 0)
    if not served:
        roomy.cuts = (2,)
        Vendor.here = False
    a, b = tensor(torch, (3, 5, 2, 9, 9), seed=1)[:, ::2, :, :8, :8], tensor(torch, (8, 8), seed=2)
    out = torch.ones(3, 3, 2, 8, 8, dtype=torch.float64)
    take = streams.cuMemAllocFromPoolAsync

    def once(size: int, pool: int, stream: int) -> tuple[int, int]:
        streams.room = 0 if streams.taken else 1 << 30
        return take(size, pool, stream)

    monkeypatch.setattr(streams, "cuMemAllocFromPoolAsync", once)
    want = a @ b + 1
    if served:
        tw.gemm(a, b, out=out, beta=1)
        close(out.numpy(), want.numpy())
        assert len(vendor) > 1
    else:
        with pytest.raises(DeviceError, match="the device has no room"):
            tw.gemm(a, b, out=out, beta=1)
        kept = (out == 1).reshape(9, 2, 64).all(dim=2)
        close(out.reshape(9, 2, 64)[~kept].numpy(), want.reshape(9, 2, 64)[~kept].numpy())
        assert 0 < (~kept).sum() < 18
    assert len(gpu.starts) == 1


def test_a_config_that_needs_no_workspace_of_each_stencil_that_has_one() -> None:
    """Of every kernel that takes one, by what its own space says."""
    device = capability.named("h200")
    found = {}
    for spelling, name in NEED.items():
        (problem,) = Problem.parse(spelling)
        stencil = STENCILS[name]
        assert stencil.accepts(problem, device) is None
        config = _needing(stencil, problem, device)
        other = roomless.small_config(stencil, problem, device, config)
        assert other is None or stencil.space(problem, device).member(other) is None
        assert other is None or not workspaces(stencil.arguments(problem, other))
        found[name] = None if other is None else {x for x in other if other[x] != config[x]}
    cut = {"cut"}
    assert found == {
        "warpgroup": cut,
        "dmma": cut,
        "ffma": cut,
        "cfma": cut,
        "pairs": cut,
        "inner": {"spread"},
        "unaligned": None,
    }


def test_a_config_whose_workspace_several_parameters_ask_for() -> None:
    """Tiles that are cut and an operand that is copied, in tiles that only one that is copied allows."""
    device, (problem,) = capability.named("h200"), Problem.parse("hc:nt:2304x2304x2304")
    stencil = STENCILS["pairs"]
    config = stencil.default(problem, device).with_(
        tile_m=192,
        tile_n=128,
        ping_pong=0,
        steps=1,
        stages=4,
        outs=2,
        cluster_m=1,
        cluster_n=1,
        overlap=0,
        copied=1,
        cut=1,
    )
    assert stencil.space(problem, device).member(config) is None
    other = roomless.small_config(stencil, problem, device, config)
    assert other is not None
    assert stencil.space(problem, device).member(other) is None
    assert not workspaces(stencil.arguments(problem, other))
    assert (other["copied"], other["cut"], other["tile_m"]) == (0, 0, 128)
