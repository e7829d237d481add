"""The kernel that dispatch chooses for a problem, and all that is known of it without running it."""

from __future__ import annotations

from bench.analysis.instructions import hottest, instructions, mix
from bench.analysis.occupancy import occupancy
from bench.analysis.rooflines import rooflines
from bench.lines import Line
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import DeviceError
from tilewright.model import Device, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import build
from tilewright.targets.cuda import disassemble
from tilewright.tuning.evaluate import Candidate


def compiled(problem: Problem, device: Device) -> tuple[Plan, Candidate]:
    """What a call runs, were there no library, and its machine code.

    Raises ``CompileError``, and ``ArgumentError`` where no stencil accepts the problem.
    """
    plan = dispatch.plan(problem, device, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    binary = build.compile(plan.stencil, problem, plan.config, device, TARGETS["cuda"])
    return plan, Candidate(plan.stencil, plan.config, binary)


def analysed(problem: Problem, device: Device) -> Line:
    """All that is known of a problem's kernel without running it; raises what ``compiled`` does."""
    plan, kernel = compiled(problem, device)
    launch = STENCILS[kernel.stencil].launch(problem, kernel.config)
    facts = dict(kernel.binary.facts)
    line: Line = {
        "kind": "analysis",
        "problem": problem.spelling,
        "beta": problem.beta,
        "device": device.key,
        "stencil": kernel.stencil,
        "origin": plan.origin,
        "config": dict(kernel.config),
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
        text = disassemble.sass(kernel.binary)
    except DeviceError as error:
        return line | {"missing": str(error)}
    loop = hottest(text)
    line["mix"] = mix(instructions(text)[0])
    line["loop"] = mix(loop)
    line["loop_at"] = [loop[0].address, loop[-1].address] if loop else []
    return line
