"""All products, with compilers ahead of the GPU."""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from itertools import chain
from typing import Any

from bench import lines
from bench.models import judged
from bench.models.draws import FIRST
from bench.models.timing import Asked
from bench.models.tries import DEFAULT, NEAR, PROPOSED, Plan, Shape, Try
from bench.models.workers import kept, planned, served
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.planning import candidates
from tilewright.runtime import build

SERVED = 120
"""Configs of other products whose programs are asked about."""
FINALISTS, OF_FIRST = 4, 2
"""How many of all, and of those proposed, are timed in turns."""
ROUNDS = 5
AHEAD = 8
"""Products for which programs are compiled before they are timed."""
PATIENCE = 30.0
"""Seconds that the measuring child may take for a product beyond what it is given; then a kernel hangs."""


class Run:
    """All products with the compilers (``pool``) and the measuring ``child``."""

    def __init__(
        self,
        options: argparse.Namespace,
        device: Device,
        shapes: Sequence[Shape],
        console: Any,
        pool: Any,
        child: Any,
    ):
        self.options, self.device, self.shapes, self.console = options, device, shapes, console
        self.pool, self.child = pool, child
        self.begin = time.monotonic()
        self.sink = lines.Sink(options.out, "models", device, vars(options))
        self.programs: dict[str, Future[bool]] = {}
        # Configs whose programs may serve other products, by what these have in common.
        self.groups: dict[Any, list[Config]] = defaultdict(list)
        self.failed = 0

    def left(self) -> float:
        """Seconds until the limit."""
        return float(self.options.limit - (time.monotonic() - self.begin))

    def fail(self, p: Problem, why: str) -> None:
        """Say what went wrong with a product."""
        self.failed += 1
        self.sink.write({"kind": "failed", "problem": p.spelling, "why": why})
        self.console.print(f"{p.spelling}: {why}", markup=False)

    def compile(self, shape: Shape, tries: Iterable[Try]) -> None:
        """Have programs compiled that are not yet, and remember what they are for."""
        p = shape.problem
        for each in tries:
            if each.key not in self.programs:
                job = self.pool.submit(kept, p, each.stencil, each.config, self.device, each.key)
                self.programs[each.key] = job
            group = self.groups[group_of(p, each.stencil)]
            if each.config not in group:
                group.append(each.config)

    def there(self, key: str) -> bool:
        """Whether a program was compiled, without spills."""
        job = self.programs.get(key)
        return job is not None and job.done() and not job.cancelled() and not job.exception() and job.result()

    def measure(self, shape: Shape, seconds: float) -> None:
        """Time what is compiled of what is to be tried and not known yet."""
        some = [
            each
            for key, each in shape.tries.items()
            if key not in shape.took and key not in shape.wrong and self.there(each.key)
        ]
        answer = self.child.ask(Asked(shape.problem, some, seconds), seconds + PATIENCE)
        if answer.status != "ok":
            self.fail(shape.problem, f"{answer.status}: {answer.detail}")
            return
        shape.cublas, answers = answer.value
        for each, took in zip(some, answers, strict=True):
            key = each.stencil, each.config
            if isinstance(took, str):
                shape.wrong[key] = took
            elif took is not None:
                shape.took[key] = took

    def promising(self, shape: Shape) -> list[str]:
        """The stencils whose defaults come near the best one."""
        took = {name: shape.seconds(shape.best(name, [DEFAULT])[0]) for name in shape.defaults}
        least = min(took.values(), default=math.inf)
        return [name for name, each in took.items() if each < self.options.far * least]

    def run(self) -> None:
        """Defaults of all products, what is proposed and drawn of each, then what others had and the
        neighbours of the best."""
        plans = self.begun()
        done = self.proposed(plans)
        for job in self.programs.values():
            job.cancel()
        served_by = [[self.asked(shape, name) for name in self.promising(shape)] for shape in done]
        for number, (shape, jobs) in enumerate(zip(done, served_by, strict=True)):
            if self.left() <= 0:
                self.console.print(f"stopped after {number} of {len(self.shapes)}")
                break
            others = [each for job in jobs if not job.exception() for each in job.result()]
            random.Random(shape.problem.key).shuffle(others)
            shape.add(others)
            share = 0.8 * self.left() / (len(done) - number)
            self.measure(shape, min(self.options.each, share))
            self.write_tries(shape)
            self.write_finals(shape)

    def asked(self, shape: Shape, name: str) -> Future[list[Try]]:
        """What programs of other products serve, as it will be known."""
        p = shape.problem
        group = random.Random(p.key).sample(every := self.groups[group_of(p, name)], min(len(every), SERVED))
        job: Future[list[Try]] = self.pool.submit(served, p, name, self.device, group)
        return job

    def begun(self) -> list[dict[str, Plan]]:
        """What is proposed and drawn of each product and stencil; the defaults are timed."""
        o, names = self.options, lines.words(self.options.stencils)
        jobs = [
            {
                name: self.pool.submit(planned, shape.problem, name, self.device, FIRST, o.drawn, o.seed)
                for name in names
                if candidates.refusal(STENCILS[name], shape.problem, self.device) is None
            }
            for shape in self.shapes
        ]
        plans = list[dict[str, Plan]]()
        for shape, of in zip(self.shapes, jobs, strict=True):
            plans.append({})
            for name, job in of.items():
                wait_for(job, self.left() - o.reserve)
                if not job.done() or job.exception():
                    self.fail(shape.problem, f"{name}: {job.exception() if job.done() else 'no time'}")
                    continue
                plans[-1][name] = job.result()
            shape.add(first[0] for first, _ in plans[-1].values())
            self.compile(shape, shape.tries.values())
        self.say(f"{sum(map(len, plans))} proposed for")
        for shape in self.shapes:
            for each in shape.tries.values():
                wait_for(self.programs[each.key], self.left() - o.reserve)
                if not self.there(each.key):
                    self.fail(shape.problem, f"{each.stencil}: the default does not compile without spills")
            self.measure(shape, o.each)
        self.say(f"{sum(len(shape.took) for shape in self.shapes)} defaults timed")
        return plans

    def say(self, words: str) -> None:
        """How far the run is."""
        done = sum(job.done() for job in self.programs.values())
        seconds = time.monotonic() - self.begin
        self.console.print(f"{seconds:.0f} s: {words}; {done} of {len(self.programs)} programs", markup=False)

    def proposed(self, plans: Sequence[Mapping[str, Plan]]) -> list[Shape]:
        """Time what is proposed and drawn, the compilers some products ahead, and ask for the neighbours of
        the best; the products that there was time for."""
        ahead = 0
        for number, shape in enumerate(self.shapes):
            while ahead < min(len(self.shapes), number + AHEAD):
                for name in self.promising(self.shapes[ahead]):
                    tries = list(chain(*plans[ahead][name]))
                    self.shapes[ahead].add(tries)
                    self.compile(self.shapes[ahead], tries)
                ahead += 1
            for each in shape.tries.values():
                wait_for(self.programs[each.key], self.left() - self.options.reserve)
            if self.left() < self.options.reserve:
                return list(self.shapes[:number])
            self.measure(shape, self.options.each)
            self.write_tries(shape)
            self.near(shape)
            self.say(f"{shape.problem.spelling}, {len(shape.took)} timed")
        return list(self.shapes)

    def near(self, shape: Shape) -> None:
        """Ask for neighbours of the best of each stencil, those first whose programs are there."""
        p = shape.problem
        for name in self.promising(shape):
            space = STENCILS[name].space(p, self.device)
            around = [c for each in shape.best(name)[:1] for c in space.neighbours(each.config)]
            random.Random(p.key).shuffle(around)
            tries = [Try(NEAR, name, each, build.key(name, p, each, self.device)) for each in around]
            tries = [each for each in tries if (name, each.config) not in shape.tries]
            fresh = [each for each in tries if each.key not in self.programs][: self.options.near]
            some = [each for each in tries if each.key in self.programs] + fresh
            shape.add(some)
            self.compile(shape, some)

    def write_tries(self, shape: Shape) -> None:
        """A line of each stencil."""
        for line in judged.tried(shape):
            self.sink.write(line)

    def write_finals(self, shape: Shape) -> None:
        """A line of each stencil whose default was right, said and written: medians of turns of a few."""
        entered: dict[tuple[str, Config], Try] = {}
        for name in self.promising(shape):
            some = shape.best(name, [DEFAULT]) + shape.best(name, [DEFAULT, PROPOSED])[:OF_FIRST]
            for each in some + shape.best(name)[:FINALISTS]:
                entered[each.stencil, each.config] = each
        request = Asked(shape.problem, list(entered.values()), 0.0, ROUNDS)
        answer = self.child.ask(request, PATIENCE)
        if answer.status != "ok":
            self.fail(shape.problem, f"{answer.status}: {answer.detail}")
            return
        cublas, took = answer.value
        for line in judged.judged(shape, dict(zip(entered, took, strict=True)), cublas):
            self.sink.write(line)
            self.console.print(judged.said(line), markup=False, soft_wrap=True)


def group_of(p: Problem, stencil: str) -> Any:
    """What products have in common that may be served by the same programs of a stencil."""
    return stencil, p.dtype.letter, p.trans


def wait_for(job: Future[bool], seconds: float) -> None:
    """Until a job is done, whatever comes of it, or so long."""
    wait([job], max(0.0, seconds))
