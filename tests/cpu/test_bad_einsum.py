"""Calls of einsum that opt_einsum refuses are refused with its kinds of exceptions, on arrays and tensors."""

from __future__ import annotations

import numpy as np
import opt_einsum
import pytest

import tilewright as tw

pytestmark = pytest.mark.cpu

EQUATIONS = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("ii->i", [(3, 3)]),
    ("ij,ij->i", [(3, 4), (3, 4)]),
]
ARRAY = np.ones((2, 2))


def spoiled():
    """Bad calls: arguments and options."""
    for equation, shapes in EQUATIONS:
        operands = [np.ones(shape) for shape in shapes]
        inputs, out = equation.split("->")
        texts = [
            *(inputs + "->" + out + out[-1:] * 2, inputs + "->" + out + "z", equation + "->"),
            *(equation.replace("i", "&"), equation.replace("i", "1"), inputs + "-" + out, inputs + ">" + out),
            *(inputs.replace("i", "i..", 1) + "->" + out, "...." + equation, inputs + "q->" + out),
            inputs[:-1] + "->" + out.replace(inputs[-1], ""),
        ]
        yield from (((text, *operands), {}) for text in texts)
        yield (equation, *operands[:-1]), {}
        yield (equation, *operands, ARRAY), {}
        yield (equation, *(np.full(shape, None) for shape in shapes)), {}
        yield (equation, *("x" for _ in shapes)), {}
        for options in ({"out": np.ones((7, 7, 7, 7))}, {"out": "x"}, {"out": 1.0}, {"bad": 1}):
            yield (equation, *operands), options
        yield (equation, *operands), {"optimize": object()}
        if len(shapes) > 1:
            yield (equation, *operands[:-1], np.ones([extent + 1 for extent in shapes[-1]])), {}
            yield (equation, operands[0][..., None], *operands[1:]), {}
    yield from (((), {}), (("ij,jk",), {}), ((0, 0), {}), ((None,) * 63, {}), (("", ARRAY), {}))
    yield (ARRAY, [0, 1], ARRAY, [1]), {}
    yield (ARRAY, [..., {}], [..., "a"]), {}
    yield (ARRAY, [..., 0], [..., ["a"]]), {}
    yield (ARRAY, 3), {}
    yield ("...ij->...", np.ones(2)), {}
    yield ("...i,...i->...i", np.ones((2, 3)), np.ones((4, 3))), {}
    yield ("ii->i", np.ones((2, 3))), {}


def kind(call):
    """TypeError or ValueError; LookupErrors, of paths and of lists, are values that do not fit."""
    try:
        call()
    except TypeError:
        return TypeError
    except (ValueError, LookupError):
        return ValueError
    return None


def test_what_opt_einsum_refuses_is_refused_so():
    calls = list(spoiled())
    assert len(calls) > 100
    for arguments, options in calls:
        expected = kind(lambda: opt_einsum.contract(*arguments, **options))  # noqa: B023 called at once
        found = kind(lambda: tw.einsum(*arguments, **options))  # noqa: B023 called at once
        assert found in (expected, ValueError if arguments == () else expected), (arguments, options)


def test_what_opt_einsum_refuses_is_refused_of_tensors():
    torch = pytest.importorskip("torch")

    def tensors(x):
        return torch.from_numpy(x) if isinstance(x, np.ndarray) and x.dtype != object else x

    for arguments, options in spoiled():
        given = [tensors(x) for x in arguments]
        named = {name: tensors(x) for name, x in options.items()}
        assert kind(lambda: tw.einsum(*given, **named)) is kind(  # noqa: B023 called at once
            lambda: tw.einsum(*arguments, **options)  # noqa: B023 called at once
        ), (arguments, options)
    a = torch.ones(3, 3, requires_grad=True)
    with pytest.raises(TypeError, match="requires a gradient"):
        tw.einsum("ij,jk->ik", a, a, out=torch.ones(3, 3))
