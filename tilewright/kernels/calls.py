"""Calls of kernels that were handed in: which config, on which arrays, bound once for arrays that are
alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.arrays.view import address_of, aligned, conjugated, contiguous, writeable
from tilewright.catalog import STENCILS, TARGETS
from tilewright.custom.definition import Array, Definition
from tilewright.custom.problem import KernelProblem
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.model import Config, Device, Kernel, Record
from tilewright.planning import dispatch
from tilewright.runtime import build, custom_cpu
from tilewright.runtime.backends import backend_of
from tilewright.store import binaries

STARTS = 8
"""The most configs of other machines that a search begins with."""
MOST_LISTED = 1_000_000
"""The most configs of a space that is searched."""
KEPT = 256
"""The most kinds of calls that one stencil remembers."""

Bound = Callable[[Sequence[int], int], None]
"""A kernel ready for the addresses of its arrays and a stream."""


def name_of(definition: Definition) -> str:
    """The row of ``catalog`` that runs a kernel."""
    return f"custom-{definition.target}"


def planned(problem: KernelProblem, device: Device) -> tuple[Config, str]:
    """What runs and why: the fastest record of these sizes on this device in the regime that its operands
    are in, else in the other; else that of the nearest sizes; else the default."""
    stencil = STENCILS[name_of(problem.made)]
    space = stencil.space(problem, device)
    records = dispatch.records()
    regimes = ("memory", "cached") if problem.footprint > device.knee() else ("cached", "memory")

    def usable(row: Record) -> bool:
        # What others measured (protocol 0) nobody has verified here.
        named = row.config.keys() == {param.name for param in space.params}
        return row.protocol > 0 and named and row.config in space

    for regime in regimes:
        best = records.best(problem.key, regime, device.key, accept=usable)
        if best is not None:
            return best.config, f"tuned ({regime})"
    for near in records.near(problem, regimes[0], device.key):
        if usable(near):
            return near.config, f"near: {near.problem.spelling}"
    return stencil.default(problem, device), "default"


class Calls:
    """The calls of one stencil."""

    def __init__(self, definition: Definition):
        self.definition = definition
        self._bound: dict[Any, tuple[KernelProblem, Bound]] = {}

    def forget(self) -> None:
        """Plan all calls anew: there are new records."""
        self._bound.clear()

    def call(
        self, arrays: Sequence[Any], out: Any, config: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> Any:
        """See ``Stencil.__call__``."""
        made = self.definition
        if len(arrays) != len(made.given):
            raise ArgumentError(
                f"{made.name} is given {len(arrays)} arrays; accepted: {len(made.given)}: "
                + ", ".join(array.name for array in made.given)
            )
        arguments = {array.name: value for array, value in zip(made.given, arrays, strict=True)}
        outputs = [] if out is None else list(out) if isinstance(out, tuple | list) else [out]
        new = [array for array in made.made if not array.reads]
        if outputs and len(outputs) != len(new):
            raise ArgumentError(
                f"out has {len(outputs)} arrays; accepted: {len(new)}: "
                f"{', '.join(a.name for a in new) or 'none'}"
            )
        backend = backend_of(**arguments, **{f"out{n}": each for n, each in enumerate(outputs)})
        if backend.kind != made.target:
            raise DeviceError(
                f"{made.name} is a kernel in {made.language}, and the arrays are those of a {backend.kind}; "
                f"accepted: arrays of a {made.target}"
            )
        backend = backend.here()
        with backend.current():
            views, wrap = {}, None
            for array in made.given:
                views[array.name], wraps = backend.view(arguments[array.name], array.name)
                wrap = wrap or wraps
            sizes, scalars = self._sizes(views, named)
            for array, value in zip(new, outputs, strict=False):
                views[array.name] = backend.view_out(value)
            for array in new[len(outputs) :]:
                views[array.name] = backend.empty(array.extents(sizes), array.numpy)
            for array in made.arrays:
                _checked(array, views[array.name], sizes)
            problem, run = self._ready(backend, sizes, scalars, config)
            if problem.footprint:
                run([address_of(views[array.name]) for array in made.arrays], backend.stream)
            results = []
            for array in made.made:
                at = new.index(array) if array in new else None
                if at is None:
                    results.append(arguments[array.name])
                elif outputs:
                    results.append(outputs[at])
                else:
                    results.append((wrap or backend.hand_back)(views[array.name]))
        return results[0] if len(results) == 1 else tuple(results)

    def _sizes(
        self, views: Mapping[str, Any], named: Mapping[str, Any]
    ) -> tuple[dict[str, int], dict[str, Any]]:
        """Sizes from the shapes of arrays and by name, and the scalars that were given by name."""
        made = self.definition
        scalars = {each.name: named[each.name] for each in made.asked if each.name in named}
        absent = [each.name for each in made.asked if each.name not in named]
        if absent:
            raise ArgumentError(f"{made.name} is not given {absent[0]}; accepted: {absent[0]}=, a number")
        sizes: dict[str, int] = {}
        for array in made.given:
            shape = views[array.name].shape
            if len(shape) != len(array.shape):
                raise ArgumentError(
                    f"{array.name} has shape {tuple(shape)}; accepted: {len(array.shape)} axes {array.shape}"
                )
            for extent, found in zip(array.shape, shape, strict=True):
                if extent in made.sizes:
                    known = sizes.setdefault(str(extent), int(found))
                    if known != found:
                        raise ArgumentError(
                            f"{array.name} has shape {tuple(shape)}, so that {extent} is {found}, and "
                            "another array "
                            f"says {known}; accepted: shapes that agree"
                        )
        for name, value in named.items():
            if name in scalars:
                continue
            if name not in made.sizes or sizes.get(name, value) != value:
                raise ArgumentError(
                    f"{name}={value!r}; accepted: "
                    + (
                        f"{sizes[name]}, as the arrays have it"
                        if name in sizes
                        else ", ".join((*made.sizes, *(s.name for s in made.asked))) or "no names"
                    )
                )
            sizes[name] = value
        return sizes, scalars

    def _ready(
        self,
        backend: Any,
        sizes: Mapping[str, int],
        scalars: Mapping[str, Any],
        config: Mapping[str, Any] | None,
    ) -> tuple[KernelProblem, Bound]:
        asked = None if config is None else Config(config)
        key = (backend.index, tuple(sizes.items()), tuple(scalars.items()), asked)
        found = self._bound.get(key)
        if found is None:
            if len(self._bound) >= KEPT:
                self._bound.clear()
            problem = KernelProblem.of(self.definition, sizes)
            device = dispatch.device(self.definition.target, backend.index)
            chosen = planned(problem, device)[0] if asked is None else forced(problem, asked, device)
            made = _bound_cpu if device.kind == "cpu" else _bound_cuda
            found = self._bound[key] = problem, made(problem, chosen, device, scalars)
        return found


def forced(problem: KernelProblem, config: Mapping[str, Any], device: Device) -> Config:
    """A config that a caller chose. Raises ``ArgumentError`` for one that is not of the space, with the rule
    that it breaks and the nearest legal one."""
    space = STENCILS[name_of(problem.made)].space(problem, device)
    reason = space.member(config, tuple({rule.kind for rule in space.rules}))
    if reason is not None:
        raise ArgumentError(f"config={dict(config)} {reason}; the nearest that is: {space.nearest(config)}")
    return Config(config)


def _checked(array: Array, view: Any, sizes: Mapping[str, int]) -> None:
    """Raises for an array that the kernel cannot be given as it is: nothing is copied behind a caller's
    back."""
    if view.dtype != array.numpy:
        raise DTypeError(f"{array.name} is {view.dtype}; accepted: {array.dtype}")
    if tuple(view.shape) != array.extents(sizes):
        raise ArgumentError(f"{array.name} has shape {tuple(view.shape)}; accepted: {array.extents(sizes)}")
    dense = contiguous(tuple(view.shape), view.dtype.itemsize)
    gaps = any(n > 1 and step != want for n, step, want in zip(view.shape, view.strides, dense, strict=True))
    if gaps or not aligned(view) or conjugated(view):
        raise ArgumentError(
            f"{array.name} has strides {tuple(view.strides)}; accepted: {dense}: a contiguous array "
            "of its type"
        )
    if array.writes and not writeable(view):
        raise ArgumentError(f"{array.name} is read-only; accepted: an array that may be written")


def _bound_cpu(problem: KernelProblem, config: Config, device: Device, scalars: Mapping[str, Any]) -> Bound:
    kernel = build.kernel(name_of(problem.made), problem, config, device)
    function: Any = custom_cpu.prototype(problem)(kernel.address)

    def run(addresses: Sequence[int], stream: int) -> None:
        function(*custom_cpu.numbers(problem, addresses, scalars))

    run.kernel = kernel  # type: ignore[attr-defined]  # the code lives as long as its owner
    return run


def _bound_cuda(problem: KernelProblem, config: Config, device: Device, scalars: Mapping[str, Any]) -> Bound:
    from tilewright.runtime.custom_cuda import bound, check

    check(problem, config, device)
    binding = bound(_loaded(problem, config, device), problem, config, scalars)
    lock = threading.Lock()

    def run(addresses: Sequence[int], stream: int) -> None:
        # One block for all calls: its addresses and launches must not be interleaved by threads.
        with lock:
            binding.put(addresses)(stream)

    return run


def _loaded(problem: KernelProblem, config: Config, device: Device) -> Kernel:
    """A kernel in the memory of the current GPU."""
    parts = (name_of(problem.made), problem, config, device)
    if device.index == 0:
        return build.kernel(*parts)
    name = build.key(*parts)
    target = TARGETS["cuda"]
    return binaries.loaded(name, target.load, lambda: build.compile(*parts, target))
