"""Slips in calls: arrays and layouts, what is checked and inferred, and which kernel runs."""

from __future__ import annotations

from bench.mutants.slip import Slip

_ARRAYS = "tests/pure/test_arrays.py"
_SAID = "tests/pure/tuning/test_said.py"
_DISPATCH = "tests/pure/test_dispatch.py"
_DEVICE = "tests/pure/test_device_arrays.py"
_VIEWS = "tests/pure/test_array_views.py"
_SPEC = "tests/pure/test_spec.py"

SLIPS: tuple[Slip, ...] = (
    Slip(
        "tilewright/arrays/layout.py",
        "for outer, inner in zip(steps[-1], here, strict=True)",
        "for outer, inner in zip(steps[-1][:2], here[:2], strict=True)",
        _ARRAYS,
    ),
    Slip(
        "tilewright/arrays/layout.py", 'return ("c" if conj else "t")', 'return "t"', "tests/cpu/test_gemm.py"
    ),
    Slip(
        "tilewright/arrays/layout.py",
        "order = (2, 1, 3) if self.swap else (1, 2, 3)",
        "order = (1, 2, 3) if self.swap else (2, 1, 3)",
        "tests/pure/test_nested.py",
    ),
    Slip(
        "tilewright/arrays/layout.py",
        "*starts, *(step for axis in rest for step in steps[axis] if gpu))",
        "*starts)",
        f"{_DEVICE} -k alignment",
    ),
    Slip(
        "tilewright/arrays/layout.py",
        "gpu and any(x % size for x in places)",
        "gpu and address_of(array) % size",
        _SPEC,
    ),
    Slip("tilewright/arrays/overlap.py", "return sum(r for r in reach if r < 0), ", "return 0, ", _ARRAYS),
    Slip(
        "tilewright/calls/spec.py",
        "self.conj[1] != conjugated(b)",
        "self.conj[1] or conjugated(b)",
        _ARRAYS,
    ),
    Slip(
        "tilewright/calls/spec.py",
        "wide == (1,) * (len(wide) - len(into)) + into",
        "wide[len(wide) - len(into) :] == into",
        _SPEC,
    ),
    Slip("tilewright/calls/spec.py", "if c is not None and options.beta != 0:", "if c is not None:", _SPEC),
    Slip(
        "tilewright/calls/product.py",
        " and (memo is not None or not options.forced):",
        ":",
        "tests/pure/test_call_cache.py tests/cpu/test_plans.py",
    ),
    Slip(
        "tilewright/calls/explain.py",
        "problem.flops * record.timing.batch / record.timing.median",
        "problem.flops / record.timing.median",
        _SAID,
    ),
    Slip(
        "tilewright/runtime/bound_cpu.py",
        '"count": min(share, self.count - first)',
        '"count": share',
        "tests/cpu/test_cores.py",
    ),
    Slip(
        "tilewright/torch/program.py",
        "%apart = and i1 %a.apart, %b.apart",
        "%apart = or i1 true, %b.apart",
        "tests/cpu/test_entries.py",
    ),
    Slip(
        "tilewright/torch/handles.py",
        "%conjugate.up = shl i64 %conjugate, 15",
        "%conjugate.up = shl i64 0, 15",
        "tests/cpu/test_entries.py",
    ),
    Slip(
        "tilewright/runtime/multiplying.py",
        "%apart = and i1 %x.apart, %y.apart",
        "%apart = and i1 %x.apart, %x.apart",
        "tests/cpu/test_matmul.py",
    ),
    Slip(
        "tilewright/runtime/multiplying.py",
        "%y.ok = call i1 @same(ptr %y, ptr %y.plan, ptr %context, i32 {ALIGNED})",
        "%y.ok = call i1 @same(ptr %y, ptr %y.plan, ptr %context, i32 0)",
        "tests/cpu/test_fast_calls.py",
    ),
    Slip(
        "tilewright/runtime/multiplying_lists.py",
        "ptr %lows, ptr %highs, i64 %r.place)",
        "ptr %lows, ptr %highs, i64 %two)",
        "tests/cpu/test_small_lists.py",
    ),
    Slip(
        "tilewright/runtime/multiplying_lists.py",
        "%free.next = add i64 %free, 1",
        "%free.next = add i64 %free, 2",
        "tests/cpu/test_small_lists.py",
    ),
    Slip(
        "tilewright/planning/alike.py",
        '*problem.extents, problem.layout.startswith("packed")',
        "*problem.extents, True",
        _DISPATCH,
    ),
    Slip(
        "tilewright/planning/dispatch.py",
        "problem, device, KINDS) is None",
        "problem, device) is None",
        _DISPATCH,
    ),
    Slip(
        "tilewright/planning/dispatch.py",
        "or _misfit(record, problem, device) is None",
        "or True",
        _DISPATCH,
    ),
    Slip(
        "tilewright/planning/dispatch.py",
        "problem.batch // max(1, grain)",
        "-(-problem.batch // max(1, grain))",
        f"{_DISPATCH} {_SAID}",
    ),
    Slip(
        "tilewright/dtypes.py",
        "array.real, array.imag\n",
        "array.real, -array.imag\n",
        "tests/pure/test_halves.py",
    ),
    Slip(
        "tilewright/planning/roofline.py",
        "(2 if twice else 1) * p.m * p.n",
        "p.m * p.n",
        "tests/cpu/test_roofline.py -k bound",
    ),
    Slip(
        "tilewright/arrays/view.py",
        "at if at >= 0 else at + array.ndim + 1",
        "at if at >= 0 else at + array.ndim",
        f"{_VIEWS} -k view",
    ),
    Slip(
        "tilewright/arrays/view.py",
        "None, conjugated(array), readonly",
        "None, False, readonly",
        f"{_VIEWS} -k layout",
    ),
    Slip(
        "tilewright/planning/kin.py",
        "canonical(key) != device.key",
        "key != device.key",
        "tests/pure/test_kin.py",
    ),
    Slip(
        "tilewright/arrays/interleaved.py",
        "if {a, b} in ({1}, {0, 1}) and (c == 1 or not read)",
        "if {a, b} in ({1}, {0, 1})",
        "tests/pure/test_interleaved.py",
    ),
    Slip(
        "tilewright/calls/along.py",
        "return tuple(sorted(range(len(order)), key=order.__getitem__))",
        "return order",
        "tests/cpu/test_batch_last.py",
    ),
)
