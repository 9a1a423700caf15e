"""A run over the landing zone: new sources in, superseded and unfinished ones out, the ledger last.

See docs/semantics.md#sources.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, START_NS, put, span, spans_line
from goodput.conform.compaction import SmallParts
from goodput.conform.ingest import Ingested, ingest
from goodput.errors import LakeUnreadable, LakeUnwritable, LandingMissing
from goodput.plumbing.lake import Lake
from goodput.plumbing.runner import Died, InProcess
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace

FILES = ("a.jsonl", "b.jsonl")
HOUR = "2026-11-20T09"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    path = tmp_path / "goodput.toml"
    path.write_text('landing = ["landing"]\nlake = "lake"\n')
    return path


def line(*numbers: int) -> str:
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    return spans_line(*(span(said=said, spanId=f"{number:016x}") for number in numbers))


def run(config: Path) -> Ingested:
    return ingest(Workspace(config))


def ledger(config: Path) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in read(Workspace(config).lake).to_pylist()}


def rows(config: Path, table: str = "serving_records") -> list[dict[str, Any]]:
    files = Workspace(config).lake.catalog[table].all_files()
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


def parts(config: Path) -> dict[str, bytes]:
    """What the catalog lists of conformed tables."""
    root = config.parent / "lake"
    catalog = Workspace(config).lake.catalog
    tables = [path.name for path in root.glob("conformed/*")]
    paths = [Path(path) for table in tables for path in catalog[table].all_files()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def versions(config: Path) -> dict[str, int]:
    catalog = Workspace(config).lake.catalog
    return {path.name: catalog[path.name].version for path in (config.parent / "lake").glob("*/*")}


def contents(config: Path) -> dict[str, str]:
    return dict(Workspace(config).lake.catalog["serving_records"].contents)


def test_an_empty_zone_writes_nothing(config: Path) -> None:
    done = run(config)
    assert (done.read, done.refused, done.unchanged, done.superseded, done.changed) == (0, 0, 0, 0, False)
    assert not (config.parent / "lake").exists()


def test_a_zone_that_is_not_there(config: Path) -> None:
    (config.parent / "landing").rmdir()
    with pytest.raises(LandingMissing):
        run(config)


def test_a_second_run_finds_nothing_to_do_and_writes_nothing(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1, 2))
    put(config.parent / "landing/b.jsonl", line(3))
    (config.parent / "landing/away.jsonl").symlink_to("/etc/hostname")
    first = run(config)
    assert (first.read, first.unchanged, first.changed, len(rows(config))) == (2, 0, True, 3)
    before = (parts(config), ledger(config), versions(config))
    second = run(config)
    assert (second.read, second.unchanged, second.changed, second.removed) == (0, 2, False, [])
    assert (parts(config), ledger(config), versions(config)) == before


def test_sources_of_one_run_share_a_part(config: Path) -> None:
    for number in range(1, 10):
        put(config.parent / f"landing/{number}.jsonl", line(number))
    done = run(config)
    assert len(parts(config)) == 1
    assert [row["record_id"][-1] for row in rows(config)] == list("123456789")  # as they were read
    ids = sorted(row["source_id"] for row in ledger(config).values())
    assert sorted(done.new_sources["serving_records"]) == ids
    (digest,) = contents(config).values()
    assert int(digest, 16) == sum(int(source_id, 16) for source_id in ids) % 2**128
    assert all(json.loads(row["partitions"]) == {"serving_records": [HOUR]} for row in ledger(config).values())


def test_a_record_of_two_sources_stays_in_both(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1), line(1))
    put(config.parent / "landing/b.jsonl", line(1))
    run(config)
    assert [row["source_id"] for row in rows(config)] == [ledger(config)[name]["source_id"] for name in FILES]
    assert [ledger(config)[name]["rows_duplicate"] for name in FILES] == [1, 0]


def test_a_grown_file_takes_the_place_of_what_it_was(config: Path) -> None:
    path = put(config.parent / "landing/data.jsonl", line(1))
    run(config)
    old = set(parts(config))
    put(path, line(1), line(2))
    done = run(config)
    assert (done.read, done.superseded, len(rows(config))) == (1, 1, 2)
    assert {path.relative_to(config.parent / "lake").as_posix() for path in done.removed} > old
    assert all(path.exists() for path in done.removed)  # what was published before may still read them
    assert not old & set(parts(config))
    assert [entry["rows_read"] for entry in ledger(config).values()] == [2]


def test_what_a_superseded_source_shared_a_part_with_stays(config: Path) -> None:
    landing = config.parent / "landing"
    for number, name in enumerate("abc", 1):
        put(landing / f"{name}.jsonl", line(number))
    run(config)
    put(landing / "b.jsonl", line(2), line(4))
    run(config)
    assert sorted(row["record_id"][-1] for row in rows(config)) == list("1234")
    (digest,) = contents(config).values()
    ids = [row["source_id"] for row in ledger(config).values()]
    assert int(digest, 16) == sum(int(source_id, 16) for source_id in ids) % 2**128


def test_what_a_limit_left_out_is_read_once_the_limit_is_raised_and_left_out_once_it_is_lowered(config: Path) -> None:
    put(config.parent / "landing/data.jsonl", line(1), line(*range(2, 20)))
    settings = config.read_text()
    for limit, count in (
        (f"[limits]\nmax_line_bytes = {len(line(1)) + 100}\nquarantined_ratio = 1.0\n", 1),
        ("", 19),
    ) * 2:
        config.write_text(settings + limit)
        run(config)
        assert (len(rows(config)), ledger(config)["data.jsonl"]["rows_quarantined"]) == (count, int(count == 1))


def test_trap_5_a_torn_last_line_is_read_when_the_file_has_grown(config: Path) -> None:
    path = put(config.parent / "landing/data.jsonl", line(1))
    whole = path.read_text() + line(2) + "\n"
    path.write_text(whole[:-50])
    run(config)
    assert len(rows(config)) == 1
    assert ledger(config)["data.jsonl"]["torn_tail_bytes"] > 0
    path.write_text(whole)
    run(config)
    assert len(rows(config)) == 2
    assert ledger(config)["data.jsonl"]["torn_tail_bytes"] == 0


def test_rows_of_a_file_that_was_moved_away_stay(config: Path) -> None:
    path = put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    path.unlink()
    done = run(config)
    assert (done.read, done.superseded, done.changed, len(rows(config))) == (0, 0, False, 1)
    assert set(ledger(config)) == {"a.jsonl"}


def test_other_attributes_read_everything_again_and_keep_nothing_twice(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1, 2))
    run(config)
    config.write_text(config.read_text() + '[attributes]\ntenant = ["org"]\n')
    done = run(config)
    assert (done.read, done.superseded, len(rows(config)), len(ledger(config))) == (1, 1, 2, 1)


def test_refused_files_stand_in_the_ledger_until_they_are_mended(config: Path) -> None:
    landing = config.parent / "landing"
    put(landing / "good.jsonl", line(1))
    (landing / "notes.txt").write_text("Dear diary\n")
    (landing / "away.jsonl").symlink_to("/etc/hostname")
    done = run(config)
    assert (done.read, done.refused) == (1, 2)
    found = ledger(config)
    assert {path: entry["status"] for path, entry in found.items()} == {
        "good.jsonl": "read",
        "notes.txt": "refused",
        "away.jsonl": "refused",
    }
    assert all(entry["reason"] for entry in found.values() if entry["status"] == "refused")
    (landing / "away.jsonl").unlink()
    put(landing / "away.jsonl", line(2))
    again = run(config)
    assert (again.read, again.unchanged) == (1, 2)
    assert {path: entry["status"] for path, entry in ledger(config).items()} == {
        "good.jsonl": "read",
        "notes.txt": "refused",
        "away.jsonl": "read",
    }


def declare(config: Path, **columns: str) -> None:
    mapped = "".join(f"{name} = {value}\n" for name, value in columns.items())
    settings = 'landing = ["landing"]\nlake = "lake"\n[sources.log]\nformat = "csv"\npath = "*.csv"\n'
    config.write_text(f"{settings}[sources.log.columns]\n{mapped}")


LOG = "at,prompt_tokens\n" + "".join(f"{1_795_165_200 + n},{n}\n" for n in range(11))
AT = '{ column = "at", unit = "epoch_s" }'


@pytest.mark.parametrize(
    ("typo", "reason"),
    [
        ({"started_at": AT, "input_tokens": '"prompt_tokenz"'}, "column 'prompt_tokenz' is not in it"),
        ({"started_at": '{ column = "at", unit = "iso8601" }'}, "11 of 11 rows break a rule: at = '1795165200' is not"),
    ],
)
def test_the_rows_of_the_last_good_reading_stay_until_another_succeeds(
    config: Path, typo: dict[str, str], reason: str
) -> None:
    path = config.parent / "landing/a.csv"
    path.write_text(LOG)
    declare(config, started_at=AT)
    assert run(config).failed == []
    declare(config, **typo)
    for _ in range(2):  # a run with nothing new reports it still
        [(name, wrong)] = run(config).failed
        assert name == "a.csv"
        assert wrong.startswith(f"refused, {reason}")
        assert wrong.endswith("; the rows of an earlier reading stay in use")
        assert len(rows(config)) == 11
        assert rows(config, "quarantine") == []
    path.write_text(LOG + "1795165300,7\n")  # grown meanwhile: what it was stays
    assert len(run(config).failed) == 1
    assert len(rows(config)) == 11
    declare(config, started_at=AT, input_tokens='"prompt_tokens"')
    assert run(config).failed == []
    assert sorted(row["input_tokens"] for row in rows(config)) == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10]
    assert [entry["status"] for entry in read(Workspace(config).lake).to_pylist()] == ["read"]


def test_settings_taken_back_leave_nothing_of_the_mistake(config: Path) -> None:
    put(config.parent / "landing/a.csv", LOG)
    declare(config, started_at=AT)
    run(config)
    before = parts(config)
    declare(config, started_at=AT, input_tokens='"prompt_tokenz"')
    run(config)
    declare(config, started_at=AT)
    assert run(config).failed == []
    assert parts(config) == before
    assert [entry["status"] for entry in read(Workspace(config).lake).to_pylist()] == ["read"]


def test_a_refusal_is_gone_with_its_file(config: Path) -> None:
    path = put(config.parent / "landing/a.csv", "when\n1\n")
    declare(config, started_at=AT)
    [(name, _)] = run(config).failed
    assert name == "a.csv"
    put(path, "at\n1795165200\n")
    assert run(config).failed == []
    assert [entry["status"] for entry in read(Workspace(config).lake).to_pylist()] == ["read"]


def test_a_larger_share_in_quarantine_than_the_settings_allow_fails_a_run(config: Path) -> None:
    put(config.parent / "landing/a.csv", "at\n" + "1795165200\n" * 19 + "never\n")  # 1 of 20: 5 %
    declare(config, started_at=AT)
    assert run(config).failed == []
    put(config.parent / "landing/b.csv", "at\n" + "1795165201\n" * 18 + "never\n")
    assert run(config).failed == [("b.csv", "1 of 19 rows in quarantine")]
    config.write_text(config.read_text() + "[limits]\nquarantined_ratio = 0.1\n")
    assert run(config).failed == []


def test_a_lake_whose_ledger_is_lost_takes_nothing_more(config: Path) -> None:
    """What it has read would be read once more, into other parts as soon as a source is new: every row twice."""
    put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    before = parts(config)
    shutil.rmtree(config.parent / "lake/collected/source_ledger")
    put(config.parent / "landing/b.jsonl", line(2))
    with pytest.raises(
        LakeUnreadable, match="source_ledger: cannot be read: it is not there, though the lake has rows"
    ):
        run(config)
    assert parts(config) == before


def test_a_full_disk_leaves_the_ledger_as_it_was(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landing = config.parent / "landing"
    put(landing / "a.jsonl", line(1))
    run(config)
    before = (ledger(config), parts(config))
    put(landing / "a.jsonl", line(1), line(2))

    def full(*_: object, **__: object) -> None:
        raise LakeUnwritable(landing, OSError("No space left on device"))

    monkeypatch.setattr(Lake, "write_part", full)
    with pytest.raises(LakeUnwritable):
        run(config)
    assert (ledger(config), parts(config)) == before


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


def test_however_sources_are_batched_a_partition_has_the_same_digest(tmp_path: Path) -> None:
    found = []
    for cuts in ((1,) * 12, (12,), (5, 7)):
        root = tmp_path / str(len(cuts))
        (root / "landing").mkdir(parents=True)
        config = root / "goodput.toml"
        config.write_text('landing = ["landing"]\nlake = "lake"\n')
        number = 0
        for cut in cuts:
            for _ in range(cut):
                number += 1
                put(root / f"landing/{number:02}.jsonl", line(number))
            run(config)
        assert len(rows(config)) == 12
        found.append((contents(config), len(parts(config))))
    assert found[0][0] == found[1][0] == found[2][0]
    assert [count for _, count in found] == [4, 1, 2]  # of twelve small parts the first nine were merged


@pytest.mark.parametrize(("few_rows", "parts_left"), [(1, 12), (2, 6), (3, 5), (6, 4)])
def test_small_parts_are_merged_up_to_so_many_rows(
    config: Path, monkeypatch: pytest.MonkeyPatch, few_rows: int, parts_left: int
) -> None:
    """Rows that are alike take next to nothing in a file: those of millions would all be in memory together."""
    for number in range(1, 13):
        put(config.parent / f"landing/{number:02}.jsonl", line(number))
        if number == 8:
            monkeypatch.setattr("goodput.conform.compaction._SMALL_ROWS", few_rows)
        run(config)
    assert len({row["record_id"] for row in rows(config)}) == len(rows(config)) == 12
    assert len(parts(config)) == parts_left  # of nine: none, 4 + 4 + 1, 6 + 3 or all together; then three more


@pytest.mark.parametrize("lives", [True, False])
def test_workers_merge_what_is_worth_it(config: Path, monkeypatch: pytest.MonkeyPatch, lives: bool) -> None:
    """What a worker dies of stays in small parts, which count as they are, until another commit."""
    asked: list[int] = []

    class Elsewhere(InProcess):
        width = 2

        def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
            for item in items:
                if isinstance(item, SmallParts):
                    asked.append(len(item.parts))
                    yield item, work(item) if lives else Died("killed")
                else:
                    yield item, work(item)

    for number in range(1, 13):
        put(config.parent / f"landing/{number:02}.jsonl", line(number))
        if number == 12:
            monkeypatch.setattr("goodput.conform.compaction._WORTH_IT_BYTES", 1)
            monkeypatch.setattr("goodput.conform.compaction._MOST_SMALL", 3)
        workspace = Workspace(config)
        workspace.runner = Elsewhere()
        ingest(workspace)
    assert len({row["record_id"] for row in rows(config)}) == len(rows(config)) == 12
    assert asked == [4]  # the first nine were merged before, by whoever ran
    assert len(parts(config)) == (1 if lives else 4)


def test_first_and_last_event_are_those_of_the_rows_in_use(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", line(1))
    run(config)
    entry = ledger(config)["a.jsonl"]
    assert (entry["first_event_ns"], entry["last_event_ns"]) == (START_NS, START_NS + 2_000_000_000)
    assert entry["ingested_ns"] > START_NS - 10**18


def test_trap_23_sentinels_and_percentages_are_refused_never_clamped(config: Path) -> None:
    """Limits that are not set are infinite or 1.8e19, and what is called a ratio may be emitted in percent."""
    values = {"1": None, "85": "ratio_beyond_one", "+Inf": "value_out_of_range", "-1": "value_out_of_range"}
    lines = [f'vllm:kv_cache_usage_perc{{engine="{number}"}} {value}' for number, value in enumerate(values)]
    put(config.parent / f"landing/r/{START_NS // 10**9}.prom", *lines, "vllm:prompt_tokens 1.8446744073709552e+19")
    done = run(config)
    assert (len(rows(config, "sample_records")), done.rows_quarantined) == (1, 4)
    found = sorted(rows(config, "quarantine"), key=itemgetter("line"))
    assert [row["rule"] for row in found] == [*filter(None, values.values()), "value_out_of_range"]
