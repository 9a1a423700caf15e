"""A run over the landing zone: new sources in, superseded and unfinished ones out, the ledger last (semantics 9)."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, START_NS, put, span, spans_line
from goodput.conform import take_in as module
from goodput.conform.take_in import TakenIn, take_in
from goodput.errors import LakeUnwritable, LandingMissing
from goodput.plumbing.ledger import LedgerEntry, read_ledger
from goodput.plumbing.workspace import Workspace


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    path = tmp_path / "goodput.toml"
    path.write_text('landing = ["landing"]\nlake = "lake"\n')
    return path


def line(*numbers: int) -> str:
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    return spans_line(*(span(said=said, spanId=f"{number:016x}") for number in numbers))


def run(config: Path) -> TakenIn:
    return take_in(Workspace(config))


def ledger(config: Path) -> dict[str, LedgerEntry]:
    return {entry.path: entry for entry in read_ledger(Workspace(config).lake).values()}


def parts(config: Path) -> dict[str, bytes]:
    root = config.parent / "lake/conformed"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.parquet")}


def test_an_empty_zone_gives_an_empty_ledger(config: Path) -> None:
    taken = run(config)
    assert (taken.read, taken.refused, taken.unchanged, taken.superseded, sum(taken.rows.values())) == (0, 0, 0, 0, 0)
    assert ledger(config) == {}


def test_a_zone_that_is_not_there(config: Path) -> None:
    (config.parent / "landing").rmdir()
    with pytest.raises(LandingMissing):
        run(config)


def test_a_second_run_finds_nothing_to_do_and_changes_nothing(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1, 2))
    put(config.parent / "landing/b.jsonl", line(3))
    first = run(config)
    assert (first.read, first.unchanged, first.rows["serving_records"]) == (2, 0, 3)
    before = (parts(config), ledger(config))
    second = run(config)
    assert (second.read, second.unchanged, second.rows["serving_records"]) == (0, 2, 3)
    assert (parts(config), ledger(config)) == before


def test_a_grown_file_takes_the_place_of_what_it_was(config: Path) -> None:
    path = put(config.parent / "landing/data.jsonl", line(1))
    run(config)
    old = set(parts(config))
    put(path, line(1), line(2))
    taken = run(config)
    assert (taken.read, taken.superseded, taken.rows["serving_records"]) == (1, 1, 2)
    assert not old & set(parts(config))
    assert [entry.rows_read for entry in ledger(config).values()] == [2]


def test_trap_5_a_torn_last_line_is_read_when_the_file_has_grown(config: Path) -> None:
    path = put(config.parent / "landing/data.jsonl", line(1))
    whole = path.read_text() + line(2) + "\n"
    path.write_text(whole[:-50])
    assert run(config).rows["serving_records"] == 1
    assert ledger(config)["data.jsonl"].torn_tail_bytes > 0
    path.write_text(whole)
    assert run(config).rows["serving_records"] == 2
    assert ledger(config)["data.jsonl"].torn_tail_bytes == 0


def test_rows_of_a_file_that_was_moved_away_stay(config: Path) -> None:
    path = put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    path.unlink()
    taken = run(config)
    assert (taken.read, taken.superseded, taken.rows["serving_records"]) == (0, 0, 1)
    assert set(ledger(config)) == {"a.jsonl"}


def test_other_attributes_read_everything_again_and_keep_nothing_twice(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1, 2))
    run(config)
    config.write_text(config.read_text() + '[attributes]\ntenant = ["org"]\n')
    taken = run(config)
    assert (taken.read, taken.superseded, taken.rows["serving_records"], len(ledger(config))) == (1, 1, 2, 1)


def test_refused_files_stand_in_the_ledger_until_they_are_mended(config: Path) -> None:
    landing = config.parent / "landing"
    put(landing / "good.jsonl", line(1))
    (landing / "notes.txt").write_text("Dear diary\n")
    (landing / "away.jsonl").symlink_to("/etc/hostname")
    taken = run(config)
    assert (taken.read, taken.refused) == (1, 2)
    found = ledger(config)
    assert {path: entry.status for path, entry in found.items()} == {
        "good.jsonl": "read",
        "notes.txt": "refused",
        "away.jsonl": "refused",
    }
    assert all(entry.reason for entry in found.values() if entry.status == "refused")
    (landing / "away.jsonl").unlink()
    put(landing / "away.jsonl", line(2))
    again = run(config)
    assert (again.read, again.unchanged) == (1, 2)
    assert {path: entry.status for path, entry in ledger(config).items()} == {
        "good.jsonl": "read",
        "notes.txt": "refused",
        "away.jsonl": "read",
    }


def test_parts_of_a_run_that_died_are_swept_when_nobody_owns_them(config: Path) -> None:
    path = put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    (config.parent / "lake/ledger.parquet").unlink()  # as if it had died before the ledger
    path.unlink()
    assert len(parts(config)) == 1
    taken = run(config)
    assert parts(config) == {}
    assert taken.rows["serving_records"] == 0


def test_a_run_that_died_before_the_ledger_is_simply_done_again(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    before = parts(config)
    (config.parent / "lake/ledger.parquet").unlink()
    assert run(config).read == 1
    assert parts(config) == before


@pytest.mark.parametrize("dies_at", [1, 2])
def test_wherever_a_run_dies_the_next_one_ends_as_if_it_had_not(
    config: Path, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = config.parent / "landing"
    put(landing / "a.jsonl", line(1))
    put(landing / "b.jsonl", line(2))
    run(config)
    put(landing / "a.jsonl", line(1), line(3))
    put(landing / "b.jsonl", line(2), line(4))
    whole = config.parent / "other"
    shutil.copytree(config.parent, whole)
    run(whole / "goodput.toml")

    real, calls = module.ingest, iter(range(1, 10))

    def dying(*arguments: object, **named: object) -> LedgerEntry:
        if next(calls) == dies_at:
            raise KeyboardInterrupt
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_LEDGER_EVERY_S", -1.0)  # the ledger is written after every file
    monkeypatch.setattr(module, "ingest", dying)
    with pytest.raises(KeyboardInterrupt):
        run(config)
    monkeypatch.undo()
    run(config)
    assert parts(config) == parts(whole / "goodput.toml")
    assert set(ledger(config)) == {"a.jsonl", "b.jsonl"}
    assert len(read_ledger(Workspace(config).lake)) == 2


def test_a_full_disk_leaves_the_ledger_as_it_was(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landing = config.parent / "landing"
    put(landing / "a.jsonl", line(1))
    run(config)
    before = ledger(config)
    put(landing / "a.jsonl", line(1), line(2))

    def full(*_: object, **__: object) -> LedgerEntry:
        raise LakeUnwritable(landing, OSError("No space left on device"))

    monkeypatch.setattr(module, "ingest", full)
    with pytest.raises(LakeUnwritable):
        run(config)
    assert ledger(config) == before


def test_the_order_in_which_files_come_does_not_matter(tmp_path: Path) -> None:
    found = []
    for order in (("a", "b", "c"), ("c", "b", "a")):
        root = tmp_path / "-".join(order)
        (root / "landing").mkdir(parents=True)
        config = root / "goodput.toml"
        config.write_text('landing = ["landing"]\nlake = "lake"\n')
        for name in order:
            put(root / f"landing/{name}.jsonl", line(*{"a": (1, 2), "b": (2, 3), "c": (3, 1)}[name]))
            run(config)
        found.append(parts(config))
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_first_and_last_event_are_those_of_the_rows_in_use(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    entry = ledger(config)["a.jsonl"]
    assert (entry.first_event_ns, entry.last_event_ns) == (START_NS, START_NS + 2_000_000_000)
    assert entry.ingested_ns > START_NS - 10**18


def test_trap_23_sentinels_and_percentages_are_refused_never_clamped(config: Path) -> None:
    """Limits that are not set are infinite or 1.8e19, and what is called a ratio may be emitted in percent."""
    values = {"1": None, "85": "ratio_beyond_one", "+Inf": "value_out_of_range", "-1": "value_out_of_range"}
    lines = [f'vllm:kv_cache_usage_perc{{engine="{number}"}} {value}' for number, value in enumerate(values)]
    put(config.parent / f"landing/r/{START_NS // 10**9}.prom", *lines, "vllm:prompt_tokens 1.8446744073709552e+19")
    taken = run(config)
    assert (taken.rows["sample_records"], taken.rows["quarantine"]) == (1, 4)
    found = pq.read_table(config.parent / "lake/conformed/quarantine", partitioning=None).sort_by("line").to_pylist()
    assert [row["rule"] for row in found] == [*filter(None, values.values()), "value_out_of_range"]
