"""Programs as text, stage by stage."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from tilewright.catalog import STENCILS
from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Problem, Source
from tilewright.targets.cuda import capability, disassemble, nvrtc

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=nvrtc.compiler_missing() or ""),
]

H200 = capability.named("h200")


def classic(spelling: str) -> Source:
    problem = Problem.parse(spelling)[0]
    stencil = STENCILS["classic"]
    return stencil.source(problem, stencil.default(problem, H200), H200)


def test_the_definitions_of_the_source_compile_to_the_same_program() -> None:
    source = classic("d:nt:512x512x512")
    text = disassemble.program(source)
    assert text.startswith("#define TYPE_BITS 64\n")
    assert text.endswith(source.text)
    whole = nvrtc.compile(Source(text, source.entry, source.headers), H200)
    parts = nvrtc.compile(source, H200)
    assert {**whole.facts, "code_bytes": 0} == {**parts.facts, "code_bytes": 0}


def test_ptx() -> None:
    text = disassemble.ptx(classic("s:nn:512x512x512"), H200)
    assert ".target sm_90a" in text
    assert ".entry classic" in text
    assert "fma.rn.f32" in text
    assert "\0" not in text


def test_a_program_that_is_refused() -> None:
    with pytest.raises(CompileError, match=r"refused broken for sm_90a: .*error"):
        disassemble.ptx(Source("this is no program", "broken"), H200)


def test_sass() -> None:
    if disassemble.disassembler() is None:
        pytest.skip("no disassembler is here")
    text = disassemble.sass(nvrtc.compile(classic("s:nn:512x512x512"), H200))
    assert re.search(r"\bFFMA\b", text)
    with pytest.raises(DeviceError, match=r"nvdisasm|cuobjdump"):
        disassemble.sass(Binary(b"nothing", "classic", ""))


def test_another_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    which: Any = shutil.which
    if which("cuobjdump") is None:
        pytest.skip("no cuobjdump is here")
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == "nvdisasm" else which(name))
    found = disassemble.disassembler()
    assert found is not None
    assert found[0].endswith("cuobjdump")
    assert "DFMA" in disassemble.sass(nvrtc.compile(classic("d:nn:100x100x100"), H200))
