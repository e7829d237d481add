"""A plan in words: what runs and why, the bound, and the percentage of it that was reached."""

from __future__ import annotations

import math

from tilewright.catalog import STENCILS
from tilewright.model import Config, Plan
from tilewright.planning import dispatch, roofline
from tilewright.runtime import build


def explain_plan(plan: Plan) -> str:
    """A plan in a few lines."""
    problem = plan.problem
    how = [problem.layout, f"alpha={problem.alpha}", f"beta={problem.beta}", plan.regime]
    if getattr(problem, "math", "ieee") != "ieee":
        how.append(problem.math)
    lines = [f"{problem.spelling} ({', '.join(how)})"]
    gpu = plan.device.kind == "cuda"
    theirs = _cublas(plan) if gpu else "numpy.matmul"
    if problem.dtype.letter == "hc" or (problem.dtype.real_bits == 16 and not gpu):
        theirs += " in " + ("complex64" if problem.dtype.is_complex else "float32")
    lines.append(f"  runs   {plan.origin}: " + (f"{plan.stencil}, {plan.config}" if plan.stencil else theirs))
    lines.append(f"  why    {plan.why}" + ("" if gpu else f"; {plan.threads} core(s)"))
    if gpu and plan.stencil is not None and plan.config is not None:
        lines += _launched(plan, plan.stencil, plan.config)
    streaming = plan.config is not None and plan.config.get("store") in ("stream", "staged")
    bound = None
    if roofline.known(problem, plan.device):
        bound = roofline.bound(problem, plan.device, plan.regime, 1, streaming=streaming)
    if bound is None:
        lines.append("  bound  not measured yet: tilewright doctor")
    else:
        rate = bound.flops_per_s
        lines.append(f"  bound  {_rate(rate)}{'' if gpu else ' on one core'}, by {bound.limit}")
        record = dispatch.best(problem.key, plan.regime, plan.device)
        if record is not None and record.timing is not None and plan.origin == "tuned":
            reached = problem.flops * record.timing.batch / record.timing.median
            percent = f"{100 * reached / rate:.0f} % of the bound"
            lines.append(f"  speed  {_rate(reached)} when it was tuned, {percent}")
    return "\n".join(lines)


def _cublas(plan: Plan) -> str:
    """How a plan of the vendor's gets to cuBLAS."""
    from tilewright.runtime.cublaslt import CONFIG, refusal
    from tilewright.runtime.cublaslt_library import library

    config = plan.config or Config({})
    if config.get("by") == "library" or library() is None or refusal(plan.problem):
        return "cuBLAS, by the array library's matmul"
    if "algorithm" not in config:
        return "cuBLASLt, the algorithm that it expects to be the fastest"
    named = " ".join(f"{name}={config[name]}" for name in CONFIG if name in config)
    return f"cuBLASLt, {named}"


def _rate(flops_per_s: float) -> str:
    """A speed in the unit that it is easily read in."""
    return f"{flops_per_s / 1e12:.2f} TF/s" if flops_per_s >= 1e13 else f"{flops_per_s / 1e9:.1f} GF/s"


def _launched(plan: Plan, name: str, config: Config) -> list[str]:
    """How a GPU is given the work of a plan: tile, blocks, threads, registers, and what is read through."""
    problem, launch = plan.problem, STENCILS[name].launch(plan.problem, config)
    lines = []
    sides = [config.get(side) for side in ("m_blk", "n_blk", "k_blk")]
    if None not in sides:
        lines.append(f"  tile   {sides[0]} x {sides[1]} of C a block, k in steps of {sides[2]}")
    parts = [f"{math.prod(launch.grid)} blocks of {math.prod(launch.block)} threads"]
    if launch.cluster > 1:
        parts.append(f"clusters of {launch.cluster}")
    if launch.shared:
        parts.append(f"{launch.shared / 1024:.1f} KB of shared memory a block")
    # Of a kernel that this process has compiled: nothing is compiled to be talked about, nor is it an
    # error here that nothing could be.
    registers = build.facts(name, problem, config, plan.device).get("registers")
    if registers is not None:
        parts.append(f"{registers} registers a thread")
    lines.append(f"  starts {', '.join(parts)}")
    reading = f"textures ({launch.reading}), made for every new address" if launch.reading else "memory"
    lines.append(f"  reads  {reading}")
    return lines
