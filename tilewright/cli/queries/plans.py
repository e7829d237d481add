"""What a call would run: its plan, and the program."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.cli.queries.texts import values
from tilewright.errors import ArgumentError, CompileError, DeviceError
from tilewright.model import Device, Gemm, Plan
from tilewright.planning import dispatch, roofline
from tilewright.targets.cpu import llvm
from tilewright.targets.cuda import disassemble


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


def shown(
    problem: Gemm, device: Device, stencil: str | None, config: str | None, stage: str
) -> dict[str, Any]:
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
