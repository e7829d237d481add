"""Kernels of processors: which ones each instruction set gets of a problem, and the objects that hold them.

A kernel is what a call in this process would run, chosen by the same ladder and the same records, but
compiled for every processor that has the instruction set. What is left to run time is the batch, so there is
a kernel for batches in the caches and one for those in memory, as the planner tells them apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, UnsupportedError
from tilewright.export.problems import Exported
from tilewright.model import Device, Plan, Problem, Source
from tilewright.planning import candidates, dispatch
from tilewright.targets.cpu import llvm
from tilewright.targets.cpu.isa import ISAS, Isa, supported

CLASSES = (("1", "0"), ("1", "1"), ("any", "0"), ("any", "any"))
"""Classes of alpha and beta, in the order of ``runtime.h``. At run time a scalar's value says which; beta 0
has always its own, because nothing is read there."""
LAYOUTS = ("packed", "apart")
REGIMES = ("cached", "memory")
GAP = 1
"""Elements between matrices that lie apart when a kernel is chosen; a kernel takes any stride."""


@dataclass(frozen=True, slots=True)
class Written:
    """The kernels of all problems for one instruction set: an object for each problem, and by problem the
    names of its functions in the order of ``itertools.product(LAYOUTS, REGIMES, CLASSES)``. ``told`` is what
    the record of the export says of each problem, ``asked`` what a processor must have to run all of them."""

    isa: Isa
    knee: int
    objects: dict[str, bytes]
    functions: dict[str, list[str]]
    told: dict[str, dict[str, Any]]
    asked: tuple[str, ...]


_FLOAT16 = {"x86_64": "f16c"}
"""What kernels of float16 need beside their instruction set, by architecture."""
CONVERTS = ("x86_64", "aarch64")
"""Architectures of which every processor in the table, or one that is asked for more, has instructions for
float16."""


def names(arch: str | None = None) -> list[str]:
    """The instruction sets that code can be made for: all, or those of one architecture."""
    return [isa.name for isa in ISAS if arch in (None, isa.arch) and isa.asked is not None]


def here() -> list[str]:
    """The instruction sets of this machine's architecture, from the best on."""
    return names(dispatch.device().features.partition("/")[0])


def device_of(isa: Isa, float16: bool = False) -> Device:
    """A processor with an instruction set, as the planner is asked about it: this machine's, with its records
    and caches, where that is its own, else one of which nothing was measured. Code is for all that have
    it, and with ``float16`` also what kernels of it need: what else this machine supports is not counted
    on."""
    mine = dispatch.device()
    features = f"{isa.arch}/{isa.baseline}"
    if float16 and isa.arch in _FLOAT16:
        features += f",+{_FLOAT16[isa.arch]}"
    supports = supported(set(isa.needs)) | ({"half"} if isa.arch in CONVERTS else set())
    if mine.key.endswith(f"-{isa.name}"):
        return replace(mine, features=features, supports=supports)
    limits = {
        **isa.limits,
        "prefetch": 0,
        "cores": 16,
        "l1d": 32 << 10,
        "l2": 1 << 20,
        "l3": 32 << 20,
    }
    return Device("cpu", f"any with {isa.name}", f"any-{isa.name}", limits, features, supports=supports)


def write(problems: Sequence[Exported], name: str, prefix: str) -> Written:
    """All kernels of problems for the instruction set of that name; ``prefix`` begins the symbols of objects,
    in place of ``tw``.

    Raises ``ArgumentError`` for a name that is not in ``names``, ``UnsupportedError`` for a problem that no
    stencil accepts, ``CompileError`` where LLVM refuses a program.
    """
    isa = next((isa for isa in ISAS if isa.name == name and name in names()), None)
    if isa is None:
        raise ArgumentError(f"targets names {name!r}; accepted: {', '.join(names())}")
    usual = device_of(isa)
    objects, functions, told, float16 = {}, {}, {}, False
    for each in problems:
        halves = each.problem.dtype.letter in ("h", "hc")
        device = device_of(isa, float16=True) if halves else usual
        float16 |= halves
        plans = list(_plans(each.problem, device))
        programs: dict[str, Source] = {}
        known: dict[str, str] = {}
        order = []
        for plan in plans:
            source = _source(plan)
            # What several rules run is in the library once.
            symbol = known.setdefault(source.digest, f"{each.symbol}_{isa.name}_{len(known)}")
            programs[prefix + symbol.removeprefix("tw")] = source
            order.append(symbol)
        objects[each.symbol], facts = llvm.library(programs, device)
        functions[each.symbol] = order
        rows = [_told(plan, symbol) for plan, symbol in zip(plans, order, strict=True)]
        told[each.symbol] = {"facts": facts, "kernels": rows}
    needed = (_FLOAT16[isa.arch],) if float16 and isa.arch in _FLOAT16 else ()
    return Written(isa, usual.knee(1), objects, functions, told, (*(isa.asked or ()), *needed))


def _plans(problem: Problem, device: Device) -> Iterator[Plan]:
    """What a call runs by layout, regime and class, in this order."""
    for layout, regime, (alpha, beta) in itertools.product(LAYOUTS, REGIMES, CLASSES):
        asked = problem.with_(alpha=alpha, beta=beta)
        if layout == "apart":
            a, b, c = (stride + GAP for stride in problem.strides)
            asked = asked.with_(stride_a=a, stride_b=b, stride_c=c)
        bytes_ = asked.with_(batch=1, beta="0").footprint
        if regime == "cached":
            batch = max(2, device.knee(1) // (4 * bytes_))
        else:
            batch = 8 * max(device.knee(), device.knee(1), device["l2"]) // bytes_ + 2
        asked = asked.with_(batch=batch)
        if candidates.stranger(asked, device):
            raise UnsupportedError(
                f"problem={problem.spelling!r} has no kernel for {device.name}; accepted: sizes that have "
                "one, or targets that are GPUs"
            )
        yield dispatch.plan(asked, device, cores=1, vendor=False)


def _source(plan: Plan) -> Source:
    assert plan.stencil is not None
    assert plan.config is not None
    source: Source = STENCILS[plan.stencil].source(plan.problem, plan.config, plan.device)
    return source


def _told(plan: Plan, symbol: str) -> dict[str, Any]:
    """Where a kernel comes from, as plain data."""
    return {
        "function": symbol,
        "key": plan.problem.key,
        "regime": plan.regime,
        "stencil": plan.stencil,
        "config": dict(plan.config or {}),
        "origin": plan.origin,
        "why": plan.why,
        "measured_gflops": _measured(plan),
    }


def _measured(plan: Plan) -> float | None:
    """The speed that the record behind a tuned plan has; None where nothing was measured of this problem."""
    record = dispatch.best(plan.problem.key, plan.regime, plan.device) if plan.origin == "tuned" else None
    if record is None or record.timing is None or record.config != plan.config:
        return None
    return float(round(record.problem.flops * record.timing.batch / record.timing.median / 1e9, 3))
