"""What the commands find out, as plain data: the machine, a plan, a space and what is left of it, a tuning
run."""

from __future__ import annotations

import difflib
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tilewright.calls import gaps as open_gaps
from tilewright.calls import settings
from tilewright.catalog import STENCILS, TARGETS
from tilewright.cli.progress import Standing
from tilewright.cli.report import differences, pages, peers, sources
from tilewright.cli.report.solved import bound_of
from tilewright.errors import ArgumentError, CompileError, DeviceError
from tilewright.model import PREDICTED, Config, Device, Gemm, Plan, Record
from tilewright.planning import dispatch, roofline
from tilewright.runtime.fastcall_cpu import find_team, native
from tilewright.space import HARDWARE, KINDS, Space
from tilewright.stencils.protocol import refused
from tilewright.store.records import Taken
from tilewright.targets.cpu import llvm, named
from tilewright.targets.cpu import nodes as memory
from tilewright.targets.cpu.isa import ISAS
from tilewright.targets.cuda import capability, devices, disassemble, nvrtc
from tilewright.task import Task
from tilewright.tuning import ceilings_cpu, ceilings_cuda, timing
from tilewright.tuning.sets.kernel_set import KernelSet
from tilewright.tuning.starts import VENDOR
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Progress, Result, sized
from tilewright.tutorial import ladder

Row = dict[str, Any]
PACKAGES = {"plotly": "tilewright report", "torch": "PyTorch in bench", "mkl": "oneMKL in bench"}


def accepted(name: str, value: str, choices: Sequence[str]) -> str:
    """The value. Raises ``ArgumentError`` when it is none of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name}={value!r}; accepted: {', '.join(choices)}")
    return value


_WHOLE = re.compile(r"-?[0-9]{1,18}")


def values(text: str, names: Sequence[str]) -> dict[str, Any]:
    """``name=value,...`` with whole numbers as such. Raises ``ArgumentError`` for other forms and names."""
    found: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise ArgumentError(f"{item!r} is not understood; accepted: NAME=VALUE,NAME=VALUE")
        found[accepted("name", name, names)] = int(value) if _WHOLE.fullmatch(value) else value
    return found


# -- devices ---------------------------------------------------------------------------------------
def device_of(name: str) -> Device:
    """``cpu``, ``cuda`` (the first GPU), or a GPU or a processor by name that need not be here.

    Raises ``ArgumentError`` for other names, with those that are nearly so, ``DeviceError`` when there is no
    GPU.
    """
    if name in named.CORES or name in named.devices():
        return _known(named.device(name))
    if capability.canonical(name) in capability.DEVICES:
        return _known(capability.named(name))
    try:
        return dispatch.device(_one_of(name, [*TARGETS, *capability.DEVICES, *named.CORES]))
    except DeviceError as error:
        raise DeviceError(
            f"device={name!r}: {error}; for these none is needed: {', '.join(capability.DEVICES)}"
        ) from error


def _one_of(name: str, names: list[str]) -> str:
    """The name of a device. Raises ``ArgumentError`` for one that is none of ``names``."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3)
    meant = f"; did you mean {', '.join(near)}?" if near else ""
    raise ArgumentError(f"device={name!r}; accepted: {', '.join(names)}{meant}")


def _known(device: Device) -> Device:
    """A device with the ceilings that the records hold of it."""
    return replace(device, ceilings=dispatch.ceilings(device))


def gpus() -> list[Device]:
    """All GPUs of this machine that can be used; ``cuda.missing`` says why there are none."""
    return [_known(devices.probe(index)) for index in range(devices.count())]


def described(
    rows: Sequence[Record], ceilings: Mapping[str, Mapping[str, float]] | None = None
) -> list[Device]:
    """The devices that records are of, in the order in which they come: this machine's own, named ones, and
    others as far as their keys tell. ``ceilings`` are those that came with the records, by device."""
    here = {device.key: device for device in (dispatch.device(), *gpus())}
    found: dict[str, Device] = {}
    for record in rows:
        if record.device not in found:
            device = here.get(record.device) or _described(record)
            known = {**device.ceilings, **(ceilings or {}).get(record.device, {})}
            found[record.device] = replace(device, ceilings=known)
    return list(found.values())


def _described(record: Record) -> Device:
    """The device of a record that was made elsewhere."""
    key = record.device
    if capability.canonical(key) in capability.DEVICES:
        # Under the key of its records, which may be an older one of the device. Peaks need no measurement.
        named = capability.named(key)
        return replace(named, key=key, ceilings={**capability.units(named), **dispatch.ceilings(named)})
    kind = "cuda" if record.toolchain.startswith(GPU_TOOLCHAINS) else "cpu"
    isa = next((isa for isa in ISAS if kind == "cpu" and key.endswith(f"-{isa.name}")), None)
    limits = {"vector_bits": isa.vector_bits, "vector_registers": isa.vector_registers} if isa else {}
    return Device(kind, key, key, limits)


def reported() -> tuple[list[Record], list[Device]]:
    """All records of this user, of this machine's devices those that ship where there are no others, and the
    devices that they are of, this machine's first."""
    rows = sources.products(dispatch.records().all())
    here = [dispatch.device(), *gpus()]
    local = {row.device for row in rows}
    rows += [
        row for device in here if device.key not in local for row in dispatch.records().shipped(device.key)
    ]
    first = {device.key: place for place, device in enumerate(here)}
    return rows, sorted(described(rows), key=lambda device: first.get(device.key, len(first)))


def page(
    out: Path, files: Sequence[Path], peer_files: Sequence[Path], *, every: bool, library: str
) -> dict[str, Any]:
    """Write the page of the records in files, or of this user's; with the speeds of peers in other files."""
    if files:
        source = sources.together(map(sources.read, files))
        rows, known = source.rows, described(source.rows, source.ceilings)
    else:
        rows, known = reported()
    figures = peers.read(peer_files, [device.key for device in known])
    copies = peers.copies(figures)
    known = [replace(each, ceilings={**copies.get(each.key, {}), **each.ceilings}) for each in known]
    return pages.report(out, rows, known, figures, every=every, library=library)


def compared(before: str, after: str, threshold: float) -> dict[str, Any]:
    """Two sets of records beside each other, each named as ``sources.part`` reads it."""
    store = dispatch.records()
    return differences.compared(sources.part(before, store), sources.part(after, store), threshold)


GPU_TOOLCHAINS = ("nvrtc", "cublas")
"""What the toolchain of a record begins with that was made on a GPU."""


def measure_ceilings() -> None:
    """Measure the processor's bandwidth, peak and knee (some seconds) and keep them."""
    device = dispatch.device()
    _keep(device, ceilings_cpu.measure(TARGETS["cpu"], device))


def measure_gpus(again: bool) -> dict[str, str]:
    """Measure the GPUs of which nothing is known, or all of them ``again``, one of each model, and keep it.

    Returns why that failed, by the key of the device: another process may have all of its memory.
    """
    failed, done = {}, set()
    for index, device in enumerate(gpus()):
        if device.key in done or (device.ceilings and not again):
            continue
        try:
            _keep(device, ceilings_cuda.measure(device, index))
        except DeviceError as error:
            failed[device.key] = str(error)
        done.add(device.key)
    return failed


def _keep(device: Device, ceilings: Mapping[str, float]) -> None:
    dispatch.records().save_ceilings(device.key, device["cores"], ceilings)
    settings.forget()


def machine(failed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What this machine is, its GPUs too, what was measured on it, and what is missing.

    ``failed``: why the ceilings of a GPU could not be measured, by its key.
    """
    device, team = dispatch.device(), find_team()
    return {
        "name": device.name,
        "key": device.key,
        "limits": dict(device.limits),
        "ceilings": dict(device.ceilings),
        "knees": [(cores, device.knee(cores)) for cores in sorted({1, device["cores"]})],
        "nodes": [asdict(node) for node in memory.nodes()],
        "threads": team.path if team else "Python's own",
        "calls": "fast" if native(device).trusted else "careful",
        "toolchain": TARGETS["cpu"].toolchain(),
        "records": str(dispatch.records().path),
        "shipped_records": len(dispatch.records().shipped(device.key)),
        "missing": _missing(device),
        "gpus": [_gpu(number, gpu, (failed or {}).get(gpu.key)) for number, gpu in enumerate(gpus())],
        "gpu_missing": devices.missing(),
    }


def _gpu(index: int, device: Device, failed: str | None) -> dict[str, Any]:
    """One GPU, as ``machine`` tells it."""
    return {
        "index": index,
        "name": device.name,
        "key": device.key,
        "features": device.features,
        "supports": sorted(device.supports),
        "rates": dict(device.rates),
        "limits": dict(device.limits),
        "ceilings": dict(device.ceilings),
        "driver": devices.driver_version(),
        "toolchain": nvrtc.toolchain(),
        "shipped_records": len(dispatch.records().shipped(device.key)),
        "not_measured": failed,
    }


def _missing(device: Device) -> list[str]:
    """What is not there, and what is lost without it."""
    found = []
    if find_team() is None:
        found.append("an OpenMP runtime (libgomp, libomp): a call on several cores costs more")
    if not native(device).trusted:
        found.append("a Python whose arrays can be read directly: every call takes the slower way")
    for package, loss in PACKAGES.items():
        try:
            version(package)
        except PackageNotFoundError:
            found.append(f"the package {package}: no {loss}")
    return found


# -- a plan ----------------------------------------------------------------------------------------
def planned(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; on a GPU with how its kernel is started."""
    p, device = plan.problem, plan.device
    streaming = plan.config is not None and plan.config.get("store") in ("stream", "staged")
    bound = roofline.bound(p, device, plan.regime, 1, streaming=streaming) if device.ceilings else None
    found = {
        "problem": p.key,
        "device": device.key,
        "regime": plan.regime,
        "origin": plan.origin,
        "why": plan.why,
        "stencil": plan.stencil,
        "config": dict(plan.config) if plan.config else None,
        "threads": plan.threads,
        "bound_gflops": bound and bound.flops_per_s / 1e9,
        "bound_by": bound and bound.limit,
    }
    if device.kind == "cuda" and plan.stencil is not None and plan.config is not None:
        found["launch"] = asdict(STENCILS[plan.stencil].launch(p, plan.config))
    return found


STAGES = {"cpu": ("asm", "ir"), "cuda": ("ptx", *(s for s in disassemble.STAGES if s != "ptx"))}
"""What can be shown of a program on each kind of device, first what is shown unasked."""


def shown(problem: Gemm, device: Device, stencil: str | None, config: str | None, stage: str) -> Row:
    """The program that a call would run, under the name of the stage, and the compiler's facts of it.

    Raises ``ArgumentError`` for what has no kernel, ``CompileError`` where it cannot be compiled, and
    ``DeviceError`` where the stage needs what is not here.
    """
    plan = dispatch.plan(problem, device, stencil=stencil, vendor=False)
    if plan.stencil is None or plan.config is None:
        raise ArgumentError(f"problem={problem.spelling} has no kernel to show: {plan.why}")
    if config is not None:
        plan = dispatch.plan(problem, device, stencil=plan.stencil, config=values(config, list(plan.config)))
    assert plan.stencil is not None
    assert plan.config is not None
    source = STENCILS[plan.stencil].source(problem, plan.config, device)
    target, facts = TARGETS[device.kind], {}
    if stage == "cuda":
        # The text is there even where nothing compiles it.
        text = disassemble.program(source)
        with suppress(CompileError, DeviceError):
            facts = dict(target.compile(source, device).facts)
    else:
        binary = target.compile(source, device)
        facts = dict(binary.facts)
        if stage == "ptx":
            text = disassemble.ptx(source, device)
        elif stage == "sass":
            text = disassemble.sass(binary)
        else:
            text = source.text if stage == "ir" else llvm.assembly(source, device)
    return {
        "problem": problem.key,
        "device": device.key,
        "kind": device.kind,
        "features": device.features,
        "stencil": plan.stencil,
        "config": dict(plan.config),
        "facts": facts,
        stage: text,
    }


# -- gaps -----------------------------------------------------------------------------------------
def gaps(device: str | None) -> list[Row]:
    """The calls without a record, worst expected loss first."""
    return [
        {
            "problem": gap.problem.spelling,
            "layout": gap.problem.layout,
            "alpha": gap.problem.alpha,
            "beta": gap.problem.beta,
            "regime": gap.regime,
            "device": gap.device,
            "origin": gap.origin,
            "calls": gap.calls,
            "products": gap.products,
            "seconds": gap.seconds,
            "tuned_seconds": gap.tuned,
            "timed": gap.timed,
            "loss": gap.loss,
        }
        for gap in open_gaps.gaps(device)
    ]


# -- a space ---------------------------------------------------------------------------------------
def stencils(problem: Gemm, wanted: str | None, device: Device) -> list[str]:
    """The stencils that accept a problem, or the one that is wanted. Raises ``ArgumentError`` for none."""
    there = dispatch.candidates(device)
    names = list(there) if wanted is None else [accepted("stencil", wanted, list(there))]
    reasons = {name: refused(there[name], problem, device) for name in names}
    found = [name for name, reason in reasons.items() if reason is None]
    if not found:
        told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it ({told})")
    return found


def whole(
    problem: Gemm, name: str, device: Device, guidelines: str | None, floors: Mapping[str, float]
) -> Space:
    """The space of a stencil on a device, under named guidelines and with some of their floors replaced.

    Raises ``ArgumentError`` for guidelines that the stencil does not have.
    """
    stencil = STENCILS[name]
    if guidelines is None and not floors:
        return stencil.space(problem, device)
    named = stencil.guidelines(guidelines or "default", problem, device)
    return stencil.guided(problem, device, replace(named, **floors))


def counted(
    problem: Gemm, regime: str, name: str, device: Device, whole: Space, rules: str, funnel: bool
) -> dict[str, Any]:
    """A space counted, rule by rule if asked for, and what has been tried of it."""
    whole = whole.only(KINDS if rules == "all" else HARDWARE)
    why = {rule.name: rule.why for rule in whole.rules}
    steps = whole.funnel() if funnel else []
    newest: dict[Config, Record] = {}
    for record in dispatch.records().all(
        problem_key=problem.key, regime=regime, device=device.key, stencil=name
    ):
        newest[record.config] = record
    return {
        "all": whole.size,
        "left": steps[-1].left if steps else whole.count(),
        "funnel": [
            {
                "rule": s.stage,
                "kind": s.kind,
                "removed": s.removed,
                "left": s.left,
                "why": why.get(s.stage, ""),
            }
            for s in steps
        ],
        "tried": dict(Counter(record.status for record in newest.values())),
    }


def broken(problem: Gemm, name: str, device: Device, whole: Space, text: str) -> dict[str, Any]:
    """The rules that a config breaks: the stencil's default with some values changed."""
    default = STENCILS[name].default(problem, device)
    config = default.with_(**values(text, list(default)))
    strange = {param.name: param.values for param in whole.params if config[param.name] not in param.values}
    # A rule has no answer for what is no value of its parameters.
    asked = Space(whole.params, [rule for rule in whole.rules if not strange.keys() & set(rule.reads)])
    found = [{"rule": rule.name, "kind": rule.kind, "why": rule.why} for rule in asked.why(config)]
    for param, choices in strange.items():
        why = f"{param} is one of {', '.join(map(str, choices))}"
        found.append({"rule": "value", "kind": "hard", "why": why})
    return {"config": dict(config), "broken": found}


@cache
def points(problem: Gemm, regime: str, kind: str = "cpu") -> int:
    """How many configs an exhaustive search of a problem tries."""
    device = dispatch.device(kind)
    asked = sized(problem, regime, device)
    accepting = [s for s in dispatch.candidates(device).values() if refused(s, asked, device) is None]
    return sum(stencil.space(asked, device).count() for stencil in accepting)


# -- a tuning run ------------------------------------------------------------------------------------
def gflops(problem: Gemm, record: Record | None) -> float | None:
    """10^9 operations a second of a record; None without one, and of a prediction."""
    return None if record is None or record.timing is None else problem.flops * speed(record) / 1e9


def standing(state: Progress, regime: str, device: Device, part: float, counted: Points) -> Standing:
    """Where a run stands on a device, for the screen; ``part`` of its job is done, ``counted`` are its
    spaces."""
    best = gflops(state.problem, state.best)
    bound = None if state.best is None else bound_of(state.best, device)
    percent = 100e9 * best / bound.flops_per_s if best and bound else None
    return Standing(
        device.key,
        state.done,
        part,
        state.stencil,
        state.tried,
        state.elapsed,
        best,
        percent,
        state.statuses,
        counted.of(state.problem, regime, state.stencil),
    )


SLOW = 0.1
"""Seconds that counting a space may take before those of its stencil are counted no more in a run."""


class Points:
    """The spaces that a tuning run searches, counted once each: while it counts, nothing is timed."""

    def __init__(self, device: Device):
        self._device = device
        self._slow: set[str] = set()
        self._known: dict[tuple[Any, str, str], tuple[int, int]] = {}

    def of(self, problem: Task, regime: str, name: str) -> tuple[int, int] | None:
        """All combinations of a stencil's space for a problem and those that its rules let through; None
        where the spaces of this stencil take too long."""
        key = problem, regime, name
        if key not in self._known and name not in self._slow:
            begin = time.monotonic()
            space = STENCILS[name].space(sized(problem, regime, self._device), self._device)
            self._known[key] = space.size, space.count()
            if time.monotonic() - begin > SLOW:
                self._slow.add(name)
        return self._known.get(key)


def found(result: Result, device: Device) -> dict[str, Any]:
    """What tuning one problem gave on a device."""
    ours, theirs = (gflops(result.problem, record) for record in (result.best, result.vendor))
    return {
        "problem": result.problem.key,
        "beta": result.problem.beta,
        "device": device.key,
        "kind": device.kind,
        "regime": result.regime,
        "tried": result.tried,
        "seconds": result.seconds,
        "device_seconds": result.device_seconds,
        "waited": result.waited,
        "statuses": result.statuses,
        "missing": result.missing,
        "gflops": ours,
        "vendor_gflops": theirs,
        "against_vendor": ours / theirs if ours and theirs else None,
        "stencil": result.best.stencil if result.best else None,
        "config": dict(result.best.config) if result.best else None,
        "half_width": half_width(result.best),
        "tied": [{"stencil": row.stencil, "config": dict(row.config)} for row in result.tied],
        "note": result.note,
        "predicted": result.best.detail if result.best and result.best.status == PREDICTED else None,
    }


def kernel_set(made: KernelSet) -> Row:
    """A set of kernels, what it serves, and what other numbers of kernels would give."""
    return {
        "device": made.device.key,
        "within": made.within,
        "worst": made.worst,
        "holds": made.holds,
        "exact": made.exact,
        "kernels": [
            {
                "stencil": name,
                "config": dict(config),
                "serves": sum(case.kernel == number for case in made.cases),
                "binaries": binaries,
            }
            for number, ((name, config), binaries) in enumerate(zip(made.kernels, made.binaries, strict=True))
        ],
        "cases": [
            {
                "problem": case.problem.spelling,
                "beta": case.problem.beta,
                "regime": case.regime,
                "kernel": case.kernel,
                "loss": case.loss,
                "beside": case.beside,
                "gflops": gflops(case.problem, case.record),
            }
            for case in made.cases
        ],
        "left": [
            {"problem": problem.spelling, "beta": problem.beta, "regime": regime}
            for problem, regime in made.left
        ],
        "curve": [asdict(point) for point in made.curve],
    }


def half_width(record: Record | None) -> float | None:
    """How far the 95 % interval of a record's time reaches from the median, as a share of it; None without
    one."""
    if record is None or record.timing is None or len(record.timing.samples) < 2:
        return None
    timing = record.timing
    return max(timing.high - timing.median, timing.median - timing.low) / timing.median


def settled(problem: Gemm, regime: str) -> bool:
    """Whether tuning of a problem came to its end on this machine: its best were timed in turns."""
    key = dispatch.device().key
    tries = dispatch.records().all(problem_key=problem.key, regime=regime, device=key, status="ok")
    return any(record.stencil != VENDOR and record.protocol >= timing.INTERLEAVED for record in tries)


# -- records ---------------------------------------------------------------------------------------
def exported(path: Path, device: Device, every: bool) -> int:
    """Write a device's records as JSON lines, the best or all; a processor's ceilings with them.

    Those of a GPU stay: a copy is measured within a second wherever the records are taken to.
    """
    ceilings = device.kind == "cpu"
    return dispatch.records().export(path, device.key, best_only=not every, ceilings=ceilings)


def imported(path: Path) -> Taken:
    """Take in records as JSON lines; those that this machine can tell are of no kernel are left out."""
    return dispatch.records().import_(path, dispatch.misfit)


# -- the ladder ------------------------------------------------------------------------------------
WITHOUT = "h200"
"""The device whose table is shown where there is none."""


def ladder_table(
    n: int, named: str | None, rounds: int, listen: Callable[[str], None], letter: str = "s"
) -> dict[str, Any]:
    """The ladder of a type measured on this machine's GPU; without one, or for a named device, what is known
    without running: ``missing`` says why."""
    if named is not None:
        return ladder.survey(n, capability.named(named), letter=letter)
    if devices.missing() is not None:
        return ladder.survey(n, capability.named(WITHOUT), letter=letter)
    return ladder.climb(n, rounds=rounds, listen=listen, letter=letter)
