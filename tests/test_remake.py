"""Damaged parts of a lake are found, and made again from the landing files; what cannot be is named.

Each lake ends equal to one that was never damaged.
"""

import random
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from collect.telemetry import CHAT, SECOND_NS, START_NS, put, span, spans_line
from end_to_end.test_same_sources_same_tables import QUIET, sources
from goodput.cli.main import app
from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable, PartitionsBlocked, SourceLies, SourceUnknown
from goodput.plumbing.catalog import Part
from goodput.plumbing.published_copy import published_copy
from goodput.plumbing.workspace import Workspace
from goodput.run import Ran, run
from published import RESTATED, copied, table

pytestmark = pytest.mark.only("goodput")

HOUR_NS = 3600 * SECOND_NS
SETTINGS = """landing = ["landing"]
[alarms]
enabled = false
[workloads.all]
e2e_s = 60
"""
TABLES = ("serving_records", "attempts", "requests", "goodput", "waste")


def calls(first: int) -> str:
    """Ten calls in each of three hours, the last a repetition of the first."""
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    numbers = [*range(first, first + 10), first]
    ids = [{"traceId": f"{number:032x}", "spanId": f"{number:016x}"} for number in numbers]
    starts = [START_NS + hour * HOUR_NS + n * SECOND_NS for hour in range(3) for n in range(len(numbers))]
    times = [{"startTimeUnixNano": str(at), "endTimeUnixNano": str(at + SECOND_NS)} for at in starts]
    named = [{**ids[n % 11], "spanId": f"{first + n:016x}", "traceId": f"{first + n:032x}"} for n in range(len(times))]
    return "\n".join(spans_line(span(said=said, **name, **time)) for name, time in zip(named, times, strict=True))


def make(folder: Path) -> Path:
    """A lake of two files in three hours."""
    for number, name in enumerate(("a", "b")):
        put(folder / f"landing/{name}.jsonl", calls(1000 * (number + 1)))
    path = folder / "goodput.toml"
    path.write_text(SETTINGS)
    run(Workspace(path))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that nothing harms."""
    return make(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> Path:
    """A copy of it to be harmed."""
    return copied(whole, tmp_path / "mine")


@pytest.fixture(scope="module")
def with_late(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """What a fresh lake publishes of the two files and the one that comes late."""
    folder = tmp_path_factory.mktemp("with_late")
    shutil.copytree(whole.parent / "landing", folder / "landing")
    put(folder / "landing/late.jsonl", calls(9000))
    return fresh(folder)


def tables(config: Path) -> dict[str, pl.DataFrame]:
    at = Workspace(config)
    return {name: table(at, name, RESTATED if name == "goodput" else ()) for name in TABLES}


def a_part(config: Path, name: str, at: int = 0) -> Part:
    parts = Workspace(config).lake.catalog[name].parts
    return parts[sorted(parts)[at]][0]


def again(config: Path) -> Ran:
    """A run that computes every partition of the damaged hours, as one after a late file does."""
    put(config.parent / "landing/late.jsonl", calls(9000))
    return run(Workspace(config))


def fresh(folder: Path) -> dict[str, pl.DataFrame]:
    """What a new lake publishes of a folder's landing zone."""
    (folder / "goodput.toml").write_text(SETTINGS)
    run(Workspace(folder / "goodput.toml"))
    return tables(folder / "goodput.toml")


def check_is(config: Path, expected: dict[str, pl.DataFrame]) -> None:
    found = tables(config)
    for each in TABLES:
        assert_frame_equal(found[each], expected[each], check_row_order=False)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    """Bytes of a column chunk, so that no footer shows it."""
    content = bytearray(path.read_bytes())
    content[100:140] = bytes(40)
    path.write_bytes(content)


DAMAGES = {"delete": Path.unlink, "truncate": truncate, "empty": empty, "flip": flip}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["serving_records", "attempts"])
def test_a_run_makes_again_what_it_finds_damaged(
    config: Path, with_late: dict[str, pl.DataFrame], name: str, how: str
) -> None:
    part = a_part(config, name)
    DAMAGES[how](part.path)
    ran = again(config)
    if name == "serving_records":  # a late file computes attempts anew without reading the old ones
        assert [damage.part for damage in ran.remade] == [part]
        landed = [path for path in (config.parent / "landing").rglob("*") if path.is_file()]
        assert (ran.ingested.read > 1, ran.ingested.read + ran.ingested.unchanged) == (True, len(landed))
    check_is(config, with_late)


def test_an_old_part_that_only_its_own_node_reads_is_made_again(config: Path, tmp_path: Path) -> None:
    """What was published of an hour is read to restate it, and by nobody else once it is older than a week."""
    later = calls(5000).replace(f'"{START_NS // 10**14}', f'"{(START_NS + 10 * 24 * HOUR_NS) // 10**14}')
    put(config.parent / "landing/later.jsonl", later)
    run(Workspace(config))
    assert len(Workspace(config).lake.catalog["goodput"].parts) > 8
    flip(a_part(config, "goodput").path)
    ran = again(config)
    assert [damage.table for damage in ran.remade] == ["goodput"]
    check_is(config, fresh(copied(config, tmp_path / "new").parent))


def test_two_damaged_parts_of_one_hour_are_made_again(config: Path, with_late: dict[str, pl.DataFrame]) -> None:
    """Reading the sources of one again would read the other."""
    hours = Workspace(config).lake.catalog["serving_records"].parts
    put(config.parent / "landing/third.jsonl", calls(7000))
    run(Workspace(config))
    several = [part for parts in Workspace(config).lake.catalog["serving_records"].parts.values() for part in parts]
    assert len(several) > len(hours)
    for part in several:
        flip(part.path)
    again(config)
    (config.parent / "landing/third.jsonl").unlink()
    forgotten = CliRunner().invoke(app, ["forget", "third.jsonl", "--config", str(config)])
    assert forgotten.exit_code == 0, forgotten.output
    run(Workspace(config))
    check_is(config, with_late)


def test_what_was_restated_is_taken_from_what_was_published(config: Path) -> None:
    """Nothing adds it once more: without the database it is lost, and nothing is dropped in silence."""
    again(config)
    part = a_part(config, "restatements")
    before = part.path.read_bytes()
    flip(part.path)
    put(config.parent / "landing/more.jsonl", calls(8000))
    verified = CliRunner().invoke(app, ["verify", "--repair", "--config", str(config)])
    assert verified.exit_code == 1
    assert part.path.read_bytes() == before
    flip(part.path)
    Workspace(config).lake.database.unlink()
    with pytest.raises(LakeUnreadable, match="restatements"):
        run(Workspace(config))


@pytest.fixture(scope="module")
def restated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several windows and slices, some without a value, of hours that changed twice after they had been published."""
    folder = tmp_path_factory.mktemp("restated")
    files = sources(random.Random(11))
    config = folder / "goodput.toml"
    config.write_text(QUIET)
    spans = sorted(name for name in files if name.startswith("spans"))
    for names in ([name for name in files if name.endswith(".csv")], spans[:1], spans[1:]):
        for name in names:
            put(folder / f"landing/{name}", files[name])
        run(Workspace(config))
    return config


def of(config: Path, name: str) -> list[Part]:
    parts = Workspace(config).lake.catalog[name].parts
    return [part for of_partition in parts.values() for part in of_partition]


def test_each_part_that_only_the_database_remembers_can_be_put_back(restated: Path) -> None:
    """Bytes are the same where the order of rows is."""
    lake = Workspace(restated).lake
    for name in ("goodput", "restatements"):
        assert max(part.rows for part in of(restated, name)) > 20
        assert [part for part in of(restated, name) if published_copy(lake, name, part) is None] == []


def test_so_can_several_parts_of_one_partition(restated: Path, tmp_path: Path) -> None:
    config = copied(restated, tmp_path / "mine")
    before = {part.path: part.path.read_bytes() for part in of(config, "restatements")}
    assert len(before) > len({part.partition for part in of(config, "restatements")})
    for path in before:
        path.unlink()
    verified = CliRunner().invoke(app, ["verify", "--repair", "--config", str(config)])
    assert "nothing else has its rows" not in " ".join(verified.output.split())
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("how", ["gone", "empty", "of other parts"])
@pytest.mark.parametrize("name", ["serving_records", "goodput", "restatements"])
def test_a_log_that_ends_before_what_was_published_stops_whoever_reads_it(
    restated: Path, tmp_path: Path, name: str, how: str
) -> None:
    """What it has lost nothing else says: rows would be missing, or be restated once more."""
    config = copied(restated, tmp_path / "mine")
    newest = max((Workspace(config).lake.catalog[name].root / "_delta_log").glob("*.json"))
    text = newest.read_bytes()
    if how == "gone":
        newest.unlink()
    else:
        newest.write_bytes(b"" if how == "empty" else text.replace(b'"add":', b'"cut":'))
    put(tmp_path / "mine/landing/late.jsonl", sources(random.Random(12))["spans-0.jsonl"])
    with pytest.raises(LakeUnreadable, match=f"{name}/_delta_log.*published"):
        run(Workspace(config))
    verified = CliRunner().invoke(app, ["verify", "--config", str(config)])
    assert verified.exit_code == 1
    assert "_delta_log" in str(verified.exception)
    newest.write_bytes(text)
    run(Workspace(config))


def test_the_landing_index_and_the_places_of_copies_are_looked_up_anew(
    config: Path, with_late: dict[str, pl.DataFrame]
) -> None:
    a_part(config, "landed_files").path.unlink()
    ran = again(config)
    assert [damage.table for damage in ran.remade] == ["landed_files"]
    assert ran.ingested.read == 1
    check_is(config, with_late)


def test_rows_whose_file_is_gone_stay_blocked_and_named(config: Path) -> None:
    part = a_part(config, "serving_records")
    published = ("requests", "goodput")
    before = {name: tables(config)[name] for name in published}
    part.path.unlink()
    (config.parent / "landing/a.jsonl").unlink()
    run(Workspace(config))  # the landing index knows now
    for options in ([], ["--repair"]):  # it is known before anything is taken out
        found = CliRunner().invoke(app, ["verify", *options, "--config", str(config)])
        assert found.exit_code == 1
        assert "is missing" in found.output
        assert "a.jsonl, of which it has rows, cannot be read again" in found.output
        assert str(found.exception) == "1 part(s) of the lake are damaged: 1 cannot be made again."
    put(config.parent / "landing/late.jsonl", calls(9000))
    with pytest.raises(PartitionsBlocked, match=part.path.name):
        run(Workspace(config))
    later = Workspace(config)
    for name in published:  # of the blocked hour what was last good
        kept = table(later, name, RESTATED if name == "goodput" else ())
        assert before[name].height <= kept.height


def test_verify_names_every_damaged_part_and_repairs(config: Path, whole: Path) -> None:
    flip(a_part(config, "serving_records", 1).path)
    truncate(a_part(config, "waste").path)
    looked = CliRunner().invoke(app, ["verify", "--config", str(config)])
    assert looked.exit_code == 1
    assert "2 damaged" in looked.output
    assert "holds other bytes than were written" in looked.output
    mended = "`goodput verify --repair && goodput run` makes 2 again"
    assert str(looked.exception) == f"2 part(s) of the lake are damaged: {mended}."
    assert CliRunner().invoke(app, ["verify", "--repair", "--config", str(config)]).exit_code == 1
    run(Workspace(config))
    assert CliRunner().invoke(app, ["verify", "--recompute", "--config", str(config)]).exit_code == 0
    check_is(config, tables(whole))


def test_verify_finds_a_part_that_its_inputs_do_not_give(config: Path) -> None:
    """A part of other rows under a name and a catalog entry that fit: only its recomputation shows it."""
    lake = Workspace(config).lake
    part = a_part(config, "requests")
    rows = pl.read_parquet(part.path, hive_partitioning=False).to_arrow()
    forged = lake.write_part("requests", part.partition, rows.slice(1).cast(arrow_schema("requests")), part.inputs)
    lake.catalog["requests"].replace({part.partition: (forged,)})
    assert CliRunner().invoke(app, ["verify", "--config", str(config)]).exit_code == 0
    found = CliRunner().invoke(app, ["verify", "--recompute", "--config", str(config)])
    assert found.exit_code == 1
    assert "differs from its recomputation" in found.output


def test_a_file_is_forgotten_as_if_it_had_never_been_read(tmp_path: Path) -> None:
    config = make(tmp_path / "mine")
    refused = CliRunner().invoke(app, ["forget", "a.jsonl", "--config", str(config)])
    assert isinstance(refused.exception, SourceLies)
    line = (config.parent / "landing/a.jsonl").read_text().splitlines()[0]
    put(config.parent / "landing/bad.jsonl", re.sub(r'(startTimeUnixNano": *")\d+', r"\g<1>1", line))
    run(Workspace(config))
    assert table(Workspace(config), "quarantine").height == 1
    for name in ("a.jsonl", "bad.jsonl"):
        (config.parent / "landing" / name).unlink()
    before = tables(config)
    wanted = ["a.jsonl", "bad.jsonl", "--config", str(config)]
    assert CliRunner().invoke(app, ["forget", "--dry-run", *wanted]).exit_code == 0
    run(Workspace(config))
    assert_frame_equal(tables(config)["requests"], before["requests"])
    assert CliRunner().invoke(app, ["forget", *wanted]).exit_code == 0
    run(Workspace(config))
    assert table(Workspace(config), "quarantine").height == 0
    assert tables(config)["requests"].height == before["requests"].height // 2
    shutil.copytree(config.parent / "landing", tmp_path / "fresh/landing")
    check_is(config, fresh(tmp_path / "fresh"))


def test_rows_that_another_file_delivered_too_count_from_that_one_on_and_this_is_said(tmp_path: Path) -> None:
    config = make(tmp_path / "mine")
    lines = (config.parent / "landing/a.jsonl").read_text().splitlines()
    put(config.parent / "landing/again.jsonl", "\n".join(lines[:5]))
    run(Workspace(config))
    before = tables(config)["requests"].height
    (config.parent / "landing/a.jsonl").unlink()
    (config.parent / "landing/b.jsonl").unlink()
    asked = CliRunner().invoke(app, ["forget", "--dry-run", "b.jsonl", "--config", str(config)])
    assert "again.jsonl" not in asked.output
    said = CliRunner().invoke(app, ["forget", "a.jsonl", "--config", str(config)])
    assert [line.split()[1] for line in said.output.splitlines() if "again.jsonl" in line] == ["5"]
    run(Workspace(config))
    assert tables(config)["requests"].height == before - len(lines) + 5


def test_a_file_of_a_landing_zone_that_was_moved_lies_there_still(config: Path) -> None:
    """This lake and its landing zone are copies that no run has seen yet: it would read the file again."""
    refused = CliRunner().invoke(app, ["forget", "a.jsonl", "--config", str(config)])
    assert isinstance(refused.exception, SourceLies)
    (config.parent / "landing/a.jsonl").unlink()
    assert CliRunner().invoke(app, ["forget", "a.jsonl", "--config", str(config)]).exit_code == 0


def test_a_name_that_is_no_source_lists_the_nearest(config: Path) -> None:
    found = CliRunner().invoke(app, ["forget", "a.json", "--config", str(config)])
    assert isinstance(found.exception, SourceUnknown)
    assert "the nearest are a.jsonl" in str(found.exception)
