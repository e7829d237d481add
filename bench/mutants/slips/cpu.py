"""Slips in the stencils for this processor."""

from __future__ import annotations

from bench.mutants.slip import Slip

_LANES = "tests/cpu/test_lanes.py"

SLIPS: tuple[Slip, ...] = (
    Slip(
        "tilewright/stencils/cpu/ir.py",
        "6000 * PACE",
        "6 * PACE",
        "tests/cpu/tile/test_programs.py -k woken",
    ),
    Slip(
        "tilewright/stencils/cpu/ir.py",
        '        ir.do("call void @llvm.x86.sse.sfence()")\n',
        "",
        "tests/cpu/tile/test_programs.py -k fence",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        "and (p.ldc * p.dtype.itemsize * 8) % vector_bits == 0",
        "and p.ldc > 0",
        "tests/cpu/tile/test_rules.py -k streaming",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        "x.moved(vector_bits, tail) <= x.rows",
        "x.moved(vector_bits, tail) < x.rows",
        "tests/cpu/tile/test_rules.py -k just_fits",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/stencil.py",
        "            <= registers\n",
        "            <= registers + 8\n",
        "tests/cpu/tile/test_rules.py -k just_fits",
    ),
    Slip(
        "tilewright/stencils/cpu/tile/codegen.py",
        "{step}, {distance}",
        "{step}, 1",
        "tests/cpu/tile/test_programs.py -k prefetches",
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
        "tilewright/stencils/cpu/lanes/codegen.py",
        "turn = -self.conj_a * self.conj_b",
        "turn = self.conj_a * self.conj_b",
        _LANES,
    ),
    Slip(
        "tilewright/stencils/cpu/lanes/codegen.py",
        'ir.let(f"sub i64 %count, {done}")',
        'ir.let("add i64 %count, 0")',
        _LANES,
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
)
