"""What a processor is taken for: pretended ones, with features that a virtual machine hides."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from dataclasses import replace

import llvmlite.binding
import pytest

from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Device, Problem
from tilewright.targets.cpu import llvm, processor

pytestmark = pytest.mark.pure

AVX2 = dict.fromkeys(("avx", "avx2", "fma", "f16c", "bmi", "bmi2", "popcnt", "sse2"), True)
AVX512 = AVX2 | dict.fromkeys(("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"), True)
Pretend = Callable[[str, dict[str, bool]], Device]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """The device that a processor is, by LLVM's name of its core and by what ``cpuid`` says."""

    def device(core: str, told: dict[str, bool]) -> Device:
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: core)
        monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: told)
        return processor.probe.__wrapped__()

    return device


def listing(device: Device, letter: str) -> str:
    """The default of a small product as LLVM writes it, without comments."""
    problem, tile = Problem(DTYPES[letter], 9, 9, 9, batch=2), STENCILS["tile"]
    text = llvm.assembly(tile.source(problem, tile.default(problem, device), device), device)
    return re.sub(r"#.*", "", text)


def test_what_a_virtual_machine_hides_is_not_used(pretend: Pretend) -> None:
    """A Xeon of this core has AVX-512-FP16, which converts float16 by instructions of its own."""
    told = AVX512 | {"avx512fp16": False, "amx-tile": False, "sha": False}
    hidden = pretend("sapphirerapids", told)
    assert hidden.key == "sapphirerapids-avx512"
    assert hidden.features == "x86_64/sapphirerapids +avx512dq,+avx512f,+avx512vl,+fma,-avx512fp16"
    assert "vcvtps2phx" not in listing(hidden, "h")
    shown = pretend("sapphirerapids", told | {"avx512fp16": True})
    assert "-" not in shown.features
    assert "vcvtps2phx" in listing(shown, "h")


def test_a_core_without_its_avx512_is_one_of_avx2(pretend: Pretend) -> None:
    told = AVX2 | dict.fromkeys(("avx512f", "avx512vl", "avx512dq", "avx512bw"), False)
    device = pretend("skylake-avx512", told)
    assert device.key == "skylake-avx512-avx2"
    assert (device["vector_bits"], device["vector_registers"], device["masks"]) == (256, 16, 0)
    wide = re.compile(r"zmm|[xy]mm(1[6-9]|[23]\d)|\{%k")
    # As a program with more vectors than there are registers shows.
    some = replace(device, limits={**device.limits, "vector_registers": 32, "vector_bits": 256})
    assert not wide.search(listing(some, "d"))
    flags = device.features.partition(" -")[0]
    assert wide.search(listing(replace(some, features=flags.split(",-")[0]), "d"))


def test_a_processor_that_hides_nothing_is_as_it_was(pretend: Pretend) -> None:
    assert pretend("cascadelake", AVX512).features == "x86_64/cascadelake +avx512dq,+avx512f,+avx512vl,+fma"
