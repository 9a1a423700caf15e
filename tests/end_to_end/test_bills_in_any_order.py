"""The same bills, settings and telemetry give the same tables, in whatever order and however often they change.

See docs/semantics.md#bills, #time-and-restatement.
"""

import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from collect.test_cost_dialects import CHARGE, as_csv
from declared import bills, source
from goodput.cli.main import app
from goodput.plumbing.workspace import Workspace
from published import RESTATED, ask, computed, run_at, table

pytestmark = pytest.mark.only("cost_records")

CALLS = {"attempt_id": "id", "started_at": "start", "ended_at": "end", "ttft_s": "ttft", "model": "model"}
CALLS |= {"input_tokens": "in", "output_tokens": "out", "replica": "replica", "pool": "pool", "session_id": "session"}
UNITS = {"started_at": "iso8601", "ended_at": "iso8601", "ttft_s": "s"}
MACHINES = {"cost_id": "id", "amount_usd": "amount", "currency": "currency", "pool": "pool", "replica": "replica"}
MACHINES |= {"model": "model"}
REVIEWS = {"cost_id": "id", "amount_usd": "amount", "workload": "workload", "session_id": "session"}
SETTINGS = """
[alarms]
enabled = false
[workloads.chat]
match = { model = "m-*" }
ttft_s = 1.0
"""
SETTINGS += source(
    "calls", "calls-*.csv", "attempts", units=UNITS, constants='layer = "engine", outcome = "ok"', **CALLS
)
SETTINGS += bills("gpu", "gpu-*.jsonl", constants='basis = "billing"', **MACHINES)
SETTINGS += bills("review", "review-*.jsonl", **REVIEWS)
COSTS = ("", "[costs.currencies]\nEUR = 1.08\n", "[costs]\nservices = ['*GPU*']\n[costs.currencies]\nEUR = 1.2\n")
RATES = ("", "[rates.all]\nusd_per_gpu_hour = 2.0\n")
TABLES = (
    "reconciliation",
    "cost_records",
    "unused_cost_lines",
    "cost_ledger",
    "waste",
    "goodput",
    "requests",
    "sources",
)
NOT_COMPARED = {"goodput": RESTATED, "sources": ("ingested_at",)}


def calls(rng: random.Random, day: int) -> str:
    """A few calls in two hours of a day, by one of two replicas."""
    rows = ["id,start,end,ttft,in,out,model,replica,pool,session"]
    for number in range(rng.randrange(2, 6)):
        second = rng.randrange(7200 - 60)
        begin, end = (f"2026-11-{day}T{10 + s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}Z" for s in (second, second + 40))
        replica = rng.choice("ab")
        session = rng.choice(["s1", "s2"])
        rows.append(f"{day}-{number},{begin},{end},{rng.choice([0.5, 1.5])},100,20,m-1,{replica},chat,{session}")
    return "\n".join(rows) + "\n"


def bill(rng: random.Random, **given: object) -> dict[str, object]:
    first, hours = rng.randrange(18 * 24, 24 * 24), rng.choice([1, 1, 3, 24, 100])
    begin, end = (f"2026-11-{h // 24:02d}T{h % 24:02d}:00:00Z" for h in (first, first + hours))
    return {"from": begin, "until": end, "amount": rng.randrange(1, 50), **given}


def lines(*rows: Mapping[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def files(rng: random.Random) -> dict[str, str]:
    """Calls of three days with one between, and bills of those days and others, some of them restated."""
    found = {f"calls-{day}.csv": calls(rng, day) for day in (20, 22)}
    for number in range(3):
        rows = [
            bill(
                rng,
                id=rng.choice("abcd"),
                currency=rng.choice(["USD", "EUR"]),
                pool="chat",
                replica=rng.choice(["a", "b", None]),
            )
            for _ in range(3)
        ]
        found[f"gpu-2026-12-0{number + 1}.jsonl"] = lines(*rows)
        scope = rng.choice([{"workload": "chat"}, {"session": rng.choice(["s1", "s9"])}, {}])
        found[f"review-2026-12-0{number + 1}.jsonl"] = lines(bill(rng, id=rng.choice("xy"), **scope))
    return found


def settle(folder: Path, steps: list[tuple[str, Mapping[str, str]]], sources: str = SETTINGS) -> Workspace:
    """A lake after a run for each step: the settings then, and the files that land before it."""
    (folder / "landing").mkdir(parents=True, exist_ok=True)
    for settings, landed in steps:
        (folder / "goodput.toml").write_text(settings + sources)
        for name, text in landed.items():
            (folder / "landing" / name).write_text(text)
        at = run_at(folder / "goodput.toml")
    return at


def warned(at: Workspace, kind: str, columns: str) -> list[tuple[object, ...]]:
    """These columns of the warnings of a kind."""
    return computed(at, kind).select(columns.split(", ")).rows()


def tables(at: Workspace) -> dict[str, pl.DataFrame]:
    return {name: table(at, name, NOT_COMPARED.get(name, ())) for name in TABLES}


@pytest.mark.only
@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_bills_settings_and_telemetry_gives_the_tables_of_a_fresh_lake(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    landed = files(rng)
    final = rng.choice(COSTS) + rng.choice(RATES)
    fresh = settle(tmp_path / "fresh", [(final, landed)])
    names = rng.sample(sorted(landed), k=len(landed))
    chunks = [names[:3], names[3:5], names[5:]]
    steps = [(rng.choice(COSTS) + rng.choice(RATES), {name: landed[name] for name in chunk}) for chunk in chunks]
    changed = settle(tmp_path / "changed", [*steps, (final, {})])
    expected = tables(fresh)
    for name, frame in tables(changed).items():
        landing = ("landing",) if name == "sources" else ()
        assert_frame_equal(frame.drop(landing), expected[name].drop(landing))


@pytest.mark.only
@pytest.mark.parametrize("windows", ["[900, 3600]", "[300, 3600, 21600, 86400]"])
def test_other_windows_hold_for_hours_that_were_computed_before(tmp_path: Path, windows: str) -> None:
    landed, other = files(random.Random(3)), f"windows_s = {windows}\n"
    expected = tables(settle(tmp_path / "fresh", [(other, landed)]))
    for name, frame in tables(settle(tmp_path / "changed", [("", landed), (other, {})])).items():
        landing = ("landing",) if name == "sources" else ()
        assert_frame_equal(frame.drop(landing), expected[name].drop(landing))


@pytest.mark.only("waste")
def test_a_restated_bill_restates_hours_after_the_last_that_was_observed(tmp_path: Path) -> None:
    """A call of ten seconds at 10:00; 24 USD for its day are restated as 48, of which each hour has two."""
    call = "id,start,end,ttft,in,out,model,replica,pool,session\n"
    call += "1,2026-11-20T10:00:00Z,2026-11-20T10:00:10Z,0.5,100,20,m-1,a,chat,s1\n"
    day = {
        "id": "a",
        "from": "2026-11-20T00:00:00Z",
        "until": "2026-11-21T00:00:00Z",
        "currency": "USD",
        "pool": "chat",
    }
    files = {"calls-20.csv": call, "gpu-2026-11-21.jsonl": lines({**day, "amount": 24.0})}
    hours = """SELECT hour(window_start) AS hour, sum(usd) AS usd FROM waste
        WHERE slice = 'overall' AND window_s = 3600 GROUP BY ALL ORDER BY hour"""
    once = settle(tmp_path, [("", files)])
    assert ask(once, hours).rows() == [(hour, pytest.approx(1.0)) for hour in range(24)]
    restated = {"gpu-2026-11-22.jsonl": lines({**day, "amount": 48.0})}
    twice = settle(tmp_path, [("", restated)])
    assert ask(twice, hours).rows() == [(hour, pytest.approx(2.0)) for hour in range(24)]


@pytest.mark.only("waste")
def test_days_without_telemetry_are_outside_and_days_between_are_unattributed(tmp_path: Path) -> None:
    """10 USD a day on pool chat from the 8th to the 15th; calls on the 10th and the 14th, around 11:00.

    A pool is known for a day around its telemetry: on the 12th nothing is. Nobody saw the hours before 11:00 on the
    10th and after 12:00 on the 14th.
    """
    rng = random.Random(1)
    bills = [
        {
            **{"id": str(day), "from": f"2026-11-{day:02d}T00:00:00Z", "until": f"2026-11-{day + 1:02d}T00:00:00Z"},
            **{"amount": 10.0, "currency": "USD", "pool": "chat"},
        }
        for day in range(8, 16)
    ]
    files = {"calls-10.csv": calls(rng, 10), "calls-14.csv": calls(rng, 14), "gpu-1.jsonl": lines(*bills)}
    at = settle(tmp_path / "lake", [("", files)])
    days = """SELECT day(window_start) AS day, sum(usd), sum(usd) FILTER (WHERE bucket = 'unattributed') AS nobodys
        FROM waste WHERE slice = 'overall' AND window_s = 86400 GROUP BY ALL ORDER BY day"""
    assert [(day, usd) for day, usd, _ in ask(at, days).rows()] == [(day, pytest.approx(10)) for day in range(10, 15)]
    by_day = {day: nobodys for day, _, nobodys in ask(at, days).rows()}
    assert by_day[12] == pytest.approx(10)
    assert by_day[10] == pytest.approx(11 * 10 / 24)
    assert by_day[14] == pytest.approx(12 * 10 / 24)


@pytest.mark.only("waste")
def test_content_that_comes_back_to_its_path_counts_again(tmp_path: Path) -> None:
    """24 USD for a day are overwritten with 48, and that is taken back: 1 USD an hour, as before."""
    day = {
        "id": "a",
        "from": "2026-11-20T00:00:00Z",
        "until": "2026-11-21T00:00:00Z",
        "currency": "USD",
        "pool": "chat",
    }
    first, wrong = ({"gpu-1.jsonl": lines({**day, "amount": usd})} for usd in (24.0, 48.0))
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    spent = "SELECT sum(usd) FROM waste WHERE slice = 'overall' AND window_s = 86400"
    settle(tmp_path, [("", telemetry)])
    for landed, usd in ((first, 24), (wrong, 48), (first, 24)):
        assert ask(settle(tmp_path, [("", landed)]), spent).item() == pytest.approx(usd)
    at = settle(tmp_path, [("", {"calls-21.csv": calls(random.Random(2), 21)})])  # unlike a run with nothing new
    assert ask(at, "SELECT amount_usd FROM cost_records").rows() == [(24.0,)]


def test_exports_that_charge_for_other_resources_displace_each_other_with_a_warning(tmp_path: Path) -> None:
    """Of 30 and 12 USD of two teams' files of one account and day the 30 with more lines count; the 12 are named."""
    chat = [{**CHARGE, "ResourceId": name, "EffectiveCost": "10"} for name in ("i-1", "i-2", "i-3")]
    code = [{**CHARGE, "ResourceId": name, "EffectiveCost": "6"} for name in ("i-8", "i-9")]
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    bills = {"chat-focus.csv": as_csv(*chat), "code-focus.csv": as_csv(*code)}
    at = settle(tmp_path / "two", [("", {**telemetry, **bills})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 30
    named = warned(at, "bill_displaced", "severity, subject, affected, total, amount_usd")
    assert named == [("high", "code-focus.csv", 2, 2, 12.0)]
    restated = [{**charge, "EffectiveCost": "11"} for charge in chat]
    at = settle(
        tmp_path / "one", [("", telemetry | {f"{n}.csv": as_csv(*of) for n, of in (("1", chat), ("2", restated))})]
    )
    assert warned(at, "bill_displaced", "subject, affected, total, amount_usd") == []
    parts = {"focus-part-1.csv": bills["chat-focus.csv"], "focus-part-2.csv": bills["code-focus.csv"]}
    at = settle(tmp_path / "parts", [("", {**telemetry, **parts})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 42
    assert warned(at, "bill_displaced", "subject, affected, total, amount_usd") == []


def hourly(hours: range, usd: str = "1") -> str:
    """A charge of one resource for each of these hours of 20 November."""
    times = [
        (f"2026-11-20T{hour:02d}:00:00Z", f"2026-11-{20 + hour // 23}T{(hour + 1) % 24:02d}:00:00Z") for hour in hours
    ]
    return as_csv(
        *({**CHARGE, "EffectiveCost": usd, "ChargePeriodStart": begin, "ChargePeriodEnd": end} for begin, end in times)
    )


FORENOON, AFTERNOON, DAY = (hourly(range(*hours)) for hours in ((0, 12), (12, 24), (0, 24)))


@pytest.mark.only("reconciliation")
@pytest.mark.parametrize(
    ("landed", "usd"),
    [
        ([{"am.csv": FORENOON, "pm.csv": AFTERNOON}], 24),
        ([{"am.csv": FORENOON}, {"pm.csv": AFTERNOON}], 24),
        ([{"am.csv": AFTERNOON}, {"pm.csv": FORENOON}], 24),
        # the day so far, then all of it, and hours of it corrected: the rest of the day is that of the day's export
        ([{"1.csv": FORENOON}, {"2.csv": DAY}], 24),
        ([{"f-2026-11-21.csv": DAY}, {"f-2026-11-22.csv": hourly(range(12), "3")}], 12 + 36),
        ([{"f-2026-11-22.csv": hourly(range(12), "3")}, {"f-2026-11-21.csv": DAY, "f-2026-11-20.csv": AFTERNOON}], 48),
    ],
)
def test_exports_of_other_hours_of_a_day_add_up(tmp_path: Path, landed: list[dict[str, str]], usd: float) -> None:
    """A dollar an hour: what no later export reaches over counts, and all that counts is accounted for."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    at = settle(tmp_path, [("", telemetry), *(("", files) for files in landed)])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == usd
    billed = "SELECT sum(billed_usd), sum(outside_usd + displaced_usd + allocated_usd) FROM reconciliation"
    assert ask(at, billed).rows() == [(pytest.approx(usd), pytest.approx(usd))]
    assert warned(at, "bill_displaced", "subject") == []


@pytest.mark.parametrize("last", ["even", "odd"])
def test_hours_that_the_export_which_replaces_them_leaves_out_are_named_with_their_money(
    tmp_path: Path, last: str
) -> None:
    """Of even and odd hours the export that reaches further replaces the others, but for the hour before its first."""
    files = {"even.csv": hourly(range(0, 24, 2), "2"), "odd.csv": hourly(range(1, 24, 2))}
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    first = {name: text for name, text in files.items() if name != f"{last}.csv"}
    at = settle(tmp_path, [("", telemetry | first), ("", files)])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 12 + 2  # odd hours, and the midnight hour
    assert warned(at, "bill_displaced", "subject, affected, total, amount_usd") == [("even.csv", 11, 11, 22.0)]


def test_of_a_path_that_held_several_versions_the_last_one_is_displaced(tmp_path: Path) -> None:
    """Two resources at 6 USD, at 7, then one alone: 7 are missing, and never 13."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    versions = [[("i-1", "6"), ("i-2", "6")], [("i-1", "7"), ("i-2", "7")], [("i-1", "7")]]
    bills = [as_csv(*({**CHARGE, "ResourceId": name, "EffectiveCost": usd} for name, usd in of)) for of in versions]
    for text in bills:
        at = settle(tmp_path, [("", telemetry | {"focus.csv": text})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 7
    ((affected, usd, message),) = warned(at, "bill_displaced", "affected, amount_usd, message")
    assert (affected, usd) == (1, 7)
    assert "what that path held later" in message


@pytest.mark.only("cost_records")
def test_a_landing_zone_that_was_moved_still_knows_what_overwrites_what(tmp_path: Path) -> None:
    """24 USD, moved with its folder and overwritten with 48 there, then restored: 48 and 24, never 72."""
    day = {**CHARGE, "ChargePeriodStart": "2026-11-20T00:00:00Z", "ChargePeriodEnd": "2026-11-21T00:00:00Z"}
    first, second = ({"focus-2026-11-21.csv": as_csv({**day, "EffectiveCost": usd})} for usd in ("24", "48"))
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    settle(tmp_path / "before", [("", {**telemetry, **first})])
    (tmp_path / "before").rename(tmp_path / "after")
    charged = "SELECT sum(amount_usd) FROM cost_records"
    for landed, usd in (({}, 24), (second, 48), (first, 24), (second, 48)):
        assert ask(settle(tmp_path / "after", [("", landed)]), charged).item() == usd


@pytest.mark.only("cost_records")
@pytest.mark.parametrize("looks_between", [False, True])
def test_a_bill_that_is_corrected_where_the_folder_was_moved_to_counts_as_one_that_was_not(
    tmp_path: Path, looks_between: bool
) -> None:
    """Two resources at 6 USD, of which the correction has one, at 7: it would lose to an export with more lines."""
    first = {"focus.csv": as_csv(*({**CHARGE, "ResourceId": name, "EffectiveCost": "6"} for name in ("i-1", "i-2")))}
    second = {"focus.csv": as_csv({**CHARGE, "ResourceId": "i-1", "EffectiveCost": "7"})}
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    settle(tmp_path / "before", [("", {**telemetry, **first})])
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    if looks_between:
        settle(tmp_path / "after", [("", {})])
    charged = "SELECT amount_usd FROM cost_records"
    assert ask(settle(tmp_path / "after", [("", second)]), charged).to_series().to_list() == [7]


def test_a_file_that_is_overwritten_by_fewer_days_is_named_until_it_is_forgotten(tmp_path: Path) -> None:
    """Of 24 USD on each of two days the file keeps 30 on the second: the first day's stay, and a warning says so."""

    def day(number: int, usd: float) -> dict[str, object]:
        first, last = (f"2026-11-{day}T00:00:00Z" for day in (number, number + 1))
        return {"id": str(number), "from": first, "until": last, "amount": usd, "currency": "USD", "pool": "chat"}

    charged = "SELECT sum(amount_usd) FROM cost_records"
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    both = {"gpu-1.jsonl": lines(day(20, 24), day(21, 24))}
    at = settle(tmp_path / "shrunk", [("", telemetry | both), ("", {"gpu-1.jsonl": lines(day(21, 30))})])
    assert ask(at, charged).item() == 54
    assert warned(at, "bill_shrunk", "subject, affected, amount_usd") == [("gpu-1.jsonl", 1, 24.0)]
    rolling = {"gpu-1.jsonl": lines(day(21, 30), day(22, 30))}
    assert (
        warned(
            settle(tmp_path / "rolling", [("", telemetry | both), ("", rolling)]),
            "bill_shrunk",
            "subject, affected, amount_usd",
        )
        == []
    )
    landed, aside = tmp_path / "shrunk" / "landing" / "gpu-1.jsonl", tmp_path / "gpu-1.jsonl"
    landed.rename(aside)
    config = str(tmp_path / "shrunk" / "goodput.toml")
    forgotten = CliRunner().invoke(app, ["forget", "gpu-1.jsonl", "--config", config])
    assert forgotten.exit_code == 0, forgotten.output
    aside.rename(landed)
    at = settle(tmp_path / "shrunk", [("", {})])
    assert ask(at, charged).item() == 30
    assert warned(at, "bill_shrunk", "subject, affected, amount_usd") == []


def test_a_file_that_is_overwritten_by_its_own_beginning_is_named(tmp_path: Path) -> None:
    """24 USD on each of three days; then only the first two, then only the first: 48 USD are gone from the file."""
    rows = [
        {**CHARGE, "ChargePeriodStart": f"2026-11-{d}T00:00:00Z", "ChargePeriodEnd": f"2026-11-{d + 1}T00:00:00Z"}
        for d in (19, 20, 21)
    ]
    rows = [{**row, "EffectiveCost": "24"} for row in rows]
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    steps = [("", telemetry), *(("", {"focus.csv": as_csv(*rows[:kept])}) for kept in (3, 2))]
    at = settle(tmp_path, steps)
    assert warned(at, "bill_shrunk", "subject, affected, amount_usd") == [("focus.csv", 1, 24.0)]
    at = settle(tmp_path, [("", {"focus.csv": as_csv(rows[0])})])
    assert warned(at, "bill_shrunk", "subject, affected, amount_usd") == [("focus.csv", 2, 48.0)]


def test_a_charge_that_moves_to_another_sub_account_is_named(tmp_path: Path) -> None:
    """Exports replace one another within a sub account, so that what moved counts in both."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    bill = [{**CHARGE, "ResourceId": name} for name in ("i-1", "i-2")]
    moved = [{**charge, "SubAccountId": "789"} for charge in bill]
    for name, later, expected in (
        ("moved", moved, [("focus-2026-11-21.csv and focus-2026-11-22.csv", 2, 24.5)]),
        ("same", bill, []),
    ):
        files = {"focus-2026-11-21.csv": as_csv(*bill), "focus-2026-11-22.csv": as_csv(*later)}
        assert (
            warned(settle(tmp_path / name, [("", telemetry | files)]), "cost_repeated", "subject, affected, amount_usd")
            == expected
        )


@pytest.mark.only("waste")
def test_a_pool_idles_in_an_hour_in_which_its_replica_is_seen_under_no_pool(tmp_path: Path) -> None:
    """1 USD an hour for pool chat; from 13 h on all that is seen is the end of a call that names its replica alone."""
    header = "id,start,end,ttft,in,out,model,replica,pool,session"
    rows = [
        "1,2026-11-20T10:00:00Z,2026-11-20T10:00:40Z,0.5,100,20,m-1,a,chat,s1",
        "2,2026-11-20T12:59:30Z,2026-11-20T13:00:10Z,0.5,100,20,m-1,a,,s1",
    ]
    day = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "currency": "USD", "pool": "chat"}
    bill = lines({**day, "id": "a", "amount": 24.0})
    at = settle(tmp_path, [("", {"calls-20.csv": "\n".join([header, *rows, ""]), "gpu-1.jsonl": bill})])
    spent = """
        SELECT
            hour(window_start) AS hour,
            sum(usd) FILTER (WHERE bucket = 'idle'), sum(usd) FILTER (WHERE bucket = 'unattributed')
        FROM waste
        WHERE slice = 'overall' AND window_s = 3600 AND hour BETWEEN 12 AND 14
        GROUP BY ALL
        ORDER BY hour
    """
    assert ask(at, spent).rows() == [
        (12, pytest.approx(1), None),
        (13, pytest.approx(1), None),
        (14, None, pytest.approx(1)),
    ]


@pytest.mark.only("waste", "requests")
def test_a_replica_that_a_gateway_names_is_paid_in_hours_in_which_its_engine_names_none(tmp_path: Path) -> None:
    """1 USD an hour for replica a of pool chat: a gateway that knows no pool is traced at 10 h, its engine at 11 h."""
    header = "id,start,end,ttft,in,out,model,replica,pool,session"
    edge = source("edge", "edge-*.csv", "attempts", units=UNITS, constants='layer = "gateway", outcome = "ok"', **CALLS)
    files = {
        "edge-20.csv": f"{header}\n1,2026-11-20T10:00:00Z,2026-11-20T10:30:00Z,0.5,100,20,m-1,a,,s1\n",
        "calls-20.csv": f"{header}\n2,2026-11-20T11:00:00Z,2026-11-20T11:30:00Z,0.5,100,20,m-1,a,chat,s1\n",
    }
    day = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "currency": "USD"}
    files |= {"gpu-1.jsonl": lines({**day, "pool": "chat", "replica": "a", "id": "x", "amount": 24.0})}
    at = settle(tmp_path, [("", files)], SETTINGS + edge)
    # each keeps it busy for half of an hour
    assert ask(at, "SELECT cost_usd FROM requests")["cost_usd"].to_list() == [pytest.approx(0.5)] * 2


@pytest.mark.only("waste")
def test_what_a_model_is_billed_for_a_day_is_carried_by_those_who_called_it_that_day(tmp_path: Path) -> None:
    """24 USD for a day of a bought model that was called once, at 10 h for 100 s; of other hours it is nobody's."""
    header = "id,start,end,ttft,in,out,model,replica,pool,session"
    call = "1,2026-11-20T10:00:00Z,2026-11-20T10:01:40Z,0.5,100,20,m-1,,,s1"
    day = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "currency": "USD"}
    bill = lines({**day, "id": "a", "amount": 24.0, "model": "m-1"})
    sources = SETTINGS.replace('layer = "engine"', 'layer = "gateway"')
    at = settle(tmp_path, [("", {"calls-20.csv": f"{header}\n{call}\n", "gpu-1.jsonl": bill})], sources)
    spent = """SELECT workload, bucket, sum(usd) FROM waste
        WHERE slice = 'workload' AND window_s = {} AND hour(window_start) = {} GROUP BY ALL"""
    assert ask(at, spent.format(86400, 0)).rows() == [("chat", "accepted", pytest.approx(24))]
    assert ask(at, spent.format(3600, 10)).rows() == [("chat", "accepted", pytest.approx(1))]
    assert ask(at, spent.format(3600, 11)).rows() == [("unknown", "unattributed", pytest.approx(1))]


@pytest.mark.only
def test_a_credit_beyond_what_a_pool_costs_blocks_nothing(tmp_path: Path) -> None:
    day = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "currency": "USD", "pool": "chat"}
    bill = {"gpu-1.jsonl": lines({**day, "id": "a", "amount": 24.0}, {**day, "id": "b", "amount": -100.0})}
    at = settle(tmp_path, [("", {"calls-20.csv": calls(random.Random(1), 20), **bill})])
    assert ask(at, "FROM blocked_partitions").is_empty()
    prices = ask(at, "SELECT cost_per_accepted_usd FROM frontier WHERE windows > 0").to_series().drop_nulls()
    assert len(prices)
    assert prices.max() < 0


def test_an_unreadable_charge_is_fixed_by_a_later_export_that_replaces_all_of_its_file(tmp_path: Path) -> None:
    broken = {**CHARGE, "EffectiveCost": "twelve"}
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    first = {"focus-2026-11-21.csv": as_csv(CHARGE, broken)}
    at = settle(tmp_path, [("", telemetry | first)])
    assert warned(at, "cost_line_quarantined", "subject, affected") == [("focus-2026-11-21.csv", 1)]
    at = settle(tmp_path, [("", {"focus-2026-11-22.csv": as_csv(CHARGE, {**CHARGE, "EffectiveCost": "12"})})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 24.25
    assert warned(at, "cost_line_quarantined", "subject, affected") == []


@pytest.mark.only("cost_records")
def test_two_versions_of_one_export_in_two_landing_zones_count_once(tmp_path: Path) -> None:
    for name, usd in (("l1", "24"), ("l2", "48")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "focus-2026-11-21.csv").write_text(as_csv({**CHARGE, "EffectiveCost": usd}))
    settings = 'landing = ["landing", "l1", "l2"]\n'
    at = settle(tmp_path, [(settings, {"calls-20.csv": calls(random.Random(1), 20)})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 48  # the last by name


def test_parts_of_one_bill_without_resources_are_named_where_no_date_tells_them_apart(tmp_path: Path) -> None:
    lines = [{**CHARGE, "ResourceId": "", "EffectiveCost": usd} for usd in ("10", "20", "30", "5", "6")]
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    for dates, expected in ((("", ""), [("chat-.csv", 2, 11.0)]), (("2026-11-21", "2026-11-22"), [])):
        names = [f"{team}-{date}.csv" for team, date in zip(("chat", "code"), dates, strict=True)]
        files = dict(zip(names, (as_csv(*lines[3:]), as_csv(*lines[:3])), strict=True))
        at = settle(tmp_path / (dates[0] or "none"), [("", {**telemetry, **files})])
        assert warned(at, "bill_displaced", "subject, affected, amount_usd") == expected


@pytest.mark.parametrize(
    "later",
    [
        pytest.param({"ResourceId": "i-1", "EffectiveCost": "-20", "ChargeClass": "Correction"}, id="a correction"),
        pytest.param({"ResourceId": "i-1", "EffectiveCost": "-5", "ChargeCategory": "Credit"}, id="a credit"),
        pytest.param(
            {"ResourceId": "", "EffectiveCost": "-5", "ChargeCategory": "Credit"}, id="a credit of no resource"
        ),
    ],
)
@pytest.mark.parametrize("resource", ["i-1", ""])
def test_usage_that_a_later_file_of_credits_replaces_is_named(
    tmp_path: Path, later: Mapping[str, str], resource: str
) -> None:
    """300 USD of usage leave the numbers for a file that takes a little back: exports replace, and this is said."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    used = as_csv({**CHARGE, "ResourceId": resource, "EffectiveCost": "300"})
    bills = {"focus-2026-11-21.csv": used, "focus-2026-11-22.csv": as_csv({**CHARGE, **later})}
    at = settle(tmp_path, [("", telemetry | bills)])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == float(later["EffectiveCost"])
    assert warned(at, "bill_displaced", "subject, affected, amount_usd") == [("focus-2026-11-21.csv", 1, 300.0)]


@pytest.mark.parametrize("column", ["BillingAccountId", "SubAccountId"])
def test_no_other_account_covers_what_an_export_replaced(tmp_path: Path, column: str) -> None:
    """Of one account 3 USD of something else replace 200; another account pays a dollar for a resource of that name."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    bills = {
        "gpu.csv": as_csv({**CHARGE, "ResourceId": "default", "EffectiveCost": "200"}),
        "zz.csv": as_csv(*({**CHARGE, "ResourceId": name, "EffectiveCost": "1"} for name in ("i-7", "i-8", "i-9"))),
        "other.csv": as_csv({**CHARGE, column: "other", "ResourceId": "default", "EffectiveCost": "1"}),
    }
    at = settle(tmp_path, [("", telemetry | bills)])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 3 + 1
    assert warned(at, "bill_displaced", "subject, amount_usd") == [("gpu.csv", 200.0)]


def test_charges_and_credits_that_cancel_are_gone_none_the_less(tmp_path: Path) -> None:
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    gone = [{**CHARGE, "ResourceId": f"g-{usd}", "EffectiveCost": usd} for usd in ("100", "-100")]
    kept = [{**CHARGE, "ResourceId": name, "EffectiveCost": "1"} for name in ("i-7", "i-8", "i-9")]
    at = settle(tmp_path, [("", telemetry | {"gpu.csv": as_csv(*gone), "zz.csv": as_csv(*kept)})])
    assert warned(at, "bill_displaced", "subject, affected, amount_usd") == [("gpu.csv", 2, 0.0)]


@pytest.mark.parametrize(
    ("earlier", "later", "counted", "expected"),
    [
        # a correction whose name sorts first: the dollars of the other count, and this is said
        ({"g-1": 10, "g-2": 99}, {"g-1": 10, "g-2": 5}, 109, [("focus-v2.csv", 2, 94.0)]),
        # one that drops a line: more lines count
        ({"g-1": 10, "g-2": 5, "bogus": 99}, {"g-1": 10, "g-2": 5}, 114, [("focus-v2.csv", 2, 99.0)]),
        # nothing to choose, and a part of a bill: bill_displaced
        ({"g-1": 10, "g-2": 5}, {"g-1": 10, "g-2": 5.01}, 15, []),
        ({"g-1": 10, "g-2": 5}, {"g-3": 10, "g-4": 9}, 15, []),
    ],
)
def test_a_bill_that_another_replaces_with_no_date_to_tell_which_is_later_is_named(
    tmp_path: Path, earlier: dict[str, float], later: dict[str, float], counted: float, expected: list[object]
) -> None:
    def bill(charges: dict[str, float]) -> str:
        return as_csv(*({**CHARGE, "ResourceId": name, "EffectiveCost": str(usd)} for name, usd in charges.items()))

    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    total = "SELECT sum(amount_usd) FROM cost_records"
    at = settle(tmp_path / "undated", [("", telemetry | {"focus.csv": bill(earlier), "focus-v2.csv": bill(later)})])
    assert ask(at, total).item() == counted
    assert warned(at, "bill_undated", "subject, affected, amount_usd") == expected
    dated = {"focus-2026-11-21.csv": bill(earlier), "focus-2026-11-22.csv": bill(later)}
    at = settle(tmp_path / "dated", [("", telemetry | dated)])
    assert ask(at, total).item() == sum(later.values())
    assert warned(at, "bill_undated", "subject, affected, amount_usd") == []


@pytest.mark.parametrize(
    ("resource", "begins", "expected"),
    [
        ("g-1", "2026-11-21T00:00:00Z", [("focus-2026-11-21.csv and focus-2026-11-22.csv", 1, 6.0)]),
        ("g-1", "2026-11-21T12:00:00Z", []),  # where the other ends
        ("g-2", "2026-11-21T00:00:00Z", []),
    ],
)
def test_hours_after_midnight_that_two_exports_charge_for_are_named(
    tmp_path: Path, resource: str, begins: str, expected: list[object]
) -> None:
    """A dollar an hour from noon to noon, and half a dollar an hour of the second day: twelve hours are paid twice."""
    noon = {"ChargePeriodStart": "2026-11-20T12:00:00Z", "ChargePeriodEnd": "2026-11-21T12:00:00Z"}
    day = {"ChargePeriodStart": begins, "ChargePeriodEnd": "2026-11-22T00:00:00Z"}
    hours = 24 if begins.endswith("00:00:00Z") and "T00" in begins else 12
    bills = {
        "focus-2026-11-21.csv": as_csv({**CHARGE, **noon, "ResourceId": "g-1", "EffectiveCost": "24"}),
        "focus-2026-11-22.csv": as_csv({**CHARGE, **day, "ResourceId": resource, "EffectiveCost": str(hours / 2)}),
    }
    at = settle(tmp_path, [("", {"calls-20.csv": calls(random.Random(1), 20)} | bills)])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 24 + hours / 2
    assert warned(at, "cost_repeated", "subject, affected, amount_usd") == expected


@pytest.mark.parametrize("named", [{"workload": "chat"}, {"session": "s1"}, {"pool": "chat"}, {}])
def test_rows_without_an_id_that_are_restated_in_a_new_file_are_named(
    tmp_path: Path, named: Mapping[str, object]
) -> None:
    """A review of 100 USD, restated as 110: both count, and nothing but their names shows that they may be one."""
    sources = SETTINGS.replace('cost_id = "id"\n', "")
    row = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", **named}
    for ids, expected in (({}, [("review-1.jsonl and review-2.jsonl", 1, 100.0)]), ({"id": "x"}, [])):
        reviews = {
            f"review-{n}.jsonl": lines({**row, "amount": usd, **{key: f"{name}{n}" for key, name in ids.items()}})
            for n, usd in ((1, 100), (2, 110))
        }
        telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
        at = settle(tmp_path / str(len(ids)), [("", telemetry | reviews)], SETTINGS if ids else sources)
        assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == 210
        assert warned(at, "cost_repeated", "subject, affected, amount_usd") == expected


@pytest.mark.only("warnings", "reconciliation")
@pytest.mark.parametrize(
    ("services", "severity", "counted"),
    [('["compute*"]', "high", None), ('["Compute*", "*Storge*"]', "medium", 24.0), ('["Compute*"]', None, 24.0)],
)
def test_a_choice_of_services_that_no_bill_has_is_named(
    tmp_path: Path, services: str, severity: str | None, counted: float | None
) -> None:
    """24 USD of compute and 11 of storage; capitals count."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    charges = [
        {**CHARGE, "ServiceName": name, "EffectiveCost": usd} for name, usd in (("Compute", "24"), ("Storage", "11"))
    ]
    at = settle(tmp_path, [(f"[costs]\nservices = {services}\n", telemetry | {"focus.csv": as_csv(*charges)})])
    assert ask(at, "SELECT sum(amount_usd) FROM cost_records").item() == counted
    found = ask(at, "SELECT severity, message FROM warnings WHERE kind = 'setting_unmatched'").rows()
    assert [row[0] for row in found] == ([severity] if severity else [])
    assert all("Services seen: Compute, Storage" in message for _, message in found)
    answer = CliRunner().invoke(app, ["reconcile", "--config", str(tmp_path / "goodput.toml")])
    assert answer.exit_code == 0, answer.output
    assert "not_chosen with " in answer.output
    assert "No bill has been read" not in answer.output


@pytest.mark.parametrize(("tag", "is_found"), [("team", True), ("Team", False)])
def test_tags_of_the_settings_that_no_bill_has_are_named(tmp_path: Path, tag: str, is_found: bool) -> None:
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    at = settle(tmp_path, [(f'[costs]\ntenant_tags = ["{tag}"]\n', telemetry | {"focus.csv": as_csv(CHARGE)})])
    assert ask(at, "SELECT any_value(tenant) FROM cost_records").item() == ("llm" if is_found else None)
    assert warned(at, "setting_unmatched", "subject") == ([] if is_found else [("costs, tenant_tags",)])


@pytest.mark.only("warnings", "reconciliation")
def test_a_bill_that_names_nothing_of_telemetry_beside_one_that_does_is_named(tmp_path: Path) -> None:
    """24 USD of a day by the cloud's names, and 48 by the names of replicas: up to the smaller is paid twice."""
    telemetry = {"calls-20.csv": calls(random.Random(1), 20)}
    day = {"from": "2026-11-20T10:00:00Z", "until": "2026-11-20T12:00:00Z", "currency": "USD"}
    focus = {**CHARGE, "ResourceId": "i-0abc", "EffectiveCost": "24", "Tags": ""}
    focus |= {"ChargePeriodStart": "2026-11-20T10:00:00Z", "ChargePeriodEnd": "2026-11-20T12:00:00Z"}
    apart = "SELECT severity, subject, amount_usd FROM warnings WHERE kind = 'bill_apart'"
    bill = {"focus.csv": as_csv(focus)}
    for name, more, expected in (
        ("both", lines({**day, "id": "a", "amount": 48.0, "pool": "chat"}), [("high", "billing", 24.0)]),
        ("alone", "", []),
    ):
        listed = SETTINGS.replace('basis = "billing"', 'basis = "allocation"')
        at = settle(tmp_path / name, [("", telemetry | bill | ({"gpu-1.jsonl": more} if more else {}))], listed)
        assert ask(at, apart).rows() == expected
