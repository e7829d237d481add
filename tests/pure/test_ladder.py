"""The ladder as data: its files, who owns which element, what a block needs, and what counts as right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import DTYPES, Config
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import arguments, capability, devices, nvrtc
from tilewright.tutorial import checks, ladder, outlines
from tilewright.tutorial.rung import FOLDER
from tilewright.tutorial.single import RUNGS, SingleRung

pytestmark = pytest.mark.pure

POINTS = [
    pytest.param(rung, config, id=f"{rung.number} {config!r}") for rung in RUNGS for config in rung.configs
]
VECTORISED = [point for point in POINTS if int(str(point.id).split()[0]) >= 4]
PARAMETER = re.compile(r"#ifndef (\w+)\n#define (\w+) (\d+)  // (.+)\n#endif")


def text(rung: SingleRung) -> str:
    return (FOLDER / rung.file).read_text()


def lanes(config: Config) -> list[tuple[int, int]]:
    """Row and column, in patches, of each lane of a warp: the index formulas of rungs 5 and 6."""
    down = config["WM"] // config.get("WMITER", 1) // config["TM"]
    across = config["WN"] // config.get("WNITER", 1) // config["TN"]
    if config.get("PAIRED") and down in {4, 8}:
        pairs = [(lane // 16 * 2 + lane % 2, lane // 2 % 8) for lane in range(32)]
        return [(four, eight) if down == 4 else (eight, four) for four, eight in pairs]
    assert down * across == 32
    return [(lane // across, lane % across) for lane in range(32)]


def patches(rung: SingleRung, config: Config, thread: int) -> Iterator[tuple[int, int, int, int]]:
    """The rectangles of a block's tile that a thread owns: row, column, rows, columns."""
    if rung.square:
        side = config["BLOCK_DIM"]
        yield thread // side, thread % side, 1, 1
    elif rung.number <= 4:
        across = config["BN"] // config["TN"]
        tm, tn = config["TM"], config["TN"]
        yield thread // across * tm, thread % across * tn, tm, tn
    else:
        warp, lane = divmod(thread, 32)
        lane_m, lane_n = lanes(config)[lane]
        warp_m, warp_n = divmod(warp, config["BN"] // config["WN"])
        down, across = config.get("WMITER", 1), config.get("WNITER", 1)
        for i in range(down):
            for j in range(across):
                yield (
                    warp_m * config["WM"] + i * config["WM"] // down + lane_m * config["TM"],
                    warp_n * config["WN"] + j * config["WN"] // across + lane_n * config["TN"],
                    config["TM"],
                    config["TN"],
                )


# ---- files and data


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_the_parameter_block_is_what_configs_name(rung: SingleRung) -> None:
    found = PARAMETER.findall(text(rung))
    assert all(asked == defined for asked, defined, *_ in found)
    assert text(rung).count("#ifndef") == len(found)
    for config in rung.configs:
        assert [name for name, *_ in found] == list(config)


def test_every_file_is_a_rung_and_every_rung_a_file() -> None:
    assert [rung.file for rung in RUNGS] == sorted(path.name for path in FOLDER.glob("*.cuh"))
    assert [rung.number for rung in RUNGS] == list(range(1, 7))
    assert all(len(set(rung.configs)) == len(rung.configs) for rung in RUNGS)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_a_file_has_one_entry_of_its_name_and_one_argument(rung: SingleRung) -> None:
    entries = re.findall(
        r'extern "C" __global__ void __launch_bounds__\([^)]*\)\s+(\w+)\((.*?)\)', text(rung)
    )
    assert entries == [(rung.name, "const __grid_constant__ Gemm g")]


def test_the_document_s_shares_rise() -> None:
    shares = [rung.document or 0.0 for rung in RUNGS]
    assert shares == sorted(shares)
    assert shares[-1] * outlines.DOCUMENT_CUBLAS == pytest.approx(28.70, abs=0.005)


def test_a_source_carries_its_header_and_every_definition() -> None:
    rung = RUNGS[5]
    source = rung.source(rung.configs[0])
    assert f'#include "{source.headers[0][0]}"' in source.text
    assert "struct Gemm" in source.headers[0][1]
    assert dict(source.defines) == {name: str(value) for name, value in rung.configs[0].items()}


# ---- geometry


@pytest.mark.parametrize(("rung", "config"), POINTS)
def test_the_threads_of_a_block_own_each_element_of_its_tile_once(rung: SingleRung, config: Config) -> None:
    count = np.zeros(rung.tile(config), int)
    for thread in range(rung.threads(config)):
        for row, column, rows, columns in patches(rung, config, thread):
            count[row : row + rows, column : column + columns] += 1
    assert (count == 1).all()


@pytest.mark.parametrize(("m", "n"), [(1, 1), (257, 391), (128, 256), (4096, 4096)])
@pytest.mark.parametrize(("rung", "config"), POINTS)
def test_the_blocks_cover_the_matrix_and_none_is_idle(
    rung: SingleRung, config: Config, m: int, n: int
) -> None:
    rows, columns = rung.tile(config)
    launch = rung.launch(config, m, n, capability.named("h200"))
    across, down, deep = launch.grid
    assert deep == launch.cluster == 1
    assert (across - 1) * columns < n <= across * columns
    assert (down - 1) * rows < m <= down * rows
    assert np.prod(launch.block) == rung.threads(config) <= 1024


@pytest.mark.parametrize(("rung", "config"), POINTS)
def test_the_threads_of_a_block_read_each_element_of_its_tiles_once(rung: SingleRung, config: Config) -> None:
    if rung.square:
        return
    threads, width = rung.threads(config), 4 if rung.number >= 4 else 1
    for rows, columns in ((config["BM"], config["BK"]), (config["BK"], config["BN"])):
        assert rows * columns % (threads * width) == 0
        reads = np.arange(rows * columns // width)
        where = reads // (columns // width) * columns + reads % (columns // width) * width
        assert set(np.add.outer(where, np.arange(width)).ravel()) == set(range(rows * columns))


# ---- shared memory


def rounds(offsets: list[int]) -> int:
    """Passes over shared memory that 8 lanes need to read 16 bytes each at these offsets (elements)."""
    banks = [{offset // 4 for offset in offsets if offset // 4 % 8 == bank} for bank in range(8)]
    return max(map(len, banks))


@pytest.mark.parametrize(("rung", "config"), VECTORISED)
def test_fragments_are_read_at_multiples_of_16_bytes(rung: SingleRung, config: Config) -> None:
    assert (config["BM"] + 4) % 4 == config["BN"] % 4 == 0
    for thread in range(rung.threads(config)):
        assert all(row % 4 == column % 4 == 0 for row, column, *_ in patches(rung, config, thread))


def test_patches_8_wide_ask_banks_twice_and_subtiles_4_wide_once() -> None:
    def columns(rung: SingleRung, config: Config) -> list[int]:
        firsts = {next(patches(rung, config, thread))[1] for thread in range(32)}
        return sorted(firsts)[:8]

    assert rounds(columns(RUNGS[3], RUNGS[3].configs[0])) == 2
    assert rounds(columns(RUNGS[4], RUNGS[4].configs[0])) == 2
    for config in RUNGS[5].configs:
        assert rounds(columns(RUNGS[5], config)) == 1


def test_paired_lanes_share_what_half_a_warp_is_served_together() -> None:
    config = RUNGS[5].configs[0]
    assert config["PAIRED"] == 1
    place = lanes(config)
    assert len(set(place)) == 32
    # Eight lanes down, four across: neighbours share a row, the next but one a column.
    assert len({row for row, _ in place}) == 8
    for lane in range(32):
        assert place[lane][0] == place[lane ^ 1][0]
        assert place[lane][1] == place[lane ^ 2][1]


@pytest.mark.parametrize(("rung", "config"), VECTORISED)
def test_shared_memory_fits(rung: SingleRung, config: Config) -> None:
    device = capability.named("a100")
    assert rung.shared(config) <= device["shared_per_block_optin"]
    if not rung.dynamic:
        tiles = config["BK"] * (config["BM"] + 4 + config["BN"]) * rung.itemsize
        assert tiles <= device["shared_per_block"]


# ---- numbers that need no device


def test_intensities_are_the_document_s() -> None:
    n = 4096
    assert RUNGS[0].intensity(RUNGS[0].configs[0], n, n, n) == pytest.approx(0.25, abs=1e-3)
    assert RUNGS[1].intensity(RUNGS[1].configs[0], n, n, n) == pytest.approx(7.94, abs=5e-3)
    for rung in RUNGS[2:]:
        rows, columns = rung.tile(rung.configs[0])
        limit = 2 / (1 / rows + 1 / columns) / rung.itemsize
        assert 0.95 * limit < rung.intensity(rung.configs[0], n, n, n) < limit


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "blocks"),
    [
        (32, 0, 1024, 2),
        (32, 8192, 1024, 2),
        (33, 0, 1024, 1),
        (128, 16 << 10, 256, 2),
        (129, 16 << 10, 256, 1),
        (255, 33280, 128, 2),
        (32, 100 << 10, 128, 2),
        (32, 0, 32, 32),
    ],
)
def test_occupancy(registers: int, shared: int, threads: int, blocks: int) -> None:
    got, share = outlines.occupancy(registers, shared, threads, capability.named("h200"))
    assert got == blocks
    assert share == pytest.approx(blocks * threads / 2048)


def test_the_peak_of_an_h200() -> None:
    assert outlines.peak(capability.named("h200")) == pytest.approx(66.9e12, rel=1e-3)


def test_without_a_compiler_the_table_says_so_and_keeps_the_intensities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvrtc, "compiler_missing", lambda: "no compiler")
    monkeypatch.setattr(devices, "missing", lambda: "no compiler")
    table = outlines.survey(4096, capability.named("h200"))
    assert table["missing"] == ["no compiler"]
    assert [row["registers"] for row in table["rows"]] == [None] * 6
    assert all(row["intensity"] > 0.2 for row in table["rows"])


def test_an_order_below_1_and_a_run_without_a_device_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="n=0"):
        outlines.survey(0, capability.named("h200"))
    with pytest.raises(ArgumentError, match="n=0"):
        ladder.climb(0)
    monkeypatch.setattr(devices, "missing", lambda: "none is here")
    with pytest.raises(DeviceError, match="none is here"):
        ladder.climb(64)


def test_pack_is_row_major_in_the_fields_of_gemm() -> None:
    def packed(pitches: tuple[int, int, int] | None) -> tuple[Any, ...]:
        made = arguments.pack(
            RUNGS[0].arguments(RUNGS[0].configs[0], 5, 6, 7, pitches), {"alpha": 1.5, "beta": 0.5}
        )
        made.put((1, 2, 3))
        return args.BLOCK.unpack(made.block)

    fields = packed(None)
    assert fields[:6] == (1, 2, 3, 7, 6, 6)
    assert fields[9:13] == (5, 6, 7, 1)
    assert fields[13:17] == (1.5, 0.0, 0.5, 0.0)
    assert packed((9, 8, 10))[3:6] == (9, 8, 10)


@pytest.mark.parametrize("letter", ["s", "h", "b"])
def test_excess_accepts_rounding_and_nothing_more(letter: str) -> None:
    draw, kind = np.random.default_rng(3), DTYPES[letter].numpy
    a, b, c = (draw.standard_normal(shape).astype(kind) for shape in ((9, 50), (50, 8), (9, 8)))

    def excess(got: Any, a: Any, c: Any, alpha: float, beta: float) -> float:
        return checks.Right.of(a, b, c, alpha, beta, letter).excess(got)

    exact = 1.5 * (a.astype(float) @ b.astype(float)) + 0.5 * c.astype(float)
    right = exact.astype(kind)
    assert excess(right, a, c, 1.5, 0.5) < 1
    wrong = right.copy()
    # Two roundings of the type, and of single precision more than sums may be off by.
    wrong[3, 4] += kind.type(
        1e-3 if letter == "s" else 4 * DTYPES[letter].storage_roundoff * abs(exact[3, 4])
    )
    assert excess(wrong, a, c, 1.5, 0.5) > 1
    wrong[3, 4] = np.nan
    assert excess(wrong, a, c, 1.5, 0.5) == np.inf
    # With alpha or beta 0 the operand is not read, whatever it holds.
    assert excess((0.5 * c.astype(float)).astype(kind), np.full_like(a, np.nan), c, 0.0, 0.5) < 1
    product = (a.astype(float) @ b.astype(float)).astype(kind)
    assert excess(product, a, np.full_like(c, np.nan), 1.0, 0.0) < 1


def test_cases_hold_what_breaks_kernels() -> None:
    cases = checks.CASES
    assert {case.beta == 0 for case in cases} == {True, False}
    assert any(case.k == 0 for case in cases)
    assert any(case.alpha == 0 for case in cases)
    assert any(case.offset % 4 for case in cases)
    # Rows of whole vectors with gaps after them, and a last tile of k that is not full.
    assert any(
        not case.offset
        and min(case.gaps) > 0
        and not any(size % 4 for size in (case.k, case.n, *case.gaps))
        and case.k % 16
        for case in cases
    )
