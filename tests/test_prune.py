"""Pruning deletes rows and closes hours: all that was measured stays, and open hours are as if nothing had gone.

What must come of a lake is taken from one that was never pruned, or from before.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from conform.test_commit import Killed, dying
from declared import bills, source
from goodput.cli.main import app
from goodput.contracts import contract, stored_tables
from goodput.erase import erase, find
from goodput.errors import NothingRetained, NotUpToDate, SettingsError
from goodput.nodes import NODES
from goodput.plumbing import garbage
from goodput.plumbing.node import Context
from goodput.plumbing.recompute import comparable
from goodput.plumbing.workspace import Workspace
from goodput.prune import Pruning, plan_pruning, prune
from goodput.rebuild import rebuild
from goodput.run import run
from goodput.settings.load import load_settings
from goodput.steps import publish_database
from published import RESTATED, ask, copied, run_at, table

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CLOSED = "2026-11-22"  # two days before
CALLS = {"attempt_id": "id", "started_at": "start", "ended_at": "end", "ttft_s": "ttft", "model": "model"}
CALLS |= {"input_tokens": "in", "output_tokens": "out", "replica": "replica", "pool": "pool", "session_id": "session"}
CALLS |= {"request_key": "request"}
UNITS = {"started_at": "iso8601", "ended_at": "iso8601", "ttft_s": "s"}
BILLED = {"cost_id": "id", "amount_usd": "amount", "replica": "replica"}
JUDGED = {"session_id": "session", "evaluator": "by", "score": "score", "labelled_at": "at"}
RETENTION = "[retention]\nrecords_days = 2\nsamples_days = 2\nrequests_days = 2\n"
SETTINGS = """
windows_s = [3600, 86400]
label_lateness_s = 3600
[alarms]
enabled = false
[workloads.chat]
ttft_s = 1.0
unit = "session"
[workloads.chat.quality]
evaluators = ["judge"]
min_score = 0.5
[rates.all]
usd_per_gpu_hour = 2.0
"""
SETTINGS += RETENTION
SETTINGS += source(
    "calls", "calls*.csv", "attempts", units=UNITS, constants='layer = "engine", outcome = "ok"', **CALLS
)
SETTINGS += source("judge", "judge.csv", "quality_labels", units={"labelled_at": "iso8601"}, **JUDGED)
SETTINGS += bills("gpu", "gpu-*.jsonl", constants='basis = "billing"', **BILLED)
HEAD = "id,start,end,ttft,in,out,model,replica,pool,session,request"
OVER_MIDNIGHT = {18: 17}  # tries that are of the request of another
MEASURED = tuple(
    name
    for name in stored_tables()
    if contract(name).layer == "measured" and contract(name).published == "table" and name != "blocked_partitions"
)
OF_WINDOWS = ("goodput", "waste", "replica_windows", "coverage")
PRUNED = ("serving_records", "sample_records", "label_records", "attempts", "requests", "session_hours", "cost_ledger")


def call(number: int, at: str, ttft: float, session: str) -> str:
    end = at.replace(":00Z", ":30Z")
    request = OVER_MIDNIGHT.get(number, number)
    return f"c{number},{at},{end},{ttft},100,20,m-1,vllm-{number % 2},chat,{session},c{request}"


def calls() -> list[str]:
    """Six calls in the first, the eleventh and the last hour of two days; a session goes on over midnight."""
    found = []
    for day in (21, 22):
        for hour in (0, 10, 23):
            for minute in range(6):
                session = f"s{day + 1}-night" if hour == 23 and minute > 3 else f"s{day}-{minute % 2}"
                session = f"s{day}-night" if hour == 0 and minute > 3 else session
                at = f"2026-11-{day}T{hour:02d}:{50 + minute if hour else minute:02d}:00Z"
                found.append(call(len(found), at, (0.3, 0.6, 1.2)[minute % 3], session))
    return found


def bill(day: int, amount: float, number: int = 0) -> str:
    begin, end = f"2026-11-{day}T00:00:00Z", f"2026-11-{day + 1}T00:00:00Z"
    given = {"id": f"b{day}-{number}", "from": begin, "until": end, "amount": amount, "replica": "vllm-0"}
    return json.dumps(given) + "\n"


def land(folder: Path, settings: str = SETTINGS) -> Path:
    """A landing zone of one file of calls, labels, bills and readings of a replica; the settings file."""
    landing = folder / "landing"
    (landing / "vllm-0").mkdir(parents=True)
    (landing / "calls.csv").write_text("\n".join([HEAD, *calls()]) + "\n")
    judged = [f"s{day}-{n},judge,{n},2026-11-{day}T23:59:00Z" for day in (21, 22) for n in (0, 1)]
    judged += [f"s{day}-{n},other,{n},2026-11-{day}T10:58:00Z" for day in (21, 22) for n in (0, 1)]
    (landing / "judge.csv").write_text("\n".join(["session,by,score,at", *judged]) + "\n")
    for day in (21, 22):
        (landing / f"gpu-{day}.jsonl").write_text(bill(day, 10.0 + day))
        for hour in (0, 10, 23):
            at = int(datetime(2026, 11, day, hour, 30, tzinfo=UTC).timestamp())
            readings = (("num_requests_running", 3), ("prompt_tokens_total", at))
            lines = [f'vllm:{name}{{model_name="m-1"}} {value}\n' for name, value in readings]
            (landing / f"vllm-0/{at}.prom").write_text("".join(lines))
    config = folder / "goodput.toml"
    config.write_text(settings)
    return config


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which nothing was pruned."""
    config = land(tmp_path_factory.mktemp("whole"))
    run_at(config)
    return config


def pruned_at(config: Path, now: datetime = NOW) -> Pruning:
    """Prune; what was to be done."""
    workspace = Workspace(config)
    with workspace.lake.lock():
        pruning = plan_pruning(workspace, now)
        prune(workspace, pruning)
    return pruning


@pytest.fixture(scope="module")
def pruned(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = copied(whole, tmp_path_factory.mktemp("pruned") / "copy")
    pruned_at(config)
    return config


@pytest.fixture
def lake(pruned: Path, tmp_path: Path) -> Path:
    """A pruned lake of one's own."""
    return copied(pruned, tmp_path / "mine")


def measured(config: Path, name: str) -> pl.DataFrame:
    return table(Workspace(config), name, RESTATED if name == "goodput" else ())


def split(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of windows of closed hours, and of others."""
    is_closed = pl.col("window_start") < datetime.fromisoformat(f"{CLOSED}T00:00:00+00:00")
    return rows.filter(is_closed), rows.filter(~is_closed)


def check_closed_as(config: Path, before: Path, names: tuple[str, ...] = OF_WINDOWS) -> None:
    for name in names:
        found, expected = split(measured(config, name))[0], split(measured(before, name))[0]
        assert expected.height, name
        assert_frame_equal(found, expected)


def check_open_as(config: Path, expected: Path, names: tuple[str, ...] = OF_WINDOWS) -> None:
    for name in names:
        found, wanted = split(measured(config, name))[1], split(measured(expected, name))[1]
        assert wanted.height, name
        assert_frame_equal(found, wanted)


def broken(config: Path) -> list[dict[str, Any]]:
    """Sources of which identity R does not hold, or that wait."""
    return ask(
        Workspace(config),
        "FROM sources WHERE is_pending OR rows_read <> rows_kept + rows_duplicate + rows_quarantined + rows_ignored",
    ).to_dicts()


def test_all_that_was_measured_stays_row_for_row(whole: Path, pruned: Path) -> None:
    for name in MEASURED:
        assert_frame_equal(measured(pruned, name), measured(whole, name))
    assert measured(whole, "goodput").height > 0
    assert broken(pruned) == []


def test_rows_that_are_older_go_and_those_that_open_hours_read_stay(whole: Path, pruned: Path) -> None:
    before, after = Workspace(whole).lake.catalog, Workspace(pruned).lake.catalog
    # The first open hour looks an hour back for other tries of its requests, and at sessions up to four hours back.
    kept_from = dict.fromkeys(PRUNED, "2026-11-21T23") | {"requests": f"{CLOSED}T00", "session_hours": "2026-11-21T20"}
    kept_from |= {"attempts": "2026-11-21T22", "cost_ledger": "2026-11-21T22"}
    for name in PRUNED:
        assert set(after[name].parts) == {hour for hour in before[name].parts if hour >= kept_from[name]}, name
        assert set(after[name].parts) < set(before[name].parts), name
    ended = datetime.fromisoformat(f"{CLOSED}T00:00:00+00:00")
    assert_frame_equal(
        table(Workspace(pruned), "requests"), table(Workspace(whole), "requests").filter(pl.col("ended_at") >= ended)
    )


def test_a_run_after_it_has_nothing_to_do(lake: Path, whole: Path) -> None:
    ran = run(Workspace(lake))
    assert (ran.ingested.read, ran.hours_computed) == (0, 0)
    for name in MEASURED:
        assert_frame_equal(measured(lake, name), measured(whole, name))
    assert pruned_at(lake).going == {}
    verified = CliRunner().invoke(app, ["verify", "--config", str(lake)])
    assert (verified.exit_code, "0 damaged" in verified.output) == (0, True), verified.output
    at = Workspace(lake)
    compared = {(node.name, partition) for node, partition, _ in comparable(Context(at.lake, at.settings), NODES)}
    assert {name for name, partition in compared if partition < CLOSED} == {"reconciliation"}
    assert {name for name, partition in compared if CLOSED <= partition < "all"} >= {"join", "windows", "cost_ledger"}


def test_files_go_an_hour_later(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Workspace(lake).lake.root / "conformed/serving_records/period=2026-11-21T10"
    assert list(folder.glob("*.parquet"))
    monkeypatch.setattr(garbage, "KEPT_S", -1.0)
    run(Workspace(lake))
    assert not folder.exists()


@pytest.mark.only(*OF_WINDOWS)
def test_rows_that_come_late_for_closed_hours_are_ignored_and_counted(lake: Path, whole: Path, tmp_path: Path) -> None:
    never = copied(whole, tmp_path / "never")
    late = [call(900, "2026-11-21T10:52:00Z", 0.1, "late"), call(901, f"{CLOSED}T00:02:00Z", 0.1, "later")]
    for config in (lake, never):
        (config.parent / "landing/calls-late.csv").write_text("\n".join([HEAD, *late]) + "\n")
        run(Workspace(config))
    check_closed_as(lake, whole)
    check_open_as(lake, never)
    assert measured(lake, "restatements").filter(pl.col("window_start") < datetime(2026, 11, 22, tzinfo=UTC)).is_empty()
    (found,) = ask(Workspace(lake), "FROM sources WHERE path = 'calls-late.csv'").to_dicts()
    assert (found["rows_read"], found["rows_kept"], found["rows_ignored"]) == (2, 1, 1)
    assert json.loads(found["ignored"]) == {"in_closed_hours": 1}
    assert broken(lake) == []


@pytest.mark.only(*OF_WINDOWS)
def test_a_file_that_grows_over_the_bound_is_read_on(lake: Path, whole: Path, tmp_path: Path) -> None:
    never = copied(whole, tmp_path / "never")
    for config in (lake, never):
        with (config.parent / "landing/calls.csv").open("a") as file:
            file.write(call(902, "2026-11-22T10:20:00Z", 0.1, "s22-0") + "\n")
        assert run(Workspace(config)).ingested.superseded == 1
    check_closed_as(lake, whole)
    check_open_as(lake, never)
    assert ask(Workspace(lake), "SELECT attempts FROM requests WHERE request_key = 'c17'").item() == 2
    (found,) = ask(Workspace(lake), "FROM sources WHERE path = 'calls.csv'").to_dicts()
    assert (found["rows_read"], found["rows_ignored"]) == (37, 18)  # 18 calls a day, the first is closed
    assert broken(lake) == []


@pytest.mark.only(*OF_WINDOWS)
def test_changed_settings_leave_closed_hours_as_they_were(lake: Path, whole: Path, tmp_path: Path) -> None:
    changed = SETTINGS.replace("ttft_s = 1.0", "ttft_s = 0.5").replace("2.0", "3.0")
    lake.write_text(changed)
    run(Workspace(lake))
    fresh = land(tmp_path / "fresh", changed)
    run_at(fresh)
    check_closed_as(lake, whole)
    check_open_as(lake, fresh)


def test_a_bill_that_comes_late_is_outside(lake: Path, whole: Path) -> None:
    (lake.parent / "landing/gpu-late.jsonl").write_text(bill(21, 7.5, 1))
    run(Workspace(lake))
    check_closed_as(lake, whole)
    found = measured(lake, "reconciliation")
    before = measured(whole, "reconciliation")
    day = pl.col("day_start") == datetime(2026, 11, 21, tzinfo=UTC)
    assert_frame_equal(found.filter(~day), before.filter(~day))
    (now,), (then,) = found.filter(day).to_dicts(), before.filter(day).to_dicts()
    assert (then["billed_usd"], then["outside_usd"]) == (31.0, 0.0)
    changed = {"billed_usd": 38.5, "outside_usd": pytest.approx(7.5), "difference_usd": pytest.approx(0.0, abs=1e-9)}
    assert now == then | changed


@pytest.mark.parametrize("at", [0, 1, 5, 8])
def test_wherever_it_dies_the_next_one_ends_as_if_it_had_not(
    whole: Path, pruned: Path, tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(whole, tmp_path / "mine")
    with monkeypatch.context() as patched:
        dying(patched, at)
        with pytest.raises(Killed):
            pruned_at(config)
    ran = run(Workspace(config))  # nothing is made of what is left
    assert ran.hours_computed == 0
    for name in MEASURED:
        assert_frame_equal(measured(config, name), measured(whole, name))
    pruned_at(config)
    found, expected = Workspace(config).lake.catalog, Workspace(pruned).lake.catalog
    for name in stored_tables():
        # files of a copy are others to the landing index, and the run between looked up what labels that are left judge
        if contract(name).layer != "collected" and name != "judged_hours":
            assert found[name].contents == expected[name].contents, name
    noted = json.loads((config.parent / "lake/replaced.json").read_text())
    on_disk = {
        path.relative_to(config.parent / "lake").as_posix()
        for name in PRUNED
        for path in (config.parent / "lake" / contract(name).layer / name).glob("*/*.parquet")
    }
    counting = {
        part.path.relative_to(config.parent / "lake").as_posix()
        for name in PRUNED
        for parts in found[name].parts.values()
        for part in parts
    }
    assert on_disk - counting <= noted.keys(), "all that counts no more will be deleted"


def test_hours_that_are_not_computed_are_not_closed(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(SETTINGS.replace("ttft_s = 1.0", "ttft_s = 0.5"))
    with pytest.raises(NotUpToDate, match="`goodput run` first"):
        pruned_at(config)
    assert not (config.parent / "lake/pruned.json").exists()


def test_settings_that_keep_everything_prune_nothing(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(SETTINGS.replace(RETENTION, ""))
    with pytest.raises(NothingRetained):
        pruned_at(config)


def test_a_damaged_part_of_a_closed_hour_is_named_as_lost(lake: Path) -> None:
    part = Workspace(lake).lake.catalog["waste"].parts["2026-11-21T10"][0]
    part.path.write_bytes(b"")
    found = CliRunner().invoke(app, ["verify", "--repair", "--config", str(lake)])
    assert found.exit_code == 1
    assert "closed" in found.output
    assert part in Workspace(lake).lake.catalog["waste"].parts["2026-11-21T10"]


def test_a_damaged_part_of_a_closed_hour_is_put_back_as_it_was_published(lake: Path) -> None:
    part = Workspace(lake).lake.catalog["goodput"].parts["2026-11-21T10"][0]
    written = part.path.read_bytes()
    part.path.write_bytes(b"")
    found = CliRunner().invoke(app, ["verify", "--repair", "--config", str(lake)])
    assert found.exit_code == 1
    assert "closed" not in found.output
    run(Workspace(lake))
    assert Workspace(lake).lake.catalog["goodput"].parts["2026-11-21T10"] == (part,)
    assert part.path.read_bytes() == written


def test_the_command_shows_what_would_go(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = copied(whole, tmp_path / "mine")
    monkeypatch.setattr("goodput.cli.prune.datetime", Clock)
    before = Workspace(config).lake.catalog["serving_records"].parts
    shown = CliRunner().invoke(app, ["prune", "--dry-run", "--config", str(config)])
    assert shown.exit_code == 0, shown.output
    assert f"Hours before {CLOSED} would be closed." in shown.output
    line = next(line.split() for line in shown.output.splitlines() if "serving_records" in line)
    assert line[:5] == ["serving_records", "2", "2026-11-21T00", "2026-11-21T10", "12"]
    assert Workspace(config).lake.catalog["serving_records"].parts == before
    done = CliRunner().invoke(app, ["prune", "--config", str(config)])
    assert f"Hours before {CLOSED} are closed." in done.output
    asked = CliRunner().invoke(app, ["explain", "c0", "--config", str(config)])
    assert "Requests that ended before 2026-11-22T00:00 UTC were pruned" in str(asked.exception)


class Clock(datetime):
    """It is NOW."""

    @classmethod
    def now(cls, tz: Any = None) -> "Clock":
        return cls(2026, 11, 24, 12, tzinfo=UTC)


def test_a_lake_that_is_made_anew_has_all_that_landing_files_give(lake: Path, whole: Path) -> None:
    (lake.parent / "lake/lake.json").write_text('{"format": 3}')
    rebuild(Workspace(lake))
    assert not (lake.parent / "lake/pruned.json").exists()
    for name in ("requests", *OF_WINDOWS):
        assert_frame_equal(measured(lake, name), measured(whole, name))


@pytest.mark.parametrize("given", ["requests_days = 30", "requests_days = 30\nrecords_days = 31", "samples_days = 0"])
def test_records_do_not_outlive_their_requests(tmp_path: Path, given: str) -> None:
    (tmp_path / "goodput.toml").write_text(f"[retention]\n{given}\n")
    with pytest.raises(SettingsError):
        load_settings(tmp_path / "goodput.toml")


def test_an_identity_is_erased_from_closed_hours_too(lake: Path, whole: Path) -> None:
    at = Workspace(lake)
    with at.lake.lock():
        found = find(at, ["s22-night"])  # before midnight and after: in closed hours and in open ones
        erase(at, ["s22-night"], found)
    hours = {part.partition for parts in found.parts.values() for part in parts}
    assert {"2026-11-21T23", "2026-11-22T00"} <= hours
    run(Workspace(lake))
    check_closed_as(lake, whole)
    check_open_as(lake, whole)
    assert measured(lake, "restatements").is_empty()


def test_a_request_is_explained_without_its_records(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(SETTINGS.replace("requests_days = 2", "requests_days = 400"))
    pruned_at(config)
    before, after = (CliRunner().invoke(app, ["explain", "c0", "--config", str(at)]) for at in (whole, config))
    assert after.exit_code == 0, after.output
    assert "1 record(s) of it were pruned" in after.output
    assert "pruned" not in before.output
    assert after.output.splitlines()[:5] == before.output.splitlines()[:5]


def test_windows_of_closed_hours_may_have_columns_of_another_version(lake: Path, whole: Path) -> None:
    at, hour = Workspace(lake), "2026-11-21T10"
    home = at.lake.catalog["goodput"]
    (part,) = home.parts[hour]
    rows = pq.ParquetFile(part.path).read().drop_columns(["goodput_rps"])
    older = rows.append_column("gone_since", pa.array([1] * rows.num_rows))
    with at.lake.lock():
        home.replace({hour: [at.lake.write_part("goodput", hour, older, part.inputs)]})
        publish_database(at)
    found, expected = measured(lake, "goodput"), measured(whole, "goodput")
    is_older = (pl.col("window_start").dt.strftime("%Y-%m-%dT%H") == hour) & (pl.col("window_s") <= 3600)
    rate = pl.when(is_older).then(None).otherwise("goodput_rps")
    order = contract("goodput").primary_key
    assert_frame_equal(found.sort(order), expected.with_columns(goodput_rps=rate).sort(order))


@pytest.mark.only(*OF_WINDOWS)
def test_hours_that_would_read_what_is_gone_stay_as_they_were(lake: Path, whole: Path) -> None:
    lake.write_text(f"max_request_lifetime_s = 86400\n{SETTINGS}")
    run(Workspace(lake))
    context = Context(Workspace(lake).lake, Workspace(lake).settings)
    joined = {partition for node, partition, _ in comparable(context, NODES) if node.name == "join"}
    assert min(joined) == "2026-11-22T23"  # a day after the first hour of which there are records
    first_day = pl.col("window_start") < datetime(2026, 11, 22, 10, tzinfo=UTC)
    for name in ("goodput", "coverage"):
        assert_frame_equal(measured(lake, name).filter(first_day), measured(whole, name).filter(first_day))
