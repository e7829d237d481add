"""Which half of a sweep is taken where a whole one takes too long.

The cases of a sweep differ in a few words: a type, a transposition, a beta, a device, a way of copying. Each
word is in the half that is taken, and as many pairs of words as that has room for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

Word = tuple[Hashable, ...]


def words(case: Mapping[str, object]) -> set[Word]:
    """What is said by the arguments of a test, each with whose it is.

    Spellings are taken apart, since ``s:nt`` is a type and a transposition; so are configs. Problems and
    devices are what they are filed under.
    """
    found: set[Word] = set()
    for name, value in case.items():
        told = getattr(value, "key", value)
        if isinstance(told, str):
            found |= {(name, place, part) for place, part in enumerate(re.split(r"[:@| ]", told))}
        elif isinstance(told, Mapping):
            found |= {(name, *item) for item in told.items()}
        elif isinstance(told, Hashable):
            found.add((name, told))
    return found


def covering(cases: Sequence[Mapping[str, object]]) -> list[int]:
    """The places of a half of the cases, and of more where some word would be missing.

    A word is counted if what it is said of is the same in some other case: numbers of the cases, and sizes of
    which each has its own, tell nothing of what two of them have alike.
    """
    said = [words(case) for case in cases]
    values = defaultdict(list)
    for each in said:
        for word in each:
            values[word[:-1]].append(word[-1])
    alike = {about for about, those in values.items() if len(set(those)) < len(those)}
    said = [{word for word in each if word[:-1] in alike} for each in said]
    pairs = [set(combinations(sorted(each, key=repr), 2)) for each in said]
    missing, unpaired = set[Word]().union(*said), set[tuple[Word, Word]]().union(*pairs)
    left, taken, often = list(range(len(cases))), list[int](), Counter[Word]()

    def worth(i: int) -> tuple[int, int, int]:
        return len(said[i] & missing), len(pairs[i] & unpaired), -sum(often[word] for word in said[i])

    while left and (missing or 2 * len(taken) < len(cases)):
        # The first of those that add most; of these, what was taken least.
        best = max(left, key=worth)
        left.remove(best)
        taken.append(best)
        missing -= said[best]
        unpaired -= pairs[best]
        often.update(said[best])
    return sorted(taken)
