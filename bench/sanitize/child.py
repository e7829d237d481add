"""The process that is watched: launches jobs on operands that fill their allocations, and checks results."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from bench.sanitize import chains, groups, nests
from bench.sanitize.job import Job
from bench.sanitize.lists import drawn, stored, wide
from tilewright.errors import TilewrightError
from tilewright.model import Binary, ChainProblem, GroupedProblem, Problem, SegmentedProblem
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning.gemm.operands import Region, scalars
from tilewright.tuning.gemm.verify import Case, judge, prepare

RIGHT = "right"
CUT = frozenset({"middle", "panel", "single", "pipelined", "members"})
"""Stencils, and ``interleaved`` on tensor cores (jobs whose names end so), that copy the last bytes of a
column, or of neighbouring matrices, by a ``cp.async`` that is told to read fewer than it could.
The device reads as few, but memcheck takes it for all, so their allocations are whole words of 16 bytes."""


def child(path: Path, tool: str) -> None:
    """Launch all that is in a file, a line for each: its name, and what is wrong with the result."""
    work: list[tuple[Job, Binary]] = pickle.loads(path.read_bytes())
    driver.context()
    for job, binary in work:
        try:
            why = launched(job, binary, tool)
        except TilewrightError as error:
            why = str(error)
        print(f"launched {job.name}: {why or RIGHT}", flush=True)


def results(log: str) -> dict[str, str]:
    """What such lines in a log say, by the names of jobs: ``RIGHT``, or what is wrong."""
    return dict(re.findall(r"^launched (\w+): (.*)$", log, re.MULTILINE))


def launched(job: Job, binary: Binary, tool: str) -> str:
    """Launch once on fresh operands; what is wrong with the result, empty when nothing is."""
    p = job.problem
    unread = tool == "initcheck" and p.beta == "0"
    if isinstance(p, ChainProblem):
        return _chain(job, p, binary, unread)
    if isinstance(p, GroupedProblem):
        return _list(job, p, binary, unread)
    if isinstance(p, SegmentedProblem):
        return _groups(job, p, binary, unread)
    if p.outer:
        return _nest(job, p, binary, unread)
    return _batch(job, binary, unread)


def _batch(job: Job, binary: Binary, unread: bool) -> str:
    """A product, or a batch of them; C is not initialised where it is ``unread``, and not checked."""
    p = job.problem
    ready = prepare(p, Case(p.batch), 1)
    regions = ready.operands.regions
    memories = []
    for name, region in zip("ABC", regions, strict=True):
        part = region.words[_bytes(region)]
        unit = 16 if {job.stencil, job.name.rpartition("_")[2]} & CUT else 1
        memories.append(driver.allocate(-(-(job.shift + part.nbytes) // unit) * unit))
        if not (unread and name == "C"):
            driver.upload(memories[-1].address + job.shift, part)
    a, b, c = bases = [memory.address + job.shift for memory in memories]
    tables = []
    if p.pointers:
        for base, stride in zip(bases, p.strides, strict=True):
            table = base + np.arange(p.batch, dtype=np.uint64) * np.uint64(stride * p.dtype.itemsize)
            tables.append(_sent(table))
        a, b, c = (table.address for table in tables)
    alpha, beta, _ = scalars(p)
    _run(job, binary, (b, a, c) if job.swapped else (a, b, c), (alpha, beta))
    if unread:
        return ""
    for base, region in zip(bases, regions, strict=True):
        part = np.empty_like(region.words[_bytes(region)])
        driver.download(part, base)
        region.words[_bytes(region)] = part
    return judge(ready).why


def _list(job: Job, p: GroupedProblem, binary: Binary, unread: bool) -> str:
    """The same for a list of products."""
    list_ = drawn(p)
    memories = [driver.allocate(values.size * p.dtype.itemsize) for values in list_.values]
    for name, values, memory in zip("ABC", list_.values, memories, strict=True):
        if not (unread and name == "C"):
            driver.upload(memory.address, stored(values, p.dtype))
    descriptors, rows = (_sent(x) for x in list_.arguments(tuple(memory.address for memory in memories)))
    own = p.alpha == "any" or p.beta == "any"
    addresses = descriptors.address, rows.address if own else 0
    _run(job, binary, addresses, (1, float(list_.betas[0])))
    if unread:
        return ""
    got = np.empty(list_.values[2].size, p.dtype.numpy)
    driver.download(got, memories[2].address)
    wrong = int((wide(got, p.dtype) != list_.right()).sum())
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _chain(job: Job, p: ChainProblem, binary: Binary, unread: bool) -> str:
    """The same for a chain."""
    read = chains.parts(p)
    memories = [driver.allocate(job.shift + part.elements.nbytes) for part in read]
    bases = [memory.address + job.shift for memory in memories]
    for part, base in zip(read[: -1 if unread else None], bases, strict=False):
        driver.upload(base, part.elements)
    _run(job, binary, tuple(bases), (1, 0))
    if unread:
        return ""
    got = np.empty_like(read[-1].elements)
    driver.download(got, bases[-1])
    wrong = int((got != chains.right(p, read)).sum())
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _nest(job: Job, p: Problem, binary: Binary, unread: bool) -> str:
    """The same for a batch along several axes. Vectors are read whole up to an element in them."""
    read = nests.parts(p)
    memories = [driver.allocate(-(-(job.shift + part.elements.nbytes) // 16) * 16) for part in read]
    bases = [memory.address + job.shift for memory in memories]
    for part, base in zip(read[: -1 if unread else None], bases, strict=False):
        driver.upload(base, part.elements)
    _run(job, binary, tuple(bases), (1, 1))
    if unread:
        return ""
    got = np.empty_like(read[2].elements)
    driver.download(got, bases[2])
    wrong = int((got != nests.right(p, read)).sum())
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _groups(job: Job, p: SegmentedProblem, binary: Binary, unread: bool) -> str:
    """The same for groups that share an axis."""
    made = groups.drawn(p, groups.borders(p))
    memories = [driver.allocate(values.nbytes) for values in made.values]
    for name, values, memory in zip("ABC", made.values, memories, strict=True):
        if not (unread and name == "C"):
            driver.upload(memory.address, values)
    offsets = _sent(made.offsets)
    _run(job, binary, (*(memory.address for memory in memories), offsets.address), (1, 0))
    if unread:
        return ""
    got = np.empty_like(made.values[2])
    driver.download(got, memories[2].address)
    wrong = made.wrong(got)
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _run(job: Job, binary: Binary, addresses: tuple[int, ...], scalars: tuple[complex, complex]) -> None:
    named = dict(zip(("alpha", "beta"), scalars, strict=True))
    # Held for as long as it runs, for it may read through textures.
    start = Binding(modules.load(binary), job.launch, job.arguments, named).put(addresses)
    start(0)
    driver.synchronize()


def _bytes(region: Region) -> slice:
    """The words of a region from the first to the last element of its matrices."""
    view = region.view
    per_element = view.itemsize // region.words.itemsize
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    first = region.origin * per_element
    return slice(first, first + (last // view.itemsize + 1) * per_element)


def _sent(values: Any) -> Any:
    """An array in device memory of its own."""
    values = np.ascontiguousarray(values)
    memory = driver.allocate(values.nbytes)
    driver.upload(memory.address, values)
    return memory
