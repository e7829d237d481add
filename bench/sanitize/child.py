"""The process that is watched: launches jobs on operands that fill their allocations, and checks results."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from bench.sanitize.job import Job
from bench.sanitize.lists import drawn, stored, wide
from tilewright.errors import TilewrightError
from tilewright.model import Binary, GroupedProblem
from tilewright.stencils.cuda.args import pack
from tilewright.stencils.cuda.grouped import stencil as grouped
from tilewright.targets.cuda import driver, modules
from tilewright.tuning.gemm.operands import Region, scalars
from tilewright.tuning.gemm.verify import Case, judge, prepare
from tilewright.tutorial import ladder

RIGHT = "right"


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
    if isinstance(p, GroupedProblem):
        return _list(job, p, binary, unread)
    return _batch(job, binary, unread)


def _batch(job: Job, binary: Binary, unread: bool) -> str:
    """A product, or a batch of them; C is not initialised where it is ``unread``, and not checked."""
    p = job.problem
    ready = prepare(p, Case(p.batch), 1)
    regions = ready.operands.regions
    memories = []
    for name, region in zip("ABC", regions, strict=True):
        part = region.words[_bytes(region)]
        memories.append(driver.allocate(job.shift + part.nbytes))
        if not (unread and name == "C"):
            driver.upload(memories[-1].address + job.shift, part)
    a, b, c = bases = [memory.address + job.shift for memory in memories]
    tables = []
    if p.pointers:
        for base, stride in zip(bases, p.strides, strict=True):
            table = base + np.arange(p.batch, dtype=np.uint64) * np.uint64(stride * p.dtype.itemsize)
            tables.append(_sent(table))
        a, b, c = (table.address for table in tables)
    textures = _textures(job, (a, b))
    handles = (textures[0].handle, textures[1].handle) if textures else (0, 0)
    alpha, beta, _ = scalars(p)
    if job.swapped:
        block = ladder.pack(
            p.n, p.m, p.k, (b, a, c), (p.ldb or 0, p.lda or 0, p.ldc or 0), alpha.real, beta.real
        )
    else:
        block = pack(p, (a, b, c), alpha, beta, handles)
    _run(job, binary, block)
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
    block = grouped.pack(descriptors.address, rows.address if own else 0, p.batch, 1, float(list_.betas[0]))
    _run(job, binary, block)
    if unread:
        return ""
    got = np.empty(list_.values[2].size, p.dtype.numpy)
    driver.download(got, memories[2].address)
    wrong = int((wide(got, p.dtype) != list_.right()).sum())
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _run(job: Job, binary: Binary, block: bytearray) -> None:
    driver.Launcher(modules.load(binary), job.launch, block)(0)
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


def _textures(job: Job, pointers: tuple[int, int]) -> list[driver.Texture]:
    """A and B as textures, where the kernel reads them so."""
    p, size = job.problem, job.problem.dtype.itemsize
    made = []
    stored_as = ((p.turned_a, p.lda or 0, p.m, p.k), (p.turned_b, p.ldb or 0, p.k, p.n))
    for address, (turned, ld, rows, cols) in zip(pointers, stored_as, strict=True):
        rows, cols = (cols, rows) if turned else (rows, cols)
        if job.launch.reading == "tex1d":
            made.append(driver.texture1d(address, ld * (cols - 1) + rows, size))
        elif job.launch.reading == "tex2d":
            made.append(driver.texture2d(address, rows, cols, ld * size, size))
    return made
