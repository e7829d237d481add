"""The slips: each a file, what stands there exactly once, what stands there instead, and the tests that
should see the difference.

A slip is something that a person may write by mistake and that makes the program wrong, not slow. Who moves
a file changes the first column; who rewrites a line changes the second, or deletes the row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """``old`` occurs once in ``file`` (a path from the root of the repository); ``tests`` are arguments of
    pytest."""

    file: str
    old: str
    new: str
    tests: str


_API = "tests/cpu/test_api.py"
_BUILD = "tests/pure/test_build.py"
_ARRAYS = "tests/pure/test_arrays.py"
_OPERANDS = "tests/pure/test_operands.py"
_MEASURE = "tests/pure/test_measure.py"
_WORKERS = "tests/pure/test_workers.py"
_TUNE = "tests/pure/test_tuning.py"
_DISPATCH = "tests/pure/test_dispatch.py"
_MODEL = "tests/pure/test_model.py"
_RECORDS = "tests/pure/test_records.py"
_SPACE = "tests/pure/test_space.py"
_SCREENS = "tests/pure/test_tuning.py"
_LANES = "tests/cpu/test_lanes.py"
_DEVICE = "tests/pure/test_device_arrays.py"
_SPEC = "tests/pure/test_spec.py"
_VENDOR = "tests/cpu/test_cublaslt.py"
_CLASSIC = "tests/pure/test_classic.py"
_GROUPED = "tests/pure/test_grouped.py"
_PATCHES = "tests/cpu/test_patches.py tests/pure/test_packing.py"
_EMULATED = "tests/compile/test_emulated.py -k"
_NESTED = "tests/compile/test_nested.py -k"
"""The interpreter of kernels is slow: only the tests of what a slip changes are run."""

SLIPS: tuple[Slip, ...] = (
    # ---- names of binaries and marks of tries
    Slip(
        "tilewright/model.py",
        'for name in ("stride_a", "stride_b", "stride_c")}',
        'for name in ("stride_a", "stride_c")} | {"stride_b": True}',
        _BUILD,
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
        "tilewright/stencils/cuda/source.py",
        '/kernel.cuh", text), *headers]',
        '/kernel.cuh", text)]',
        "tests/pure/test_generators.py",
    ),
    Slip(
        "tilewright/store/binaries.py",
        'hashlib.sha256(head.encode() + b"\\n\\n" + binary.code)',
        "hashlib.sha256(binary.code)",
        "tests/cpu/test_build.py",
    ),
    Slip("tilewright/tuning/tuner.py", " stencils {build.generators(stencil)[:8]}", "", _BUILD),
    # ---- arrays and calls
    Slip(
        "tilewright/arrays/layout.py",
        "for outer, inner in zip(steps[-1], here, strict=True)",
        "for outer, inner in zip(steps[-1][:2], here[:2], strict=True)",
        _ARRAYS,
    ),
    Slip("tilewright/arrays/overlap.py", "return sum(r for r in reach if r < 0), ", "return 0, ", _ARRAYS),
    Slip("tilewright/arrays/layout.py", 'return ("c" if conj else "t")', 'return "t"', _API),
    Slip(
        "tilewright/calls/spec.py",
        "self.conj[1] != conjugated(b)",
        "self.conj[1] or conjugated(b)",
        _ARRAYS,
    ),
    Slip(
        "tilewright/calls/product.py",
        " and (memo is not None or not options.forced):",
        ":",
        f"tests/pure/test_call_cache.py {_API}",
    ),
    Slip("tilewright/api.py", "else budget / len(jobs)", "else budget", _TUNE),
    Slip(
        "tilewright/calls/explain.py",
        "problem.flops * record.timing.batch / record.timing.median",
        "problem.flops / record.timing.median",
        _TUNE,
    ),
    Slip(
        "tilewright/runtime/bound_cpu.py",
        '"count": min(share, self.count - first)',
        '"count": share',
        _API,
    ),
    Slip(
        "tilewright/runtime/fastcall_cpu.py",
        "%apart = and i1 %x.apart, %y.apart",
        "%apart = and i1 %x.apart, %x.apart",
        _API,
    ),
    Slip(
        "tilewright/runtime/fastcall_cpu.py",
        "%y.ok = call i1 @same(ptr %y, ptr %y.plan, ptr %context, i32 {ALIGNED})",
        "%y.ok = call i1 @same(ptr %y, ptr %y.plan, ptr %context, i32 0)",
        _API,
    ),
    # ---- which kernel runs
    Slip(
        "tilewright/planning/dispatch.py",
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
        f"{_DISPATCH} {_TUNE}",
    ),
    Slip("tilewright/stencils/cpu/ir.py", "15e-6 * 20e9", "15e-9 * 20e9", "tests/cpu/test_tile.py -k woken"),
    # ---- right answers and verdicts
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
        "tilewright/dtypes.py",
        "array.real, array.imag\n",
        "array.real, -array.imag\n",
        "tests/pure/test_halves.py",
    ),
    # ---- the timing protocol
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
    # ---- the tuner
    Slip("tilewright/tuning/tuner.py", "if fma < expected:", "if 2 * fma < expected:", _TUNE),
    Slip(
        "tilewright/tuning/tuner.py",
        "self.kind.early_stop * problem.batch / speed(best)",
        "self.kind.early_stop / speed(best)",
        _TUNE,
    ),
    Slip(
        "tilewright/tuning/tuner.py",
        "alone | self.records.tried(*asked, measure.INTERLEAVED, written)",
        "self.records.tried(*asked, measure.INTERLEAVED, written) | alone",
        _TUNE,
    ),
    Slip(
        "tilewright/tuning/tuner.py",
        "if winners or first + FINALISTS >= len(rows):",
        "if winners or first + FINALISTS >= 0:",
        _TUNE,
    ),
    Slip("tilewright/tuning/contest.py", "elif low <= 1:", "elif high <= 1:", "tests/pure/test_contest.py"),
    Slip(
        "tilewright/tuning/tuner.py",
        "_name(r) not in self._incumbents, -speed(r), repr",
        "-speed(r), repr",
        _TUNE,
    ),
    Slip("tilewright/tuning/tuner.py", "error=max(errors) if", "error=min(errors) if", _TUNE),
    Slip("tilewright/tuning/starts.py", "if near.stencil == stencil and", 'if near.stencil == "" and', _TUNE),
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
    # ---- records and spaces
    Slip("tilewright/store/records.py", "AND toolchain = :v8 ", "", _RECORDS),
    Slip(
        "tilewright/store/records.py", "ORDER BY protocol DESC, per_product", "ORDER BY per_product", _RECORDS
    ),
    Slip(
        "tilewright/store/records.py",
        "(later.moment, later.id) > (t.moment, t.id)",
        "later.id < t.id",
        _RECORDS,
    ),
    Slip(
        "tilewright/store/jsonl.py",
        "return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value",
        "return value",
        _RECORDS,
    ),
    Slip("tilewright/space.py", ">= 1 << 62", ">= 1 << 99", _SPACE),
    Slip(
        "tilewright/space.py",
        "self._at[max((self._depth[name] for name in rule.reads), default=0)]",
        "self._at[min((self._depth[name] for name in rule.reads), default=0)]",
        _SPACE,
    ),
    Slip(
        "tilewright/model.py",
        "return self.dtype.flops_per_fma * self.m * self.n * self.k",
        "return 2 * self.m * self.n * self.k",
        _MODEL,
    ),
    Slip(
        "tilewright/model.py",
        'c = self.m * self.n * (1 if self.beta == "0" else 2)',
        "c = self.m * self.n",
        _MODEL,
    ),
    Slip(
        "tilewright/planning/roofline.py",
        "(2 if twice else 1) * p.m * p.n",
        "p.m * p.n",
        "tests/cpu/test_roofline.py -k bound",
    ),
    # ---- what is printed
    Slip(
        "tilewright/cli/render.py",
        'count(s["removed"]), count(s["left"])',
        'count(s["left"]), count(s["removed"])',
        _SCREENS,
    ),
    Slip("tilewright/cli/render.py", '(row["percent_of_bound"] or 0) > ABOVE', "False", _SCREENS),
    Slip("tilewright/cli/main.py", "return max(state.elapsed", "return min(state.elapsed", _SCREENS),
    # ---- CPU stencils
    Slip(
        "tilewright/stencils/cpu/ir.py",
        '        ir.do("call void @llvm.x86.sse.sfence()")\n',
        "",
        "tests/cpu/test_tile.py -k fence",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        "and (p.ldc * p.dtype.itemsize * 8) % vector_bits == 0",
        "and p.ldc > 0",
        "tests/cpu/test_tile.py -k streaming",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        ".bit_length() <= x.rows",
        ".bit_length() < x.rows",
        "tests/cpu/test_tile.py -k just_fits",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        "            <= registers\n",
        "            <= registers + 8\n",
        "tests/cpu/test_tile.py -k just_fits",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/codegen.py",
        "{step}, {distance}",
        "{step}, 1",
        "tests/cpu/test_tile.py -k prefetches",
    ),
    Slip(
        "tilewright/stencils/cpu/transpose.py",
        "if row + i < problem.m",
        "if row + i < problem.m + lanes",
        "tests/cpu/test_lanes.py -k beyond_its_end",
    ),
    Slip(
        "tilewright/stencils/cpu/transpose.py",
        "Piece(0, width, steps * unit)",
        "Piece(0, width, width)",
        "tests/cpu/test_lanes.py -k beyond_its_end",
    ),
    Slip(
        "tilewright/stencils/cpu/lanes/stencil.py",
        "turn = -self.conj_a * self.conj_b",
        "turn = self.conj_a * self.conj_b",
        _LANES,
    ),
    Slip(
        "tilewright/stencils/cpu/lanes/stencil.py",
        'ir.let(f"sub i64 %count, {done}")',
        'ir.let("add i64 %count, 0")',
        _LANES,
    ),
    # ---- CUDA stencils: their rules
    Slip("tilewright/stencils/cuda/classic/needs.py", "p.strides[:2] if", "p.strides[:1] if", _CLASSIC),
    Slip("tilewright/stencils/cuda/classic/extras.py", ' + device["shared_reserved"])', ")", _CLASSIC),
    Slip(
        "tilewright/stencils/cuda/grouped/descriptors.py",
        '"right") - 1] > last)',
        '"right") - 1] >= last)',
        _GROUPED,
    ),
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "complex(value).real, complex(value).imag)",
        "complex(value).real, -complex(value).imag)",
        "tests/pure/test_packing.py",
    ),
    # ---- arguments of kernels, and launches on other addresses
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "        at = _up(at, alignment_of(field))\n",
        "",
        _PATCHES,
    ),
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "Patch(begin + each.offset, each.field)",
        "Patch(each.offset, each.field)",
        _PATCHES,
    ),
    Slip("tilewright/targets/cuda/binding.py", "field.alignment - 1)", "0)", _PATCHES),
    Slip("tilewright/targets/cuda/binding.py", "(offset + at) // WORD", "offset // WORD", _PATCHES),
    Slip(
        "tilewright/targets/cuda/tensormap.py",
        "if replace(words, other) != words[:at] + ADDRESS.pack(other) + words[at + WORD :]:",
        "if replace(words, other)[at : at + WORD] != ADDRESS.pack(other):",
        _PATCHES,
    ),
    Slip(
        "tilewright/runtime/fastcall_cuda.py",
        "%odd.here = and i64 %address, %patch.mask",
        "%odd.here = and i64 0, %patch.mask",
        _PATCHES,
    ),
    Slip(
        "tilewright/runtime/fastcall_cuda.py",
        "    return None if any(word.mask for word in words) else",
        "    return",
        _PATCHES,
    ),
    Slip("tilewright/runtime/bound_cuda.py", "SWAPPED[word.operand]", "word.operand", _PATCHES),
    # ---- CUDA stencils: their kernels
    Slip(
        "tilewright/stencils/cuda/lib/element.cuh",
        "fma(-a.im, b.im, c.re)",
        "fma(a.im, b.im, c.re)",
        f"{_EMULATED} classic_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/element.cuh",
        "multiply_add(sum, s.beta, old);",
        "multiply_add(sum, s.beta, old), multiply_add(sum, s.beta, old);",
        f"{_EMULATED} classic_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/gemm.cuh",
        "stride_a, stride_b, stride_c",
        "stride_a, stride_c, stride_b",
        "tests/compile/test_arguments.py",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (row(i) < g.m) update",
        "if (row(i) <= g.m) update",
        f"{_EMULATED} classic_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (BUFFERS == 1) __syncthreads(); else now",
        "if (BUFFERS == 2) now",
        f"{_EMULATED} classic_takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (gridDim.z < g.batch) __syncthreads();",
        "",
        f"{_EMULATED} classic_takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "a.fetch_some(left_over);",
        "a.fetch_some(K_BLK);",
        f"{_EMULATED} classic_at_the_smallest",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (BETA != 0) old.vector = *(Access *)at;",
        "if (BETA == 2) old.vector = *(Access *)at;",
        f"{_EMULATED} classic_takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_bulk.cuh",
        "(g.batch - BEYOND) / GROUP",
        "g.batch / GROUP",
        f"{_EMULATED} tiny_copies_nothing",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_cp_async.cuh",
        "block_sync();  // all threads see this group",
        "// all threads see this group",
        f"{_EMULATED} tiny_waits",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_bulk.cuh",
        "parity ^= 1;",
        "parity ^= 0;",
        f"{_EMULATED} tiny_waits",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/multiply.cuh",
        "left > 0 ? 0xffff : 0",
        "left > 0 ? 0xffffffff : 0",
        f"{_EMULATED} whole_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/realign.cuh",
        "start & 2 ? 0x5432 : 0x3210",
        "0x3210",
        f"{_EMULATED} whole_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/kernel.cuh",
        "workers_sync();  // A and B are there",
        "// A and B are there",
        f"{_EMULATED} whole_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/boxes/multiply.cuh",
        "add | step",
        "step",
        f"{_EMULATED} boxes_come_and_go",
    ),
    Slip(
        "tilewright/stencils/cuda/boxes/results.cuh",
        "bulk_read<0>();",
        "// read",
        f"{_EMULATED} boxes_come_and_go",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_runs.cuh",
        "slot ? slot - 1 : STAGES",
        "slot",
        f"{_NESTED} pieces",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_runs.cuh",
        "if (TWICE) arrive_when_copied(barrier);",
        "if (TWICE) barrier_expect(barrier, 0);",
        f"{_NESTED} pieces",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/group.cuh",
        "list[GROUP + matrix] % 16",
        "list[matrix] % 16",
        f"{_NESTED} each_matrix",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/nest.cuh",
        "            at -= left * n.count[axis];\n",
        "",
        f"{_NESTED} each_matrix",
    ),
    Slip(
        "tilewright/stencils/cuda/args.py",
        "(1 << 31 + shift) // count + 1",
        "(1 << 31 + shift) // count",
        "tests/pure/test_nested.py",
    ),
    Slip(
        "tilewright/arrays/layout.py",
        "order = (2, 1, 3) if self.swap else (1, 2, 3)",
        "order = (1, 2, 3) if self.swap else (2, 1, 3)",
        "tests/pure/test_nested.py",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/mainloop_wgmma.cuh",
        "cp_async_wait<STAGES - 3>();",
        "cp_async_wait<STAGES - 2>();",
        f"{_EMULATED} warp_groups",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/scheduler.cuh",
        "if (tile % UP >= tiles % UP)",
        "if (tile % UP > tiles % UP)",
        f"{_EMULATED} tensor_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/multiply.cuh",
        "lane_m + i * LANES < t.m",
        "lane_m + i * LANES <= t.m",
        f"{_EMULATED} grouped_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "g.scalars + 4ll * d[NUMBER]",
        "g.scalars",
        f"{_EMULATED} grouped_multiplies",
    ),
    # ---- chosen before anybody looked whether a test sees them
    Slip(
        "tilewright/arrays/view.py",
        "at if at >= 0 else at + array.ndim + 1",
        "at if at >= 0 else at + array.ndim",
        f"{_DEVICE} -k view",
    ),
    Slip(
        "tilewright/arrays/view.py",
        "None, conjugated(array), readonly",
        "None, False, readonly",
        f"{_DEVICE} -k layout",
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
    Slip(
        "tilewright/calls/spec.py",
        "wide == (1,) * (len(wide) - len(into)) + into",
        "wide[len(wide) - len(into) :] == into",
        _SPEC,
    ),
    Slip("tilewright/calls/spec.py", "if c is not None and options.beta != 0:", "if c is not None:", _SPEC),
    Slip(
        "tilewright/planning/kin.py",
        "canonical(key) != device.key",
        "key != device.key",
        "tests/pure/test_kin.py",
    ),
    Slip(
        "tilewright/runtime/launch.py", '("alpha", "beta"), scalars', '("beta", "alpha"), scalars', _PATCHES
    ),
    Slip("tilewright/targets/cuda/arguments.py", "max(WORD, alignment_of(argument))", "WORD", _PATCHES),
    Slip("tilewright/targets/cuda/arguments.py", "    block += bytes(-len(block) % WORD)\n", "", _PATCHES),
    Slip(
        "tilewright/targets/cuda/binding.py",
        "(field.columns - 1) * field.ld + field.rows",
        "field.columns * field.ld",
        _PATCHES,
    ),
    Slip("tilewright/targets/cuda/tensormap.py", "-first % MAP_ALIGNMENT", "first % MAP_ALIGNMENT", _PATCHES),
    Slip(
        "tilewright/runtime/cublaslt.py",
        "self.beta = self.alpha + 2 * ctypes.sizeof(wide)",
        "self.beta = self.alpha + ctypes.sizeof(wide)",
        _VENDOR,
    ),
    Slip("tilewright/runtime/cublaslt.py", "stream == PER_THREAD or ", "", _VENDOR),
    Slip(
        "tilewright/runtime/cublaslt.py",
        "p.dtype.real_bits == 16 and not self.narrow",
        "p.dtype.real_bits == 16 and self.narrow",
        _VENDOR,
    ),
    Slip("tilewright/store/records.py", "(_DAMAGED_ROWS,), ())[version]", "(), ())[version]", _RECORDS),
    Slip(
        "tilewright/store/records.py",
        "_make_tables(held, _check_version(held, path))",
        "_make_tables(held, version)",
        _RECORDS,
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/copy.cuh",
        "(to + at + REST / 4 * 4)",
        "(to + at + REST / 8 * 8)",
        f"{_EMULATED} vectors_leave",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/mainloop_prefetch.cuh",
        "            if (PRODUCTS % 2) fragments[0] = fragments[1];\n",
        "",
        f"{_EMULATED} 'tensor_multiplies and hc'",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/epilogue_stmatrix.cuh",
        "if (v < left) to[v]",
        "if (v <= left) to[v]",
        f"{_EMULATED} stages_columns",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/epilogue_staged.cuh",
        "__syncwarp();  // the columns before these have been read",
        "// the columns before these have been read",
        f"{_EMULATED} stages_columns",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "        if (BULK && by_words) async_fence();\n",
        "",
        f"{_EMULATED} different_ways",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "<< 16 * (put - done - 1);",
        "<< 16 * (put - done);",
        f"{_EMULATED} grouped_multiplies",
    ),
    # ---- chains on tensor cores
    Slip(
        "tilewright/stencils/cuda/chain/multiply_mma_f16.cuh",
        "high[f][h][e] == t ? t * 0x1p-30f : t - high[f][h][e];",
        "high[f][h][e] == t ? 0 : t - high[f][h][e];",
        f"{_EMULATED} sums_between",
    ),
    # ---- interleaved matrices
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
    Slip(
        "tilewright/stencils/cpu/compact/codegen.py",
        "self._least(left, str(self.per_turn)) if left else str(self.per_turn)",
        "str(self.per_turn)",
        "tests/cpu/test_compact.py",
    ),
    Slip(
        "tilewright/stencils/cpu/compact/codegen.py",
        "(1, -1) if p.conj_a else (-1, 1)",
        "(-1, 1)",
        "tests/cpu/test_compact.py",
    ),
    Slip(
        "tilewright/stencils/cuda/interleaved/ring.cuh",
        '"n"(STAGES - 2) : "memory");',
        '"n"(STAGES - 1) : "memory");',
        f"{_EMULATED} interleaved",
    ),
    Slip(
        "tilewright/stencils/cuda/interleaved/result.cuh",
        "if (i0 + i >= SIZE_M || j0 + j >= SIZE_N) continue;",
        "if (i0 + i >= SIZE_M) continue;",
        f"{_EMULATED} interleaved",
    ),
)
