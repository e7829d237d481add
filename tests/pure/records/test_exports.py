"""Stores as lines of text: written, read, merged, and what is refused."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pure.records.samples import DEVICE, PROBLEM, points_n, record
from tilewright.errors import RecordsError
from tilewright.model import Problem, Record
from tilewright.store import jsonl
from tilewright.store.jsonl import encode
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


def test_what_is_exported_can_be_imported(store: Records, tmp_path: Path) -> None:
    tries = [
        record(2e-3, config={"n": 1}), record(None, status="spills", config={"n": 2}),
        record(1e-3, config={"n": 3}, error=0.5, source="abc", when="2030"),
        record(problem=Problem.parse("d:8x8x10", stride_b=0, alpha="any")[0]), record(problem="d:8x8x9"),
        record(device="other"),
    ]  # fmt: skip
    for each in tries:
        store.append(each)
    store.save_ceilings(DEVICE, 4, {"peak.d": 1e12})
    bare = [replace(each, timing=each.timing and replace(each.timing, samples=())) for each in tries]

    assert store.export(tmp_path / "all.jsonl", best_only=False) == 6
    copy = Records(tmp_path / "copy.sqlite")
    assert copy.import_(tmp_path / "all.jsonl").new == 6
    assert copy.all() == bare
    assert copy.ceilings(DEVICE, 4) == {"peak.d": 1e12}

    assert store.export(tmp_path / "best.jsonl", device=DEVICE) == 3
    winners = Records(tmp_path / "winners.sqlite")
    assert winners.import_(tmp_path / "best.jsonl").new == 3
    assert winners.all() == [bare[2], bare[4], bare[3]]


def test_what_is_kept_beside_a_winner_follows_it(store: Records, tmp_path: Path) -> None:
    for each in (record(), record(2e-3, stencil="other"), record(problem="d:8x8x9")):
        store.append(each)

    def beside(winner: Record) -> list[Record]:
        found = store.best(winner.problem.key, "memory", DEVICE, among=("other",))
        return [found] if found else []

    assert store.export(tmp_path / "best.jsonl", beside=beside) == 3
    lines = [json.loads(line) for line in (tmp_path / "best.jsonl").read_text().splitlines()]
    assert [(line["problem"], line["stencil"]) for line in lines] == [
        ("d:nn:8x8x8@1000", "tile"),
        ("d:nn:8x8x8@1000", "other"),
        ("d:nn:8x8x9@1", "tile"),
    ]


def test_exported_lines_are_flat_and_short(store: Records, tmp_path: Path) -> None:
    store.append(record(1e-3, PROBLEM.with_(beta="any"), when="2030"))
    store.export(tmp_path / "best.jsonl")
    (line,) = (tmp_path / "best.jsonl").read_text().splitlines()
    assert line == (
        '{"device": "zen-avx2", "problem": "d:nn:8x8x8@1000", "beta": "any", "regime": "memory", '
        '"stencil": "tile", "config": {"mr": 8, "nr": 4}, "status": "ok", "median": 0.001, "low": 0.00075, '
        '"high": 0.00125, "batch": 1000, "protocol": 1, "toolchain": "llvm 20", "when": "2030"}'
    )


def test_stores_of_several_machines_are_merged(store: Records, tmp_path: Path) -> None:
    other = Records(tmp_path / "other.sqlite", shipped=tmp_path)
    store.append(record(1.0, config={"n": 1}))
    for each in (record(1.0, config={"n": 1}), record(2.0, config={"n": 2})):
        other.append(each)
    other.save_ceilings("there", 2, {"copy": 5.0})
    assert store.import_(other.path).new == 1
    assert store.import_(other.path).new == 0
    assert store.all() == [record(1.0, config={"n": 1}), record(2.0, config={"n": 2})]
    assert store.ceilings("there", 2) == {"copy": 5.0}
    # The other one is as it was, and may be open meanwhile.
    assert len(other.all()) == 2
    other.close()


def test_a_second_import_adds_nothing(store: Records, tmp_path: Path) -> None:
    store.append(record(1e-3, config={"n": 1}))
    store.append(record(None, status="spills", config={"n": 2}))
    store.export(tmp_path / "all.jsonl", best_only=False)
    before = store.all()
    assert store.import_(tmp_path / "all.jsonl").new == 0
    assert store.all() == before


def test_what_is_refused_is_left_out_of_an_import_and_named(store: Records, tmp_path: Path) -> None:
    def refusal(each: Record) -> str | None:
        return "config says n=2" if each.config["n"] == 2 else None

    source = tmp_path / "in.jsonl"
    lines = [json.dumps(encode(record(config={"n": n}))) for n in (1, 2, 3)]
    source.write_text("\n".join(lines))
    taken = store.import_(source, refusal)
    assert (taken.new, taken.refused) == (2, (f"{source}, line 2: config says n=2",))
    assert points_n(store) == [1, 3]

    source.write_text(lines[1])
    with pytest.raises(RecordsError, match=r"in\.jsonl, line 1: config says n=2"):
        store.import_(source, refusal)
    assert points_n(store) == [1, 3]


def test_a_try_by_another_toolchain_is_another_try(store: Records, tmp_path: Path) -> None:
    tries = [record(toolchain=f"llvm {version}") for version in (20, 21)]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(encode(each)) + "\n" for each in tries))
    assert store.import_(source).new == 2
    assert store.all() == tries
    assert store.import_(source).new == 0


def test_a_file_without_end_is_refused(
    store: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(GOOD))
    monkeypatch.setattr(jsonl, "LONGEST", source.stat().st_size - 1)
    with pytest.raises(RecordsError, match=r"in\.jsonl.*too long; accepted: up to"):
        store.import_(source)
    monkeypatch.setattr(jsonl, "LONGEST", source.stat().st_size)
    assert store.import_(source).new == 1


def test_an_import_keeps_the_ceilings_measured_here(store: Records, tmp_path: Path) -> None:
    line = {"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0, "peak.s": 2.0}}
    (tmp_path / "in.jsonl").write_text(json.dumps(line))
    store.save_ceilings(DEVICE, 4, {"peak.d": 3.0})
    assert store.import_(tmp_path / "in.jsonl").new == 0
    assert store.ceilings(DEVICE, 4) == {"peak.d": 3.0, "peak.s": 2.0}


GOOD = encode(record(), samples=False)


def without(name: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ("{}", "'problem' is missing"),
        (without("device"), "'device' is missing"),
        (without("median"), "median"),
        (json.dumps(GOOD | {"colour": 1}), "'colour'"),
        (json.dumps(GOOD | {"problem": "d:8x8"}), "'d:8x8'"),
        (json.dumps(GOOD | {"problem": "d:2..4"}), "not one problem"),
        (json.dumps(GOOD | {"status": "splendid"}), "status='splendid'.*accepted: one of ok, rejected"),
        (json.dumps(GOOD | {"beta": "2"}), "beta='2'"),
        (json.dumps(GOOD | {"lda": 8.5}), "lda=8.5"),
        (json.dumps(GOOD | {"batch": True}), "batch=True"),
        (json.dumps(GOOD | {"protocol": 2**63}), "protocol=9223372036854775808"),
        (json.dumps(GOOD | {"median": "fast"}), "median='fast'"),
        (json.dumps(GOOD | {"config": [1]}), "config="),
        (json.dumps(GOOD | {"config": {"mr": {"deep": 1}}}), "config="),
        (json.dumps(GOOD | {"config": {"mr": float("nan")}}), "nan"),
        (json.dumps(GOOD | {"config": {"mr": [{"deep": 1}]}}), "config="),
        (json.dumps(GOOD | {"align": 3}), "align=3"),
        (json.dumps(GOOD | {"align": True}), "align=True"),
        (json.dumps(GOOD | {"pointers": 1}), "pointers=1"),
        (json.dumps(GOOD | {"seconds": 10**400}), "seconds="),
        (json.dumps(GOOD | {"kind": []}), "kind="),
        (json.dumps(GOOD | {"detail": chr(0xD800)}), "cannot be written"),
        (json.dumps(GOOD | {"config": {"mr": chr(0xD800)}}), "cannot be written"),
        (json.dumps(GOOD)[:-1] + ', "protocol": ' + "9" * 5000 + "}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (json.dumps({"ceilings": {"peak": 10**400}, "device": "d", "cores": 1}), "ceilings="),
        (json.dumps(GOOD | {"toolchain": None}), "toolchain=None"),
        (json.dumps({"ceilings": {"peak": "high"}, "device": "d", "cores": 1}), "ceilings="),
        (json.dumps({"ceilings": {}, "device": "d"}), "'cores' is missing"),
    ],
)
def test_one_bad_line_rejects_the_whole_file(store: Records, tmp_path: Path, bad: str, told: str) -> None:
    source = tmp_path / "in.jsonl"
    ceilings = json.dumps({"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0}})
    source.write_text(f"{ceilings}\n{json.dumps(GOOD)}\n\n{bad}\n{json.dumps(GOOD)}\n")
    with pytest.raises(RecordsError, match=rf"in\.jsonl, line 4: .*{told}"):
        store.import_(source)
    assert store.all() == []
    assert store.ceilings(DEVICE, 4) == {}


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(store: Records, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "in.jsonl").write_bytes(content)
    with pytest.raises(RecordsError, match=r"in\.jsonl"):
        store.import_(tmp_path / "in.jsonl")


def test_an_export_that_cannot_be_written_leaves_the_old_file(store: Records, tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="nowhere"):
        store.export(tmp_path / "nowhere" / "out.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordsError, match="folder"):
        store.export(tmp_path / "folder")
    assert not list(tmp_path.glob("*.part"))


# ---- what an export is written to


def test_an_export_follows_a_link(store: Records, tmp_path: Path) -> None:
    store.append(record())
    target, link, dangling = tmp_path / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("keep")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "new")
    assert store.export(link) == store.export(dangling) == 1
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_text() == (tmp_path / "new").read_text()
    assert Records(tmp_path / "copy.sqlite").import_(target).new == 1


def test_an_export_writes_into_a_pipe(store: Records, tmp_path: Path) -> None:
    store.append(record())
    pipe, link, got = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
        reader.start()
        assert store.export(name) == 1
        reader.join(60)
        assert pipe.is_fifo()
    store.export(tmp_path / "file")
    assert got == [(tmp_path / "file").read_text()] * 2
    assert sorted(path.name for path in tmp_path.iterdir() if "sqlite" not in path.name) == [
        "file", "link", "pipe", "shipped"
    ]  # fmt: skip


def test_an_export_in_a_loop_of_links_is_refused(store: Records, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(RecordsError, match="/a'"):
        store.export(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("name", ["", "/", ".", "x" * 300, "a\0b"], ids=repr)
def test_an_export_to_what_is_no_name_is_refused(
    store: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordsError, match=r"records file .* cannot be written"):
        store.export(Path(name))
    with pytest.raises(RecordsError, match=r"records file .* cannot be read"):
        store.import_(Path(name))
    assert not list(tmp_path.glob("*.part"))


def test_an_export_may_have_the_longest_name_and_one_of_any_bytes(store: Records, tmp_path: Path) -> None:
    store.append(record())
    for name in ("x" * 255, os.fsdecode(b"caf\xe9")):
        assert store.export(tmp_path / name) == 1
        assert Records(tmp_path / f"{len(name)}.sqlite").import_(tmp_path / name).new == 1
