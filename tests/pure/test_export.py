"""Exported libraries: launch rules found from launches, names in C, and what has no form in C."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, UnsupportedError
from tilewright.export import gpus, text
from tilewright.export.problems import of
from tilewright.export.rules import COUNTS, Axis, rule
from tilewright.model import Launch, Problem

pytestmark = pytest.mark.pure


def launches(blocks, **fields):
    return {count: Launch(grid=blocks(count), block=(64, 1, 1), shared=512, **fields) for count in COUNTS}


def test_a_rule_says_what_launches_say() -> None:
    found = rule(launches(lambda count: (min(792, -(-count // 7)), 3, min(count, 65535))))
    assert found is not None
    assert (found.block, found.shared) == (64, 512)
    assert found.grid == (Axis(792, 1, 1, 7), Axis(3, 3, 1, 1), Axis(65535, 1, 1, 1))
    assert [found.grid[0].blocks(count) for count in (1, 7, 8, 10**9)] == [1, 1, 2, 792]


def test_a_rule_may_start_more_blocks_for_few_products_but_for_no_others() -> None:
    found = rule(launches(lambda count: (min(100, max(-(-count // 8), min(count, 8))), 1, 1)))
    assert found is not None
    assert found.grid[0] == Axis(100, 8, 1, 8)
    assert rule(launches(lambda count: (min(1000, count * count % 97 + 1), 1, 1))) is None


def test_launches_that_no_rule_describes_are_none() -> None:
    assert rule(launches(lambda count: (1, 1, 1), cluster=2)) is None
    assert rule(launches(lambda count: (1, 1, 1), reading="tex1d")) is None
    mixed = {1: Launch(block=(32, 1, 1)), 2: Launch(block=(64, 1, 1))}
    assert rule(mixed) is None


@pytest.mark.parametrize("spelling", ["d:8x8x8@100000", "z:nc:3x3x3", "s:ct:30x20x7", "d:100x100x100"])
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_kernels_of_gpus_are_launched_as_their_stencils_say(spelling: str, arch: str) -> None:
    (each,) = of(spelling)
    device = gpus.arch_of(arch).device
    for layout in ("packed", "apart"):
        asked = gpus._asked(each, layout, "any", "any", device)
        chosen = gpus.choose(asked, device, layout == "apart")
        assert chosen is not None
        assert chosen.rule.shared <= device["shared_per_block_optin"]
        stencil = STENCILS[chosen.stencil]
        for count in (5, 12345, 2**29):
            wanted = stencil.launch(asked.with_(batch=count), chosen.config)
            grid = tuple(axis.blocks(count) for axis in chosen.rule.grid)
            assert (chosen.rule.block, chosen.rule.shared) == (wanted.block[0], wanted.shared)
            assert all(got >= least for got, least in zip(grid, wanted.grid, strict=True))
            assert count == 5 or grid == wanted.grid
    # What is chosen for all of capability 8 needs no more shared memory than the least of them has.
    assert gpus.arch_of("sm_80").device["shared_per_block_optin"] == 99 << 10


def test_a_kernel_for_matrices_that_lie_apart_does_not_depend_on_how_far() -> None:
    device = gpus.arch_of("sm_90a").device
    (each,) = of("d:8x8x8")
    asked = gpus._asked(each, "apart", "1", "0", device)
    chosen = gpus.choose(asked, device, True)
    assert chosen is not None
    far = gpus._spread(asked, 1001)
    source = STENCILS[chosen.stencil].source(far, chosen.config, device)
    assert source.digest == chosen.source.digest


def test_symbols_come_from_the_key_and_each_problem_is_there_once() -> None:
    found = of(["d:8x8x8@1000", "d:8x8x8", "z:ct:3x4x5", Problem.parse("s:2x2x2", beta="1")[0]])
    assert [x.symbol for x in found] == ["tw_d_nn_8x8x8", "tw_z_ct_3x4x5", "tw_s_nn_2x2x2"]
    assert [x.element for x in found] == ["double", "tw_complex128", "float"]
    assert of("hc:2x2x2")[0].element == "tw_complex32"
    assert found[0].spelled == 1000
    assert of("d:2..4")[2].symbol == "tw_d_nn_4x4x4"


def test_another_name_and_prefix_leave_nothing_of_the_usual_ones() -> None:
    files = [path for path in text.FOLDER.iterdir() if path.is_file()]
    assert {path.suffix for path in files} >= {".c", ".h", ".hpp", ".cpp"}
    for path in files:
        made = text.named(path.read_text(), "other", "my")
        assert not re.search(r"\b(tw_|TW_)|tilewright_kernels|TILEWRIGHT_KERNELS", made), path.name


@pytest.mark.parametrize(
    ("problems", "words"),
    [
        ("d:3x3x3@16/8", "in one piece"),
        (Problem.parse("d:3x3x3", lda=5)[0], r"leading dimensions \(5, 3, 3\)"),
        ("d:0x3x3", "sizes from 1"),
        ("d:2x2x2@1+3x3x3@1", "products of one size"),
    ],
)
def test_what_has_no_form_in_c_is_refused_by_name(problems, words: str, tmp_path) -> None:
    with pytest.raises(UnsupportedError, match=words):
        tw.export_kernels(problems, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_numbers_of_16_bits_are_of_processors_alone(tmp_path) -> None:
    words = "h:nn:3x3x3@1' with targets ptx; accepted for GPUs: types s, d, c, z"
    with pytest.raises(UnsupportedError, match=words):
        tw.export_kernels(["d:2x2x2", "h:3x3x3"], tmp_path / "out", targets=["neon", "ptx"])
    assert not (tmp_path / "out").exists()


def test_functions_take_numbers_of_16_bits_by_their_bits_and_scalars_as_float() -> None:
    half, complex_half = of(["b:2x3x4", "hc:ct:2x2x2"])
    words = "(size_t count, float alpha, const tw_bfloat16 *a, ptrdiff_t stride_a, const tw_bfloat16 *b,"
    made = text.header([half, complex_half], cuda=False)
    assert f"int tw_b_nn_2x3x4{words}" in made
    assert "int tw_hc_ct_2x2x2(size_t count, tw_complex64 alpha, const tw_complex32 *a," in made
    assert "X(tw_hc_ct_2x2x2, tw_float16, 1, 2, 2, 2, 'c', 't')" in made
    assert "'b', 'n', 'n', 2, 3, 4, 0}" in (table := text.problems_c([half, complex_half], cuda=False))
    assert "\"hc:ct:2x2x2\", 'x'," in table


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": "sse"}, "accepted: avx512, avx2"),
        ({"targets": []}, "accepted: avx512, avx2"),
        ({"name": "my lib"}, "name='my lib'"),
        ({"prefix": "1x"}, "prefix='1x'"),
    ],
)
def test_arguments_are_refused_by_name(options, words: str, tmp_path) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.export_kernels("d:2x2x2", tmp_path / "out", **options)
    with pytest.raises(ArgumentError, match="problems is empty"):
        tw.export_kernels([], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="no folder"):
        tw.export_kernels("d:2x2x2", tmp_path / "file")
