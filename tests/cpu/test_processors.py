"""Processors that are not here: their default kernels as LLVM writes and as QEMU runs them, and how spills
are told from what a function saves for its caller."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import cross, foreign, spills
from bench.exported import TOOLS
from tilewright.catalog import STENCILS
from tilewright.export import processors
from tilewright.model import DTYPES, Problem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.stencils.cpu.ir import Piece
from tilewright.stencils.cpu.tile.codegen import pieces
from tilewright.targets.cpu import arm, listing, llvm, named, riscv, trace
from tilewright.targets.cpu.isa import best_isa

pytestmark = pytest.mark.cpu

GOLDEN = Path(__file__).parent.parent / "golden"
PROCESSORS = (
    *("cortex-a57", "apple-m1", "neoverse-v1", "neoverse-v2", "neoverse-n2", "a64fx", "apple-m4"),
    *("pwr8", "pwr9", "pwr10", "sifive-x280", "sifive-p670", "spacemit-x60"),
)


def defaults(letter: str, name: str) -> Iterator[Problem]:
    """Two problems of a type, of which each processor has its own: transposed, of any alpha and beta."""
    draw = random.Random(f"{letter} {name}")
    yield from Problem.parse(f"{letter}:{draw.randint(2, 6)}x3x4@50/all")
    m, n, k = (draw.randint(2, draw.choice((4, 14))) for _ in range(3))
    trans = draw.choice(("nn", "tn", "nt", "tt") if letter in "sdhb" else ("nn", "cn", "jt"))
    scalars: dict[str, Any] = {"alpha": draw.choice(("1", "any")), "beta": draw.choice(("0", "1", "any"))}
    yield Problem(DTYPES[letter], m, n, k, trans[0], trans[1], **scalars, batch=draw.choice((2, 1 << 20)))


@pytest.mark.parametrize("name", PROCESSORS)
def test_defaults_do_not_spill(name: str) -> None:
    device = spills.processor(name)
    served = 0
    for letter in DTYPES:
        for problem in defaults(letter, name):
            for stencil in ("outer", "sme", "lanes", "tile", "compact"):
                if STENCILS[stencil].accepts(problem, device) is None:
                    config = STENCILS[stencil].default(problem, device)
                    facts = llvm.facts(STENCILS[stencil].source(problem, config, device), device)
                    assert facts["fma"] == facts["fma_expected"], f"{problem.key}, {config}"
                    assert not facts["spills"], f"{problem.key}, {config}"
                    served += 1
    assert served >= 8


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        *((name, apart) for name in ("znver4", "znver5", "sapphirerapids") for apart in (False, True)),
        *((name, False) for name in ("neoverse-v2", "apple-m1", "pwr9")),
    ],
)
def test_interleaved_matrices_from_memory_do_not_spill(name: str, apart: bool) -> None:
    """Where steps ask for lines, and where matrices of C are turned."""
    device = spills.processor(name)
    for text in ("s:9x5x4", "d:8x8x8", "c:4x7x6"):
        (problem,) = Problem.parse(f"{text}@4000000/all")
        problem = problem.with_(stride_c=problem.m * problem.n) if apart else problem
        config = STENCILS["compact"].default(problem, device)
        facts = llvm.facts(STENCILS["compact"].source(problem, config, device), device)
        assert not facts["spills"], f"{problem.key}, {config}"


def test_few_rows_of_interleaved_matrices_are_asked_for_where_the_processor_follows_fewer() -> None:
    def turns(name: str, text: str, apart: bool) -> int:
        (problem,) = Problem.parse(f"{text}@4000000/all")
        problem = problem.with_(stride_c=problem.m * problem.n) if apart else problem
        device = spills.processor(name)
        config = STENCILS["compact"].default(problem, device)
        assert not STENCILS["compact"].space(problem, device).why(config)
        facts = llvm.facts(STENCILS["compact"].source(problem, config, device), device)
        assert not facts["spills"], f"{problem.key}, {config}"
        return int(config["prefetch"])

    for text in ("d:3x3x3", "z:2x3x4"):
        assert [turns("znver4", text, apart) for apart in (False, True)] == [2, 2]
    # Twelve rows of A and B.
    for text in ("s:2x2x3", "c:4x2x2"):
        assert [turns("znver4", text, apart) for apart in (False, True)] == [2, 0]


@pytest.mark.parametrize(
    ("name", "spelling", "trans", "alpha", "beta"),
    [
        # What schedulers read ahead: A while it is turned, C before it is updated, B of the next steps.
        ("neoverse-v2", "d:14x8x15", "tn", "any", "1"),
        ("cortex-a57", "s:13x19x3", "nn", "any", "1"),
        ("pwr8", "s:16x20x8", "nn", "1", "any"),
        # Values of B for a tile that is one vector high.
        ("generic", "c:1x16x2", "cn", "1", "0"),
        ("generic", "d:1x18x18", "tn", "1", "0"),
        # Single numbers beside vectors, and vectors that are half full.
        ("pwr8", "d:9x9x9", "nt", "any", "0"),
        ("pwr9", "d:27x7x27", "nn", "any", "any"),
        ("pwr8", "c:21x11x22", "nc", "1", "0"),
        # Sums that are single numbers, and those that are put off until C is read.
        ("spacemit-x60", "s:1x25x37", "nn", "any", "1"),
        ("sifive-p670", "d:8x8x8", "nn", "1", "1"),
        ("spacemit-x60", "b:7x7x7", "nn", "1", "0"),
    ],
)
def test_defaults_that_once_spilled(name: str, spelling: str, trans: str, alpha: str, beta: str) -> None:
    (problem,) = Problem.parse(spelling, beta=beta)
    problem = problem.with_(trans_a=trans[0], trans_b=trans[1], alpha=alpha, batch=2)
    device, tile = spills.processor(name), STENCILS["tile"]
    source = tile.source(problem, tile.default(problem, device), device)
    assert llvm.facts(source, device)["spills"] == 0


@pytest.mark.parametrize(
    ("spelling", "exchanged"), [("s:8x3x4", False), ("d:tt:4x3x4", False), ("z:2x2x2", True)]
)
def test_power8_exchanges_no_halves_of_real_tiles(spelling: str, exchanged: bool) -> None:
    """Whole vectors are read, summed and written in the order in which they come; of a transposed A those
    that are turned are not."""
    (problem,) = Problem.parse(spelling, beta="1")
    device, tile = spills.processor("pwr8"), STENCILS["tile"]
    text = llvm.assembly(tile.source(problem, tile.default(problem, device), device), device)
    after = text[text.index("xvmadd") :]
    assert "stxvd2x" in after
    assert ("xxswapd" in after) == exchanged


def test_complex_numbers_of_power8_come_as_they_are_read() -> None:
    """Of doubles the parts are exchanged in one of the two sums at the end, and of floats copies of parts are
    read from a buffer."""
    device, tile = spills.processor("pwr8"), STENCILS["tile"]
    for spelling, swapped, copied in (("z:4x4x9", 16, 72), ("c:8x4x9", 0, 72)):
        (problem,) = Problem.parse(spelling)
        source = tile.source(problem.with_(batch=2), tile.default(problem, device), device)
        lines = trace.executed(source, llvm.assembly(source, device)).lines
        words = Counter(line.split()[0] for line in lines)
        assert (words["xxswapd"], words["lxvdsx"]) == (swapped, copied)
        assert words["xxspltw"] == 0


@pytest.mark.parametrize("trans", ["nn", "nj", "jn", "jj", "tc", "ct"])
def test_power9_copies_no_part_of_a_complex_double(trans: str, tmp_path: Path) -> None:
    """Products of parts in both orders, of all conjugates, as QEMU computes them."""
    device, tile = named.device("pwr9"), STENCILS["tile"]
    problem = Problem(DTYPES["z"], 9, 7, 11, *trans, alpha="any", beta="any", batch=2)
    config = tile.default(problem, device)
    assert config["cmul"] == "cross"
    assert "lxvdsx" not in llvm.assembly(
        tile.source(problem.with_(alpha="1", beta="0"), config, device), device
    )
    for each in ("qemu-ppc64le", f"{TOOLS['ppc64le']}-gcc"):
        if not shutil.which(each):
            pytest.skip(f"{each} missing")
    kernels = [
        foreign.Asked(problem.with_(alpha=alpha, beta=beta), "tile", config.with_(**changes))
        for alpha, beta, changes in (
            ("any", "any", {}),
            ("1", "0", {"blk_m": 3, "reg_a": 3, "blk_n": 7}),
            ("1", "1", {"blk_k": 2, "inner": "row", "reg_a": 1, "reg_b": config["blk_n"]}),
        )
    ]
    assert foreign.built(kernels, device, tmp_path) == (0, "")
    code, said = foreign.judged(kernels, ["qemu-ppc64le", "-cpu", "power9"], tmp_path)
    assert code == 0, said


@pytest.mark.parametrize("name", ["apple-m1", "neoverse-v2"])
@pytest.mark.parametrize(("trans", "copies"), [("nn", False), ("jn", False), ("jj", False), ("nj", True)])
def test_complex_multiply_adds_take_a_number_from_half_a_vector(name: str, trans: str, copies: bool) -> None:
    """But where B alone is conjugated and is the first factor, which no instruction takes from a half."""
    device, tile = spills.processor(name), STENCILS["tile"]
    problem = Problem(DTYPES["c"], 8, 4, 6, *trans, batch=2)
    text = llvm.assembly(tile.source(problem, tile.default(problem, device), device), device)
    assert ("ld1r" in text) == copies
    assert ("s[0], #0" in text) == (not copies)
    assert "dup" not in text


@pytest.mark.parametrize(("isa", "letter"), [("neon_fcma", "c"), ("neon_fcma", "hc"), ("sve256", "z")])
def test_longer_products_multiply_complex_numbers_by_instructions(
    isa: str, letter: str, tmp_path: Path
) -> None:
    """From operands where they lie and from packed ones, of all conjugates, as QEMU computes them."""
    there, blocked = foreign.device(isa), STENCILS["blocked"]
    kernels = []
    for trans in ("nn", "jt", "tj", "cc"):
        problem = Problem(DTYPES[letter], 66, 5, 7, *trans, alpha="any", beta="any", batch=2)
        config = blocked.default(problem, there)
        assert config["cmul"] == "fcmla"
        other = config.with_(cmul="fcmla", pack_b=1, blk_m=1, blk_n=5)
        assert not blocked.space(problem, there).only(HARDWARE).why(other)
        kernels += [foreign.Asked(problem, "blocked", each) for each in (config, other)]
    arch = "aarch64"
    for each in (f"qemu-{arch}", f"{TOOLS[arch]}-gcc"):
        if not shutil.which(each):
            pytest.skip(f"{each} missing")
    assert foreign.built(kernels, there, tmp_path) == (0, "")
    code, said = foreign.judged(kernels, [f"qemu-{arch}", "-cpu", cross.PROCESSORS[isa][0]], tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("spelling", "twice"), [("s:16x8x20", True), ("s:nt:8x6x21", True), ("d:16x8x20", False)]
)
def test_power8_copies_no_float_of_b_while_it_multiplies(spelling: str, twice: bool) -> None:
    """Floats of B are written twice before, those that fill no vector one by one, and doubles are not."""
    (problem,) = Problem.parse(spelling)
    problem = problem.with_(batch=2)
    device, tile = spills.processor("pwr8"), STENCILS["tile"]
    source = tile.source(problem, tile.default(problem, device), device)
    lines = trace.executed(source, llvm.assembly(source, device)).lines
    words = Counter(line.split()[0] for line in lines)
    vectors, rest = divmod(problem.k * problem.n, 4) if twice else (0, 0)
    assert words["xxspltw"] == 0
    assert words["lxvdsx"] >= problem.k * problem.n
    assert words["xxmrghw"] == words["xxmrglw"] == vectors
    assert words["lwz"] == rest


@pytest.mark.parametrize("name", ["pwr8", "pwr9"])
def test_a_full_vector_is_moved_up_on_power(name: str) -> None:
    """Single rows beside vectors take loads and multiply-adds of their own."""
    device, tile = spills.processor(name), STENCILS["tile"]
    for spelling, beta, tail in (
        ("s:9x9x9", "0", "whole"),
        ("d:9x5x5", "1", "whole"),
        ("s:7x7x7", "0", "overlap"),
    ):
        (problem,) = Problem.parse(spelling, beta=beta)
        config = tile.default(problem, device)
        assert config["tail"] == tail
        assert not tile.space(problem, device).only(HARDWARE).why(config)
    assert pieces(9, 4, "whole") == [Piece(0, 4, 4), Piece(4, 4, 4), Piece(5, 4, 4)]
    (column,) = Problem.parse("s:3x3x3")
    # A full vector would begin before the column.
    assert tile.space(column, device).why(tile.default(column, device).with_(tail="whole"))


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("cortex-a57", "d:3x3x3"),
        ("apple-m1", "c:2x1x2"),
        ("neoverse-v2", "z:2x1x2"),
        ("neoverse-v1", "c:3x1x2"),
        ("a64fx", "d:3x3x3"),
        ("pwr9", "d:3x3x3"),
        ("pwr8", "s:8x2x5"),
        ("spacemit-x60", "d:3x3x3"),
    ],
)
def test_the_program_is_as_it_was(name: str, spelling: str, request: pytest.FixtureRequest) -> None:
    """One small kernel of each instruction set, to be read in a review (``--update-golden``)."""
    device, tile = spills.processor(name), STENCILS["tile"]
    (problem,) = Problem.parse(spelling)
    text = tile.source(problem, tile.default(problem, device), device).text
    path = GOLDEN / f"tile-{spelling.replace(':', '-')}.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"


@pytest.mark.parametrize(
    ("arch", "lines", "found"),
    [
        ("x86_64", ["movups\t%xmm1, 8(%rsp)  # 16-byte", "movq\t%rax, (%rsp)  # 8-byte"], (1, 1)),
        # The first store of d8 is for the caller, that of q8 is not, and v0 is nobody's.
        ("aarch64", ["stp\td9, d8, [sp, #16]  // 16-byte"], (0, 0)),
        ("aarch64", ["str\td8, [sp]  // 8-byte", "stp\tq8, q0, [sp]  // 32-byte"], (2, 0)),
        ("aarch64", ["str\tx30, [sp]  // 8-byte", "str\tx8, [sp]  // 8-byte"], (0, 1)),
        # v20 is vector 52; f14 and r14 are the caller's, r3 is not.
        ("ppc64le", ["stvx 20, 1, 11  # 16-byte", "stfd 14, 8(1)  # 8-byte"], (0, 0)),
        ("ppc64le", ["stxv 52, 8(1)  # 16-byte", "stvx 20, 1, 11  # 16-byte"], (1, 0)),
        ("ppc64le", ["std 14, 8(1)  # 8-byte", "std 3, 8(1)  # 8-byte"], (0, 1)),
        # No vector is the caller's, and a group of two counts twice; fs1 and s1 are, fa5 and a0 are not.
        ("riscv64", ["vs2r.v\tv8, (a0)  # vscale x 16-byte", "vs1r.v\tv24, (a0)  # vscale x 8-byte"], (3, 0)),
        ("riscv64", ["fsd\tfs1, 8(sp)  # 8-byte", "fsd\tfa5, 8(sp)  # 8-byte"], (1, 0)),
        ("riscv64", ["sd\ts1, 8(sp)  # 8-byte", "sd\tra, 8(sp)  # 8-byte", "sd\ta0, (sp)  # 8-byte"], (0, 1)),
    ],
)
def test_what_is_a_spill(arch: str, lines: list[str], found: tuple[int, int]) -> None:
    text = "\n".join(["\t.cfi_startproc", *(f"\t{line} Folded Spill" for line in lines), "\tret"])
    assert listing.spills(text, arch) == found
    # Functions without tables of unwinding have another mark.
    for one in (text, text.replace("\t.cfi_startproc", "f:  // -- Begin function f")):
        assert listing.spills(one + "\n" + one, arch) == tuple(2 * each for each in found)


@pytest.mark.parametrize(
    ("features", "bits", "found"),
    [
        ({"neon", "sve", "complxnum"}, 512, "sve512"),
        ({"neon", "sve", "complxnum"}, 128, "sve128"),
        # Longer vectors than the table has, and a process without them.
        ({"neon", "sve", "complxnum"}, 1024, "neon_fcma"),
        ({"neon", "sve"}, 0, "neon"),
        ({"neon", "complxnum", "sme", "sme-f64f64"}, 0, "sme512"),
        ({"neon", "complxnum", "sme", "sme-f64f64", "sve"}, 128, "sme512"),
        ({"neon", "complxnum", "sme", "sme-f64f64", "sve"}, 256, "sve256"),
        # Outer products of float32 alone.
        ({"neon", "complxnum", "sme"}, 0, "neon_fcma"),
    ],
)
def test_rows_of_scalable_vectors_go_by_their_length(features: set[str], bits: int, found: str) -> None:
    isa = best_isa("aarch64", features, bits, 512)
    assert isa is not None
    assert isa.name == found


@pytest.mark.parametrize(
    ("bits", "name"),
    [(128, "sme128"), (256, "sme256"), (512, "sme512"), (1024, "sme1024"), (2048, "neon_fcma")],
)
def test_rows_of_streaming_mode_go_by_its_length(bits: int, name: str) -> None:
    isa = best_isa("aarch64", {"neon", "complxnum", "sme", "sme-f64f64"}, 0, bits)
    assert isa is not None
    assert isa.name == name


@pytest.mark.parametrize(
    ("name", "letter", "changes"),
    [
        ("apple-m1", "c", {"cmul": "fcmla"}),
        ("neoverse-v2", "z", {"cmul": "fcmla"}),
        # Complex multiply-adds in three parts; bfloat16 as it is stored, and where A is turned before.
        ("a64fx", "z", {"cmul": "split"}),
        # Loads of a vector in either order.
        ("pwr9", "z", {"cmul": "cross"}),
        ("pwr8", "z", {"cmul": "split"}),
        ("neoverse-v1", "b", {"widen": "product", "tail": "mask"}),
        ("neoverse-v1", "b:tn", {"widen": None}),
        ("neoverse-v2", "b", {"widen": None}),
    ],
)
def test_what_a_processor_has_of_its_own(name: str, letter: str, changes: dict[str, str | None]) -> None:
    (problem,) = Problem.parse(f"{letter}:5x3x4")
    config = STENCILS["tile"].default(problem, spills.processor(name))
    assert {key: config.get(key) for key in changes} == changes


def test_objects_of_other_processors() -> None:
    device = spills.processor("neoverse-v1")
    problem = Problem(DTYPES["d"], 3, 3, 3)
    tile = STENCILS["tile"]
    binary = llvm.compile(tile.source(problem, tile.default(problem, device), device), device)
    assert binary.code.startswith(b"\x7fELF")
    assert binary.facts["spills"] == 0


@pytest.mark.parametrize(("letter", "trans"), [("s", "nn"), ("d", "tt"), ("b", "tn"), ("h", "nt")])
def test_outer_products_are_chosen_where_they_are_fewer(letter: str, trans: str) -> None:
    """The default of POWER10 for all but small products; the accumulators leave room for what they add."""
    device, outer = spills.processor("pwr10"), STENCILS["outer"]
    problem = Problem(DTYPES[letter], 19, 17, 13, *trans, alpha="any", beta="any", batch=2)
    plan = dispatch.plan(problem, device, cores=1, vendor=False)
    assert (plan.origin, plan.stencil) == ("default", "outer")
    assert plan.config is not None
    assert plan.config in outer.space(problem, device)
    facts = llvm.facts(outer.source(problem, plan.config, device), device)
    assert facts["spills"] == facts["scalar_spills"] == 0
    assert facts["fma"] == facts["fma_expected"] > 0
    assert outer.accepts(problem, spills.processor("pwr9")) == "the processor has no unit for outer products"


def test_outer_products_leave_small_and_complex_ones() -> None:
    device, outer = spills.processor("pwr10"), STENCILS["outer"]
    assert "no fewer instructions" in str(outer.accepts(Problem(DTYPES["d"], 2, 1, 9), device))
    assert "type c" in str(outer.accepts(Problem(DTYPES["c"], 9, 9, 9), device))
    assert "larger than 64" in str(outer.accepts(Problem(DTYPES["s"], 65, 9, 9), device))


@pytest.mark.parametrize("isa", [isa for isa in cross.PROCESSORS if isa in processors.names()])
def test_they_run_under_qemu(isa: str, tmp_path: Path) -> None:
    asked = [Problem(DTYPES["c"], 3, 1, 2, "t", "c"), Problem(DTYPES["h"], 2, 1, 2)]
    ran(list(cross.checks(isa, asked, tmp_path, cross.PROCESSORS[isa][:1])))


@pytest.mark.parametrize(
    ("isa", "asked"),
    [
        ("mma", {"d:5x7x9": "nn", "s:9x6x5": "tt", "b:9x5x7": "nn", "h:5x5x3": "tt"}),
        ("sme512", {"s:17x9x5": "nn", "d:9x7x18": "tn", "s:5x19x7": "tt", "h:9x17x6": "nt", "b:6x9x7": "nn"}),
        ("sme128", {"s:9x9x5": "tn", "z:5x3x6": "nt", "c:7x6x5": "cj"}),
        ("sme256", {"d:9x7x18": "tn", "c:5x9x7": "jt", "z:6x5x9": "nn"}),
        ("sme1024", {"s:33x9x35": "tn", "d:9x17x5": "nt", "c:17x5x6": "cc"}),
        ("rvv128", {"d:5x3x4": "tn"}),
        ("rvv256", {"c:5x3x4": "nc"}),
        ("rvv512", {"b:5x3x4": "tn"}),
    ],
)
def test_they_are_called_under_qemu(isa: str, asked: dict[str, str], tmp_path: Path) -> None:
    """The cases that the tuner checks kernels with, of problems that no vector divides."""
    problems = [
        problem.with_(trans_a=trans[0], trans_b=trans[1], batch=2)
        for spelling, trans in asked.items()
        for problem in Problem.parse(spelling, beta="any")
    ]
    ran(list(foreign.checks(isa, problems, tmp_path, cross.PROCESSORS[isa][:1])))


def ran(found: list[dict[str, Any]]) -> None:
    """All of it was right; skipped where a tool is missing."""
    for line in found:
        if line["exit"] == cross.SKIPPED:
            pytest.skip(line["said"])
        assert line["exit"] == 0, line["said"]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "bits", "found"),
    [
        ("isa\t\t: rv64imafdcv_zicsr_zvfhmin\n", 256, {"v", "zvfhmin", "zvl128b", "zvl256b"}),
        ("isa\t\t: rv64imafdc_zicsr\n", 0, set[str]()),
        ("no such line\n", 512, {"zvl512b"}),
    ],
)
def test_extensions_of_risc_v(text: str, bits: int, found: set[str]) -> None:
    extensions = riscv.extensions(text, bits)
    assert found <= extensions
    assert ("v" in extensions) == ("v" in found)
    assert f"zvl{2 * bits or 128}b" not in extensions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "processor\t: 0\nFeatures\t: fp asimd fcma sme smef64f64 smei16i64\n",
            {"complxnum", "sme", "sme-f64f64"},
        ),
        ("Features\t: fp asimd smefa64\n", set[str]()),
        ("no such line\n", set[str]()),
    ],
)
def test_extensions_of_arm(text: str, found: set[str]) -> None:
    assert arm.extensions(text) == found


@pytest.mark.parametrize(("said", "bits"), [(0x20040, 512), (16, 128), (-22, 0)])
def test_lengths_of_arm(said: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the length an answer has flags; a processor without such vectors answers with an error."""
    asked: list[int] = []

    def prctl(question: int, *_: int) -> int:
        asked.append(question)
        return said

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace(prctl=prctl))
    assert (arm.vector_bits(), arm.streaming_bits()) == (bits, bits)
    assert asked == [51, 64]


def test_sets_of_risc_v_go_by_length() -> None:
    common = {"m", "a", "f", "d", "c", "v"}
    for bits, name in ((128, "rvv128"), (256, "rvv256"), (1024, "rvv512")):
        isa = best_isa("riscv64", common | riscv.extensions("", bits))
        assert isa is not None
        assert isa.name == name
    assert best_isa("riscv64", common | riscv.extensions("", 64)) is None
