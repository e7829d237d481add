"""``tw.Stencil``: a kernel of one's own, tuned, verified, recorded and called like those of this package.

A stencil is made of a text with parameters in it and of what is true of it. ``tune`` searches the parameters
for some sizes, and calls with these sizes, or with sizes nearby, then run what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.calls.settings import forget
from tilewright.catalog import STENCILS, TARGETS
from tilewright.custom import spaces
from tilewright.custom.definition import LANGUAGES, Argument, Definition
from tilewright.custom.problem import KernelProblem
from tilewright.errors import ArgumentError, CompileError, KernelError
from tilewright.kernels import caches, calls, t1, t4
from tilewright.model import Config, Device, Record
from tilewright.planning import dispatch
from tilewright.runtime import build
from tilewright.space import Param, Space

if TYPE_CHECKING:
    from tilewright.tuning.results import Progress, Result

SUFFIXES = {".cu": "cuda", ".cuh": "cuda", ".c": "c", ".ll": "llvm"}
"""The languages of files."""
SHOWN = 3
"""Failures that a message tells of."""


class Stencil:
    """A kernel of one's own: a program with parameters, its arguments, and a reference that knows the right
    answer.

    ``name`` is what records are filed under. ``source`` is a path (``.cu``, ``.cuh``, ``.c``, ``.ll``), or
    the text itself with its ``language`` ("cuda", "c" or "llvm"). C is compiled by the machine's compiler,
    CUDA by NVRTC; parameters and the sizes named in ``compiled`` reach both as definitions of the
    preprocessor. In LLVM IR, which has none, a name in braces is replaced. ``entry`` is the function,
    ``name`` if it is not given: ``extern "C" __global__`` in CUDA, a function without a result in C.

    ``parameters`` maps names to the values that are tried. ``rules`` are what a config has to meet:
    expressions (``"BLOCK * PER <= 1024"``), functions of parameters and sizes, or ``space.Rule``s; a mapping
    names them. ``arguments`` are those of the function in their order: ``tw.Input``, ``tw.Output``,
    ``tw.InOut`` and ``tw.Scalar``. The names in their shapes are the sizes; one of them may be the ``batch``:
    records then serve every batch, and speeds are of one item of it.

    ``launch`` (CUDA alone) is a mapping of ``grid``, ``block`` and perhaps ``shared`` (bytes of dynamic
    shared memory) to numbers, expressions or functions, or tuples of them; or a function of parameters and
    sizes that returns such a mapping of numbers. ``reference`` takes the arguments that are read, scalars and
    sizes by their names, as NumPy arrays, and returns what is written, a tuple if there are several arrays.
    Without one nothing is verified. ``inputs(random, ...)`` draws inputs: it is given a
    ``numpy.random.Generator`` and the sizes that it names, and returns arrays and scalars by name; what it
    leaves out is random numbers.

    ``tolerance`` is the largest error that is right, relative to the largest number of an array (of an item,
    with a batch); by default 1e-4 of float32 and 1e-10 of float64. ``cases`` are sizes to verify on, beside
    those that are tuned, which stand for what a case leaves out. ``default`` is the config that an untuned
    call runs, the first of the space if it is not given. ``flops`` is the number of operations, an expression
    of sizes. ``headers`` are texts by the names under which the source includes them, ``options`` further
    options of the compiler.

    Raises ``ArgumentError`` and ``DTypeError``, which name the part that is not accepted.
    """

    def __init__(
        self,
        name: str,
        source: str | Path,
        parameters: Mapping[str, Sequence[Any]],
        arguments: Sequence[Argument],
        *,
        reference: Callable[..., Any] | None = None,
        rules: Any = (),
        launch: Any = None,
        language: str | None = None,
        entry: str | None = None,
        inputs: Callable[..., Mapping[str, Any]] | None = None,
        batch: str = "",
        compiled: Sequence[str] = (),
        tolerance: float | None = None,
        cases: Sequence[Mapping[str, int]] = (),
        default: Mapping[str, Any] | None = None,
        flops: Any = None,
        headers: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ):
        text, found = _text(source, language)
        params = tuple(Param(each, tuple(values)) for each, values in parameters.items())
        for param in params:
            if not param.values or len(set(param.values)) < len(param.values):
                raise ArgumentError(
                    f"parameters[{param.name!r}]={list(param.values)}; accepted: values, each once"
                )
        self.definition = Definition(
            name=name,
            language=found,
            text=text,
            entry=entry or name,
            params=params,
            rules=spaces.named_rules(rules),
            arguments=tuple(arguments),
            launch=launch,
            reference=reference,
            inputs=inputs,
            headers=tuple((headers or {}).items()),
            options=tuple(options),
            batch=batch,
            compiled=tuple(compiled),
            tolerance=tolerance,
            cases=tuple(dict(case) for case in cases),
            default=None if default is None else dict(default),
            flops=flops,
        )
        self._calls = calls.Calls(self.definition)
        self.search: Mapping[str, Any] = {}

    @classmethod
    def from_t1(
        cls,
        path: str | Path,
        *,
        reference: Callable[..., Any] | None = None,
        inputs: Callable[..., Mapping[str, Any]] | None = None,
    ) -> Stencil:
        """The kernel that a file in the T1 format describes (Kernel Tuner and KTT read the same), with a
        reference and a maker of inputs in place of the file's.

        Its ``search`` holds what the file says beside it: ``budget`` in seconds, ``search``, and ``said``, a
        list of what was left out. Raises ``RecordsError`` for a file that is not in the format,
        ``UnsupportedError`` for what it may say and is not done here, and as ``Stencil``.
        """
        changes = {name: value for name, value in (("reference", reference), ("inputs", inputs)) if value}
        made = cls.__new__(cls)
        made.definition, made.search = t1.definition(Path(path), **changes)
        made._calls = calls.Calls(made.definition)
        return made

    def __repr__(self) -> str:
        made = self.definition
        return f"<tw.Stencil {made.name} in {made.language}, sizes {', '.join(made.sizes) or 'none'}>"

    # -- looking ---------------------------------------------------------------------------------------
    def problem(self, sizes: Mapping[str, int]) -> KernelProblem:
        """This kernel on some sizes. Raises ``ArgumentError`` for sizes that are missing or unknown."""
        return KernelProblem.of(self.definition, sizes)

    def space(self, sizes: Mapping[str, int], device: Device | None = None) -> Space:
        """The configs for some sizes: those that ``device`` can hold, without one all that the rules allow.

        Raises ``ArgumentError`` for an empty space, naming the rules that contradict, for a rule that raises
        or removes nothing, and for one that reads what is neither a parameter nor a size.
        """
        found = spaces.space(self.definition, self.problem(sizes).all_sizes, device)
        spaces.check(found)
        return found

    def configs(
        self, sizes: Mapping[str, int], device: Device | None = None, *, limit: int = 100_000
    ) -> list[Config]:
        """All configs for some sizes. Raises as ``space``, and where there are more than ``limit``."""
        return spaces.listed(self.space(sizes, device), limit)

    def records(self, sizes: Mapping[str, int]) -> list[Record]:
        """All tries for some sizes, on this machine and from files that were taken in, oldest first."""
        return dispatch.records().all(problem_key=self.problem(sizes).key)

    def facts(
        self, sizes: Mapping[str, int], *, config: Mapping[str, Any] | None = None, device: str | None = None
    ) -> Mapping[str, int]:
        """What the compiler says of a config, the default if none is given: on a GPU ``registers``,
        ``spills`` (bytes), ``shared`` (bytes), ``code_bytes``. Nothing runs, and ``device`` may be the key of
        a GPU that is not here, such as "h200".

        Raises ``ArgumentError`` for a config that is not of the space and a device that is not known,
        ``CompileError`` with the compiler's first errors, and ``DeviceError`` without a compiler or a device.
        """
        problem = self.problem(sizes)
        there = self._device(device)
        name = calls.name_of(self.definition)
        stencil = STENCILS[name]
        spaces.check(stencil.space(problem, there))
        chosen = stencil.default(problem, there) if config is None else calls.forced(problem, config, there)
        return build.compile(name, problem, chosen, there, TARGETS[there.kind]).facts

    def _device(self, key: str | None) -> Device:
        target = TARGETS[self.definition.target]
        if key is None:
            return dispatch.device(self.definition.target)
        if key not in target.devices:
            raise ArgumentError(
                f"device={key!r}; accepted: {', '.join(target.devices) or 'None: this machine'}"
            )
        return target.devices[key]

    # -- files of other tuners -------------------------------------------------------------------------
    def take_in(self, path: str | Path, sizes: Mapping[str, int], device: str | None = None) -> int:
        """Make records of a cache file of Kernel Tuner, and return how many were new. The next ``tune``
        begins with the fastest of them; no call runs them before they were verified here.

        Raises ``RecordsError`` for a file that is no cache, or is one of other parameters.
        """
        problem, store = self.problem(sizes), dispatch.records()
        here = {(row.device, row.config, row.when) for row in store.all(problem_key=problem.key)}
        rows = [
            row
            for row in caches.read(Path(path), problem, device)
            if (row.device, row.config, row.when) not in here
        ]
        for row in rows:
            store.append(row)
        return len(rows)

    def export_t4(self, path: str | Path, sizes: Mapping[str, int]) -> int:
        """Write all tries for some sizes as a file in the T4 format, and return how many there are."""
        return t4.write(Path(path), self.records(sizes))

    # -- tuning ----------------------------------------------------------------------------------------
    def tune(
        self,
        sizes: Mapping[str, int],
        *,
        effort: str = "quick",
        budget: float | None = None,
        tries: int | None = None,
        search: str | None = None,
        seed: int = 0,
        regime: str = "memory",
        starts: Sequence[Mapping[str, Any]] = (),
        listen: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Search, verify and time configs for some sizes on this machine, and record every try.

        ``effort``: ``records-only``, ``estimate``, ``quick``, ``patient`` or ``exhaustive``, as in ``tune``;
        ``budget``: seconds in place of the effort's, ``tries``: configs measured at most, ``search``: a
        search in place of its. ``regime``: operands in ``memory``, or ``cached``. ``starts``: configs to
        begin with, beside the default and what records of other machines and near sizes say. Candidates are
        compiled and run in child processes, which a bad one may take down. Stop it at any moment: what was
        tried is recorded, and the same call goes on from there.

        Raises ``ArgumentError`` for options, sizes, rules and references that are not accepted,
        ``CompileError`` when no config compiles, ``KernelError`` when none gives the right answer, and
        ``DeviceError`` where the device cannot be used.
        """
        # The door to the tuner: who calls a kernel does not load it.
        from tilewright.tuning.effort import EFFORTS
        from tilewright.tuning.evaluate.kernels import agreed
        from tilewright.tuning.search.table import SEARCHES
        from tilewright.tuning.tuner import Tuner

        for what, value, accepted in (("effort", effort, EFFORTS), ("search", search or "climb", SEARCHES)):
            if value not in accepted:
                raise ArgumentError(f"{what}={value!r}; accepted: {', '.join(accepted)}")
        if budget is not None and not budget >= 0:
            raise ArgumentError(f"budget={budget!r}; accepted: seconds from 0, or None")
        if tries is not None and not tries > 0:
            raise ArgumentError(f"tries={tries!r}; accepted: configs from 1, or None")
        problem = self.problem(sizes)
        device = dispatch.device(self.definition.target)
        space = spaces.space(self.definition, problem.all_sizes, device)
        spaces.check(space)
        granted, default_search = EFFORTS[effort]
        chosen = search or default_search
        if chosen == "exhaustive" and space.count() > calls.MOST_LISTED:
            raise ArgumentError(
                f"the space has {space.count()} configs, and an exhaustive search takes up to "
                f"{calls.MOST_LISTED}; accepted: another effort or search, or rules that leave fewer"
            )
        agreed(problem)
        begun = (*(Config(start) for start in starts), *self._imported(problem))
        problem = replace(problem, definition=replace(self.definition, starts=begun))
        with Tuner(device, dispatch.records(), listen=listen) as tuner:
            if not chosen:
                return tuner.recorded(problem, regime)
            result = tuner.tune(
                problem,
                regime,
                search=chosen,
                budget=granted if budget is None else budget,
                tries=tries,
                seed=seed,
                stencils=[calls.name_of(self.definition)],
                # What spills may still be the fastest: whose kernel it is decides what it may cost.
                tolerate=1 << 30,
            )
        self._calls.forget()
        forget()
        if result.best is None:
            raise self._failed(problem, result)
        return result

    def _imported(self, problem: KernelProblem) -> list[Config]:
        """What was fastest elsewhere: the best few records of other devices and of files, best first."""
        rows = [row for row in dispatch.records().all(problem_key=problem.key, status="ok") if row.seconds]
        rows.sort(key=lambda row: row.seconds or 0.0)
        return list(dict.fromkeys(row.config for row in rows))[: calls.STARTS]

    def _failed(self, problem: KernelProblem, result: Result) -> Exception:
        """Why no config is of use, as an error that says what the first few did."""
        rows = dispatch.records().all(problem_key=problem.key, regime=result.regime)
        bad = [row for row in rows if row.status != "ok"][-result.tried :]
        counts = ", ".join(f"{count} {status}" for status, count in result.statuses.items())
        said = "; ".join(f"{row.config}: {row.status}, {row.detail}" for row in bad[:SHOWN])
        text = f"{problem.spelling}: none of {result.tried} configs is of use ({counts}). {said}"
        if set(result.statuses) == {"compile_failed"}:
            return CompileError(
                f"{text}; accepted: a source that compiles with its parameters as definitions"
            )
        return KernelError(f"{text}; accepted: a kernel that gives what its reference gives, and ends")

    # -- calling ---------------------------------------------------------------------------------------
    def __call__(
        self, *arrays: Any, out: Any = None, config: Mapping[str, Any] | None = None, **named: Any
    ) -> Any:
        """What the kernel makes of arrays: NumPy's, or on a GPU PyTorch's, CuPy's or any with DLPack.

        ``arrays`` are those that the kernel reads, in the order of its arguments, contiguous; ``named`` are
        its scalars, and the sizes that no array tells. Returns the arrays that it writes, a tuple of several:
        new ones, or ``out``. What runs is the fastest config that was recorded for these sizes on this
        device, else that of the nearest sizes, else the default; or ``config``. On a GPU nothing waits.

        Raises ``ArgumentError`` and ``DTypeError`` for arrays that do not fit, ``CompileError`` for a source
        that the compiler refuses, ``DeviceError`` where the device cannot be used.
        """
        return self._calls.call(arrays, out, config, named)

    def explain(self, sizes: Mapping[str, int]) -> str:
        """What a call with some sizes would run here, and why."""
        problem = self.problem(sizes)
        device = dispatch.device(self.definition.target)
        config, origin = calls.planned(problem, device)
        return f"{problem.spelling} on {device.name}\n  runs   {origin}: {config}"


def _text(source: str | Path, language: str | None) -> tuple[str, str]:
    """The text of a program and its language. Raises ``ArgumentError``."""
    if language is not None and language not in LANGUAGES:
        raise ArgumentError(f"language={language!r}; accepted: {', '.join(LANGUAGES)}")
    if isinstance(source, str) and ("\n" in source or "{" in source):
        if language is None:
            raise ArgumentError(
                f"source is a text without a language; accepted: language= {', '.join(LANGUAGES)}"
            )
        return source, language
    path = Path(source)
    found = language or SUFFIXES.get(path.suffix)
    if found is None:
        raise ArgumentError(
            f"source={str(source)!r}; accepted: a file {', '.join(SUFFIXES)}, another with its "
            "language, or a text"
        )
    try:
        return path.read_text(encoding="utf-8"), found
    except (OSError, ValueError) as error:
        raise ArgumentError(f"source={str(source)!r} cannot be read: {error}") from error
