"""Products of 16-bit matrices kept whole, on a live GPU: right at odd columns, in every accepted layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.whole.stencil import WholeStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

WHOLE = WholeStencil()


def layouts(p: Problem) -> list[Problem]:
    """Dense, from odd addresses, with a shared operand, and with gaps between matrices."""
    gaps = {f"stride_{x}": stride + more for x, stride, more in zip("abc", p.strides, (1, 2, 3), strict=True)}
    return [p, p.with_(align=2), p.with_(stride_a=0), p.with_(stride_b=0), p.with_(**gaps)]


def padded(p: Problem) -> Problem:
    """With padded columns, which begin with words of 16 bytes, and gaps between matrices."""
    return p.with_(
        **{f"ld{x}": (ld or 0) + 8 for x, ld in zip("abc", (p.lda, p.ldb, p.ldc), strict=True)},
        **{f"stride_{x}": 2 * stride for x, stride in zip("abc", p.strides, strict=True)},
    )


@pytest.mark.parametrize(
    "size",
    [
        *("65x66x33", "95x95x95", "65x34x74", "97x128x40", "129x66x57", "197x41x66", "72x88x56"),
        *("583x5x2", "5x683x23", "81x40x31", "27x13x91"),
    ],
)
@pytest.mark.parametrize("letter", ["h", "b"])
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    for number in range(5):
        ops, beta = ("nn", "tn", "nt", "tt")[(number + len(size)) % 4], ("any", "0", "1")[number % 3]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha="any")[0])[number]
        assert WHOLE.accepts(p, device) is None
        config = WHOLE.default(p, device)
        # Fewer products than blocks, and more: the ring goes round several times.
        for batch, blocks in ((1, config["blocks"]), (301, device["sms"])):
            found = verdict(WHOLE, p, config.with_(blocks=blocks), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("size", ["33x65x40", "80x72x96", "63x63x63", "48x100x52", "40x41x66"])
def test_complex_numbers_are_right_in_every_layout(size: str) -> None:
    device = devices.probe()
    for number, (alpha, beta) in enumerate((("any", "0"), ("1", "1"), ("any", "1"), ("1", "0"))):
        p = Problem.parse(f"hc:nn:{size}@100000", beta=beta, alpha=alpha)[0]
        p = [p, p.with_(align=4), p.with_(stride_a=0), p.with_(stride_b=0)][number]
        assert WHOLE.accepts(p, device) is None
        config = WHOLE.default(p, device)
        for batch, blocks in ((1, config["blocks"]), (301, device["sms"])):
            found = verdict(WHOLE, p, config.with_(blocks=blocks), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    sizes = {name: draw.randrange(1, 150) for name in "mnk"} | {draw.choice("mnk"): draw.randrange(33, 200)}
    ops, beta = [draw.choice("nt") for _ in "ab"], draw.choice(("0", "1", "any"))
    p = Problem(
        DTYPES["hb"[seed % 2]], **sizes, trans_a=ops[0], trans_b=ops[1], batch=10**4, alpha="any", beta=beta
    )
    if seed % 3 == 0:
        # Columns that begin with words of 16 bytes are multiplied from where they come.
        p = p.with_(**{x: -(-extent // 8) * 8 for x, extent in zip("mnk", p.extents, strict=True)})
    p = draw.choice(layouts(p) + ([padded(p)] if seed % 3 == 0 else []))
    (config,) = WHOLE.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(WHOLE, p, config, draw.choice((1, 5, 301)))
    assert found.ok, f"{p.key} {config}: {found.why}"
