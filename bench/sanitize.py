"""Every CUDA kernel under NVIDIA's compute-sanitizer: ``python -m bench.sanitize --tool racecheck``.

A child process launches the universal stencil in all its forms, the defaults of the other stencils and all
configs of the ladder on a small and odd product, each with scalars that read C and with such that do not;
further ``tiny`` for every n of 1 to 40 in all types and as streams of bytes, ``tensor`` for odd shapes of
16-bit types, and ``grouped`` for lists of products of all sizes, most from bases that are aligned to one
element only.
Operands fill their allocations to the last element, so an access beyond them is seen by the tool; what is
written between their columns, and wrong results, are seen by the project's own checks. Under ``initcheck``
a C that is not to be read is not initialised either.

Each kernel is compiled under a name of its own, by which findings go to cases. Exit code: 0 nothing found,
1 findings or wrong results, 2 nothing could be run.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import lines
from tilewright import ladder
from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import DTYPES, Binary, Config, Device, DType, Launch, Problem, Source
from tilewright.operands import Region, scalars
from tilewright.space import HARDWARE
from tilewright.stencils.cuda import grouped
from tilewright.stencils.cuda.call import pack
from tilewright.stencils.cuda.classic import READS
from tilewright.targets import cuda, driver
from tilewright.verify import Case, judge, prepare

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SIZE = (67, 45, 37)
TRANS = {"s": ("nn", "tt"), "d": ("nt", "tn"), "c": ("nc", "cn"), "z": ("nn", "ct")}
PLAIN = {"read": "global", "split": 1, "early": 0, "mma": 0}
PAPER = (
    {"m_dim": 16, "n_dim": 16, "k_blk": 16, "m_blk": 96, "n_blk": 96}
    | {"m_dima": 16, "n_dima": 16, "m_dimb": 16, "n_dimb": 16}
    | {"wide": 1, "vec": 1, "lanes": 16, "buffers": 1, "order": 0, "min_blocks": 1}
    | PLAIN
)
ORDERS = {False: ("nn", "tn", "nt", "tt"), True: ("nn", "cn", "nt", "jc")}
"""Transpositions of real and of complex types, that other jobs take in turns."""
TINY = range(1, 41)
STREAMS = (1, 3, 8, 13, 17, 24, 31, 32, 40)
ODD = (
    *((17, 33, 5), (33, 17, 65), (67, 45, 37), (1, 40, 23), (41, 1, 9), (64, 65, 1)),
    *((15, 31, 63), (129, 9, 16), (9, 129, 17), (50, 50, 50), (95, 97, 31), (31, 127, 48)),
)
"""m, n and k of products for tensor cores."""
LISTS = ((32, 60, "any"), (40, 25, "0"), (9, 150, "1"))
"""Of lists: the largest extent, the number of products, and the class of beta."""
SHOWN = 4
"""Findings of one kernel that are kept whole; the others are counted."""


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel under its own name, and the product that it is launched on."""

    name: str
    problem: Problem
    launch: Launch
    source: Source
    swapped: bool = False
    """Row-major, as the ladder's: A and B, and m and n, change places in the argument."""
    shift: int = 0
    """Bytes by which operands begin after a multiple of 256."""

    @property
    def stencil(self) -> str:
        """What its name begins with: a stencil, or a rung of the ladder."""
        return self.name.split("_")[0]


# ---- what is launched


def named(source: Source, name: str) -> Source:
    """The same program with another name for its kernel."""
    return replace(source, entry=name, defines=(*source.defines, (source.entry, name)))


def padded(spelling: str, size: tuple[int, int, int], unit: int, step: int, **fields: Any) -> Problem:
    """A problem of about this size: extents that are odd multiples of ``unit``, columns of ``step``."""
    m, n, k = (unit * (extent // unit | 1) for extent in size)
    (problem,) = Problem.parse(f"{spelling}:{m}x{n}x{k}", **fields)
    lda, ldb, ldc = (step * ((ld or 0) // step + 1) for ld in (problem.lda, problem.ldb, problem.ldc))
    return problem.with_(m=m, lda=lda, ldb=ldb, ldc=ldc)


def forms(large: Problem, device: Device) -> dict[str, Config]:
    """Configs of the universal stencil by name."""
    stencil = STENCILS["classic"]
    default = stencil.default(large, device)
    other = stencil.default(large.with_(m=64, n=64, k=64), device).with_(**PLAIN)
    paper = Config(PAPER)
    found = {
        "default": default,
        "small": other,
        "one_buffer": other.with_(buffers=1, order=2),
        "paper": paper,
        "early": other.with_(early=1),
        "split2": other.with_(split=2),
        "split4": paper.with_(split=4),
    }
    found |= {read: paper.with_(read=read) for read in READS[1:]}
    if large.dtype.real_bits == 64:
        tile = paper.with_(m_blk=64, n_blk=64, lanes=8, mma=1, vec=1 if large.dtype.is_complex else 2)
        found |= {"mma": tile.with_(buffers=2), "mma_split": tile.with_(split=2)}
    return found


def jobs(device: Device) -> Iterator[Job]:
    """Everything that is launched."""
    for letter, pairs in TRANS.items():
        for number, trans in enumerate(pairs):
            spelling = f"{letter}:{trans}"
            for stencil in STENCILS.values():
                if stencil.target == "cuda":
                    yield from _of_stencil(stencil, spelling, number, device)
    yield from _tiny(device)
    yield from _streams(device)
    yield from _tensor(device)
    yield from _lists(device)
    for rung in ladder.RUNGS:
        for number, config in enumerate(rung.configs):
            # Row-major C = A B is column-major C' = B' A'.
            problem = padded("s:nn", SIZE, 1, 1, alpha="any", beta="any" if number % 2 else "0")
            launch = rung.launch(config, problem.n, problem.m)
            name = f"{rung.name}_{number}"
            yield Job(name, problem, launch, named(rung.source(config), name), swapped=True)


def _of_stencil(stencil: Any, spelling: str, number: int, device: Device) -> Iterator[Job]:
    (large,) = Problem.parse(f"{spelling}:4096x4096x4096")
    configs: dict[str, Config | None] = {"default": None}
    if stencil.name == "classic":
        configs = dict(forms(large, device))
    for turn, (form, config) in enumerate(configs.items()):
        beta = "any" if form == "early" or (turn + number) % 2 else "0"
        fields = {"alpha": "any" if turn % 3 else "1", "beta": beta}
        for size, unit, step in (
            *((SIZE, wide, pitch) for wide in (1, 2, 4) for pitch in (wide, 32)),
            *(((8, 8, 8), 1, 1), ((4, 4, 4), 1, 1)),
        ):
            batch = 1 if form.startswith("tex") else 3
            problem = padded(spelling, size, unit, step, batch=batch, **fields)
            if stencil.accepts(problem, device) is not None:
                continue
            chosen = config or stencil.default(problem, device)
            if any(rule.kind in HARDWARE for rule in stencil.space(problem, device).why(chosen)):
                continue
            name = f"{stencil.name}_{spelling.replace(':', '_')}_{form}"
            source = named(stencil.source(problem, chosen, device), name)
            yield Job(name, problem, stencil.launch(problem, chosen), source)
            break


def _tiny(device: Device) -> Iterator[Job]:
    """Every small n in all types; layouts and transpositions in turns."""
    stencil = STENCILS["tiny"]
    for turn, (dtype, n) in enumerate((dtype, n) for dtype in DTYPES.values() for n in TINY):
        trans = ORDERS[dtype.is_complex][(turn + n // 4) % 4]
        layout = turn % 3
        (problem,) = Problem.parse(
            f"{dtype.letter}:{trans}:{n}x{n}x{n}@{29 if n < 8 else 5}",
            alpha="any",
            beta="any",
            align=dtype.itemsize,
            pointers=layout == 2,
        )
        if layout:
            # With the size named again, matrices lie as far apart as their columns ask for.
            problem = problem.with_(m=n, lda=n + 1, ldb=n + 2, ldc=n + 3)
        yield from _made(stencil, problem, f"tiny_{dtype.letter}_{trans}_{n}_{layout}", device)


def _streams(device: Device) -> Iterator[Job]:
    """Batches of small matrices as streams of bytes, as only large batches are read: packed, and padded."""
    stencil = STENCILS["tiny"]
    for turn, (dtype, n) in enumerate((dtype, n) for dtype in DTYPES.values() for n in STREAMS):
        trans = ORDERS[dtype.is_complex][(turn + n // 4) % 4]
        for gap in (0, 1 + turn % 2):
            beta = ("any", "0")[(turn + gap) % 2]
            (problem,) = Problem.parse(f"{dtype.letter}:{trans}:{n}x{n}x{n}", alpha="any", beta=beta)
            problem = problem.with_(m=n, lda=n + gap, ldb=n + gap, ldc=n + gap, batch=10**6)
            config = stencil.default(problem, device)
            some = problem.with_(batch=2 * config["group"] + 1)
            yield from _made(stencil, some, f"tiny_stream_{dtype.letter}_{trans}_{n}_{gap}", device, config)


def _tensor(device: Device) -> Iterator[Job]:
    """Odd shapes of 16-bit types, with columns anywhere and with such that words of 16 bytes divide."""
    stencil = STENCILS["tensor"]
    for turn, (letter, (m, n, k)) in enumerate((letter, odd) for letter in ("h", "b", "hc") for odd in ODD):
        dtype = DTYPES[letter]
        trans = ORDERS[dtype.is_complex][(turn + turn // 12) % 4]
        beta = ("any", "0")[turn % 2]
        for align in (dtype.itemsize, 16):
            (problem,) = Problem.parse(f"{letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta, align=align)
            lds = (8 * -(-(ld or 0) // 8) for ld in (problem.lda, problem.ldb, problem.ldc))
            if align == 16:
                problem = problem.with_(m=m, **dict(zip(("lda", "ldb", "ldc"), lds, strict=True)))
            yield from _made(stencil, problem, f"tensor_{letter}_{trans}_{m}_{n}_{k}_{align}", device)


def _made(
    stencil: Any, problem: Problem, name: str, device: Device, config: Config | None = None
) -> Iterator[Job]:
    """A config (the default one) of a problem, if the stencil accepts it; from an odd base if it may be."""
    if stencil.accepts(problem, device) is None:
        config = config or stencil.default(problem, device)
        source = named(stencil.source(problem, config, device), name)
        shift = problem.align if problem.align == problem.dtype.itemsize else 0
        yield Job(name, problem, stencil.launch(problem, config), source, shift=shift)


def _lists(device: Device) -> Iterator[Job]:
    """Lists of products of all sizes: the default, and what it leaves out."""
    stencil = STENCILS["grouped"]
    for turn, (dtype, (top, count, beta)) in enumerate((d, some) for d in DTYPES.values() for some in LISTS):
        trans = ORDERS[dtype.is_complex][turn % 4]
        alpha = "any" if beta == "any" else "1"
        problem = grouped.products(dtype, top, top, top, trans, count, alpha=alpha, beta=beta)
        if stencil.accepts(problem, device) is not None:
            continue
        default = stencil.default(problem, device)
        other = default.with_(mma=0, fine=1, bulk=0, warps=4, team=2, columns=4)
        for form, config in (("default", default), ("plain", other)):
            if any(rule.kind in HARDWARE for rule in stencil.space(problem, device).why(config)):
                continue
            # A few blocks, so that each has many products, one after another.
            launch = replace(stencil.launch(problem, config), grid=(3, 1, 1))
            name = f"grouped_{dtype.letter}_{trans}_{top}_{form}"
            yield Job(name, problem, launch, named(stencil.source(problem, config, device), name))


# ---- the child: launch and check


def _bytes(region: Region) -> slice:
    """The words of a region from the first to the last element of its matrices."""
    view = region.view
    per_element = view.itemsize // region.words.itemsize
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    first = region.origin * per_element
    return slice(first, first + (last // view.itemsize + 1) * per_element)


def launched(job: Job, binary: Binary, tool: str) -> str:
    """Launch once on fresh operands; what is wrong with the result, empty when nothing is."""
    p = job.problem
    if isinstance(p, grouped.Products):
        return _launched_list(job, p, binary, tool)
    ready = prepare(p, Case(p.batch), 1)
    regions = ready.operands.regions
    unread = tool == "initcheck" and p.beta == "0"
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
    driver.Launcher(cuda.load(binary), job.launch, block)(0)
    driver.synchronize()
    if unread:
        return ""
    for base, region in zip(bases, regions, strict=True):
        part = np.empty_like(region.words[_bytes(region)])
        driver.download(part, base)
        region.words[_bytes(region)] = part
    return judge(ready).why


def _sent(values: Any) -> Any:
    """An array in device memory of its own."""
    values = np.ascontiguousarray(values)
    memory = driver.allocate(values.nbytes)
    driver.upload(memory.address, values)
    return memory


def _stored(values: Any, dtype: DType) -> Any:
    """Complex numbers as elements of a type, along the first axis."""
    if dtype.letter == "hc":
        out = np.empty(values.shape, dtype.numpy)
        out["re"], out["im"] = values.real, values.imag
        return out
    return (values if dtype.is_complex else values.real).astype(dtype.numpy)


def _wide(values: Any, dtype: DType) -> Any:
    """The other way."""
    if dtype.letter == "hc":
        return values["re"].astype(float) + 1j * values["im"].astype(float)
    return values.astype(np.complex128)


def _launched_list(job: Job, p: grouped.Products, binary: Binary, tool: str) -> str:
    """The same for a list of products. Numbers are -1, 0 and 1, whose sums are exact in every type."""
    draw, size = np.random.default_rng(7), p.dtype.itemsize
    m, n, k = (draw.integers(1, most + 1, p.batch) for most in (p.m, p.n, p.k))
    k[0] = 0
    shapes = ((k, m) if p.turned_a else (m, k), (n, k) if p.turned_b else (k, n), (m, n))
    leading, begins, values = [], [], []
    for rows, columns in shapes:
        # Half of them without gaps. One element before the first, so that bases are odd.
        ld = np.maximum(rows, 1) + draw.choice((0, 0, 0, 1, 2, 4), p.batch)
        reach = np.where(columns > 0, (columns - 1) * ld + rows, 0) + draw.choice((0, 1, 2), p.batch)
        reach[-1] -= max(0, reach[-1] - ((columns[-1] - 1) * ld[-1] + rows[-1]))
        ends = 1 + np.cumsum(reach)
        leading.append(ld)
        begins.append(ends - reach)
        values.append(draw.integers(-1, 2, int(ends[-1])) + 1j * draw.integers(-1, 2, int(ends[-1])))
        if not p.dtype.is_complex:
            values[-1] = values[-1].real + 0j
    unread = tool == "initcheck" and p.beta == "0"
    memories = [driver.allocate(x.size * size) for x in values]
    for which, memory in enumerate(memories):
        if not (unread and which == 2):
            driver.upload(memory.address, _stored(values[which], p.dtype))
    alphas = draw.choice((1, -1), p.batch) if p.alpha == "any" else np.ones(p.batch)
    betas = draw.choice((0, 1, -1), p.batch) if p.beta == "any" else np.full(p.batch, int(p.beta))
    where = tuple(memory.address + size * begin for memory, begin in zip(memories, begins, strict=True))
    list_ = grouped.describe(p.dtype, p.trans_a + p.trans_b, (m, n, k), where, tuple(leading), betas != 0)
    own = p.alpha == "any" or p.beta == "any"
    scalars_ = np.stack([alphas, 0 * alphas, betas, 0 * betas], axis=1).astype(float)
    sent = [_sent(list_), _sent(scalars_)]
    block = grouped.pack(sent[0].address, sent[1].address if own else 0, p.batch, 1, float(betas[0]))
    driver.Launcher(cuda.load(binary), job.launch, block)(0)
    driver.synchronize()
    if unread:
        return ""
    got = np.empty(values[2].size, p.dtype.numpy)
    driver.download(got, memories[2].address)
    right = values[2].copy()
    for i in range(p.batch):
        a, b = (
            _matrix(values[w], begins[w][i], leading[w][i], *(int(x[i]) for x in shapes[w])) for w in (0, 1)
        )
        a, b = (a.T if p.turned_a else a), (b.T if p.turned_b else b)
        a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
        c = _matrix(right, begins[2][i], leading[2][i], int(m[i]), int(n[i]))
        c[...] = alphas[i] * (a @ b) + betas[i] * c
    wrong = int((_wide(got, p.dtype) != right).sum())
    return f"{wrong} of {got.size} elements of C, or of what lies between, are wrong" if wrong else ""


def _matrix(values: Any, begin: int, ld: int, rows: int, columns: int) -> Any:
    """A column-major matrix in a row of numbers."""
    step = values.itemsize
    return np.lib.stride_tricks.as_strided(values[begin:], (rows, columns), (step, int(ld) * step))


def _textures(job: Job, pointers: tuple[int, int]) -> list[driver.Texture]:
    p, size = job.problem, job.problem.dtype.itemsize
    made = []
    stored = ((p.turned_a, p.lda or 0, p.m, p.k), (p.turned_b, p.ldb or 0, p.k, p.n))
    for address, (turned, ld, rows, cols) in zip(pointers, stored, strict=True):
        rows, cols = (cols, rows) if turned else (rows, cols)
        if job.launch.reading == "tex1d":
            made.append(driver.texture1d(address, ld * (cols - 1) + rows, size))
        elif job.launch.reading == "tex2d":
            made.append(driver.texture2d(address, rows, cols, ld * size, size))
    return made


def child(path: Path, tool: str) -> None:
    """Launch all that is in a file, a line for each: its name, and what is wrong with the result."""
    work: list[tuple[Job, Binary]] = pickle.loads(path.read_bytes())
    driver.context()
    for job, binary in work:
        try:
            why = launched(job, binary, tool)
        except TilewrightError as error:
            why = str(error)
        print(f"launched {job.name}: {why or 'right'}", flush=True)


# ---- the parent: the tool and its log


def find() -> str | None:
    """The tool: on PATH, or beside the compiler that CUDA_HOME or CUDA_PATH names."""
    found = shutil.which("compute-sanitizer")
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for home in (*homes, "/usr/local/cuda"):
        for inside in ("bin", "compute-sanitizer"):
            found = found or shutil.which("compute-sanitizer", path=str(Path(home) / inside))
    return found


_MARK = re.compile(r"^=+ ?")
_SAID = re.compile(
    r"COMPUTE-SANITIZER|SUMMARY|No issues found|^Launching|^Target application|were found|Error: process|"
    r"^Saved |not shown"
)


def findings(log: str) -> list[list[str]]:
    """Findings in a log, each as its lines without the mark at their beginning.

    The first line of a finding is not indented; an empty line ends it.
    """
    found: list[list[str]] = []
    inside = False
    for line in log.splitlines():
        if not line.startswith("====="):
            continue
        text = _MARK.sub("", line, count=1)
        if not text.strip():
            inside = False
        elif inside and text.startswith(" "):
            found[-1].append(text.strip())
        elif not text.startswith(" ") and not _SAID.search(text):
            found.append([text.strip()])
            inside = True
    return found


def total(log: str) -> int | None:
    """The number of findings that the tool itself states; None when it did not come to its end."""
    stated = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", log)
    return sum(int(a or b) for a, b in stated) if stated else None


def owner(finding: Sequence[str], names: Sequence[str]) -> str:
    """The kernel that a finding speaks of; empty when it names none."""
    words = set(re.findall(r"\w+", " ".join(finding)))
    return next((name for name in names if name in words), "")


def run(sanitizer: str, tool: str, work: Sequence[tuple[Job, Binary]], patience: float) -> tuple[int, str]:
    """Exit code and log of the tool over a child."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work"
        path.write_bytes(pickle.dumps(list(work)))
        command = [sanitizer, "--tool", tool, "--print-limit", "10000", "--error-exitcode", "9"]
        command += [sys.executable, "-m", "bench.sanitize", "--tool", tool, "--child", str(path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                log, _ = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                # The tool's own child would go on, and on the device.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                log, _ = process.communicate()
                log += f"\nstopped after {patience:g} s\n"
            return process.returncode, log


def main() -> int:
    """Run the tool, say what it found, and keep it."""
    parser = argparse.ArgumentParser(
        prog="bench.sanitize", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", choices=TOOLS, default="memcheck")
    parser.add_argument("--only", default="", help="only kernels whose names contain this")
    parser.add_argument("--patience", type=float, default=540.0, help="seconds for all of it (default: 540)")
    parser.add_argument("--out", type=Path, help="lines of JSON are added to this file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.tool)
        return 0
    reason, sanitizer = cuda.missing(), find()
    if reason is not None:
        print(f"nothing can be launched: {reason}", file=sys.stderr)
        return 2
    if sanitizer is None:
        print(
            "compute-sanitizer is not on PATH, nor under CUDA_HOME; it comes with the CUDA toolkit",
            file=sys.stderr,
        )
        return 2
    device = cuda.probe()
    asked = [job for job in jobs(device) if given.only in job.name]
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        binaries = pool.map(lambda job: cuda.compile(job.source, device), asked)
        work = list(zip(asked, binaries, strict=True))
    sink = lines.Sink(given.out, "sanitize", device, vars(given))
    code, log = run(sanitizer, given.tool, work, given.patience)

    results = dict(re.findall(r"^launched (\w+): (.*)$", log, re.MULTILINE))
    names = [job.name for job in asked]
    by_name: dict[str, list[list[str]]] = {}
    for finding in findings(log):
        by_name.setdefault(owner(finding, names), []).append(finding)
    for job in asked:
        mine = by_name.get(job.name, [])
        result = results.get(job.name, "not launched")
        sink.write(
            {"kind": "kernel", "name": job.name, "problem": job.problem.key, "tool": given.tool}
            | {"result": result, "findings": len(mine), "first": mine[:SHOWN]}
        )
        if mine or result != "right":
            print(f"{job.name} ({job.problem.spelling}): {result}, {len(mine)} findings")
            for finding in mine[:SHOWN]:
                print("    " + "\n        ".join(finding[:6]))
    rest = by_name.get("", [])
    for finding in rest[:SHOWN]:
        print("of no kernel: " + "\n        ".join(finding[:6]))
    wrong = [name for name in names if results.get(name) != "right"]
    stated = total(log)
    found = stated if stated is not None else sum(map(len, by_name.values()))
    for stencil in dict.fromkeys(job.stencil for job in asked):
        these = [job.name for job in asked if job.stencil == stencil]
        here = sum(len(by_name.get(name, [])) for name in these)
        bad = sum(name in wrong for name in these)
        sink.write(
            {"kind": "stencil", "stencil": stencil, "tool": given.tool, "kernels": len(these)}
            | {"launched": sum(name in results for name in these), "wrong": bad, "findings": here}
        )
        print(f"{given.tool} {stencil}: {len(these)} kernels, {here} findings, {bad} wrong or not launched")
    summary = {"kind": "summary", "tool": given.tool, "kernels": len(names), "wrong": len(wrong)}
    summary |= {"findings": found, "finished": stated is not None, "exit_code": code, "unnamed": rest[:SHOWN]}
    sink.write(summary | {"date": lines.now()})
    print(f"{given.tool}: {len(names)} kernels, {found} findings, {len(wrong)} wrong or not launched")
    if stated is None or code not in (0, 9):
        print(log[-2000:], file=sys.stderr)
    return int(bool(found or by_name or wrong or code))


if __name__ == "__main__":
    sys.exit(main())
