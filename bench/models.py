"""How near cost models come to the best kernel of products alone, on a GPU: ``python -m bench.models``.

Products are random as those of ``bench.alone`` (``--seed`` draws the same), but for those that take longer
than ``--longest`` at the speed of large products. For each, and each of ``--stencils`` that accepts it:

default    what the stencil's cost model likes best of its space: what an untuned call would run
first      the first 16 configs that a tuner asks for: the default, what else the stencil proposes
           (``Stencil.starts``), then what its model ranks first
pool       what stands for the best of the space: configs drawn at random from all of it that the rules leave
           (``--drawn`` for a product), those drawn or proposed for other products whose programs serve this
           one, with other cuts of tiles where it has other ones, and neighbours of the best of all these, of
           which ``--near`` are compiled that were not

A stencil whose default takes ``--far`` times as long as the best default of the product, or longer, is left
there. Every config is launched once on a result full of NaN
and compared with cuBLAS's; what is wrong, does not compile or spills counts for nothing, and is said where it
is a default. All are
timed by two samples; then, in turns with cuBLAS, the default and the best few of ``first`` and of all. Lines
``tries`` hold what each config took, lines ``models`` what came of the turns; both are written as soon as
they are known, and a later line of a product and stencil replaces an earlier one. ``--summary FILE...`` sums
up files and measures nothing; the rows ``any`` are of the stencil that a call without the library would run,
beside the best of all stencils.

Compilers work ahead of the GPU; the pool of a product is what they came to until its turn, and ``tried`` says
how many that were. So the best of it is no more than a lower bound of the best of the space.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

# Compilers and those who plan have a core each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.table import Table

from bench import alone, lines
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import CompileError, TilewrightError
from tilewright.model import Config, Device, Problem
from tilewright.planning import dispatch
from tilewright.runtime import build, launch
from tilewright.space import KINDS
from tilewright.store import binaries
from tilewright.targets.cuda import modules
from tilewright.tuning.search.model import ranked
from tilewright.tuning.workers import Fatal, Worker

STENCILS_ALONE = "warpgroup,unaligned,dmma,ffma,cfma,classic,inner"
FIRST = 16
"""Configs that are proposed, the default among them."""
NEAREST = 0.85, 0.97
"""What the default, and the best of those proposed, should reach of the best."""
ARGUED = ("band", "blocks", "cut")
"""Parameters whose values one program serves: of ``cut`` all that cut."""
VARIANTS = 3
"""Configs of a product that are tried of one program of another product's."""
SPEED, SLOW = {"h": 7e14, "b": 7e14}, 6e13
"""Operations a second of large products, of types of 16 bits and of others."""
SERVED = 120
"""Configs of other products whose programs are asked about."""
EARLY_STOP = 1.5
"""Times as long as the best so far from which on one sample of a config is enough."""
FINALISTS, OF_FIRST = 4, 2
"""How many of all, and of those proposed, are timed in turns."""
ROUNDS = 5
AHEAD = 8
"""Products for which programs are compiled before they are timed."""
PATIENCE = 30.0
"""Seconds that the measuring child may take for a product beyond what it is given; then a kernel hangs."""
DEFAULT, PROPOSED, DRAWN, OTHER, NEAR = "default", "first", "drawn", "other", "near"


class Try(NamedTuple):
    """A config of a stencil for a product: where it comes from, and the name of its program."""

    origin: str
    stencil: str
    config: Config
    key: str


Plan = tuple[list[Try], list[Try]]
"""What is proposed of a product and stencil, the default first, and what is drawn."""


@dataclass
class Shape:
    """A product with all that is tried of it, and the seconds that each took: None where it was not timed."""

    problem: Problem
    cublas: float = math.nan
    tries: dict[tuple[str, Config], Try] = field(default_factory=dict)
    took: dict[tuple[str, Config], float] = field(default_factory=dict)
    wrong: dict[tuple[str, Config], str] = field(default_factory=dict)

    def add(self, tries: Iterable[Try]) -> None:
        """Remember what is to be tried; what is known already stays as it is."""
        for each in tries:
            self.tries.setdefault((each.stencil, each.config), each)

    @property
    def stencils(self) -> list[str]:
        """Those of which anything was timed."""
        return list(dict.fromkeys(stencil for stencil, _ in self.took))

    @property
    def defaults(self) -> list[str]:
        """The stencils whose default was right."""
        return [name for name in self.stencils if self.best(name, [DEFAULT])]

    def seconds(self, each: Try) -> float:
        """What a try took that was timed."""
        return self.took[each.stencil, each.config]

    def best(self, stencil: str, origins: Sequence[str] = ()) -> list[Try]:
        """What was timed of a stencil, of some origins or of all, fastest first."""
        found = [
            self.tries[key]
            for key in self.took
            if key[0] == stencil and (not origins or self.tries[key].origin in origins)
        ]
        return sorted(found, key=self.seconds)


# ---- what is drawn and proposed


def drawn(letter: str, count: int, seed: int, longest: float) -> Iterator[Problem]:
    """So many random products of a type that take no longer than ``longest`` seconds at ``SPEED``."""
    some = (p for p in alone.drawn(letter, 8 * count, seed) if p.flops <= longest * SPEED.get(letter, SLOW))
    yield from islice(some, count)


def proposals(p: Problem, stencil: str, device: Device, count: int, seed: int) -> list[Config]:
    """The first configs that a tuner without records asks for: the default, what the stencil proposes beside
    it, and what its cost model ranks first."""
    own = STENCILS[stencil]
    space = own.space(p, device)
    first = [own.default(p, device), *(each for each in own.starts(p, device) if each in space)]
    first = list(dict.fromkeys(first))[:count]
    model = own.cost_model(p, device)
    if model is not None and len(first) < count:
        first += [each for each in ranked(space, model, seed) if each not in first][: count - len(first)]
    return first


def planned(p: Problem, stencil: str, device: Device, first: int, some: int, seed: int) -> Plan:
    """What is proposed, and some of the space by chance, in a process of its own."""
    proposed = proposals(p, stencil, device, first, seed)
    by_chance = list(STENCILS[stencil].space(p, device).sample(some, seed))
    origins = [DEFAULT, *[PROPOSED] * (len(proposed) - 1)]

    def tries(origins: Iterable[str], configs: Iterable[Config]) -> list[Try]:
        return [
            Try(origin, stencil, each, build.key(stencil, p, each, device))
            for origin, each in zip(origins, configs, strict=False)
        ]

    others = [each for each in by_chance if each not in proposed]
    return tries(origins, proposed), tries([DRAWN] * len(others), others)


def served(p: Problem, stencil: str, device: Device, configs: Sequence[Config]) -> list[Try]:
    """Configs of a product that programs of others serve: of each program some with other cuts of tiles, as
    this one's space has them, in a process of its own."""
    draw = random.Random(p.key)
    space = STENCILS[stencil].space(p, device)
    cuts = next((param.values for param in space.params if param.name == "cut"), ())
    found = []
    for config in configs:
        several = [config]
        if config.get("cut"):
            several = [config.with_(cut=cut) for cut in cuts if cut]
        fit = [each for each in several if space.member(each, KINDS) is None]
        for each in draw.sample(fit, min(VARIANTS, len(fit))):
            found.append(Try(OTHER, stencil, each, build.key(stencil, p, each, device)))
    return found


def chosen(p: Problem, device: Device) -> str | None:
    """The stencil that a call without the library would run; None for none."""
    try:
        return dispatch.plan(p, device, vendor=False).stencil
    except TilewrightError:
        return None


def kept(p: Problem, stencil: str, config: Config, device: Device, key: str) -> bool:
    """Whether a config compiles without spills; its program is put where the measuring child finds it."""
    if binaries.read(key) is not None:
        return True
    try:
        binary = build.compile(stencil, p, config, device, TARGETS["cuda"])
    except TilewrightError:
        return False
    if binary.facts.get("spills"):
        return False
    binaries.write(key, binary)
    return True


# ---- the measuring child


class Asked(NamedTuple):
    """What the child is asked for: all of these once, within so many seconds, or some in turns."""

    problem: Problem
    tries: Sequence[Try]
    seconds: float
    rounds: int = 0


def measuring() -> Callable[[Asked], tuple[float, list[float | str | None]]]:
    """The handler of the measuring child: seconds of cuBLAS, and of each try; words where it is wrong; None
    where time was over."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    clock, pools, loaded = alone.Clock(torch), alone.Pools(torch), dict[str, Any]()

    def bound_to(case: alone.Case, each: Try) -> alone.Run:
        if each.key not in loaded:
            binary = binaries.read(each.key)
            if binary is None:
                raise CompileError(f"{each.key} is not there")
            loaded[each.key] = modules.load(binary)
        places = case.a.data_ptr(), case.b.data_ptr(), case.out.data_ptr()
        whole = launch.bind(
            STENCILS[each.stencil], loaded[each.key], case.problem, each.config, (1, 0), places
        )
        return partial(whole, torch.cuda.current_stream().cuda_stream)

    def once(case: alone.Case, run: alone.Run) -> str:
        """Why a kernel is wrong; empty where it is not."""
        limit = alone.WRONG[case.problem.dtype.letter]
        ends = [
            part for flat in (case.out.view(-1),) for part in (flat[: alone.CHECKED], flat[-alone.CHECKED :])
        ]
        wanted = case.want.view(-1)
        for end in ends:
            end.fill_(math.nan)
        run()
        for x, y in zip(ends, (wanted[: alone.CHECKED], wanted[-alone.CHECKED :]), strict=True):
            off = float((x - y).abs().max() / y.abs().max())
            # A number that is none is no smaller than the limit.
            if not off < limit:
                return f"differs by {off:.1e}"
        return ""

    def handle(asked: Asked) -> tuple[float, list[float | str | None]]:
        try:
            return answered(asked)
        except RuntimeError as error:
            # What a kernel did to the context stays.
            raise Fatal(str(error)) from error

    def answered(asked: Asked) -> tuple[float, list[float | str | None]]:
        case = alone.Case(torch, pools, asked.problem)
        theirs = case.runs[alone.CUBLAS]
        if asked.rounds:
            runs = [theirs, *(bound_to(case, each) for each in asked.tries)]
            return in_turns(clock, runs, asked.rounds)
        cublas = sampled(clock, theirs, math.inf)
        best, answers = cublas, list[float | str | None]()
        end = time.monotonic() + asked.seconds
        for each in asked.tries:
            if time.monotonic() > end and each.origin not in (DEFAULT, PROPOSED):
                answers.append(None)
                continue
            try:
                run = bound_to(case, each)
                wrong = once(case, run)
            except TilewrightError as error:
                answers.append(f"{type(error).__name__}: {error}")
                torch.cuda.synchronize()
                continue
            answers.append(wrong or sampled(clock, run, EARLY_STOP * best))
            if not wrong:
                best = min(best, float(answers[-1] or math.inf))
        return cublas, answers

    return handle


def sampled(clock: alone.Clock, run: alone.Run, limit: float) -> float:
    """Seconds of a product by two samples, or by one of a single launch where that took more than a limit."""
    first = clock.seconds(run, 1)
    if first > limit:
        return first
    calls = max(1, min(alone.MOST, round(alone.SAMPLE / first)))
    return min(clock.seconds(run, calls) for _ in range(2))


def in_turns(
    clock: alone.Clock, runs: Sequence[alone.Run], rounds: int
) -> tuple[float, list[float | str | None]]:
    """Medians of all in turns, the first apart."""
    calls = [max(1, min(alone.MOST, round(alone.SAMPLE / clock.seconds(run, 1)))) for run in runs]
    samples: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds):
        for at in range(len(runs)):
            at = (at + turn) % len(runs)
            samples[at].append(clock.seconds(runs[at], calls[at]))
    first, *others = map(statistics.median, samples)
    return first, list(others)


# ---- the run


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
            for line in self.finals(shape):
                self.sink.write(line)
                self.console.print(said(line), markup=False, soft_wrap=True)

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
                if dispatch.refusal(STENCILS[name], shape.problem, self.device) is None
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
        """A line of each stencil: what each config took, in microseconds."""
        for name in shape.stencils:
            tries = shape.best(name)
            names = list(tries[0].config)
            rows = [
                [each.origin, round(1e6 * shape.seconds(each), 2), *(each.config[n] for n in names)]
                for each in tries
            ]
            wrong = [[why, *(c[n] for n in names)] for (own, c), why in shape.wrong.items() if own == name]
            line: lines.Line = {"kind": "tries", "problem": shape.problem.spelling, "stencil": name}
            line |= {"cublas_us": 1e6 * shape.cublas, "names": ["origin", "us", *names]}
            self.sink.write(line | {"rows": rows, "wrong": wrong})

    def finals(self, shape: Shape) -> Iterator[lines.Line]:
        """A line of each stencil whose default was right: medians of turns of the best few."""
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
        yield from judged(shape, dict(zip(entered, took, strict=True)), cublas)


def group_of(p: Problem, stencil: str) -> Any:
    """What products have in common that may be served by the same programs of a stencil."""
    return stencil, p.dtype.letter, p.trans


def wait_for(job: Future[bool], seconds: float) -> None:
    """Until a job is done, whatever comes of it, or so long."""
    wait([job], max(0.0, seconds))


def judged(shape: Shape, took: Mapping[tuple[str, Config], float], cublas: float) -> Iterator[lines.Line]:
    """Of each stencil what its default, the best of those proposed and the best of all took in turns."""
    for name in dict.fromkeys(stencil for stencil, _ in took):
        of = {config: seconds for (stencil, config), seconds in took.items() if stencil == name}
        origin = {config: shape.tries[name, config].origin for config in of}
        defaults = [config for config in of if origin[config] == DEFAULT]
        if not defaults:
            continue
        first = min((config for config in of if origin[config] in (DEFAULT, PROPOSED)), key=lambda c: of[c])
        best = min(of, key=lambda config: of[config])
        p = shape.problem
        yield {
            "kind": "models",
            "problem": p.spelling,
            "stencil": name,
            "tried": sum(stencil == name for stencil, _ in shape.took),
            "wrong": sum(stencil == name for stencil, _ in shape.wrong),
            "cublas_us": 1e6 * cublas,
            "default_us": 1e6 * of[defaults[0]],
            "first_us": 1e6 * of[first],
            "best_us": 1e6 * of[best],
            "default": dict(defaults[0]),
            "first": dict(first),
            "best": dict(best),
            "best_origin": origin[best],
        }


# ---- what came of it


def said(line: lines.Line) -> str:
    """A line of the screen."""
    us = [line[f"{name}_us"] for name in ("default", "first", "best", "cublas")]
    shown = f"{line['problem']:26} {line['stencil']:10} best {us[2]:9.1f} us"
    ratios = f"default {us[2] / us[0]:.3f} first {us[2] / us[1]:.3f} over cublas {us[3] / us[2]:.3f}"
    return f"{shown} {ratios} of {line['tried']} ({line['best_origin']})"


Judged = Mapping[tuple[str, str], lines.Line]
"""By problem and stencil the last line."""


def newest(found: Iterable[lines.Line]) -> dict[tuple[str, str], lines.Line]:
    """The last line ``models`` of each product and stencil."""
    return {(line["problem"], line["stencil"]): line for line in found if line.get("kind") == "models"}


class Share(NamedTuple):
    """A product's shares of the best: of its default and of the best of those proposed; beside cuBLAS."""

    problem: str
    default: float
    first: float
    gain: float


def shares(judged: Judged, device: Device) -> dict[tuple[str, str], list[Share]]:
    """By type and stencil, beside the best of the stencil itself; and by type alone (``any``) what the
    stencil that a call without the library would run makes of the best of all stencils."""
    found: dict[tuple[str, str], list[Share]] = defaultdict(list)
    best: dict[str, float] = {}
    for (problem, _), line in judged.items():
        best[problem] = min(best.get(problem, math.inf), line["best_us"])
    for (problem, stencil), line in judged.items():
        p = Problem.parse(problem)[0]
        gain = line["cublas_us"] / line["default_us"]
        bests = {stencil: line["best_us"]} | ({"any": best[problem]} if chosen(p, device) == stencil else {})
        for name, of in bests.items():
            share = Share(problem, of / line["default_us"], of / line["first_us"], gain)
            found[p.dtype.letter, name].append(share)
    return dict(sorted(found.items()))


def summary(found: Mapping[tuple[str, str], Sequence[Share]]) -> Table:
    """By type and stencil: geometric means, how many reach what they should, the worst."""
    enough, near = NEAREST
    shown = Table(title="times of the best over those of", title_justify="left")
    for head in (
        "type",
        "stencil",
        "products",
        "default",
        f">= {enough}",
        "least",
        f"best of {FIRST}",
        f">= {near}",
        "least",
        "default over cuBLAS",
    ):
        shown.add_column(head)
    for (letter, stencil), of in found.items():
        cells = [letter, stencil, str(len(of))]
        for values, least in (([s.default for s in of], enough), ([s.first for s in of], near)):
            cells += [
                f"{statistics.geometric_mean(values):.3f}",
                f"{sum(v >= least for v in values)}",
                f"{min(values):.3f}",
            ]
        shown.add_row(*cells, f"{statistics.geometric_mean([s.gain for s in of]):.3f}")
    return shown


def worst(found: Mapping[tuple[str, str], Sequence[Share]], count: int) -> Iterator[str]:
    """The products of each type and stencil whose defaults are farthest from the best."""
    for (letter, stencil), of in found.items():
        if stencil != "any":
            low = sorted(of, key=lambda each: each.default)[:count]
            yield f"{letter} {stencil}: " + ", ".join(
                f"{s.problem} {s.default:.2f} ({s.first:.2f})" for s in low
            )


def show(found: Iterable[lines.Line], device: Device, console: Any) -> None:
    """The summary of lines, and their worst products."""
    of = shares(newest(found), device)
    console.print(summary(of))
    for text in worst(of, 4):
        console.print(text, markup=False, soft_wrap=True)


def main() -> None:
    """Measure, print and keep; or sum up what was measured."""
    parser = lines.parser("bench.models", __doc__)
    add = parser.add_argument
    add("--types", default="h,s,d,z,c", help="default: h,s,d,z,c")
    add("--count", type=int, default=100, help="products of a type (default: 100)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add(
        "--longest",
        type=float,
        default=4e-3,
        help="seconds of a product at the speed of large ones (default: 0.004)",
    )
    add("--stencils", default=STENCILS_ALONE, help=f"default: {STENCILS_ALONE}")
    add("--drawn", type=int, default=12, help="configs by chance of a product and stencil (default: 12)")
    add("--near", type=int, default=4, help="neighbours of the best that are compiled (default: 4)")
    add(
        "--far",
        type=float,
        default=1.4,
        help="times slower than the best default that is left (default: 1.4)",
    )
    add("--each", type=float, default=1.5, help="seconds of the GPU for a product, twice (default: 1.5)")
    add("--reserve", type=float, default=60.0, help="seconds for the second time (default: 60)")
    add("--limit", type=float, default=1e9, help="seconds in all")
    add("--processes", type=int, default=14, help="that compile (default: 14)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    add("--summary", type=Path, nargs="+", help="files to sum up; nothing is measured")
    options = parser.parse_args()
    console = lines.console()
    if options.summary:
        found = list(chain.from_iterable(map(lines.read, options.summary)))
        known = next(line["device"] for line in found if line["kind"] == "run")
        show(found, dispatch.known(TARGETS["cuda"].devices[known]), console)
        return
    lines.demand_gpu()
    device = dispatch.device("cuda")
    letters = lines.letters(options.types)
    every = [drawn(letter, options.count, options.seed, options.longest) for letter in letters]
    # Types in turns: what ends at its limit has some of all.
    shapes = [Shape(p) for p in chain.from_iterable(zip_longest(*every)) if p is not None]
    child = Worker(measuring, timeout=60.0)
    pool = ProcessPoolExecutor(options.processes, get_context("spawn"), initializer=alone.polite)
    run = Run(options, device, shapes, console, pool, child)
    try:
        run.run()
    finally:
        child.stop()
        pool.shutdown(wait=False, cancel_futures=True)
    if options.out is not None:
        show(lines.read(options.out), device, console)
    if run.failed:
        console.print(f"{run.failed} requests failed")


if __name__ == "__main__":
    main()
