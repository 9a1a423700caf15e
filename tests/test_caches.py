"""Files of the lake that only save time may hold anything: a run publishes the same, and writes them anew."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from declared import source
from goodput.export.sent import FILE, sent_to
from goodput.plumbing import graph, shapes
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.object_store.mirror import _Copied
from published import ask, run_at

pytestmark = pytest.mark.only("goodput")

UNITS = {"started_at": "iso8601", "ended_at": "iso8601"}
SETTINGS = "[workloads.chat]\nmatch = { model = 'm' }\n" + source(
    "calls", "*.csv", "attempts", units=UNITS, attempt_id="id", started_at="start", ended_at="end", model="model"
)
CALL = "2026-11-20T09:00:00Z,2026-11-20T09:00:09Z,m\n"
CACHES = (
    "graph.json",
    "shapes.json",
    "plan.json",
    "published.json",
    "published_head.json",
    "replaced.json",
    "scanned.json",
    "judged.npz",
    "known_replicas.parquet",
    "exported.json",
    "settings_checked.json",
)
OFFERED = "SELECT offered FROM goodput WHERE slice = 'overall' AND window_s = 3600 AND offered > 0"
SHAPES = [
    b"",
    b"\xff\xfe\x00",
    b"{",
    b"[" * 100_000,
    *(b"null", b"1", b'"text"', b"[]", b"{}", b"[[]]", b"[1, 2, 3]", b"[null, null, null]"),
    b'["a", "b", {"goodput": []}]',
    *(b'{"x": []}', b'{"x": null}', b'{"x": {"y": [1]}}', b'{"x": ["a", 1, {}, null]}', b'{"../goodput.toml": 1.0}'),
    *(b'{"texts": 1, "rules": [], "nodes": null}', b'{"nodes": {"requests": {}}}'),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a lake of one call."""
    folder = tmp_path_factory.mktemp("caches")
    (folder / "landing").mkdir()
    (folder / "goodput.toml").write_text(SETTINGS)
    (folder / "landing" / "1.csv").write_text(f"id,start,end,model\n1,{CALL}")
    run_at(folder / "goodput.toml")
    return folder


@pytest.mark.parametrize("content", [b"[]", b'{"x": {"y": [1]}}', b'{"texts": 1, "rules": [], "nodes": null}'])
def test_a_run_takes_no_harm_from_what_a_cache_holds(whole: Path, tmp_path: Path, content: bytes) -> None:
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    for name in CACHES:
        (home / "lake" / name).write_bytes(content)
    (home / "landing" / "2.csv").write_text(f"id,start,end,model\n2,{CALL}")
    workspace = run_at(home / "goodput.toml")
    assert ask(workspace, OFFERED).rows() == [(2,)]
    assert (home / "goodput.toml").exists()
    run_at(home / "goodput.toml")
    assert {*json.loads((home / "lake" / "plan.json").read_text())} == {"texts", "rules", "nodes"}
    assert json.loads((home / "lake" / "graph.json").read_text())


def test_a_plan_that_knows_the_texts_and_not_every_rule(whole: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    plan = home / "lake" / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"rules": {}, "nodes": {}}))
    assert ask(run_at(home / "goodput.toml"), OFFERED).rows() == [(1,)]


def test_parts_that_an_unreadable_list_named_are_swept_up(whole: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    lake = home / "lake"
    stray = lake / "joined" / "requests" / "period=2026-11-20T09" / "0-0.parquet"
    stray.write_bytes(b"once replaced")
    (lake / "replaced.json").write_text("[]")
    run_at(home / "goodput.toml")
    run_at(home / "goodput.toml")
    assert str(stray.relative_to(lake)) in json.loads((lake / "replaced.json").read_text())


@pytest.mark.parametrize("content", SHAPES, ids=range(len(SHAPES)))
def test_what_was_parsed_is_parsed_anew_then(tmp_path: Path, content: bytes) -> None:
    known = tmp_path / "graph.json"
    known.write_bytes(content)
    graph.recall(tmp_path)
    graph.relation("goodput")
    graph.remember(tmp_path)
    assert "goodput" in {name for name, *_ in json.loads(known.read_text()).values()}


@pytest.mark.only
def test_a_run_parses_nothing_that_one_before_it_has_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    parsed: list[str] = []
    read = graph._read
    monkeypatch.setattr(graph, "_read", lambda name: parsed.append(name) or read(name))
    for number, hours in enumerate((("09", "10"), ("11", "12"))):  # two at once: which of them are linked is asked too
        monkeypatch.setattr(graph, "_remembered", {})
        graph.relation.cache_clear()
        calls = "".join(f"{hour},2026-11-20T{hour}:00:00Z,2026-11-20T{hour}:00:09Z,m\n" for hour in hours)
        (tmp_path / "landing" / f"{number}.csv").write_text(f"id,start,end,model\n{calls}")
        run_at(tmp_path / "goodput.toml")
        assert ("shard_links" in parsed) == (number == 0)
        assert bool(parsed) == (number == 0), parsed
        parsed.clear()


@pytest.mark.parametrize(
    "columns", [{}, {"a": "INTEGER); DROP TABLE x; --"}, {"a": ""}, {'"': "none"}, {"a": "ENUM('b')"}]
)
def test_columns_that_none_has_are_planned(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, str]
) -> None:
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    known = home / "lake" / "shapes.json"
    known.write_text(json.dumps(dict.fromkeys(json.loads(known.read_text()), columns)))
    monkeypatch.setattr(shapes, "_known", {})
    (home / "landing" / "2.csv").write_text(f"id,start,end,model\n2,{CALL}")
    assert ask(run_at(home / "goodput.toml"), OFFERED).rows() == [(2,)]


@pytest.mark.parametrize("content", SHAPES, ids=range(len(SHAPES)))
def test_what_was_sent_and_what_was_copied_are_not_known_then(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    sent = sent_to(tmp_path, "http://receiver")
    sent.note({}, [])
    assert sent.digests == {}
    copied = read_cache(tmp_path / FILE, _Copied) or _Copied()
    assert (copied.url, copied.token, copied.files) == ("", -1, {})


def test_judged_days_of_another_shape_are_none(whole: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    alone = io.BytesIO()
    np.save(alone, np.zeros(3))
    (home / "lake" / "judged.npz").write_bytes(alone.getvalue())
    (home / "landing" / "2.csv").write_text(f"id,start,end,model\n2,{CALL}")
    assert ask(run_at(home / "goodput.toml"), OFFERED).rows() == [(2,)]
