"""What both CPU stencils say of memory: the rules, and what a call without records does about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.model import Config, Device, Problem
from tilewright.space import Rule, Space
from tilewright.stencils.cpu.bits import by_bits


def slow_type(problem: Problem, device: Device) -> str | None:
    """Why the processor has no instructions for the element type; None if it has.

    Numbers of 16 bits are read and written one vector at a time where it turns them into float32 and back:
    bfloat16 by shifts, float16 by instructions that older x86 lacks, or both by integers (``bits``).
    """
    letter = problem.dtype.letter
    if letter in ("h", "hc") and "half" not in device.supports and not by_bits(device):
        return f"type {letter} needs a processor that converts float16 in vectors"
    return None


def packed_results(problem: Problem) -> bool:
    """Whether the results of a batch follow one another in memory without a gap."""
    p = problem
    return p.ldc == p.m and (p.stride_c == p.m * p.n or p.batch == 1)


def memory_rules(problem: Problem, device: Device) -> tuple[Rule, ...]:
    """The rules of ``store`` and ``prefetch`` that do not depend on how a stencil computes."""
    p = problem
    large = p.footprint > device.knee()
    return (
        Rule(
            "stream-from-memory",
            "soft",
            "a streaming store throws out of the caches what would be read again",
            lambda store: store == "plain" or large,
        ),
        prefetch_rule(p, device),
    )


def prefetch_rule(problem: Problem, device: Device) -> Rule:
    """The rule that only batches from memory are asked for early."""
    large = problem.footprint > device.knee()
    return Rule(
        "prefetch-from-memory",
        "soft",
        "what lies in the caches is not worth a prefetch",
        lambda prefetch: prefetch == 0 or large,
    )


def staged_rules(problem: Problem, device: Device, put: int) -> tuple[Rule, ...]:
    """The rules of ``store="staged"``, where ``put`` bytes at most are put into the buffer at a time."""
    p = problem
    return (
        Rule(
            "staged-packed",
            "hard",
            "results leave in whole lines only where they follow one another without a gap, and nobody reads",
            lambda store: store != "staged" or (p.beta == "0" and packed_results(p)),
        ),
        Rule(
            "staged-fits",
            "soft",
            "a buffer that takes more than half of the first cache pushes the operands out of it",
            lambda store: store != "staged" or 2 * put <= device["l1d"],
        ),
    )


def from_memory(
    problem: Problem,
    device: Device,
    space: Space,
    config: Config,
    ways: Sequence[str] = ("staged", "stream"),
) -> Config:
    """The config for a batch that is larger than the caches: how C is written, and what is asked for early.

    ``ways`` past the caches, of which the first that the rules allow is taken.
    A result of which half fits in a second-level cache is left where its reader will look for it. So is any
    where ``Device.limits["streams"]`` is 0, of a processor whose ordinary stores are as fast; interleaved
    matrices were not compared there. Prefetch is as far ahead as ``Device.limits["prefetch"]`` says, in
    products, or as many fewer as fit into ``Device.limits["prefetch_bytes"]``; a device that does not say
    gets none, nor do products of fewer bytes than ``Device.limits["prefetch_least"]``.
    """
    if problem.footprint <= device.knee():
        return config
    result = problem.m * problem.n * problem.batch * problem.dtype.itemsize
    changes: list[dict[str, object]] = []
    streams = problem.interleaved is not None or device.limits.get("streams", 1)
    if result > 2 * device["l2"] and streams:
        stores = next(param.values for param in space.params if param.name == "store")
        changes += [{"store": store} for store in ways if store in stores]
    return asked_early(problem, device, space, _first(space, config, changes))


def asked_early(problem: Problem, device: Device, space: Space, config: Config) -> Config:
    """The config for a batch that is larger than the caches, asking for operands as early as this device's
    memory wants it, without another thought of how C is written."""
    if problem.footprint <= device.knee():
        return config
    return _first(space, config, list(_prefetches(problem, device, space, config)))


def _prefetches(
    problem: Problem, device: Device, space: Space, config: Config
) -> Iterator[dict[str, object]]:
    """Prefetches at the device's distance or farther: the next matrices of tiny ones are too near."""
    distance = device.limits.get("prefetch", 0)
    room, one = device.limits.get("prefetch_bytes", 0), problem.with_(beta="0").bytes
    if one < device.limits.get("prefetch_least", 0):
        return
    while room and distance > 1 and distance * one > room:
        distance //= 2
    spread: dict[str, object] = {"spread": 1} if "spread" in config else {}
    values = next(param.values for param in space.params if param.name == "prefetch")
    for value in sorted(values):
        if distance and value >= distance:
            yield {"prefetch": value, **spread}


def _first(space: Space, config: Config, changes: list[dict[str, object]]) -> Config:
    """The first change after which no rule is broken that was not broken before; else the config as it is."""
    before = {rule.name for rule in space.why(config)}
    for change in changes:
        changed = config.with_(**change)
        if {rule.name for rule in space.why(changed)} <= before:
            return changed
    return config
