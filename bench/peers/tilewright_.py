"""Tilewright itself, through its public interface."""

from __future__ import annotations

from collections.abc import Callable

import tilewright as tw
from bench import machine
from bench.peers.base import Peer
from bench.work import Operands


def bind(operands: Operands) -> Callable[[], object]:
    """A call without arguments that multiplies the whole batch: the one place that knows the interface."""
    tw.set_threads(operands.threads)
    left, right, out = operands.b, operands.a, operands.c
    if operands.beta:
        plan = tw.plan(left, right, out, beta=1, out=out)
        return lambda: plan(left, right, out, out=out)
    plan = tw.plan(left, right, None, beta=0, out=out)
    return lambda: plan(left, right, out=out)


class Tilewright(Peer):
    name = "tilewright"

    def available(self) -> str | None:
        return None if hasattr(tw, "plan") else "this tilewright has no plan() yet"

    def version(self) -> str:
        return f"{getattr(tw, '__version__', '')} {machine.commit()} (LLVM {machine.llvm()})".strip()

    def prepare(self, operands: Operands) -> None:
        self.run = bind(operands)
