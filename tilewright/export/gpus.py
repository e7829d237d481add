"""Kernels of GPUs: which ones each architecture gets of a problem, as machine code or as PTX.

A kernel is what a call would run if one program serves every batch and its launch follows a rule (``rules``):
whether that is so is not known of a stencil but seen, by asking it for its program and its launch at many
batches and strides. Else it is the best that another stencil, or a part of a space, has to offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import UnsupportedError
from tilewright.export.problems import Exported
from tilewright.export.processors import CLASSES
from tilewright.export.rules import COUNTS, Rule, rule
from tilewright.model import Config, Device, Problem, Source
from tilewright.planning import candidates, dispatch
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import capability, disassemble

LAYOUTS = ("packed", "apart", "pointers")
"""How matrices lie, in the order of ``cuda.h``."""
_SERVED_BY = {"packed": (0, 3, 2, 3), "apart": (2, 3, 2, 3), "pointers": (2, 3, 2, 3)}
"""By layout, which class of ``CLASSES`` has the kernel that serves each: beside reading C multiplying by 1
costs a GPU nothing, and images are large."""
TRIED = 24
"""Configs of a part of a space that the cost model is asked about."""
NONE = -1
"""In place of a kernel: lists of addresses are served up to some size only."""
GAPS = (1, 5, 64)
"""Elements between matrices at which programs for matrices that lie apart are compared."""


@dataclass(frozen=True, slots=True)
class Arch:
    """What images are made for: its name, the compute capabilities that they serve, and the device that
    kernels are chosen for."""

    name: str
    first: int
    last: int
    device: Device


@dataclass(frozen=True, slots=True)
class Chosen:
    """A kernel of a problem: who wrote it, its program and its launch."""

    stencil: str
    config: Config
    origin: str
    source: Source
    rule: Rule
    problem: Problem


@dataclass(frozen=True, slots=True)
class Image:
    """A kernel of an architecture as it is loaded: ``code`` is machine code, or PTX with a zero at its
    end."""

    code: bytes
    entry: str
    rule: Rule
    sms: int


@dataclass(frozen=True, slots=True)
class Built:
    """All images of an architecture, and by problem the number of each in the order of layouts and classes.
    ``told`` is what the record of the export says of each problem."""

    arch: Arch
    images: list[Image]
    rules: dict[str, list[list[int]]]
    told: dict[str, dict[str, Any]]


def names() -> list[str]:
    """The architectures that images can be made for."""
    return ["sm_90a", "sm_80", "ptx"]


def arch_of(name: str) -> Arch:
    """An architecture by its name. ``sm_80`` serves every GPU of capability 8, of which some have less shared
    memory than an A100, and ``ptx`` all from 8.0 on: their kernels are chosen for the least of them."""
    if name == "sm_90a":
        return Arch(name, 90, 90, dispatch.known(capability.named("h200")))
    large, small = capability.named("a100"), capability.limits_of(86)
    limits = {limit: min(value, small.get(limit, value)) for limit, value in large.limits.items()}
    limits["shared_per_block_optin"] = small["shared_per_sm"] - small["shared_reserved"]
    device = replace(large, limits=limits)
    if name == "sm_80":
        return Arch(name, 80, 89, device)
    return Arch(name, 80, 999, replace(device, features="compute_80"))


def build(problems: Sequence[Exported], name: str) -> Built:
    """All kernels of problems for the architecture of that name.

    Raises ``UnsupportedError`` for a problem without a kernel that serves every batch, ``CompileError`` where
    NVRTC refuses a program, ``DeviceError`` without NVRTC.
    """
    arch = arch_of(name)
    images: list[Image] = []
    known: dict[tuple[str, Rule], int] = {}
    rules: dict[str, list[list[int]]] = {}
    told: dict[str, dict[str, Any]] = {}
    for each in problems:
        rows: list[list[int]] = []
        said: dict[int, dict[str, Any]] = {}
        for layout in LAYOUTS:
            row = []
            for number in _SERVED_BY[layout]:
                asked = _asked(each, layout, *CLASSES[number], arch.device)
                chosen = choose(asked, arch.device, layout == "apart")
                if chosen is None and layout != "pointers":
                    raise UnsupportedError(
                        f"problem={asked.spelling!r} has no kernel for {name} that serves every batch; "
                        "accepted: sizes and transpositions that have one"
                    )
                if chosen is None:
                    row.append(NONE)
                    continue
                key = (chosen.source.digest, chosen.rule)
                if key not in known:
                    known[key] = len(images)
                    image, facts = _compiled(chosen, arch)
                    images.append(image)
                    said[known[key]] = _told(chosen, f"{each.symbol}_{name}_{known[key]}", facts)
                row.append(known[key])
            rows.append(row)
        rules[each.symbol] = rows
        told[each.symbol] = {"kernels": list(said.values())}
    return Built(arch, images, rules, told)


def _asked(each: Exported, layout: str, alpha: str, beta: str, device: Device) -> Problem:
    """The problem that a layout's kernel is chosen for."""
    p = each.problem
    batch = each.spelled if each.spelled > 1 else max(2, 4 * device.last_cache // p.footprint)
    asked = p.with_(alpha=alpha, beta=beta, batch=batch)
    if layout == "packed":
        return asked
    narrow = asked.with_(align=p.dtype.itemsize)
    return narrow.with_(pointers=True) if layout == "pointers" else _spread(narrow, GAPS[0])


def _spread(p: Problem, gap: int) -> Problem:
    """The problem with so many elements between matrices."""
    columns = (p.m * p.k, p.k * p.n, p.m * p.n)
    a, b, c = (size + gap for size in columns)
    return p.with_(stride_a=a, stride_b=b, stride_c=c)


def choose(problem: Problem, device: Device, apart: bool) -> Chosen | None:
    """The kernel of a problem that one program and one rule describe for every batch, and with ``apart`` for
    all batch strides; None where there is none."""
    if candidates.stranger(problem, device):
        return None
    plan = dispatch.plan(problem, device, vendor=False)
    if plan.stencil is not None and plan.config is not None:
        made = _fits(plan.stencil, plan.config, plan.origin, problem, device, apart)
        if made is not None:
            return made
    for name, stencil in candidates.of(device).items():
        if candidates.refusal(stencil, problem, device) is None:
            for config in _configs(stencil, problem, device):
                made = _fits(name, config, "default", problem, device, apart)
                if made is not None:
                    return made
    return None


def _configs(stencil: Stencil, problem: Problem, device: Device) -> Iterator[Config]:
    """The default of a stencil, and the best of each part of its space that a word makes: the ways in which
    it brings operands differ in what they need to know of them."""
    yield stencil.default(problem, device)
    space: Space = stencil.space(problem, device)
    model = stencil.cost_model(problem, device)
    for param in space.params:
        for value in param.values:
            if isinstance(value, str) and model is not None:
                some = space.restricted(**{param.name: value}).sample(TRIED, 1)
                if some:
                    costs = model(some)
                    yield some[int(costs.argmin())]


def _fits(
    name: str, config: Config, origin: str, problem: Problem, device: Device, apart: bool
) -> Chosen | None:
    """A kernel if one program serves every batch and one rule launches it; None if not. Its blocks stay: of
    those that end there is another rule."""
    stencil, config = STENCILS[name], grids.staying(config)
    source: Source = stencil.source(problem, config, device)
    if stencil.arguments(problem, config) != args.gemm(problem):
        return None
    others = [problem.with_(batch=count) for count in (2, 3, 1000, 2**20 + 1)]
    if apart:
        others += [_spread(problem, gap) for gap in GAPS]
    if any(stencil.source(other, config, device).digest != source.digest for other in others):
        return None
    found = rule({count: stencil.launch(problem.with_(batch=count), config) for count in COUNTS})
    return None if found is None else Chosen(name, config, origin, source, found, problem)


def _compiled(chosen: Chosen, arch: Arch) -> tuple[Image, dict[str, int]]:
    """The image of a kernel, and the compiler's facts where it states any."""
    sms = arch.device["sms"]
    grid = chosen.rule.grid[0]
    scales = sms if grid.most % sms == 0 and grid.most > grid.least else 0
    if arch.name == "ptx":
        code, facts = disassemble.ptx(chosen.source, arch.device).encode() + b"\0", dict[str, int]()
    else:
        binary = TARGETS["cuda"].compile(chosen.source, arch.device)
        code, facts = binary.code, dict(binary.facts)
    return Image(code, chosen.source.entry, chosen.rule, scales), facts


def _told(chosen: Chosen, symbol: str, facts: dict[str, int]) -> dict[str, Any]:
    """Where a kernel comes from, as plain data."""
    return {
        "function": symbol,
        "key": chosen.problem.key,
        "chosen_for_batch": chosen.problem.batch,
        "stencil": chosen.stencil,
        "config": dict(chosen.config),
        "origin": chosen.origin,
        "facts": facts,
    }
