"""What a processor executes for one turn of a kernel's outermost loop, from the compiler's listing.

Kernels are loops over the batch whose inner loops run a known number of times: that number stands in the
program, and the jumps in the listing. So the instructions of a turn follow, in their order, without running
anything: the whole of a product, or of a group of products that a kernel computes at a time. The same
instructions were counted in code that QEMU ran (``python -m bench.predicted counts``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tilewright.errors import CompileError
from tilewright.model import Source

LONGEST = 400_000
"""Instructions of a turn beyond which something was misread: 64x64x64 complex numbers take fewer."""

_LABEL = re.compile(r"^(\.LBB\d+_\d+):")
_FALLEN_INTO = re.compile(r"^\s*(?:#|//) %bb\.\d+:")
_BLOCK_OF_IR = re.compile(r"(?:#|//) %([\w.]+)\s*$")
_TARGET = re.compile(r"(?:^|[\s,])(\.LBB\d+_\d+)$")
_ALWAYS = ("b", "j", "jmp")
"""Jumps that depend on nothing."""
_SETS = ("vsetvli", "vsetivli", "vsetvl")
"""Instructions of RISC-V that say how long the vectors of those behind them are."""

_IR_LABEL = re.compile(r"^([\w.]+):$")
_IR_JUMP = re.compile(r"br i1 (%[\w.]+), label %([\w.]+), label %[\w.]+")
_IR_LESS = re.compile(r"(%[\w.]+) = icmp slt i64 (%[\w.]+), (%?[\w.]+)")
_IR_ADD = re.compile(r"(%[\w.]+) = add i64 %([\w.]+)\.i, (\d+)")


@dataclass(slots=True)
class _Block:
    """Instructions that are executed together: the label before them, and the block of the program that they
    come from."""

    label: str
    origin: str
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop of the program: its blocks, the first of which it begins with, and how often it turns; None for
    as often as there are products."""

    blocks: tuple[str, ...]
    times: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """What is executed for one turn of the loop over the batch.

    ``lines`` are instructions in assembly, in their order. ``inner`` are those of one turn of the innermost
    loop that executes most of what was asked for, () where all of it is unrolled, and ``turns`` how often
    that turns. ``before`` and ``inner_before`` are what said, where either begins, how long vectors are: the
    last such instruction of RISC-V ahead of it, () where there is none.
    """

    lines: tuple[str, ...]
    inner: tuple[str, ...]
    turns: int
    before: tuple[str, ...] = ()
    inner_before: tuple[str, ...] = ()


def executed(
    source: Source, text: str, function: str = "", weigh: Callable[[str], int] = lambda line: 1
) -> Trace:
    """The instructions of one turn of the loop over the batch, from a listing with LLVM's comments.

    ``source``: the program that ``text`` is the assembly of; ``function``: which of its functions, its entry
    where nothing is named; ``weigh``: what an instruction counts where the innermost loop is looked for, and
    one of no weight is none. Raises ``CompileError`` where the listing has no such loop, or a jump in it that
    depends on anything but how often a loop has turned.
    """
    name = function or source.entry
    loops = _loops(_body(source.text, name))
    blocks = _blocks(_listed(text, name))
    places = {block.label: place for place, block in enumerate(blocks) if block.label}
    begins = _begins(blocks, places, loops)
    start = next((place for place, loop in begins.items() if loop.times is None), None)
    if start is None:
        raise CompileError(f"function {name!r} has no loop over the batch that its listing shows")
    return _walked(name, blocks, places, begins, start, weigh)


def _walked(
    name: str,
    blocks: Sequence[_Block],
    places: dict[str, int],
    begins: dict[int, _Loop],
    start: int,
    weigh: Callable[[str], int],
) -> Trace:
    lines: list[str] = []
    turned: Counter[int] = Counter()
    visits: Counter[int] = Counter()
    alone: Counter[int] = Counter()
    before = _setting((), [line for block in blocks[:start] for line in block.lines])
    # What was said where each block is first reached.
    said = {start: before}
    here = start
    while True:
        block, following = blocks[here], here + 1
        visits[here] += 1
        end = len(lines)
        for at, line in enumerate(block.lines):
            lines.append(line)
            target = _jump(line)
            if target is None:
                continue
            goal = places[target]
            if line.split(None, 1)[0] in _ALWAYS:
                following = goal
                break
            back = _turned_round(block.lines[at + 1 :], goal > here)
            if back:
                # The jump back is the one behind this, which leaves the loop.
                lines.append(back)
                goal, following = places[_jump(back) or ""], goal
            if goal > here or goal not in begins:
                raise CompileError(f"function {name!r}: what {line.strip()!r} depends on is not known")
            if goal == start:
                return _trace(lines, blocks, visits, alone, said, weigh)
            turned[goal] += 1
            alone[here] += goal == here
            if turned[goal] < (begins[goal].times or 0):
                following = goal
                break
            turned[goal] = 0
            if back:
                lines.pop()
                break
        if following == start:
            return _trace(lines, blocks, visits, alone, said, weigh)
        if following >= len(blocks) or len(lines) > LONGEST:
            raise CompileError(f"function {name!r}: its loop over the batch does not come to an end")
        said.setdefault(following, _setting(said[here], lines[end:]))
        here = following


def _setting(before: tuple[str, ...], lines: Sequence[str]) -> tuple[str, ...]:
    """What says behind some instructions how long vectors are, where ``before`` did ahead of them."""
    return next(((line,) for line in reversed(lines) if line.split(None, 1)[0] in _SETS), before)


def _turned_round(behind: Sequence[str], forward: bool) -> str:
    """The jump back to a loop's beginning, where that is too far for one that depends on anything: a jump
    ``forward`` over it leaves the loop. Else nothing."""
    following = behind[0] if behind else ""
    always = following.split(None, 1)[:1]
    return following if forward and always and always[0] in _ALWAYS and _jump(following) else ""


def _trace(
    lines: list[str],
    blocks: Sequence[_Block],
    visits: Counter[int],
    alone: Counter[int],
    said: dict[int, tuple[str, ...]],
    weigh: Callable[[str], int],
) -> Trace:
    """The trace, and of the blocks that are loops by themselves the one that executes most."""
    before = next(iter(said.values()))
    weight = {place: visits[place] * sum(map(weigh, blocks[place].lines)) for place in alone if alone[place]}
    most = max(weight, key=lambda place: weight[place], default=None)
    if most is None or not weight[most]:
        return Trace(tuple(lines), (), 0, before)
    return Trace(tuple(lines), tuple(blocks[most].lines), visits[most], before, said[most])


def _jump(line: str) -> str | None:
    """The label of this function that an instruction may jump to."""
    found = _TARGET.search(line.rstrip())
    return found[1] if found else None


def _begins(blocks: Sequence[_Block], places: dict[str, int], loops: Sequence[_Loop]) -> dict[int, _Loop]:
    """The loops of the program by the place in the listing where they begin: where something behind jumps
    to. Of several that begin together the listing has the outer ones first."""
    heads = sorted(
        {
            places[target]
            for place, block in enumerate(blocks)
            for line in block.lines
            if (target := _jump(line)) and places.get(target, place + 1) <= place
        }
    )
    found: dict[int, _Loop] = {}
    for head in heads:
        around = [loop for loop in loops if blocks[head].origin in loop.blocks]
        # The block that a loop begins with may have become part of one behind it: then it is the outermost
        # loop around that nothing before begins.
        left = [loop for loop in around if loop not in found.values()]
        own = [loop for loop in left if loop.blocks[0] == blocks[head].origin]
        if left:
            found[head] = (own or left)[0]
    return found


def _body(program: str, name: str) -> list[str]:
    """The lines of a function of a program in LLVM's language."""
    lines = program.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith(f"define void @{name}(")), None)
    if first is None:
        raise CompileError(f"the program has no function {name!r}")
    last = next(at for at in range(first, len(lines)) if lines[at] == "}")
    return lines[first + 1 : last]


def _loops(body: Sequence[str]) -> list[_Loop]:
    """The loops of a function, the outer ones first: each begins with its counter, is left at its end alone,
    and stands in one piece."""
    order = [found[1] for line in body if (found := _IR_LABEL.match(line))]
    steps, tests, loops = {}, {}, list[_Loop]()
    label = ""
    for line in body:
        if begun := _IR_LABEL.match(line):
            label = begun[1]
        elif added := _IR_ADD.search(line):
            steps[added[1]] = added[2], int(added[3])
        elif tested := _IR_LESS.search(line):
            tests[tested[1]] = tested[2], tested[3]
        elif (jump := _IR_JUMP.search(line)) and jump[1] in tests:
            counter, most = tests[jump[1]]
            head, step = steps.get(counter, ("", 1))
            if head != jump[2]:
                continue
            times = -(-int(most) // step) if most.isdigit() else None
            loops.append(_Loop(tuple(order[order.index(head) : order.index(label) + 1]), times))
    return sorted(loops, key=lambda loop: (order.index(loop.blocks[0]), -len(loop.blocks)))


def _listed(text: str, name: str) -> list[str]:
    """The lines of a function in a listing."""
    begin = re.search(rf"^{re.escape(name)}:", text, re.M)
    if begin is None:
        raise CompileError(f"the listing has no function {name!r}")
    rest = text[begin.end() :]
    return re.split(r"^\.Lfunc_end\d+:|\t\.cfi_endproc", rest, maxsplit=1, flags=re.M)[0].splitlines()


def _blocks(lines: Sequence[str]) -> list[_Block]:
    """The blocks of a listed function. A jump ends a block only where the listing begins another."""
    blocks = [_Block("", "")]
    for line in lines:
        label = _LABEL.match(line)
        if label or _FALLEN_INTO.match(line):
            origin = _BLOCK_OF_IR.search(line)
            blocks.append(_Block(label[1] if label else "", origin[1] if origin else ""))
        elif line.startswith("\t") and not line.startswith(("\t.", "\t#", "\t//")):
            code = re.split(r"\s*(?:#|//)\s", line, maxsplit=1)[0] if _commented(line) else line
            blocks[-1].lines.append(code.rstrip())
    return blocks


def _commented(line: str) -> bool:
    """Whether a comment follows an instruction (ARM's constants begin with the sign of other comments)."""
    return " # " in line or "\t# " in line or " // " in line or "\t// " in line
