"""The ladder in half precision as data: files, tiles and blocks, what each needs and what a device lacks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench import ladder as bench
from tilewright.cli import main
from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.targets.cuda import capability
from tilewright.targets.cuda.arguments import Struct, TensorMap
from tilewright.tutorial import checks, ladder, outlines
from tilewright.tutorial.halves import RUNGS
from tilewright.tutorial.rung import FOLDER, Rung

pytestmark = pytest.mark.pure

H200, A100 = capability.named("h200"), capability.named("a100")
EACH = pytest.mark.parametrize("rung", RUNGS["h"], ids=lambda rung: rung.name)
POINTS = pytest.mark.parametrize(
    ("rung", "config"),
    [
        pytest.param(rung, config, id=f"{rung.number} {config!r}")
        for rung in RUNGS["h"]
        for config in rung.configs
    ],
)
PARAMETER = re.compile(r"#ifndef (\w+)\n#define (\w+) (\d+)  // (.+)\n#endif")


def text(rung: Rung) -> str:
    return (FOLDER / rung.file).read_text()


# ---- files and data


def test_every_file_is_a_rung_of_both_types() -> None:
    files = sorted(f"half/{path.name}" for path in (FOLDER / "half").glob("0*.cuh"))
    for letter in "hb":
        assert [rung.file for rung in RUNGS[letter]] == files
        assert [rung.number for rung in RUNGS[letter]] == [*range(1, len(files) + 1)]
        assert {rung.letter for rung in RUNGS[letter]} == {letter}
    assert [rung.configs for rung in RUNGS["h"]] == [rung.configs for rung in RUNGS["b"]]
    assert outlines.LADDERS["b"] == RUNGS["b"] != RUNGS["h"]


@EACH
def test_the_parameter_block_is_what_configs_name(rung: Rung) -> None:
    found = PARAMETER.findall(text(rung))
    assert all(asked == defined for asked, defined, *_ in found)
    assert text(rung).count("#ifndef") == len(found)
    assert len(set(rung.configs)) == len(rung.configs)
    for config in rung.configs:
        assert [name for name, *_ in found] == list(config)


@EACH
def test_a_file_says_what_it_adds_and_has_one_entry_of_its_name(rung: Rung) -> None:
    written = text(rung)
    assert written.startswith(f"// Step {rung.number}: ")
    assert [written.count(f"\n// {word}") for word in ("Adds: ", "Bound by: ", "Requires: ")] == [1, 1, 1]
    entries = re.findall(r'extern "C" __global__ void __launch_bounds__\([^)]*\)\s+(\w+)\(', written)
    assert entries == [rung.name]
    # A reader sees all of it.
    assert written.count("\n") < 140


def test_a_source_carries_all_headers_and_says_which_type() -> None:
    for letter, brain in (("h", "0"), ("b", "1")):
        source = RUNGS[letter][7].source(RUNGS[letter][7].configs[0])
        names = {name for name, _ in source.headers}
        assert {"half/numbers.cuh", "lib/gemm.cuh", "lib/wgmma.cuh", "lib/bulk.cuh"} < names
        assert dict(source.defines)["BRAIN"] == brain


# ---- geometry


@pytest.mark.parametrize(("m", "n"), [(1, 1), (257, 391), (4096, 4096)])
@POINTS
def test_blocks_cover_the_matrix_or_stay(rung: Rung, config: Config, m: int, n: int) -> None:
    rows, columns = rung.tile(config)
    launch = rung.launch(config, m, n, H200)
    across, down, deep = launch.grid
    assert deep == 1
    assert np.prod(launch.block) == rung.threads(config) <= 1024
    if rung.number < 7:
        assert launch.cluster == 1
        assert (across - 1) * columns < n <= across * columns
        assert (down - 1) * rows < m <= down * rows
        return
    assert down == launch.cluster == (2 if rung.number == 8 else 1)
    tiles = -(-m // (rows * down)) * -(-n // columns)
    assert across == min(tiles, H200["sms"] // down)


@POINTS
def test_tensor_maps_are_of_whole_slots(rung: Rung, config: Config) -> None:
    first, *maps = rung.arguments(config, 131, 77, 59, (64, 80, 96))
    assert isinstance(first, Struct)
    assert len(maps) == (2 if rung.number >= 5 else 0)
    if not maps:
        return
    a, b = maps
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    assert (a.extents, a.strides[0], b.extents, b.strides[0]) == ((59, 131, 1), 128, (77, 59, 1), 160)
    blocks = rung.launch(config, 131, 77, H200).cluster
    bytes_ = 2 * (np.prod(a.box) + blocks * np.prod(b.box) * (config["BN"] // 64))
    slots = config["STAGES"] * bytes_
    # What is left are barriers of 8 bytes, one or two for each slot.
    assert (rung.shared(config) - slots) / (8 * config["STAGES"]) in (1, 2)
    assert all(stride % 16 == 0 for stride in (*a.strides, *b.strides))
    # A product without steps of k has maps all the same.
    for each in rung.arguments(config, 3, 5, 0)[1:]:
        assert isinstance(each, TensorMap)
        assert min(each.extents) >= 1
        assert min(each.strides) >= 16


@POINTS
def test_shared_memory_fits(rung: Rung, config: Config) -> None:
    device = H200 if rung.missing(A100) else A100
    assert rung.shared(config) <= device["shared_per_block_optin"]
    if "STAGES" in config and config.get("MIN_BLOCKS"):
        room = rung.shared(config) + H200["shared_reserved"]
        assert config["MIN_BLOCKS"] * room <= H200["shared_per_sm"]


@pytest.mark.parametrize("columns", [64, 128, 256])
def test_the_swizzle_asks_no_bank_twice(columns: int) -> None:
    """Eight rows of one column of 16 bytes, as ldmatrix asks for them: ``place`` of steps 3 and 4."""
    assert all("row * COLUMNS + (column ^ row % 8 * 8)" in text(RUNGS["h"][i]) for i in (2, 3))
    for row in (0, 8, 24):
        for column in range(0, columns, 8):
            places = [(row + i) * columns + (column ^ (row + i) % 8 * 8) for i in range(8)]
            assert len({place // 8 % 8 for place in places}) == 8
            # Every 16 bytes stay in their row.
            assert [place // columns for place in places] == [row + i for i in range(8)]


# ---- numbers that need no device


def test_intensities_are_what_blocks_share() -> None:
    n = 4096
    found = [rung.intensity(rung.configs[0], n, n, n) for rung in RUNGS["h"]]
    assert found[0] == pytest.approx(8, rel=0.01)
    assert found[1:5] == pytest.approx([64] * 4, rel=0.04)
    # A cluster of two has the intensity of a tile twice as high.
    assert found[5] == found[6] == pytest.approx(2 / (1 / 128 + 1 / 256) / 2, rel=0.06)
    assert found[7] == pytest.approx(2 / (1 / 256 + 1 / 256) / 2, rel=0.06)


def test_tensor_cores_peak() -> None:
    assert outlines.peak(H200, "h") == pytest.approx(1070.5e12, rel=1e-3)
    assert outlines.peak(A100, "b") == pytest.approx(312e12, rel=1e-2)
    assert outlines.peak(capability.named("fermi-s2050"), "h") is None


def test_an_older_device_has_the_first_steps_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "facts", lambda rung, config, device, n: outlines.outline(rung, config, n))
    table = outlines.survey(4096, A100, letter="b")
    assert [row["rung"] for row in table["rows"]] == [1, 2, 3, 4]
    assert table["type"] == "b"
    assert [text for text in table["missing"] if text.startswith(("rung 5 (wgmma)", "rung 8 (multicast)"))]
    assert len(outlines.survey(4096, H200, letter="h")["rows"]) == 8


def test_orders_and_types_without_a_ladder_are_refused() -> None:
    with pytest.raises(ArgumentError, match="n=500; accepted for float16: multiples of 16"):
        outlines.survey(500, H200, letter="h")
    with pytest.raises(ArgumentError, match="type='z'; accepted: s, h, b"):
        outlines.survey(512, H200, letter="z")
    with pytest.raises(ArgumentError, match="n=500"):
        ladder.climb(500, letter="b")


@EACH
def test_cases_are_fitted_to_what_a_rung_takes(rung: Rung) -> None:
    for case in checks.CASES:
        sizes, pitches, offset = checks.fitted(case, rung)
        assert all(size % rung.whole == 0 for size in sizes)
        assert all(pitch % rung.unit == 0 for pitch in (*pitches, offset))
        assert pitches[0] >= sizes[2] >= case.k
        assert min(pitches[1:]) >= sizes[1] >= case.n
    if rung.whole == 1:
        fitted = [checks.fitted(case, rung) for case in checks.CASES]
        # Rows that end inside of 16 bytes, and room behind them.
        assert any(n % 2 and k % 8 and pitches[2] > n for (_, n, k), pitches, _ in fitted)


# ---- the command and the page


def test_the_command_shows_the_steps_that_a_device_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outlines, "facts", lambda rung, config, device, n: outlines.outline(rung, config, n))
    main.main(["ladder", "--type", "b", "--device", "a100", "--n", "1024"])
    said = capsys.readouterr().out
    assert "order 1024, bfloat16" in said
    assert "4 pipelined" in said
    assert "5 wgmma " not in said
    assert "missing: rung 5 (wgmma)" in said


@pytest.mark.parametrize(
    ("letter", "mark", "columns"), [("s", "measured", 12), ("h", "measured in half", 11)]
)
def test_a_page_has_the_tables_of_its_marks(letter: str, mark: str, columns: int, tmp_path: Path) -> None:
    measured = {"tflops": 500.0, "of_cublas": 0.75, "interval": (0.7, 0.8), "of_peak": 0.5}
    known = {"registers": 168, "spills": 0, "shared": 1024, "blocks": 1, "occupancy": 0.1875}
    rows = [
        outlines.outline(rung, rung.configs[0], 4096) | known | measured for rung in outlines.LADDERS[letter]
    ]
    table = {"type": letter, "n": 4096, "device": "a GPU", "clocks": "", "driver": "", "toolchain": ""}
    text = bench.markdown(table | {"vendor": "PyTorch", "vendor_tflops": 666.0, "rows": rows})
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {columns}
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured: begin -->\nx\n<!-- measured: end -->\nbetween\n")
    with page.open("a") as file:
        file.write("<!-- measured in half: begin -->\ny\n<!-- measured in half: end -->\nafter\n")
    bench.put(page, bench.MARKS[letter], text)
    found = page.read_text()
    assert f"<!-- {mark}: begin -->\n\n{text}\n\n<!-- {mark}: end -->" in found
    assert [word for word in ("before", "between", "after", "\nx\n", "\ny\n") if word not in found] == [
        "\nx\n" if letter == "s" else "\ny\n"
    ]
    with pytest.raises(SystemExit, match="has no <!-- nothing: begin -->"):
        bench.put(page, "nothing", text)
