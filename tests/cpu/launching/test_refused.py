"""What the compiled program does not launch goes to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.launching.launches import CODE, Fake, block_of, starting
from tilewright.errors import DeviceError

pytestmark = pytest.mark.cpu


def test_what_the_driver_refuses_goes_to_python(fake: Fake) -> None:
    start, slow = starting(block_of())
    fake.codes += [CODE, 999]
    arguments = (11, 2**63, 33, 44)
    assert start(*arguments) is None
    assert slow.calls == [arguments]
    slow.error = DeviceError("no context is current on this thread")
    with pytest.raises(DeviceError, match="no context") as caught:
        start(*arguments)
    assert caught.value is slow.error
    assert slow.calls == [arguments] * 2
    assert start(*arguments) is None
    assert len(slow.calls) == 2
    assert len(fake.seen) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, 2, 3),
        (1, 2, 3, 4, 5),
        (-1, 2, 3, 4),
        (1, -(2**70), 3, 4),
        (1, 2, 2**64, 4),
        (1, 2, 3, None),
        (1, "2", 3, 4),
        (1.0, 2, 3, 4),
        (np.uint64(1), 2, 3, 4),
        (None, None, None, None),
    ],
)
def test_other_arguments_go_to_python_as_they_are(fake: Fake, arguments: tuple[Any, ...]) -> None:
    start, slow = starting(block_of())
    start(*arguments)
    (got,) = slow.calls
    assert len(got) == len(arguments)
    assert all(x is y for x, y in zip(got, arguments, strict=True))
    slow.error = ValueError("of Python")
    with pytest.raises(ValueError, match="of Python"):
        start(*arguments)
    assert fake.seen == []
    start_again, _ = starting(block_of())
    start_again(1, 2, 3, 4)
    assert len(fake.seen) == 1


def test_names_of_arguments_are_refused(fake: Fake) -> None:
    start, slow = starting(block_of())
    with pytest.raises(TypeError, match="keyword"):
        start(1, 2, 3, stream=4)
    assert (fake.seen, slow.calls) == ([], [])
