"""Slips in tuning: names of binaries, records, spaces, times, verdicts, and what is printed."""

from __future__ import annotations

from bench.mutants.slip import Slip

_BUILD = "tests/pure/test_build.py"
_OPERANDS = "tests/pure/test_operands.py"
_MEASURE = "tests/pure/test_measure.py"
_WORKERS = "tests/pure/test_workers.py"
_SPELLINGS = "tests/pure/tuning/test_spellings.py"
_DECISIONS = "tests/pure/tuning/test_decisions.py"
_EFFORT = "tests/pure/tuning/test_effort.py"
_MODEL = "tests/pure/test_model.py"
_BEST = "tests/pure/records/test_best.py"
_DAMAGE = "tests/pure/records/test_damage.py"
_EXPORTS = "tests/pure/records/test_exports.py"
_LINES = "tests/pure/records/test_lines.py"
_LEASES = "tests/pure/test_leases.py"
_PIPELINE = "tests/pure/test_pipeline.py"
_SPACE = "tests/pure/test_space.py"
_SAID = "tests/pure/tuning/test_said.py"

SLIPS: tuple[Slip, ...] = (
    Slip(
        "tilewright/model/problem.py",
        'for name in ("stride_a", "stride_b", "stride_c")}',
        'for name in ("stride_a", "stride_c")} | {"stride_b": True}',
        _BUILD,
    ),
    Slip(
        "tilewright/model/problem.py",
        "return self.dtype.flops_per_fma * self.m * self.n * self.k",
        "return 2 * self.m * self.n * self.k",
        _MODEL,
    ),
    Slip(
        "tilewright/model/problem.py",
        'c = self.m * self.n * (1 if self.beta == "0" else 2)',
        "c = self.m * self.n",
        _MODEL,
    ),
    Slip(
        "tilewright/runtime/build.py",
        "written.digest, device.features, TARGETS[device.kind].toolchain()]",
        "written.digest, device.features]",
        _BUILD,
    ),
    Slip(
        "tilewright/runtime/build.py",
        "        TARGETS[device.kind].toolchain(),\n        generators(stencil),",
        "        generators(stencil),",
        _BUILD,
    ),
    Slip("tilewright/runtime/build.py", "        generators(stencil),\n    ]", "    ]", _BUILD),
    Slip(
        "tilewright/store/binaries.py",
        'hashlib.sha256(head.encode() + b"\\n\\n" + binary.code)',
        "hashlib.sha256(binary.code)",
        "tests/cpu/test_build.py",
    ),
    Slip("tilewright/tuning/tasks.py", " stencils {build.generators(stencil)[:8]}", "", _BUILD),
    Slip("tilewright/tuning/tuner.py", "if fma < expected:", "if 2 * fma < expected:", _DECISIONS),
    Slip(
        "tilewright/tuning/tuner.py",
        "self.kind.early_stop * problem.batch / speed(best)",
        "self.kind.early_stop / speed(best)",
        _DECISIONS,
    ),
    Slip(
        "tilewright/tuning/tuner.py",
        "alone | self.records.tried(*asked, measure.INTERLEAVED, written)",
        "self.records.tried(*asked, measure.INTERLEAVED, written) | alone",
        f"{_DECISIONS} {_EFFORT}",
    ),
    Slip(
        "tilewright/tuning/final.py",
        "if winners or first + FINALISTS >= len(rows):",
        "if winners or first + FINALISTS >= 0:",
        _DECISIONS,
    ),
    Slip(
        "tilewright/tuning/final.py",
        "name_of(r) not in before, -speed(r), repr",
        "-speed(r), repr",
        _EFFORT,
    ),
    Slip("tilewright/tuning/final.py", "error=max(errors) if", "error=min(errors) if", _DECISIONS),
    Slip(
        "tilewright/tuning/gemm/verify.py",
        "if _misplaced(value, right).any():",
        "if value is None:",
        _OPERANDS,
    ),
    Slip(
        "tilewright/tuning/gemm/verify.py",
        "np.isnan(got) & np.isnan(right)",
        "np.isnan(got) | np.isnan(right)",
        _OPERANDS,
    ),
    Slip(
        "tilewright/tuning/gemm/operands.py",
        "elif not _poisoned(region):",
        "elif region.view is None:",
        _OPERANDS,
    ),
    Slip("tilewright/tuning/gemm/operands.py", "terms = (2 * k + 3) if", "terms = (k + 2) if", _OPERANDS),
    Slip(
        "tilewright/tuning/gemm/operands.py",
        "return gamma * (math.sqrt(2) if dtype.is_complex else 1)",
        "return gamma",
        _OPERANDS,
    ),
    Slip(
        "tilewright/tuning/gemm/operands.py",
        "words[region.outside] = poison",
        "words[:edge] = poison",
        "tests/cpu/test_verify.py",
    ),
    Slip(
        "tilewright/tuning/timing.py",
        "max(ordered[-1 - drop] - median, median - ordered[drop])",
        "ordered[-1 - drop] - median",
        _MEASURE,
    ),
    Slip(
        "tilewright/tuning/timing.py",
        'if regime == "cached":\n                    runs[name]()',
        'if regime == "":\n                    runs[name]()',
        _MEASURE,
    ),
    Slip("tilewright/tuning/timing.py", "return max(0, rank - 1)", "return rank", _MEASURE),
    Slip("tilewright/tuning/contest.py", "elif low <= 1:", "elif high <= 1:", "tests/pure/test_contest.py"),
    Slip(
        "tilewright/tuning/starts.py",
        "if near.stencil == stencil and",
        'if near.stencil == "" and',
        _DECISIONS,
    ),
    Slip(
        "tilewright/tuning/workers.py",
        "self._patience = self.timeout if timeout is None else timeout",
        "self._patience = self.timeout",
        _WORKERS,
    ),
    Slip(
        "tilewright/tuning/workers.py",
        "            if worker.busy:\n                worker.stop()\n",
        "            pass\n",
        _WORKERS,
    ),
    Slip("tilewright/store/tries.py", "AND toolchain = :v8 ", "", _EXPORTS),
    Slip("tilewright/store/tries.py", "ORDER BY protocol DESC, per_product", "ORDER BY per_product", _BEST),
    Slip(
        "tilewright/store/tries.py",
        "(later.moment, later.id) > (t.moment, t.id)",
        "later.id < t.id",
        _BEST,
    ),
    Slip("tilewright/tuning/fleet.py", "else budget / len(mine)", "else budget", _SPELLINGS),
    Slip("tilewright/tuning/workers.py", 'if answer.status != "adrift":', "if True:", _PIPELINE),
    Slip("tilewright/tuning/pipeline.py", "if at.deaths < LIVES:", "if at.deaths <= LIVES:", _PIPELINE),
    Slip("tilewright/tuning/fleet.py", "mine[len(results) :]", "mine", _PIPELINE),
    Slip("tilewright/tuning/fleet.py", "if each.key == key", "if each.kind == kind", _PIPELINE),
    Slip("tilewright/store/leases.py", "deaths += ended * begun", "deaths += ended", _LEASES),
    Slip("tilewright/store/leases.py", "_started(pid) == start", "True", _LEASES),
    Slip("tilewright/store/schema.py", "(_DAMAGED_ROWS, *_LEASES), _LEASES", "_LEASES, _LEASES", _DAMAGE),
    Slip(
        "tilewright/store/connections.py",
        "make_tables(held, check_version(held, path))",
        "make_tables(held, version)",
        _DAMAGE,
    ),
    Slip(
        "tilewright/store/jsonl.py",
        "return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value",
        "return value",
        _LINES,
    ),
    Slip("tilewright/space/growth.py", ">= 1 << 62", ">= 1 << 99", _SPACE),
    Slip(
        "tilewright/space/growth.py",
        "self._at[max((self._depth[name] for name in rule.reads), default=0)]",
        "self._at[min((self._depth[name] for name in rule.reads), default=0)]",
        _SPACE,
    ),
    Slip(
        "tilewright/cli/render.py",
        'count(s["removed"]), count(s["left"])',
        'count(s["left"]), count(s["removed"])',
        _SAID,
    ),
    Slip("tilewright/cli/render.py", '(row["percent_of_bound"] or 0) > ABOVE', "False", _SAID),
    Slip(
        "tilewright/cli/commands/tuning.py",
        "return max(state.elapsed",
        "return min(state.elapsed",
        _SPELLINGS,
    ),
)
