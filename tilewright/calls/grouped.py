"""Lists of products of different sizes: what ``gemm_grouped`` and ``plan_grouped`` prepare and run.

On a GPU descriptors of all products are made once, by NumPy, and one launch of the stencil ``grouped``
serves all that are stored alike, where it was measured to beat the library; what is too large for it, or
faster by the library, is bound once, like products together (``list_runs``).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from tilewright.arrays.gpu import need_cuda
from tilewright.arrays.layout import LETTERS, transposed
from tilewright.arrays.overlap import Integers
from tilewright.arrays.pointers import Groups, Pointers
from tilewright.arrays.tables import Oriented, Table, oriented, usable_input
from tilewright.arrays.view import Layout, address_of
from tilewright.calls.list_runs import MANY, Run, even_runs, sides, spread, stacked
from tilewright.calls.matrix_lists import (
    apart,
    backend_of_lists,
    counted,
    gather,
    listed,
    same_matrices,
    typed,
)
from tilewright.calls.spec import Options, ProductSpec, forced_config, gemm_spec, of_pairs, written
from tilewright.calls.tables import (
    alike,
    letter_of,
    need_fit,
    need_outputs,
    need_real,
    new_results,
    scalars_of,
)
from tilewright.catalog import of_lists
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, GroupedProblem, Plan
from tilewright.planning import candidates, classes, dispatch
from tilewright.runtime import bound_cuda, call_cache, cublaslt_library, gaps
from tilewright.runtime.backend import Backend
from tilewright.runtime.backends import default_gpu
from tilewright.runtime.bound_cpu import HOST
from tilewright.stencils.cuda.grouped.descriptors import describe, pack
from tilewright.stencils.cuda.grouped.needs import LARGEST, LINE
from tilewright.targets.cuda import driver

_LEADING_MOST = 2**31 - 1


class Grouped:
    """A list of products of different sizes, ready to be called again and again.

    ``results`` are the outputs: the options's, or new arrays that every run writes to (None for ``Groups``).
    ``launches`` counts the kernels of a run on a GPU. The matrices are those of the lists when this was made.
    """

    def __init__(self, backend: Backend, results: Any) -> None:
        self.results = results
        self.launches = 0
        self._backend = backend
        self._parts: list[_Part | Run] = []
        self._stale = False
        self._lock = threading.Lock()
        self._launchers: list[Any] = []
        self._starts: list[Any] = []
        self._others: list[Run] = []
        self._moves: list[tuple[Layout, Layout]] = []
        self._keep: list[Any] = []

    def __call__(self) -> Any:
        """All products once more, on the options's current stream; the results."""
        if self._backend.vendor and not (self._moves or self._others or self._stale):
            try:
                self._launch(self._backend.here().stream)
            except DeviceError:
                pass  # A thread that has no context, or another GPU's: the slow path knows what to do.
            else:
                return self.results
        with self._backend.current():
            backend = self._backend.here()
            self._renew()
            for target, source in self._moves:
                backend.assign(target, source)
            self._launch(backend.stream)
            for run in self._others:
                run.slowly(backend)
        return self.results

    def run(self) -> Any:
        """The call of this object by another name."""
        return self()

    @property
    def plans(self) -> list[Plan]:
        """What runs, one plan for each launch, by the records as they are now."""
        with self._backend.current():
            self._renew()
        return [part.plan for part in self._parts]

    def drop(self) -> None:
        """Forget the kernels: the call cache is emptied. The next run plans again, for the same lists."""
        self._stale = True

    def _renew(self) -> None:
        """Plan again if the call cache was emptied."""
        if self._stale:
            with self._lock:
                self._stale = False
                parts, self._parts = self._parts, []
                self._launchers, self._starts, self._others = [], [], []
                for part in parts:
                    part.renew(self._backend)
                    self._add(part)

    def _add(self, part: _Part | Run) -> None:
        """One more launch, or a product that takes more than that."""
        self._parts.append(part)
        launcher = part.launcher(self._backend)
        if isinstance(part, Run):
            if launcher is None:
                self._others.append(part)
            else:
                self._starts.append(launcher)
        else:
            self._launchers.append(launcher)

    def _launch(self, stream: int) -> None:
        with self._lock:
            for launcher in self._launchers:
                launcher(stream)
            spread(self._starts, self._backend.index, stream)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a plan of lists is bound to memory and kernels of this process; accepted: tw.plan_grouped anew "
            "where it is used"
        )

    def explain(self) -> str:
        """What runs and why."""
        return "\n".join(map(_line, self.plans)) or "there is nothing to multiply"

    def __repr__(self) -> str:
        return f"<{self.explain()}>"


def _line(plan: Plan) -> str:
    """What a plan of a part runs and why."""
    p = plan.problem
    sizes = f"{'up to' if isinstance(p, GroupedProblem) else 'of'} {p.m}x{p.n}x{p.k}"
    runs = f"{plan.origin}: {plan.stencil}, {plan.config}" if plan.stencil else f"the library: {plan.why}"
    return f"{p.batch} products {sizes} ({p.dtype.letter}:{p.trans}): {runs}"


class _Part:
    """One launch of a list: products that are stored alike. Descriptors and argument serve any config."""

    def __init__(
        self, problem: GroupedProblem, device: Device, config: Mapping[str, Any] | None, lasting: bool
    ):
        self.problem, self.device, self.lasting = problem, device, lasting
        self.config = forced_config(config)
        lost = classes.wins(of_lists("cuda").name, problem, dispatch.regime(problem, device), device) is False
        # Loaded where it is asked for: that takes a moment.
        self.plan = self._planned(vendor=lost and cublaslt_library.library() is not None)
        self.argument = bytearray()

    def _planned(self, vendor: bool) -> Plan:
        """The plan from the ladder of ``dispatch``, which is walked once for all lists of a class."""
        p, kind = self.problem, dispatch.regime(self.problem, self.device)
        key = ("grouped", self.device, p.key, classes.of_list(p), kind, self.config, vendor)
        found: Plan | None = call_cache.PLANS.get(key)
        if found is None:
            found = dispatch.plan(self.problem, self.device, config=self.config, vendor=vendor)
            call_cache.keep(call_cache.PLANS, key, found)
        gaps.passed(found)
        return replace(found, problem=self.problem)

    def renew(self, backend: Backend) -> None:
        """Plan again: a kernel, for its descriptors are there."""
        self.plan = self._planned(vendor=False)

    def launcher(self, backend: Backend) -> driver.Launcher:
        """What starts the kernel of the plan."""
        assert self.plan.config is not None
        launch = of_lists("cuda").launch(self.problem, self.plan.config)
        if not self.lasting:
            # Descriptors are read before the kernel waits for its stream, in which a copy brings these.
            launch = replace(launch, overlap=False)
        return driver.Launcher(bound_cuda.kernel(self.plan, backend.index), launch, self.argument)


def planned(
    a: Any,
    b: Any,
    c: Any,
    scalars: tuple[Any, Any],
    trans: tuple[str, str],
    out: Any,
    dtype: str | None,
    *,
    config: Mapping[str, Any] | None,
    lasting: bool,
) -> Grouped:
    options = Options(1, 0, *trans, pairs=of_pairs(dtype))
    if isinstance(a, Groups):
        for name, value in (("b", b), ("c", c), ("out", out), ("dtype", dtype)):
            if value is not None:
                raise ArgumentError(f"{name} beside Groups, which say it all; accepted: None")
        return _of_groups(a, options, scalars, config, lasting)
    if b is None:
        raise ArgumentError("b=None; accepted: a sequence of arrays, or one Groups as a")
    given = {"a": a, "b": b}
    lists = {name: listed(value, name) for name, value in given.items()}
    count = len(lists["a"])
    alphas, betas = (scalars_of(x, name, count) for x, name in zip(scalars, ("alpha", "beta"), strict=True))
    if c is not None and (betas != 0).any():
        lists["c"] = listed(c, "c")
    if out is not None:
        lists["out"] = lists["c"] if out is c and "c" in lists else listed(out, "out")
    for name, values in lists.items():
        if isinstance(values, Pointers):
            raise ArgumentError(f"{name} is Pointers, of one size; accepted: gemm_batched, or Groups")
    if (betas != 0).any() and "c" not in lists and out is None:
        asked = written(complex(betas[betas != 0].flat[0]))
        raise ArgumentError(f"beta={asked} without c; accepted: c, or out to be updated in place")
    if not counted(lists):
        return Grouped(HOST, [] if out is None else out)
    backend = backend_of_lists(lists)
    with backend.current():
        return _of_lists(backend, options, lists, (alphas, betas), out, c is out, config, lasting)


def _of_lists(
    backend: Backend,
    options: Options,
    lists: Mapping[str, Any],
    scalars: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    out: Any,
    in_place: bool,
    config: Mapping[str, Any] | None,
    lasting: bool,
) -> Grouped:
    pairs = options.pairs
    tables = {
        name: gather(backend, values, name, pairs, output=name == "out", axes=3)
        for name, values in lists.items()
        if not (name == "c" and in_place)
    }
    dtype = typed({name: table.dtype for name, table in tables.items()})
    need_real(scalars, dtype)
    left, right = tables["a"].op(letter_of(options.trans_a)), tables["b"].op(letter_of(options.trans_b))
    right = alike(right, left, "b")
    need_fit(left, right)
    if "out" in tables:
        target = alike(tables["out"], left, "out")
        need_outputs(target, left, right, "out")
        results = out
    else:
        target, results = new_results(backend, left, right, dtype, lists["a"], tables["a"], pairs)
    made = Grouped(backend, results)
    made._keep += [tables, target.keep]
    per = tuple(row[left.element] for row in scalars)
    inputs = {"a": tables["a"].placement(), "b": tables["b"].placement()}
    if "c" in tables and not in_place:
        update = alike(tables["c"], left, "c")
        need_outputs(update, left, right, "c")
        if not same_matrices(update, target):
            inputs["c"] = update.placement()
            for which in np.flatnonzero((per[1] != 0) & (target.rows > 0) & (target.columns > 0)):
                made._moves.append((target.of(int(which)), update.of(int(which))))
    if "out" in tables:
        elements = {name: table.element for name, table in tables.items()}
        apart(target.placement(), inputs, "out", elements)
    _products(made, backend, options, left, right, target, (per[0], per[1]), config, lasting)
    return made


def _of_groups(
    groups: Groups,
    options: Options,
    scalars: tuple[Any, Any],
    config: Mapping[str, Any] | None,
    lasting: bool,
) -> Grouped:
    """The products that ``Groups`` describe."""
    if not len(groups):
        return Grouped(HOST, None)
    need_cuda()
    backend = default_gpu(groups.index)
    alphas, betas = (
        scalars_of(x, name, len(groups)) for x, name in zip(scalars, ("alpha", "beta"), strict=True)
    )
    need_real((alphas, betas), groups.dtype)

    def table(name: str, rows: Integers, columns: Integers, ld: Integers | None, letter: str) -> Table:
        if letter == "t":
            rows, columns = columns, rows
        least = np.maximum(columns if groups.order == "C" else rows, 1)
        step = least if ld is None else ld
        if (step < least).any():
            which = int((step < least).argmax())
            raise ArgumentError(f"ld{name}[{which}]={int(step[which])}; accepted: from {int(least[which])}")
        ones = np.ones(len(groups), np.int64)
        row, column = (step, ones) if groups.order == "C" else (ones, step)
        element = np.arange(len(groups))
        lazy = np.zeros(len(groups), bool)
        start = getattr(groups, name)
        return Table(
            *(backend, name, groups.dtype, start, rows, columns, row, column, lazy, element),
            *(None, [groups]),
        )

    left = table("a", groups.m, groups.k, groups.lda, letter_of(options.trans_a))
    right = table("b", groups.k, groups.n, groups.ldb, letter_of(options.trans_b))
    target = table("c", groups.m, groups.n, groups.ldc, "n")
    made = Grouped(backend, None)
    made._keep.append(groups)
    with backend.current():
        apart(target.placement(), {"a": left.placement(), "b": right.placement()}, "c", {})
        left, right = left.op(letter_of(options.trans_a)), right.op(letter_of(options.trans_b))
        _products(made, backend, options, left, right, target, (alphas, betas), config, lasting)
    return made


def _products(
    made: Grouped,
    backend: Backend,
    options: Options,
    left: Table,
    right: Table,
    target: Table,
    scalars: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    config: Mapping[str, Any] | None,
    lasting: bool,
) -> None:
    """Fill a plan: launches of lists, batches of like products, and what has to be looked at in each run."""
    m, n, k = left.rows, right.columns, left.columns
    some = (m > 0) & (n > 0)
    small = np.zeros(len(m), bool)
    if backend.kind == "cuda":
        for table in (left, right):
            for which in np.flatnonzero(some & ~usable_input(table) & (k > 0)):
                _copied_over(made, backend, table, int(which))
        steps = [np.maximum(abs(x.row), abs(x.column)) for x in (left, right, target)]
        small = some & (np.maximum(np.maximum(m, n), k) <= LARGEST)
        for row in steps:
            small &= row <= _LEADING_MOST
    launched = np.flatnonzero(small)
    if launched.size:
        small[launched] = _launches(
            made, backend, options, left, right, target, scalars, launched, config, lasting
        )
    left_over = np.flatnonzero(some & ~small)
    if left_over.size:
        runs = list(even_runs((left, right, target), scalars, left_over))
        # The longest first, so that several at once end together.
        for run in sorted(runs, key=lambda run: -len(run) * int(m[run[0]] * n[run[0]] * k[run[0]])):
            first = int(run[0])
            alone = replace(options, alpha=complex(scalars[0][first]), beta=complex(scalars[1][first]))
            a, b, c = (stacked(x, run) for x in (left, right, target))
            made._add(Run(backend, _alone(alone, a, b), c))
        if lasting:
            call_cache.watch(made)
            if len(made._starts) >= MANY:
                # Within a recording it is too late.
                sides(backend.index, recorded=True)
    made.launches = len(made._launchers) + len(made._starts) + len(made._others)


def _alone(options: Options, left: Layout, right: Layout) -> ProductSpec:
    """One product of matrices that are op(a) and op(b) already, but for conjugation."""
    a, _ = transposed(left, options.trans_a, "trans_a")
    b, _ = transposed(right, options.trans_b, "trans_b")
    return gemm_spec(options, a, b)


def _copied_over(made: Grouped, backend: Backend, table: Table, which: int) -> None:
    """Put a contiguous copy where a matrix stands without a unit stride; every run copies anew."""
    source = table.of(which)
    copy = backend.empty((int(table.rows[which]), int(table.columns[which])), table.dtype)
    made._moves.append((copy, source))
    made._keep.append(copy)
    for name in ("address", "row", "column", "lazy"):
        # The rows may belong to another table, too.
        setattr(table, name, getattr(table, name).copy())
    table.address[which] = address_of(copy)
    table.row[which], table.column[which], table.lazy[which] = table.columns[which], 1, False


def _launches(
    made: Grouped,
    backend: Backend,
    options: Options,
    left: Table,
    right: Table,
    target: Table,
    scalars: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    launched: Integers,
    config: Mapping[str, Any] | None,
    lasting: bool,
) -> bool:
    """One launch for each way in which operands are stored; False where the kernel cannot be had, or the
    library's products are faster."""
    dtype = LETTERS[left.dtype]
    device = dispatch.device("cuda", backend.index)
    alphas, betas = (row[launched] for row in scalars)
    alpha = "1" if (alphas == 1).all() else "any"
    beta = "0" if (betas == 0).all() else "1" if (betas == 1).all() else "any"
    found = oriented(left.some(launched), right.some(launched), target.some(launched), options.conj)
    conj = dtype.is_complex
    kinds = (
        found.transposed_a * 1 + found.transposed_b * 2 + found.conj_a * 4 * conj + found.conj_b * 8 * conj
    )
    stencil = of_lists("cuda")
    own = not (_uniform(alphas) and _uniform(betas))
    block = np.stack([alphas.real, alphas.imag, betas.real, betas.imag], 1)
    together = int(np.bitwise_or.reduce(np.concatenate([found.a, found.b, found.c])))
    align = LINE if together % LINE == 0 else min(LINE, dtype.itemsize)
    ready = []
    for kind in np.unique(kinds):
        which = np.flatnonzero(kinds == kind)
        trans = "".join("ntjc"[(int(kind) >> at & 1) + 2 * (int(kind) >> at + 2 & 1)] for at in (0, 1))
        sizes = (found.m[which], found.n[which], found.k[which])
        problem = GroupedProblem.of(dtype, trans, sizes, alpha=alpha, beta=beta, align=align)
        if candidates.refusal(stencil, problem, device) is not None:
            return False
        part = _Part(problem, device, config, lasting)
        if part.plan.stencil is None:
            return False
        ready.append((which, trans, part))
    for which, trans, part in ready:
        words = _described(found, which, dtype, trans, alphas, betas)
        count = len(which)
        numbers = [words.view(np.int64).reshape(-1)]
        if own:
            numbers.append(np.ascontiguousarray(block[which]).view(np.int64).reshape(-1))
        if lasting:
            memory = driver.allocate(sum(row.nbytes for row in numbers))
            driver.upload(memory.address, np.concatenate(numbers))
            address, keep = memory.address, memory
        else:
            address, keep = backend.send(np.concatenate(numbers))
        made._keep.append(keep)
        part.argument = pack(
            *(address, address + words.nbytes if own else 0, count),
            *(complex(alphas[which[0]]), complex(betas[which[0]])),
        )
        made._add(part)
    if lasting:
        call_cache.watch(made)
    return True


def _uniform(row: np.ndarray[Any, Any]) -> bool:
    return bool((row == row[0]).all())


def _described(
    found: Oriented,
    which: Integers,
    dtype: Any,
    trans: str,
    alphas: np.ndarray[Any, Any],
    betas: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]:
    # With alpha 0 the operands are not read, whatever they hold.
    k = np.where(alphas[which] == 0, 0, found.k[which])
    return describe(
        dtype,
        trans,
        (found.m[which], found.n[which], k),
        (found.a[which], found.b[which], found.c[which]),
        (found.lda[which], found.ldb[which], found.ldc[which]),
        betas[which] != 0,
    )
