"""Where a page's records come from: this user's store, a file of another's, or a part of either.

A part is named in words with commas between them: a device's key, and ``name=text`` with a name of ``NAMES``,
where the text is how that field of a record begins (of ``device`` all of it). ``old.jsonl,device=h200`` is
the H200's part of a file, ``driver=580`` what this user's store holds of that driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.custom.problem import KernelProblem
from tilewright.errors import ArgumentError
from tilewright.model import PREDICTED, Record
from tilewright.store.copies import copied, is_store
from tilewright.store.jsonl import parse, read_text
from tilewright.store.records import Records

NAMES: dict[str, Callable[[Record], str]] = {
    "device": lambda record: record.device,
    "driver": lambda record: record.driver,
    "toolchain": lambda record: record.toolchain,
    "protocol": lambda record: str(record.protocol),
    "date": lambda record: record.when,
}
"""What a part may be named by, and where a record has it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Records under the name that the user gave them, and the ceilings that came with them by device.

    Of kernels of one's own, whose bounds nobody knows, no page is made: their records are left out.
    """

    label: str
    rows: list[Record]
    ceilings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", products(self.rows))


def products(rows: Iterable[Record]) -> list[Record]:
    """The records of tries that are of no kernel of one's own: what was only predicted is no try."""
    return [row for row in rows if not isinstance(row.problem, KernelProblem) and row.status != PREDICTED]


def read(path: Path) -> Source:
    """All records of a file, lines that ``tilewright export`` wrote or a store; the file stays as it is.

    Raises ``RecordsError``, which names the file, where it holds no records or cannot be read.
    """
    if is_store(path):
        return _of_store(path)
    rows, entries = parse(read_text(path), str(path), lambda record, where: record)
    ceilings: dict[str, dict[str, float]] = {}
    for device, _, values in entries:
        ceilings.setdefault(device, {}).update(values)
    return Source(str(path), rows, ceilings)


def _of_store(path: Path) -> Source:
    """What a store holds."""
    with copied(path) as copy:
        store = Records(copy)
        try:
            rows = store.all()
            ceilings = {key: store.ceilings(key, 1) for key in {row.device for row in rows}}
        finally:
            store.close()
    return Source(str(path), rows, ceilings)


def together(sources: Iterable[Source]) -> Source:
    """Several sources as one, in their order."""
    found = list(sources)
    ceilings: dict[str, dict[str, float]] = {}
    for source in found:
        for device, values in source.ceilings.items():
            ceilings.setdefault(device, {}).update(values)
    return Source(
        ", ".join(source.label for source in found), [row for s in found for row in s.rows], ceilings
    )


def part(text: str, store: Records) -> Source:
    """The records that a user names: a file, a device, or a part of the store or of a file.

    A device of which the store holds nothing is looked for among the records that ship with the package.
    Raises ``ArgumentError`` for words that name no file, device or field, and where no record is left;
    ``RecordsError`` for a file that cannot be read.
    """
    # A file may have commas in its name.
    words = [text] if Path(text).is_file() else [word.strip() for word in text.split(",")]
    files = [word for word in words if Path(word).is_file()]
    wanted: dict[str, str] = {}
    for word in words:
        if word in files:
            continue
        name, equals, value = word.partition("=")
        if not equals and word in store.devices():
            name, value = "device", word
        if name not in NAMES or not value or name in wanted:
            raise ArgumentError(
                f"records={text!r}: {word!r} is not understood; accepted: a file, "
                f"a device ({', '.join(store.devices())}), and once each NAME=TEXT with {', '.join(NAMES)}"
            )
        wanted[name] = value
    if files:
        source = together(map(read, map(Path, files)))
    else:
        key = wanted.get("device")
        source = Source(text, store.all(device=key) or (store.shipped(key) if key else []))
    rows = [row for row in source.rows if all(_has(row, *pair) for pair in wanted.items())]
    if not rows:
        raise ArgumentError(f"records={text!r} names no record; accepted: what some record says")
    return Source(text, rows, source.ceilings)


def _has(record: Record, name: str, value: str) -> bool:
    said = NAMES[name](record)
    return said == value if name == "device" else said.startswith(value)
