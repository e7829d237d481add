"""Records to make pages of, and pages as a browser and their script read them."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from tilewright.cli.report import markup
from tilewright.model import Config, Device, Problem, Record, Timing

BARE = Device("cuda", "A GPU", "a-gpu", {})
FREE = ("driver", "clocks", "toolchain", "device", "stencil")
EVIL = "</script><img src=x onerror=alert(1)>&\u2028'\""


def tried(spelling: str, seconds: float | None, **fields: Any) -> Record:
    """A try of a problem; without seconds one that failed. Names that no record has are the config's."""
    known = {name: fields.pop(name) for name in list(fields) if name in Record.__dataclass_fields__}
    beta, spread = fields.pop("beta", "0"), fields.pop("spread", 0.001)
    (problem,) = Problem.parse(spelling, beta=beta)
    protocol = known.get("protocol", 1)
    timing = seconds and Timing(
        (), seconds, seconds * (1 - spread), seconds * (1 + spread), "memory", problem.batch, protocol
    )
    base = {"regime": "memory", "stencil": "tile", "status": "ok" if seconds else "wrong", "device": "a-gpu"}
    base |= {"toolchain": "nvrtc 13", "config": Config(fields or {"blk": 1})}
    return Record(problem=problem, timing=timing or None, **base | known)


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of each script."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script" and not self.scripts[-1][1]:
            self.scripts[-1] = self.scripts[-1][0], data

    @property
    def data(self) -> Any:
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "data")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> str:
    """A plotting library of one line, in place of megabytes."""
    text = "window.Plotly = { react() {} };"
    monkeypatch.setattr(markup, "_plotly", lambda: text)
    return text


def unpacked(data: Any, number: int, text: str) -> dict[str, Any]:
    """A config as the script of a page reads it."""
    space = data["spaces"][number]
    places = {letter: place for place, letter in enumerate(data["alphabet"])}
    return {
        name: values[places[c]] for name, values, c in zip(space["names"], space["values"], text, strict=True)
    }


def column(data: Any, name: str) -> list[Any]:
    found = data["problems"][name]
    return found if isinstance(found, list) else [found["of"][at] for at in found["at"]]
