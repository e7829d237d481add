"""A page from its data: one file that needs no other and no network, in which no text of the records is
markup.

Texts of the records are escaped in what is written here, and put into the page as text nodes by its
scripts. Besides, the page says by the hashes of its scripts that no other may run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from tilewright.errors import ArgumentError, DeviceError

Row = dict[str, Any]

LIBRARY = "plotly.min.js"
LIBRARIES = ("embedded", "beside")
"""Where the plotting library is: in the page, or in a file of its own beside it, for pages that are many."""


def write(
    out: Path, body: str, scripts: Sequence[str], title: str, data: Row, library: str = "embedded"
) -> int:
    """Write a page, and the plotting library beside it if it is to lie there; returns the bytes of the page
    without the library.

    ``scripts`` are names of files in ``assets``. Raises ``DeviceError`` when plotly is not installed,
    ``ArgumentError`` when a file cannot be written, or for a ``library`` that is none of ``LIBRARIES``.
    """
    if library not in LIBRARIES:
        raise ArgumentError(f"library={library!r}; accepted: {', '.join(LIBRARIES)}")
    plotly = _plotly()
    own = "".join(_asset(name) for name in scripts)
    embedded = plotly if library == "embedded" else ""
    text = Template(_asset("page.html")).substitute(
        policy=_policy([own, embedded] if embedded else [own], beside=library == "beside"),
        title=escape(title),
        style=_asset("page.css"),
        body=body,
        data=_inert(data),
        scripts=f"<script>{own}</script>\n"
        + (f"<script>{embedded}</script>" if embedded else f'<script src="{LIBRARY}"></script>'),
    )
    _write(out, text)
    if not embedded:
        _write(out.with_name(LIBRARY), plotly)
    return len(text.encode("utf-8", "backslashreplace")) - len(embedded.encode("utf-8"))


def _write(out: Path, text: str) -> None:
    try:
        # The name of a file may hold bytes that are no text.
        out.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise ArgumentError(f"page {str(out)!r} cannot be written: {told}") from error


def _plotly() -> str:
    try:
        return files("plotly").joinpath("package_data", LIBRARY).read_text("utf-8")
    except (ImportError, OSError) as error:
        raise DeviceError("the report needs plotly: pip install 'tilewright[report]'") from error


def _asset(name: str) -> str:
    return files("tilewright.cli.report").joinpath("assets", name).read_text("utf-8")


def _policy(scripts: Sequence[str], beside: bool) -> str:
    """What a browser lets the page do: run these scripts, and reach nothing."""
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    sources = " ".join(f"'sha256-{each}'" for each in hashes) + (" 'self' file:" if beside else "")
    return f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"


def _inert(data: Row) -> str:
    """JSON that ends no element of the page: what could begin markup is spelled by its number."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# -- the parts that are there without a script ---------------------------------------------------------------
def report_body(data: Row) -> str:
    """The page of one set of records: its overview, and places for what the script draws."""
    devices: list[Row] = data["devices"]
    problems = sum(device["problems"] for device in devices)
    names = ", ".join(device["name"] for device in devices) if len(devices) < 3 else f"{len(devices)} devices"
    shown = data["shown"], data["tries"]
    thinned = "" if not 0 < shown[0] < shown[1] else " Of long sweeps not every try is shown."
    return Template(_asset("report.html")).substitute(
        heading=escape(f"What was tuned on {names}"),
        summary=escape(
            f"{problems:,} problem{'s' if problems > 1 else ''} on {len(devices)} "
            f"device{'s' if len(devices) > 1 else ''}, {data['tries']:,} tries of kernels.{thinned}"
        ),
        cards="\n".join(_card(device) for device in devices),
        overview=_overview(data),
        footer=_footer(),
    )


def compare_body(data: Row) -> str:
    """The page of a comparison: its counts, and places for what the script draws."""
    before, after = data["before"], data["after"]
    counts = [("problems in both", data["problems"]), *data["counts"].items()]
    counts += [("geometric mean", f"{data['geometric_mean']:.3f}")]
    counts += [("only before", len(data["only_before"])), ("only after", len(data["only_after"]))]
    return Template(_asset("compare.html")).substitute(
        heading=escape(f"{after['label']} beside {before['label']}"),
        summary=escape(
            f"A regression is slower by more than {data['threshold']:g} %, with intervals of both medians "
            "that lie apart; where these overlap it is unsure. The vendor's column tells when the library "
            "changed as well."
        ),
        figures="\n".join(_figure(name, str(value)) for name, value in counts),
        cards="\n".join(_side(word, side) for word, side in (("Before", before), ("After", after))),
        footer=_footer(),
    )


def _footer() -> str:
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    try:
        made = f"Tilewright {version('tilewright')}"
    except PackageNotFoundError:
        made = "Tilewright"
    return f"Made by {escape(made)} from its records, {moment} UTC."


def _figure(name: str, value: str) -> str:
    return f"<div><b>{escape(value)}</b>{escape(name)}</div>"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs if b) + "</dl>"


def _card(device: Row) -> str:
    """A device: what was done on it, and with what."""
    name = device["name"] if device["name"] == device["key"] else f"{device['name']} ({device['key']})"
    figures = [("problems", f"{device['problems']:,}"), ("tries", f"{device['tries']:,}")]
    dates = [text.partition("T")[0] for text in (device["first"], device["last"]) if text]
    return (
        f"<div class=card><h3>{escape(name)}</h3><div class=figures>"
        + "".join(_figure(*each) for each in figures)
        + "</div>"
        + _pairs(
            [
                ("types", " ".join(device["types"])),
                ("winners", _counts(device["stencils"])),
                ("configs", _counts(device["statuses"])),
                ("measured", " to ".join(dict.fromkeys(dates))),
                ("driver", _several(device["drivers"])),
                ("toolchain", _several(device["toolchains"])),
            ]
        )
        + (f"<p class=soft>{ALONE}</p>" if device["alone"] else "")
        + "</div>"
    )


ALONE = (
    "Exported winners: other tries are where they were made, and the vendor's product is here only where it "
    "won, or where a file of peers has it."
)


def _side(word: str, side: Row) -> str:
    pairs = [("records", f"{side['records']:,}"), ("device", _several(side["devices"]))]
    pairs += [("driver", _several(side["drivers"])), ("toolchain", _several(side["toolchains"]))]
    pairs += [("last", side["last"][:16])]
    return f"<div class=card><h3>{word}: {escape(side['label'])}</h3>{_pairs(pairs)}</div>"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


def _several(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return "; ".join(names[:2]) + more


def _overview(data: Row) -> str:
    """A row for each device, type and regime."""
    head = (
        "device",
        "type",
        "regime",
        "problems",
        "tries",
        "fastest",
        "% of bound",
        "× vendor",
        "ahead",
        "worst",
    )
    rows = []
    for row in data["overview"]:
        device = data["devices"][row["device"]]
        best = f"{row['best'] / device['scale']:,.{device['decimals']}f} {device['unit']}"
        share = "" if row["percent"] is None else f" class=bar style='--share:{min(100, row['percent'])}%'"
        cells = [
            ("device", " class=text", device["key"]),
            ("type", " class=text", row["type"]),
            ("regime", " class=text", row["regime"]),
            ("problems", "", f"{row['problems']:,}"),
            ("tries", "", f"{row['tried']:,}"),
            ("fastest", "", best),
            ("% of bound", share, _or_dash(row["percent"], ".0f")),
            ("× vendor", "", _or_dash(row["ratio"], ".2f")),
            ("ahead", "", f"{row['ahead']} of {row['compared']}" if row["compared"] else "–"),
            ("worst", "", _or_dash(row["worst"], ".2f")),
        ]
        text = "".join(f'<td data-label="{name}"{how}>{escape(cell)}</td>' for name, how, cell in cells)
        rows.append(f"<tr>{text}</tr>")
    words = ("device", "type", "regime")
    top = "".join(f"<th scope=col{' class=text' * (name in words)}>{name}</th>" for name in head)
    caption = (
        "The median share of the bound, the geometric mean against the vendor's library, how often it was "
        "reached where it was timed, and the worst ratio"
    )
    return (
        f'<div class=scroll><table class="cardy"><caption>{caption}</caption><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
