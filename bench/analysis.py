"""What a kernel is made of and what bounds it: ``python -m bench.analysis --problems "d:8x8x8@650000,..."``.

For each problem and class of beta, the kernel that dispatch chooses: its roofline, the instructions of its
machine code (of the whole kernel, and of the loop that does the work), registers, shared memory, and how many
warps an SM holds. None of this needs a GPU; ``--device h200`` names one that need not be there.

``--profile`` measures, with Nsight Compute: the bytes that device memory moved, and the instructions as they
were executed. It runs ``python -m bench.analysis --launch PROBLEM`` under ``ncu``, without holding the clock.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import lines
from tilewright import build, dispatch, roofline_cuda
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, DeviceError, TilewrightError
from tilewright.model import Binary, Config, Device, Launch, Plan, Problem
from tilewright.targets import capability, listing
from tilewright.trials import Candidate

ROOT = Path(__file__).resolve().parents[1]
COPY = {"h200": 4.2e12}
"""Bytes a second of a copy on named devices whose ceilings nobody recorded here: ``bytes_per_second`` over
``of_copy`` of results/h200/batches.jsonl."""
Line = lines.Line


# ---- rooflines


@dataclass(frozen=True, slots=True)
class Roof:
    """Operations and bytes of one product, their ratio, and the speed in flop/s that it allows."""

    flops: int
    bytes: float
    flops_per_s: float
    limit: str

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / self.bytes


def interleaved_bytes(problem: Problem) -> int:
    """Bytes of one product whose complex numbers lie as (re, im) pairs: A and B read, C written, and read
    where beta is not 0, each once.

    A. Abdelfattah, S. Tomov, J. Dongarra (2020), section 6, with e bytes an element (4 of complex half):

        Q = e (mk + kn + mn)           beta = 0
        Q = e (mk + kn + 2mn)          beta != 0

    With m = n = k and beta != 0 that is 4 e n^2, and with 8 n^3 operations the intensity is n/2 for
    complex half; for float16 (2 n^3 operations, e = 2) it is n/4.
    """
    p = problem
    return p.dtype.itemsize * (p.m * p.k + p.k * p.n + (1 if p.beta == "0" else 2) * p.m * p.n)


def planar_bytes(problem: Problem) -> int:
    """Bytes of one product of complex numbers whose real and imaginary parts are matrices of their own.

    The same section: the product is four real ones of e/2 bytes an element,

        C.re = A.re B.re;   C.re -= A.im B.im;   C.im = A.re B.im;   C.im += A.im B.re,

    each of which reads its part of A and of B and writes its part of C. With beta != 0 all four read C,
    with beta = 0 only the second and the fourth:

        Q = e/2 (4 mk + 4 kn + 4 mn + 2 mn)        beta = 0
        Q = e/2 (4 mk + 4 kn + 4 mn + 4 mn)        beta != 0

    With m = n = k and beta != 0 that is 8 e n^2, twice the interleaved bytes for as many operations: an
    intensity of n/4 for complex half, which is that of float16.
    """
    p = problem
    reads = 2 if p.beta == "0" else 4
    return p.dtype.itemsize // 2 * (4 * (p.m * p.k + p.k * p.n + p.m * p.n) + reads * p.m * p.n)


def roof(problem: Problem, device: Device, moved: float) -> Roof:
    """The bound of a product that moves ``moved`` bytes: the copy, or the units of its type."""
    ceilings, letter = device.ceilings, problem.dtype.letter
    unit = "tensor" if f"tensor.{letter}.1" in ceilings else "peak"
    units = ceilings[f"{unit}.{letter}.1"]
    memory = problem.flops / moved * ceilings["bandwidth.copy.1"]
    if memory < units:
        return Roof(problem.flops, moved, memory, "bandwidth.copy")
    return Roof(problem.flops, moved, units, unit)


def rooflines(problem: Problem, device: Device) -> Line:
    """The roofline of a problem, and for complex types that of planes."""
    found = {"interleaved": roof(problem, device, interleaved_bytes(problem))}
    if problem.dtype.is_complex:
        found["planar"] = roof(problem, device, planar_bytes(problem))
    return {
        name: {
            "flops": one.flops,
            "bytes": one.bytes,
            "intensity": one.intensity,
            "bound_tflops": one.flops_per_s / 1e12,
            "bound_terabytes": one.flops_per_s / one.intensity / 1e12,
            "limit": one.limit,
        }
        for name, one in found.items()
    }


# ---- instructions

CLASSES = ("float", "tensor", "convert", "integer", "shared", "device", "control", "move")
"""Floating-point arithmetic; tensor cores; from one type to another; integers, addresses and predicates;
shared memory; device memory and bulk copies; branches, barriers and waiting; what is only moved."""
_CONVERT = {"F2F", "F2FP", "F2I", "F2IP", "I2F", "I2FP", "I2I", "FRND"}
_FLOAT = re.compile(r"[FDH](ADD|MUL|FMA|SET|SETP|MNMX|SEL|CHK|SWZADD|MIN3|MAX3)(2|32)?$|MUFU$")
_TENSOR = re.compile(r"([HDIBQO]|UTC[A-Z]+)?G?MMA$")
_SHARED = {"LDS", "STS", "LDSM", "STSM", "ATOMS", "LDSLK", "STSCUL"}
_DEVICE = re.compile(r"(LD|ST|ATOM|RED)(G|L|GSTS)?$|LDGSTS$|UBLK|UTMA(LDG|STG|RED|PF)|CCTL|TEX|TLD|SULD|SUST")
_CONTROL = {
    *(
        "BRA",
        "BRX",
        "BREAK",
        "BSSY",
        "BSYNC",
        "BMOV",
        "CALL",
        "EXIT",
        "JMP",
        "JMX",
        "KILL",
        "RET",
        "WARPSYNC",
    ),
    *("BAR", "SYNCS", "MEMBAR", "FENCE", "DEPBAR", "LDGDEPBAR", "ERRBAR", "ELECT", "NANOSLEEP", "YIELD"),
    *("ARRIVES", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE", "UCGABAR_ARV", "UCGABAR_WAIT", "UTMACMDFLUSH"),
    *("WARPGROUP", "WARPGROUPSET", "VOTE", "VOTEU", "BPT", "RPCMOV"),
}
_MOVE = {
    *("MOV", "UMOV", "CS2R", "S2R", "S2UR", "R2UR", "R2P", "P2R", "UP2UR", "UR2UP", "LDC", "ULDC", "LDCU"),
    *("SHFL", "PRMT", "UPRMT", "SEL", "USEL", "MOVM"),
}
_STAGED = ("UBLKCP", "LDGSTS", "UTMALDG")
_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
_LABEL = re.compile(r"\s*(\.L_?[\w.$]+):")
_TARGET = re.compile(r"`\((\.L_?[\w.$]+)\)|\b0x([0-9a-f]+)\s*$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction: its address, its name with all modifiers, its operands as text."""

    address: int
    name: str
    operands: str

    @property
    def kind(self) -> str:
        """Which of ``CLASSES`` it belongs to."""
        base, _, rest = self.name.partition(".")
        if base in _CONVERT or (base == "HADD2" and rest.startswith("F32")):
            return "convert"
        if _TENSOR.match(base):
            return "tensor"
        if _FLOAT.match(base):
            return "float"
        if base in _SHARED:
            return "shared"
        if base in _CONTROL:
            return "control"
        if _DEVICE.match(base):
            return "device"
        return "move" if base in _MOVE or self.name.startswith("IMAD.MOV") else "integer"


def instructions(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of a listing of nvdisasm or cuobjdump without those that do nothing, and the
    addresses of its labels."""
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            waiting.append(label[1])
        elif read := _LINE.search(line):
            address = int(read[1], 16)
            labels |= dict.fromkeys(waiting, address)
            waiting = []
            if read[2] != "NOP":
                found.append(Instruction(address, read[2], read[3].strip()))
    return found, labels


def loops(text: str) -> list[list[Instruction]]:
    """The loops of a kernel: what lies between the target of each backward branch and the branch.

    What lies behind the last exit are waits that the compiler moved out of the way, and no loops.
    """
    found, labels = instructions(text)
    end = max((i.address for i in found if i.name.startswith("EXIT")), default=0)
    result = []
    for branch in found:
        target = _TARGET.search(branch.operands) if branch.name.startswith("BRA") else None
        if target is None or branch.address > end:
            continue
        start = labels.get(target[1], branch.address) if target[1] else int(target[2], 16)
        if start < branch.address:
            result.append([i for i in found if start <= i.address <= branch.address])
    return result


def hottest(text: str) -> list[Instruction]:
    """The loop that does the work: one with tensor cores before others, then one that asks for data ahead,
    then the one with the most instructions; what is left over of a batch may have a longer one."""

    def rank(loop: Sequence[Instruction]) -> tuple[bool, bool, int]:
        tensor = any(i.kind == "tensor" for i in loop)
        return tensor, any(i.name.startswith(_STAGED) for i in loop), len(loop)

    return max(loops(text), key=rank, default=[])


def mix(found: Iterable[Instruction]) -> dict[str, int]:
    """How many instructions there are of each class."""
    counted = Counter(i.kind for i in found)
    return {name: counted[name] for name in CLASSES}


# ---- a kernel


def occupancy(launch: Launch, facts: dict[str, int], device: Device) -> Line:
    """Blocks and warps of an SM by what each of its stores allows, and how many there are of the grid.

    Registers are given out by 8 a thread, shared memory with what the system takes of every block.
    """
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    warps = -(-threads // 32)
    registers = 32 * warps * (-(-facts["registers"] // 8) * 8)
    shared = launch.shared + facts.get("shared", 0) + device["shared_reserved"]
    limits = {
        "registers": device["registers_per_sm"] // registers,
        "shared": device["shared_per_sm"] // shared,
        "warps": device["warps_per_sm"] // warps,
        "blocks": device["blocks_per_sm"],
        "grid": -(-(launch.grid[0] * launch.grid[1] * launch.grid[2]) // device["sms"]),
    }
    blocks = min(limits.values())
    return {
        "blocks_per_sm": blocks,
        "warps_per_sm": blocks * warps,
        "occupancy": blocks * warps / device["warps_per_sm"],
        "limited_by": min(limits, key=lambda name: limits[name]),
        "limits": limits,
    }


def analysed(problem: Problem, device: Device) -> Line:
    """All that is known of a problem's kernel without running it. Raises ``CompileError``, and
    ``ArgumentError`` where no stencil accepts the problem."""
    plan, binary = compiled(problem, device)
    assert plan.stencil is not None
    assert plan.config is not None
    launch = STENCILS[plan.stencil].launch(problem, plan.config)
    facts = dict(binary.facts)
    line: Line = {
        "kind": "analysis",
        "problem": problem.spelling,
        "beta": problem.beta,
        "device": device.key,
        "stencil": plan.stencil,
        "origin": plan.origin,
        "config": dict(plan.config),
        "grid": launch.grid,
        "block": launch.block,
        "shared": launch.shared + facts.get("shared", 0),
        "registers": facts["registers"],
        "spills": facts["spills"],
        "code_bytes": facts["code_bytes"],
        "roofline": rooflines(problem, device),
    }
    line |= occupancy(launch, facts, device)
    try:
        text = listing.sass(binary)
    except DeviceError as error:
        return line | {"missing": str(error)}
    loop = hottest(text)
    line["mix"] = mix(instructions(text)[0])
    line["loop"] = mix(loop)
    line["loop_at"] = [loop[0].address, loop[-1].address] if loop else []
    return line


def compiled(problem: Problem, device: Device) -> tuple[Plan, Binary]:
    """What a call runs, were there no library, and its machine code."""
    plan = dispatch.plan(problem, device, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    return plan, build.compile(plan.stencil, problem, plan.config, device, TARGETS["cuda"])


def shown(line: Line) -> str:
    """A kernel on the screen, a few lines."""
    rows = [f"{line['problem']} beta {line['beta']}: {line['stencil']} ({line['origin']})"]
    rows.append(f"  {Config(line['config'])}")
    for name, one in line["roofline"].items():
        rows.append(
            f"  {name:11} {one['intensity']:.3g} flop/byte, at most {one['bound_tflops']:.2f} TF/s and "
            f"{one['bound_terabytes']:.2f} TB/s, by {one['limit']}"
        )
    rows.append(
        f"  {line['registers']} registers, {line['spills']} bytes spilled, {line['shared']} bytes shared; "
        f"{line['blocks_per_sm']} blocks, {line['warps_per_sm']} warps an SM ({line['occupancy']:.0%}), "
        f"limited by {line['limited_by']}"
    )
    for name in ("mix", "loop"):
        if name in line:
            counts = ", ".join(f"{what} {count}" for what, count in line[name].items() if count)
            rows.append(f"  {'kernel' if name == 'mix' else 'loop':7} {sum(line[name].values())}: {counts}")
    if "profile" in line:
        rows.append(f"  measured {line['profile']}")
    return "\n".join([*rows, *(f"  {line[key]}" for key in ("missing", "no_profile") if key in line)])


# ---- as executed

LAUNCHES = 3
"""Launches of a profiled child; the last one is measured."""
METRICS = {
    "seconds": "gpu__time_duration.sum",
    "bytes_read": "dram__bytes_read.sum",
    "bytes_written": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "tensor": "smsp__inst_executed_pipe_tensor.sum",
    "fp32": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "fp64": "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
    "fp16": "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    "integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "bit": "smsp__sass_thread_inst_executed_op_bit_pred_on.sum",
    "conversion": "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
    "memory": "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "control": "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
    "misc": "smsp__sass_thread_inst_executed_op_misc_pred_on.sum",
}
"""What is asked of Nsight Compute: seconds, bytes of device memory, instructions of warps, those of the
tensor units, and instructions of threads by class."""
_UNKNOWN = re.compile(r"[Ff]ailed to find metric (\S+)")
PATIENCE = 240.0


def profiler() -> str | None:
    """The path of Nsight Compute; None where it is not."""
    others = sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    places = (None, listing.TOOLKIT, *map(str, others))
    return next((found for place in places if (found := shutil.which("ncu", path=place))), None)


def profiled(problem: Problem) -> Line:
    """What Nsight Compute measures of a problem's kernel on this machine's GPU.

    Raises ``DeviceError`` with the reason where it measures nothing.
    """
    program = profiler()
    if program is None:
        raise DeviceError("Nsight Compute (ncu) is not here")
    wanted = list(METRICS.values())
    said = _asked(program, problem, wanted)
    if unknown := set(_UNKNOWN.findall(said)) & set(wanted):
        said = _asked(program, problem, [metric for metric in wanted if metric not in unknown])
    found = measured(said)
    if not found:
        errors = [line for line in said.splitlines() if "ERROR" in line or "rror:" in line]
        raise DeviceError(f"ncu measured nothing: {(errors or ['it says no reason'])[-1].strip()}")
    if found.get("seconds"):
        moved = found.get("bytes_read", 0.0) + found.get("bytes_written", 0.0)
        found["bytes_per_second"] = moved / found["seconds"]
        found["bytes_over_least"] = moved / (problem.bytes * problem.batch)
    return found


def _asked(program: str, problem: Problem, metrics: Sequence[str]) -> str:
    """What ncu prints of the last launch of a child."""
    command = [program, "--csv", "--print-units", "base", "--clock-control", "none"]
    command += ["--launch-skip", str(LAUNCHES - 1), "--launch-count", "1", "--metrics", ",".join(metrics)]
    command += [sys.executable, "-m", "bench.analysis", "--launch", problem.spelling, "--beta", problem.beta]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeviceError(f"ncu does not run: {error}") from error
    return f"{done.stdout}\n{done.stderr}"


def measured(text: str) -> Line:
    """The metrics in what ``ncu --csv --print-units base`` prints, by the names of ``METRICS``; a metric
    that a device does not have is left out."""
    start = text.find('"ID",')
    names = {metric: name for name, metric in METRICS.items()}
    found: Line = {}
    for row in csv.DictReader(io.StringIO(text[start:])) if start >= 0 else ():
        name = names.get(row.get("Metric Name") or "")
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:
            continue
        if name is not None:
            scale = 1e-9 if name == "seconds" and row.get("Metric Unit") in ("ns", "nsecond") else 1.0
            found[name] = value * scale
    return found


def launched(problem: Problem, device: Device) -> None:
    """Start a problem's kernel a few times on operands in device memory, for a profiler to look at."""
    from tilewright.targets import cuda, driver
    from tilewright.trials.cuda import CudaTrial, started

    driver.context()
    plan, binary = compiled(problem, device)
    assert plan.stencil is not None
    assert plan.config is not None
    trial = CudaTrial(device)
    trial.prepare(problem, "cached")
    candidate = Candidate(plan.stencil, plan.config, binary)
    launcher, _keep = started(candidate, cuda.load(binary), problem, trial.pointers[0])
    for _ in range(LAUNCHES):
        launcher(0)
        driver.synchronize()


# ---- the command line


def named(name: str, copy: float | None = None) -> Device:
    """The device of this machine (``cuda``) or a named one, with ceilings: recorded ones, else computed
    ones with a copy of ``copy`` bytes a second, by default that of ``COPY``.

    Raises ``ArgumentError`` where nobody knows how fast it copies.
    """
    device = dispatch.device("cuda") if name == "cuda" else capability.named(name)
    ceilings = {**roofline_cuda.units(device), **device.ceilings}
    ceilings |= dispatch.records().ceilings(device.key, device["cores"])
    if copy or "bandwidth.copy.1" not in ceilings:
        if not copy and device.key not in COPY:
            raise ArgumentError(f"device={name!r}: its copy was never measured; give --copy, in bytes/s")
        ceilings["bandwidth.copy.1"] = copy or COPY[device.key]
    return Device(device.kind, device.name, device.key, device.limits, device.features, ceilings)


def problems(text: str, betas: Sequence[str]) -> list[Problem]:
    """``d:8x8x8@650000,h:16..18@500000`` in every class of beta."""
    return [
        problem
        for spelling in lines.words(text)
        for beta in betas
        for problem in Problem.parse(spelling, beta=beta)
    ]


def main() -> None:
    """Analyse the kernels that the command line asks for, or start one under a profiler."""
    options = parsed()
    if options.launch:
        (problem,) = Problem.parse(options.launch, beta=options.beta)
        launched(problem, dispatch.device("cuda"))
        return
    console, device = lines.console(), named(options.device, options.copy)
    sink = lines.Sink(options.out, "analysis", device, vars(options)) if options.out else None
    for problem in problems(options.problems, lines.words(options.beta)):
        try:
            line = analysed(problem, device)
        except TilewrightError as error:
            line = {"kind": "analysis", "problem": problem.spelling, "beta": problem.beta}
            line["missing"] = str(error)
            console.print(f"{problem.spelling} beta {problem.beta}: {error}", markup=False)
        else:
            if options.profile:
                try:
                    line["profile"] = profiled(problem)
                except DeviceError as error:
                    line["no_profile"] = str(error)
            console.print(shown(line), markup=False, soft_wrap=True)
        if sink:
            sink.write(line)


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="bench.analysis", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--problems", default="", help="with commas, such as d:8x8x8@650000,h:16x16x16@500000")
    add(
        "--device",
        default="",
        help="cuda, or one by name (default: cuda where there is one, else h200)",
    )
    add("--beta", default="0,1", help="classes of beta, with commas (default: 0,1)")
    add("--copy", type=float, help="bytes a second of a copy (default: what was measured)")
    add("--profile", action="store_true", help="measure with Nsight Compute too")
    add("--launch", default="", help=argparse.SUPPRESS)
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args(words)
    if not options.problems and not options.launch:
        raise ArgumentError("--problems names nothing; accepted: such as d:8x8x8@650000,h:16x16x16@500000")
    if not options.device:
        options.device = "cuda" if TARGETS["cuda"].missing() is None else "h200"
    return options


if __name__ == "__main__":
    try:
        main()
    except ArgumentError as error:
        raise SystemExit(str(error)) from error
