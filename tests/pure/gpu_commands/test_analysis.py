"""What the analysis of a kernel reads: rooflines, listings, occupancy, and what the profiler prints."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import lines, public
from bench.analysis import profiler
from bench.analysis.instructions import Instruction, hottest, instructions, loops, mix
from bench.analysis.occupancy import occupancy
from bench.analysis.options import named, parsed, problems
from bench.analysis.rooflines import interleaved_bytes, planar_bytes, rooflines
from tests.pure.gpu_commands.asked import H200, KNOWN, one
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Launch
from tilewright.targets.cuda import disassemble

pytestmark = pytest.mark.pure


def test_planes_have_half_the_intensity() -> None:
    n = 64
    for beta in ("1", "any"):
        pairs = one(f"hc:{n}x{n}x{n}", beta=beta)
        assert interleaved_bytes(pairs) == pairs.bytes == 16 * n * n
        assert planar_bytes(pairs) == 32 * n * n
        assert pairs.flops / interleaved_bytes(pairs) == n / 2
        real = one(f"h:{n}x{n}x{n}", beta=beta)
        assert pairs.flops / planar_bytes(pairs) == real.flops / real.bytes == n / 4
    fresh = one("hc:8x4x2")
    assert interleaved_bytes(fresh) == fresh.bytes == 4 * (16 + 8 + 32)
    assert planar_bytes(fresh) == 2 * (4 * (16 + 8 + 32) + 2 * 32)
    found = rooflines(one("hc:8x8x8@9", beta="1"), KNOWN)
    assert found["interleaved"]["intensity"] == 2 * found["planar"]["intensity"] == 4
    assert found["interleaved"]["bound_tflops"] == pytest.approx(16)
    assert found["interleaved"]["bound_terabytes"] == pytest.approx(4)
    assert found["interleaved"]["limit"] == "bandwidth.copy"
    large = rooflines(one("d:4096x4096x4096"), KNOWN)
    assert set(large) == {"interleaved"}
    assert large["interleaved"]["limit"] == "tensor"
    assert large["interleaved"]["bound_tflops"] == pytest.approx(66.9, rel=1e-3)


LISTING = """
tiny:
.text.tiny:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.64 R2, [R4.64] ;
        /*0020*/                   DFMA R2, R2, R4, R6 ;
        /*0030*/                   DFMA R2, R2, R4, R6 ;
        /*0040*/                   IADD3 R1, R1, 0x1, RZ ;
        /*0050*/                   STG.E.64 [R4.64], R2 ;
        /*0060*/              @!P1 BRA `(.L_x_1) ;
.L_x_2:
.L_x_3:
        /*0070*/              @!UP0 UBLKCP.S.G [UR10], [UR4], UR12 ;
        /*0080*/                   LDS.128 R8, [R3] ;
        /*0090*/                   DFMA R2, R2, R4, R6 ;
        /*00a0*/               @P0 BRA `(.L_x_3) ;
        /*00b0*/                   EXIT ;
.L_x_4:
        /*00c0*/                   BRA `(.L_x_1) ;
        /*00d0*/                   NOP ;
"""


def test_instructions_are_counted_by_class() -> None:
    found, labels = instructions(LISTING)
    assert labels == {".L_x_1": 0x10, ".L_x_2": 0x70, ".L_x_3": 0x70, ".L_x_4": 0xC0}
    assert len(found) == 13
    assert mix(found) == {
        "float": 3,
        "tensor": 0,
        "convert": 0,
        "integer": 1,
        "shared": 1,
        "device": 3,
        "control": 4,
        "move": 1,
    }
    # The longer loop is for what is left over: the other one asks for data ahead. Behind the end is none.
    assert [len(loop) for loop in loops(LISTING)] == [6, 4]
    assert hottest(LISTING)[0].name == "UBLKCP.S.G"
    # As cuobjdump writes it: addresses in place of labels, the code behind.
    bare = re.sub(r"`\(\.L_x_1\) ;", "0x10 ;                /* 0x00000000000a7947 */", LISTING)
    assert [len(loop) for loop in loops(bare)] == [6, 4]
    assert hottest("") == []
    kinds = {
        "HMMA.16816.F32": "tensor",
        "DMMA.16x8x4": "tensor",
        "HGMMA.64x8x16.F32": "tensor",
        "HADD2.F32": "convert",
        "HADD2": "float",
        "F2FP.F16.F32.PACK_AB": "convert",
        "FFMA": "float",
        "MUFU.RCP": "float",
        "FENCE.VIEW.ASYNC.S": "control",
        "FLO.U32": "integer",
        "IMAD.MOV.U32": "move",
        "IMAD": "integer",
        "LDGSTS.E.BYPASS.128": "device",
        "LDGDEPBAR": "control",
        "LDSM.16.M88.4": "shared",
        "UTMACMDFLUSH": "control",
        "LEA.HI": "integer",
        "SYNCS.ARRIVE.TRANS64": "control",
        "RED.E.ADD": "device",
        "R2UR": "move",
    }
    for name, kind in kinds.items():
        assert Instruction(0, name, "").kind == kind, name


@pytest.mark.parametrize(
    ("a", "b", "elements"),
    [
        ((7, 2, 3), (7, 3, 5), 7 * (6 + 15 + 10)),
        ((2, 3), (7, 3, 5), 6 + 7 * (15 + 10)),
        ((8, 1, 4, 4), (8, 9, 4, 4), 16 * (8 + 72 + 72)),
        ((7, 16, 4), (), 7 * (64 + 256)),
    ],
)
def test_a_public_product_counts_every_operand_once(
    a: tuple[int, ...], b: tuple[int, ...], elements: int
) -> None:
    assert public.Shape("", "c", a, b).bytes == 8 * elements


def test_public_products_fill_a_gpu_where_that_is_left_open() -> None:
    for shape in public.SHAPES:
        full = shape.filled()
        assert public.MANY not in full.a + full.b
        if full != shape:
            assert public.BYTES / 2 < full.bytes <= public.BYTES
    assert len({shape.name for shape in public.SHAPES}) == len(public.SHAPES)


def test_what_holds_back_the_blocks_of_an_sm() -> None:
    launch = Launch(grid=(792, 1, 1), block=(64, 1, 1), shared=32896)
    found = occupancy(launch, {"registers": 101, "shared": 0}, H200)
    assert found["limits"] == {"registers": 9, "shared": 6, "warps": 32, "blocks": 32, "grid": 6}
    assert (found["blocks_per_sm"], found["warps_per_sm"]) == (6, 12)
    assert found["occupancy"] == pytest.approx(12 / 64)


def test_what_the_profiler_prints_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "==PROF== Connected to process 1\n"
        '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","1","tiny","dram__bytes_read.sum","byte","665,600,000"\n'
        '"0","1","tiny","dram__bytes_write.sum","byte","332800000"\n'
        '"0","1","tiny","gpu__time_duration.sum","ns","250000"\n'
        '"0","1","tiny","smsp__inst_executed_pipe_tensor.sum","","n/a"\n'
        '"0","1","tiny","some__other.sum","inst","7"\n'
    )
    assert profiler.measured(text) == {"bytes_read": 665.6e6, "bytes_written": 332.8e6, "seconds": 250e-6}
    assert profiler.measured("==ERROR== ERR_NVGPUCTRPERM") == {}
    problem = one("d:8x8x8@650000")
    monkeypatch.setattr(profiler, "find", lambda: None)
    with pytest.raises(DeviceError, match="ncu"):
        profiler.profiled(problem)
    monkeypatch.setattr(profiler, "find", lambda: "ncu")
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        unknown = "==ERROR== Failed to find metric smsp__inst_executed_pipe_tensor.sum\n"
        return SimpleNamespace(stdout=unknown if len(asked) == 1 else text, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    found = profiler.profiled(problem)
    assert found["bytes_per_second"] == pytest.approx(998.4e6 / 250e-6)
    assert found["bytes_over_least"] == pytest.approx(1.0)
    assert "pipe_tensor" in " ".join(asked[0])
    assert "pipe_tensor" not in " ".join(asked[1])
    assert asked[0][-4:] == ["--launch", "d:nn:8x8x8@650000", "--beta", "0"]
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="==ERROR== no leave", stderr="")
    )
    with pytest.raises(DeviceError, match="no leave"):
        profiler.profiled(problem)


def test_problems_of_an_analysis() -> None:
    options = parsed(["--problems", "d:8x8x8@9,h:16..17@5", "--device", "h200"])
    found = problems(options.problems, lines.words(options.beta))
    assert [(p.spelling, p.beta) for p in found][:2] == [("d:nn:8x8x8@9", "0"), ("d:nn:8x8x8@9", "1")]
    assert len(found) == 6
    with pytest.raises(ArgumentError, match="names nothing"):
        parsed([])
    with pytest.raises(ArgumentError, match="--copy"):
        named("a100")
    assert named("a100", 1.5e12).ceilings["bandwidth.copy.1"] == 1.5e12
    assert named("h200", 4e12).ceilings["tensor.h.1"] > 9e14


def test_the_disassembler_of_the_python_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia" / "cu13" / "bin" / "nvdisasm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(disassemble, "TOOLKIT", str(tmp_path / "none"))
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert disassemble.disassembler() == (str(program), "--print-code")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert disassemble.disassembler() is None
