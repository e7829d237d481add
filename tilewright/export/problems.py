"""What can be exported: problems as they are asked for, and what each is called in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.errors import ArgumentError, UnsupportedError
from tilewright.model import Problem, parsed

_REALS = {"s": "float", "d": "double", "h": "tw_float16", "b": "tw_bfloat16"}
_REALS |= {"c": _REALS["s"], "z": _REALS["d"], "hc": _REALS["h"]}
_ELEMENTS = _REALS | {"c": "tw_complex64", "z": "tw_complex128", "hc": "tw_complex32"}
_SCALARS = _ELEMENTS | {"h": "float", "b": "float", "hc": "tw_complex64"}
HALVES = ("h", "b", "hc")
"""The types of 16 bits, which kernels of processors alone have a form in C for."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A problem of a library: packed, its batch, alpha and beta left to the call. ``spelled``: its batch as
    it was asked for, 1 where none was, which GPUs' kernels are chosen by."""

    problem: Problem
    spelled: int

    @property
    def symbol(self) -> str:
        """Its name in C, of what its key begins with: ``tw_d_nn_8x8x8``."""
        p = self.problem
        return f"tw_{p.dtype.letter}_{p.trans}_{p.m}x{p.n}x{p.k}"

    @property
    def element(self) -> str:
        """The type of its elements in C."""
        return _ELEMENTS[self.problem.dtype.letter]

    @property
    def real(self) -> str:
        """The type of its elements in C, or of their parts where they are complex."""
        return _REALS[self.problem.dtype.letter]

    @property
    def scalar(self) -> str:
        """The type of alpha and beta in C."""
        return _SCALARS[self.problem.dtype.letter]

    @property
    def letter(self) -> str:
        """Its type in one character, as ``tw_problem`` has it."""
        letter = self.problem.dtype.letter
        return "x" if letter == "hc" else letter


def of(problems: str | Problem | Sequence[str | Problem]) -> list[Exported]:
    """The problems of spellings and of ``Problem``s, each once.

    Raises ``ArgumentError`` where there is none or one is not understood, and ``UnsupportedError`` for what
    has no form in C: lists, interleaved matrices, padded columns, several batch axes.
    """
    given = [problems] if isinstance(problems, str | Problem) else list(problems)
    if not given:
        raise ArgumentError("problems is empty; accepted: spellings such as d:8x8x8")
    found: dict[str, Exported] = {}
    for each in given:
        for problem in parsed(each) if isinstance(each, str) else [each]:
            if not isinstance(problem, Problem):
                raise UnsupportedError(f"problem={each!r} is a list; accepted: products of one size")
            plain = Problem(problem.dtype, *problem.extents, problem.trans_a, problem.trans_b)
            _check(problem, plain)
            made = Exported(plain, problem.batch)
            found.setdefault(made.symbol, made)
    return list(found.values())


def _check(problem: Problem, plain: Problem) -> None:
    """Refuse what has no form in C."""
    name = problem.spelling
    if min(problem.extents) < 1:
        raise UnsupportedError(f"problem={name!r}; accepted: sizes from 1")
    if problem.interleaved is not None or problem.pointers or problem.outer:
        raise UnsupportedError(f"problem={name!r}; accepted: one batch of matrices, each in one piece")
    leading = (problem.lda, problem.ldb, problem.ldc)
    if leading != (plain.lda, plain.ldb, plain.ldc):
        raise UnsupportedError(
            f"problem={name!r} with leading dimensions {leading}; accepted: packed columns"
        )
