"""Every kind of warning, from a small fleet in which it is true, and gone when its cause is fixed."""

import re
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from typer.testing import CliRunner

from collect.otlp.encode import length_prefixed
from collect.telemetry import put, spans_line
from collect.test_spans import vllm_span
from declared import bills, source
from goodput.cli.main import app
from goodput.measure import warnings
from goodput.plumbing.sql_files import connect, sql_file
from goodput.plumbing.workspace import Workspace
from published import ask, run_at

pytestmark = pytest.mark.only("warnings")

BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z
HEADER = ("id", "model", "route", "pool", "start", "end", "ttft", "out", "response", "replica", "session", "tenant")
SETTINGS = """
landing = ["landing"]
lake = "lake"
max_request_lifetime_s = 600.0
alarms.enabled = false
{more}
[sources.calls]
format = "csv"
path = "calls*.csv"
constants = {{ input_tokens = 10 }}
[sources.calls.columns]
attempt_id = "id"
started_at = {{ column = "start", unit = "epoch_s" }}
ended_at = {{ column = "end", unit = "epoch_s" }}
ttft_s = {{ column = "ttft", unit = "s" }}
output_tokens = "out"
model = "model"
route = "route"
pool = "pool"
response_id = "response"
replica = "replica"
session_id = "session"
tenant = "tenant"
"""
LABELS = source(
    "labels",
    "labels.csv",
    "quality_labels",
    units={"labelled_at": "epoch_s"},
    **{"request_key": "request", "evaluator": "evaluator", "score": "score", "labelled_at": "at"},
)
EVENTS = source(
    "events",
    "events.csv",
    "ops_events",
    units={"occurred_at": "epoch_s"},
    **{"kind": "kind", "pool": "pool", "subject": "name", "occurred_at": "at"},
)
Row = dict[str, Any]


def calls(count: int = 25, **given: object) -> list[Row]:
    """Calls of 2 s, one every 10 s, of one model, route and pool."""
    usual = {"model": "llama-3-8b", "route": "chat", "pool": "blue", "ttft": 0.5, "out": 11}
    found = []
    for n in range(count):
        start = BEGIN_S + 10 * n
        row = {"id": f"a{n}", "start": start, "end": start + 2, "response": f"r{n}", **usual}
        found.append({**row, **{key: value(n) if callable(value) else value for key, value in given.items()}})
    return found


def write(path: Path, header: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    lines = [",".join(header), *(",".join(str(row.get(name, "")) for name in header) for row in rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def warned(root: Path, more: str, rows: Sequence[Row] = (), settings: str = SETTINGS) -> dict[str, list[Row]]:
    """The warnings of a run, by kind; `rows` are the calls that landed."""
    if rows:
        write(root / "landing/calls.csv", HEADER, rows)
    (root / "goodput.toml").write_text(settings.format(more=more))
    found: dict[str, list[Row]] = {}
    for row in ask(run_at(root / "goodput.toml"), "FROM warnings ORDER BY kind, subject").to_dicts():
        found.setdefault(row["kind"], []).append(row)
    return found


def counts(rows: Sequence[Row]) -> list[tuple[str, str, int | None, int | None]]:
    return [(row["severity"], row["subject"], row["affected"], row["total"]) for row in rows]


def test_a_fleet_without_fault_has_no_warning(tmp_path: Path) -> None:
    assert warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls()) == {}


def test_a_wrong_match_is_named_with_the_nearest_name_and_cleared_when_mended(tmp_path: Path) -> None:
    wrong = '[workloads.chat]\nmatch = { model = ["lama-3*"], route = "chat" }\nttft_s = 1.0'
    found = warned(tmp_path, wrong, calls())
    assert found.keys() == {"workload_without_requests", "request_without_workload"}
    (empty,) = found["workload_without_requests"]
    assert counts([empty]) == [("high", "chat", 0, 25)]
    assert "no model matches lama-3* (nearest: llama-3-8b)" in empty["message"]
    assert "models llama-3-8b; pools blue; routes chat" in empty["message"]
    (ungated,) = found["request_without_workload"]
    assert counts([ungated]) == [("high", "unassigned", 25, 25)]
    assert "(25 of model llama-3-8b, route chat)" in ungated["message"]
    assert warned(tmp_path, wrong.replace("lama-3*", "llama-3*")) == {}


def test_a_workload_that_an_earlier_one_leaves_nothing_says_so(tmp_path: Path) -> None:
    (row,) = warned(tmp_path, "[workloads.all]\nttft_s = 1.0\n[workloads.chat]\nttft_s = 1.0", calls())[
        "workload_without_requests"
    ]
    assert "an earlier workload selects them first" in row["message"]


def test_labels_that_decide_nothing_and_evaluators_that_never_judge(tmp_path: Path) -> None:
    rated = '[workloads.rated]\nmatch = { route = "chat" }\n[workloads.rated.quality]\nmin_score = 0.5\n'
    settings = f'{rated}evaluators = ["groundedness"]\n[workloads.rest]\nttft_s = 1.0\n{LABELS}'
    judged = [{"request": f"a{n}", "evaluator": "grounded", "score": 1, "at": BEGIN_S + 900} for n in (0, 2, 3)]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    found = warned(tmp_path, settings, calls(10, route=lambda n: "chat" if n % 2 == 0 else "search"))
    # calls 0, 2, 4, 6, 8 are chat, of which two have a label of another evaluator; call 3 is of one without a gate
    assert counts(found["evaluator_never_judged"]) == [("high", "rated: groundedness", 5, 5)]
    assert "Judged did grounded (2 labels)" in found["evaluator_never_judged"][0]["message"]
    assert counts(found["label_without_gate"]) == [("medium", "rest", 1, None)]
    assert counts(found["gate_never_measured"]) == [("high", "rated: quality", 5, 5)]
    mended = settings.replace("groundedness", "grounded").replace("[workloads.rest]", "[workloads.rest.quality]")
    assert warned(tmp_path, mended.replace("ttft_s = 1.0", "min_score = 0.5")) == {}


def test_labels_that_are_drawn_at_unlike_rates_are_named_with_the_cell(tmp_path: Path) -> None:
    settings = f"[workloads.rated.quality]\nmin_score = 0.5\n{LABELS}"
    # 30 of 40 calls of chat have a label, and 4 of 40 of search: chi-square 34 of one degree of freedom
    judged = [
        {"request": f"a{n}", "evaluator": "judge", "score": 1, "at": BEGIN_S + 900}
        for n in (*range(0, 60, 2), *range(1, 9, 2))
    ]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    both = calls(80, route=lambda n: "chat" if n % 2 == 0 else "search")
    (found,) = warned(tmp_path, settings, both)["label_uneven"]
    assert counts([found]) == [("medium", "rated", 34, 80)]
    assert "75.0 % have one, of all 42.5 %" in found["message"] or "10.0 % have one, of all 42.5 %" in found["message"]
    assert "label_uneven" not in warned(tmp_path, settings.replace("min_score", 'sampling = "none"\nmin_score'))


@pytest.mark.parametrize(
    ("unlike", "cell"),
    [
        (
            {"tenant": lambda n: "acme" if n % 2 == 0 else "globex"},
            r"tenant (acme|globex) from 2026-11-20 00:00 UTC on (75|10)\.0 % have one, of all 42\.5 % then",
        ),
        (
            {"out": lambda n: 100 if n % 2 == 0 else 600},
            r"answers of (64 to 127|512 to 1023) tokens from 2026-11-20 00:00 UTC on (75|10)\.0 % have one, of all",
        ),
    ],
)
def test_labels_by_tenant_or_length_are_named_too(tmp_path: Path, unlike: dict[str, Any], cell: str) -> None:
    """Estimates are made by place, and places are judged alike here."""
    settings = f"[workloads.rated.quality]\nmin_score = 0.5\n{LABELS}"
    judged = [
        {"request": f"a{n}", "evaluator": "judge", "score": 1, "at": BEGIN_S + 900}
        for n in (*range(0, 60, 2), *range(1, 9, 2))
    ]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    (found,) = warned(tmp_path, settings, calls(80, **unlike))["label_uneven"]
    assert counts([found]) == [("medium", "rated", 34, 80)]
    assert re.search(cell, found["message"])
    assert "Estimates do not allow for that" in found["message"]


def test_tenants_that_come_when_more_is_judged_are_drawn_alike(tmp_path: Path) -> None:
    """Of the first day's calls, mostly acme's, 30 of 40 have a label, and of the next one's, mostly globex's, 4: each
    day half and a tenth of both tenants. Each window is estimated by its own labels."""
    settings = f"[workloads.rated.quality]\nmin_score = 0.5\n{LABELS}"
    judged = [n for n in range(80) if (n % 4 != 3 and n < 40) or (n >= 40 and n % 10 == 5)]
    days = [BEGIN_S + 86_400 * (n // 40) + n % 40 for n in range(80)]
    rows = [{"request": f"a{n}", "evaluator": "judge", "score": 1, "at": days[n] + 900} for n in judged]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), rows)
    tenants = ["globex" if (n // 4 % 5 == 0) == (n < 40) else "acme" for n in range(80)]
    both = calls(80, start=lambda n: days[n], end=lambda n: days[n] + 2, tenant=lambda n: tenants[n])
    (found,) = warned(tmp_path, settings, both)["label_uneven"]
    assert "Estimates are made cell by cell for that" in found["message"]  # neither tenants nor lengths are why


def test_sessions_that_are_judged_whole_are_drawn_alike(tmp_path: Path) -> None:
    """Eight sessions of ten, two routes; of each route's four 3 and 1 are judged.

    By request chi-square is 2 x 10^2/(40/4) = 20, above 10.8 of p = 0.001; by draws, of ten each, it is 2.
    """
    settings = f"[workloads.rated.quality]\nmin_score = 0.5\n{LABELS}"
    drawn = {0, 1, 2, 4}  # of sessions 0 to 3 on chat and 4 to 7 on search
    judged = [
        {"request": f"a{n}", "evaluator": "judge", "score": 1, "at": BEGIN_S + 900}
        for n in range(80)
        if n // 10 in drawn
    ]
    by_session, by_request = tmp_path / "by session", tmp_path / "by request"
    for root in (by_session, by_request):
        write(root / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    whole = calls(80, route=lambda n: "chat" if n < 40 else "search", session=lambda n: f"s{n // 10}")
    assert "label_uneven" not in warned(by_session, settings, whole)
    alone = calls(80, route=lambda n: "chat" if n < 40 else "search", session=lambda n: f"s{n}")
    assert counts(warned(by_request, settings, alone)["label_uneven"]) == [("medium", "rated", 40, 80)]


def test_labels_that_are_drawn_at_unlike_rates_hour_by_hour_are_named(tmp_path: Path) -> None:
    settings = f"[workloads.rated.quality]\nmin_score = 0.5\n{LABELS}"
    # 30 of the first hour's 40 calls have a label, and 4 of the next one's
    judged = [
        {"request": f"a{n}", "evaluator": "judge", "score": 1, "at": BEGIN_S + 9000}
        for n in (*range(30), *range(40, 44))
    ]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    hours = [BEGIN_S + 3600 * (n // 40) + n % 40 for n in range(80)]
    both = calls(80, start=lambda n: hours[n], end=lambda n: hours[n] + 2)
    (found,) = warned(tmp_path, settings, both)["label_uneven"]
    assert counts([found]) == [("medium", "rated", 34, 80)]
    assert "75.0 % have one, of all 42.5 %" in found["message"] or "10.0 % have one, of all 42.5 %" in found["message"]


def test_a_gate_that_nothing_measures_is_named_with_what_could(tmp_path: Path) -> None:
    found = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0\nitl_p95_s = 0.1\njitter_s = 0.1", calls())
    assert counts(found["gate_never_measured"]) == [("high", f"chat: {gate}", 25, 25) for gate in ("itl_p95", "jitter")]
    assert "a declared source that maps `itl_p95_s`" in found["gate_never_measured"][0]["message"]
    (row,) = found["request_unevaluable"]
    assert counts([row]) == [("high", "chat", 25, 25)]
    assert "(itl_p95: 25, jitter: 25)" in row["message"]


def test_bounds_out_of_all_proportion(tmp_path: Path) -> None:
    """First tokens take 0.5 s in each of four workloads: 1200 and 19.8 times less than the bound, 25 and 16.7 more."""
    bounds = {"distant": 600.0, "wide": 9.9, "hopeless": 0.02, "narrow": 0.03}
    names = [*bounds]
    settings = "".join(f'[workloads.{n}]\nmatch = {{ route = "{n}" }}\nttft_s = {s}\n' for n, s in bounds.items())
    rows = warned(tmp_path, settings, calls(100, route=lambda n: names[n % 4]))["bound_out_of_proportion"]
    said = {row["subject"]: (row["severity"], row["message"]) for row in rows}
    assert said.keys() == {"distant: ttft", "hopeless: ttft"}
    assert [severity for severity, _ in said.values()] == ["medium", "high"]
    assert "bound of 600 s is 1200 times the p99 of 0.5 s" in said["distant: ttft"][1]
    assert "half of them took 0.5 s or more, 25 times its bound of 0.02 s" in said["hopeless: ttft"][1]


def test_questions_that_share_a_key(tmp_path: Path) -> None:
    """Of 25 calls every 10 s, three have the key of the one before, whose answer took 2 s; in one case 15 s."""
    keyed = SETTINGS.replace('session_id = "session"', 'request_key = "session"')
    shared = {1: 0, 7: 6, 20: 19}

    def found(folder: str, **given: object) -> dict[str, list[Row]]:
        rows = calls(session=lambda n: f"k{shared.get(n, n)}", **given)
        return warned(tmp_path / folder, "[workloads.chat]\nttft_s = 1.0", rows, keyed)

    (row,) = found("answered")["request_answered_twice"]
    assert counts([row]) == [("high", "chat", 3, 22)]
    assert "another try began 8 s (median) after an answer" in row["message"]
    # what began beside an unanswered one is a hedge
    (row,) = found("late", end=lambda n: BEGIN_S + 10 * n + (15 if n == 6 else 2))["request_answered_twice"]
    assert counts([row]) == [("high", "chat", 2, 22)]
    shared.clear()
    assert found("apart") == {}


def test_values_in_a_wrong_unit(tmp_path: Path) -> None:
    slow = calls(ttft=1500, end=lambda n: BEGIN_S + 10 * n + 2000)
    found = warned(tmp_path, "[workloads.chat]\nretry_budget = 1", slow)
    # ten further tokens in 500 s
    assert counts(found["value_absurd"]) == [("high", "tpot_s", 25, 25), ("high", "ttft_s", 25, 25)]
    assert "ttft_s of 1.5e+03 s or more" in found["value_absurd"][1]["message"]
    # 2,000 s are longer than the 600 s that attempts may last
    assert counts(found["attempt_overlong"]) == [("medium", "attempts", 25, None)]


def test_operations_on_pools_that_no_telemetry_knows(tmp_path: Path) -> None:
    pools = ("blue", "bleu", "bleu")
    events = [{"kind": "deployment", "pool": pool, "name": pool, "at": BEGIN_S + n} for n, pool in enumerate(pools)]
    write(tmp_path / "landing/events.csv", ("kind", "pool", "name", "at"), events)
    settings = f"[workloads.chat]\nttft_s = 1.0\n{EVENTS}"
    (row,) = warned(tmp_path, settings, calls())["event_without_telemetry"]
    assert counts([row]) == [("medium", "pool bleu", 2, None)]
    assert "Seen were blue. [events.pools] in the settings maps the subject of an event (bleu)" in row["message"]
    assert warned(tmp_path, settings + '[events.pools]\nbleu = "blue"\n') == {}


def test_a_name_on_a_bill_that_two_replicas_have(tmp_path: Path) -> None:
    at = tmp_path / "landing"
    for n, pod in enumerate(("vllm-0", "vllm-1"), 1):
        given = {"traceId": f"{n:032x}", "startTimeUnixNano": str(BEGIN_S * 10**9)}
        resource = {"k8s.pod.name": pod, "service.instance.id": "engine"}
        put(at / f"{pod}.jsonl", spans_line(vllm_span(**given), resource=resource))
    settings = bills("invoice", "invoice.csv", cost_id="id", amount_usd="usd", replica="of")
    charged = {"id": "1", "usd": 3, "from": "2026-11-20T09:00:00Z", "until": "2026-11-20T10:00:00Z"}
    header = ("id", "usd", "from", "until", "of")
    write(at / "invoice.csv", header, [{**charged, "of": "engine"}])
    (row,) = warned(tmp_path, settings)["replica_name_shared"]
    assert counts([row]) == [("medium", "engine", 2, None)]
    assert "several replicas (vllm-0, vllm-1)" in row["message"]
    write(at / "invoice.csv", header, [{**charged, "of": "vllm-1"}])
    assert "replica_name_shared" not in warned(tmp_path, settings)


def test_files_with_one_percent_of_their_rows_in_quarantine_are_named(tmp_path: Path) -> None:
    """Of 200 calls two end before they begin; of 300 two are less than 1 %."""
    wrong = {"end": lambda n: BEGIN_S + 10 * n + (2 if n > 1 else -2)}
    (found,) = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls(200, **wrong))["record_quarantined"]
    assert counts([found]) == [("high", "calls: serving_records", 2, 200)]
    assert "2 of 200 row(s) of 1 file(s), such as calls.csv" in found["message"]
    assert "record_quarantined" not in warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls(300, **wrong))


def test_files_without_a_row_that_counts_and_unknown_metrics(tmp_path: Path) -> None:
    (tmp_path / "landing/pod-1").mkdir(parents=True)
    for second in (0, 60):
        (tmp_path / f"landing/pod-1/{BEGIN_S + second}.prom").write_text("novel_things 4\nnovel_others 5\n")
    found = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls())
    (row,) = found["file_without_rows"]
    assert (row["severity"], row["affected"], row["total"]) == ("medium", 2, 3)
    assert "4 row(s) were left out (metric_unknown)" in row["message"]
    assert counts(found["metric_unknown"]) == [("low", "metrics", 2, None)]
    assert "novel_others, novel_things" in found["metric_unknown"][0]["message"]


def test_groups_of_a_path_that_are_no_column(tmp_path: Path) -> None:
    pattern = "[sources.calls.columns]"
    settings = SETTINGS.replace(pattern, f"path_pattern = '(?P<tenent>calls)\\.csv'\n{pattern}")
    write(tmp_path / "landing/calls.csv", HEADER, calls())
    (tmp_path / "goodput.toml").write_text(settings.format(more="[workloads.chat]\nttft_s = 1.0"))
    (row,) = ask(run_at(tmp_path / "goodput.toml"), "FROM warnings").to_dicts()
    assert (row["kind"], row["subject"]) == ("path_group_unused", "calls: tenent")
    assert "(nearest: tenant)" in row["message"]


def test_nobody_has_a_pool(tmp_path: Path) -> None:
    assert counts(warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls(pool=""))["pool_unknown"]) == [
        ("low", "pool", 25, 25)
    ]


@pytest.mark.parametrize(("refused", "failed_elsewhere", "warns"), [(2, 1, True), (2, 25, False), (0, 1, False)])
def test_failures_that_have_no_pool_are_in_no_pools_numbers(
    tmp_path: Path, refused: int, failed_elsewhere: int, warns: bool
) -> None:
    rows = [row | {"outcome": "error" if n < failed_elsewhere else "ok"} for n, row in enumerate(calls())]
    rows += [row | {"id": f"x{n}", "pool": "", "outcome": "error"} for n, row in enumerate(calls()[:refused])]
    write(tmp_path / "landing/calls.csv", (*HEADER, "outcome"), rows)
    settings = SETTINGS.replace('tenant = "tenant"', 'tenant = "tenant"\noutcome = "outcome"')
    (tmp_path / "goodput.toml").write_text(settings.format(more="[workloads.chat]\nttft_s = 1.0"))
    found = ask(run_at(tmp_path / "goodput.toml"), "FROM warnings WHERE kind = 'pool_unknown'").to_dicts()
    assert counts(found) == ([("high", "pool", refused, 25 + refused)] if warns else [])


def test_requests_in_flight_and_when_they_will_have_timed_out(tmp_path: Path) -> None:
    rows = [{**row, "end": "", "out": ""} if n >= 22 else row for n, row in enumerate(calls())]
    (row,) = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", rows)["request_in_flight"]
    # they arrived 220 s, 230 s and 240 s after nine, and may live for 600 s
    assert (row["affected"], row["subject"]) == (3, "calls")
    assert "once telemetry reaches 2026-11-20 09:13 to 2026-11-20 09:14 UTC" in row["message"]


@pytest.mark.parametrize("newest_records", [5, 40_000])  # among fewer than are asked for, all are looked through
def test_calls_that_two_emitters_report_as_requests_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest_records: int
) -> None:
    monkeypatch.setattr(warnings, "_NEWEST_RECORDS", newest_records)
    twice = [{**row, "id": f"b{n}"} for n, row in enumerate(calls(20))]
    write(tmp_path / "landing/calls-2.csv", HEADER, twice)
    (row,) = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls(20))["request_counted_twice"]
    assert (row["severity"], row["affected"], row["total"]) == ("high", 20, 40)
    assert "20 of the last 40 request(s) (50.0 %), by same response id" in row["message"]


def test_a_file_that_is_delivered_again_in_other_bytes_counts_nothing_twice(tmp_path: Path) -> None:
    write(tmp_path / "landing/calls-2.csv", HEADER, list(reversed(calls(20))))
    assert "request_counted_twice" not in warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", calls(20))
    assert ask(run_at(tmp_path / "goodput.toml"), "SELECT count(*) AS n FROM requests").item() == 20


def test_a_stray_record_that_takes_the_headline(tmp_path: Path) -> None:
    # a hundred calls on 18 November, and one on the 20th
    rows = [{**row, "start": row["start"] - 2 * 86400, "end": row["end"] - 2 * 86400} for row in calls(100)]
    (row,) = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0", [*rows, {**calls(1)[0], "id": "stray"}])[
        "window_far_apart"
    ]
    assert counts([row]) == [("high", "headline", 1, 100)]
    assert "from 2026-11-20 00:00 UTC, has 1 request(s)" in row["message"]


@pytest.mark.parametrize(("others", "days", "is_said"), [(99, 31, True), (98, 31, False), (99, 29, False)])
def test_records_long_before_all_others_are_named(tmp_path: Path, others: int, days: int, is_said: bool) -> None:
    """One record of 100 is a hundredth; of 99 it is more. 29 days may be a pause."""
    start = BEGIN_S - days * 86400
    found = warned(
        tmp_path,
        "[workloads.chat]\nttft_s = 1.0",
        [*calls(others), {**calls(1)[0], "id": "old", "start": start, "end": start + 2}],
    )
    assert ("record_behind" in found) == is_said
    if is_said:
        assert counts(found["record_behind"]) == [("high", "records", 1, 100)]
        assert (
            f"{days} days and more before all others, from 2026-10-20 09:00 UTC" in found["record_behind"][0]["message"]
        )


def test_a_record_ahead_of_time_ends_no_hour_and_no_request(tmp_path: Path) -> None:
    """Twenty calls up to now, one of which has not ended: the same is published beside a call dated 40 days ahead."""
    now = int(time.time())
    rows = [{**row, "start": now - 60 - 15 * n, "end": now - 58 - 15 * n} for n, row in enumerate(calls(20))]
    rows[0] |= {"end": "", "out": ""}
    ahead = {**calls(1)[0], "id": "ahead", "start": now + 40 * 86400, "end": now + 40 * 86400 + 2}
    settings = "[workloads.chat]\nttft_s = 1.0"
    usual = warned(tmp_path / "usual", settings, rows)
    found = warned(tmp_path / "stray", settings, [*rows, ahead])
    assert counts(found.pop("record_ahead")) == [("high", "records", 1, None)]
    assert found == usual
    assert usual.keys() == {"request_in_flight"}
    published = [
        ask(Workspace(tmp_path / name / "goodput.toml"), "FROM goodput ORDER BY ALL").drop("computed_at")
        for name in ("usual", "stray")
    ]
    assert published[0].equals(published[1].filter(pl.col("window_start").dt.epoch("s") <= now))
    for name in ("usual", "stray"):
        asked = "SELECT max(window_start) AS at FROM goodput WHERE window_s = 86400 AND epoch(window_start) <= "
        ((latest,),) = ask(Workspace(tmp_path / name / "goodput.toml"), "SELECT window_start FROM latest_window").rows()
        assert [(latest,)] == ask(Workspace(tmp_path / name / "goodput.toml"), f"{asked}{now}").rows()


@pytest.mark.parametrize(
    ("unobserved", "low", "entries", "usd", "said"),
    [
        (
            60.2,
            0.65,
            0,
            0.5,
            ["Engines counted 60 request(s) more than any telemetry shows: goodput is 65.0 % if none"],
        ),
        # labels that nobody drew: there is no goodput to say it of
        (60.2, None, 0, 0.5, ["Engines counted 60 request(s) more than any telemetry shows. What they took of"]),
        (
            2.9,
            0.65,
            7,
            0.5,
            ["7 part(s) of the work have no known cost, from 2026-11-20 00:00 to 2026-11-21 00:00: costs"],
        ),
        (None, None, 7, None, []),  # nothing has a cost, and no price is there: none is shown
    ],
)
def test_what_no_telemetry_shows_and_what_has_no_price(
    unobserved: float | None, low: float | None, entries: int, usd: float | None, said: list[str]
) -> None:
    with connect() as connection:
        connection.execute(
            """
            CREATE TEMP TABLE recent_windows AS
            SELECT TIMESTAMPTZ '2026-11-20 00:00Z' AS window_start, 86400 AS window_s,
                'overall' AS slice, 600 AS offered, $unobserved::DOUBLE AS unobserved,
                $low::DOUBLE AS goodput_ratio_low, $low::DOUBLE + 0.1 AS goodput_ratio_high, true AS is_latest
            """,
            {"unobserved": unobserved, "low": low},
        )
        connection.execute(
            """
            CREATE TEMP TABLE waste AS
            SELECT TIMESTAMPTZ '2026-11-20 00:00Z' AS window_start, 86400 AS window_s, $usd::DOUBLE AS usd,
                unnest(['overall', 'overall', 'pool']) AS slice, unnest([$entries - 3, 3, 99]) AS unpriced
            """,
            {"entries": entries, "usd": usd},
        )
        for prices in ("cost_records", "rates", "token_prices"):
            connection.execute(f"CREATE TEMP TABLE {prices} (usd DOUBLE)")
        asked = [sql_file(kind).text for kind in ("request_unobserved", "work_without_price")]
        lines = [row[2] for sql in asked for row in connection.execute(sql).fetchall()]
    assert len(lines) == len(said)
    assert all(line.startswith(start) for line, start in zip(lines, said, strict=True))


@pytest.mark.parametrize(
    ("many", "change", "severity"),
    [
        (5, {}, "medium"),
        (4, {}, "low"),
        (0, {}, None),
        (5, {"streamed": True}, None),
        (5, {"engine_seen": False}, None),  # whoever maps a column of first tokens says what they are
        (5, {"outcome": "error"}, None),
        (5, {"e2e_s": 0.9}, None),  # in time in any case
        (5, {"ttft_s": 1.1}, None),  # late in any case
    ],
)
def test_answers_that_may_be_late_if_they_were_not_streamed(many: int, change: Row, severity: str | None) -> None:
    """100 answers, of which so many began within the bound of a second and ended beyond it, and nothing says how."""
    at = datetime(2026, 11, 20, 9, tzinfo=UTC)
    usual: Row = {"workload": "chat", "delivered": True, "outcome": "ok", "engine_seen": True, "ended_at": at}
    late: Row = usual | {"streamed": None, "ttft_s": 0.2, "e2e_s": 3.0} | change
    rows = [late] * many + [usual | {"streamed": False, "ttft_s": 0.5, "e2e_s": 0.5}] * (100 - many)
    with connect() as connection:
        connection.register("attempts", pa.Table.from_pylist(rows))
        connection.execute("CREATE TEMP TABLE workload_rules AS SELECT 'chat' AS workload, 1000000000 AS ttft_bound_ns")
        found = connection.sql(sql_file("streaming_unknown").text).to_arrow_table().to_pylist()
    assert [(row["severity"], row["affected"], row["total"]) for row in found] == (
        [] if severity is None else [(severity, many, 100)]
    )


def test_a_hole_in_a_bill_of_days_ago_is_named() -> None:
    """The newest day is paid for, the one before in part: its costs are too low, whatever day the headline shows."""
    with connect() as connection:
        days = "unnest([TIMESTAMPTZ '2026-11-19 00:00Z', TIMESTAMPTZ '2026-11-20 00:00Z']) AS window_start"
        connection.execute(
            f"CREATE TEMP TABLE waste AS SELECT {days}, 86400 AS window_s, 5.0 AS usd, 'overall' AS slice, "
            "unnest([7, 0]) AS unpriced"
        )
        connection.execute(
            f"CREATE TEMP TABLE recent_windows AS SELECT {days}, 86400 AS window_s, 'overall' AS slice, "
            "unnest([false, true]) AS is_latest"
        )
        for prices in ("cost_records", "rates", "token_prices"):
            connection.execute(f"CREATE TEMP TABLE {prices} (usd DOUBLE)")
        ((_, _, message, affected, *seen),) = connection.execute(sql_file("work_without_price").text).fetchall()
    assert message.startswith("7 part(s) of the work have no known cost, from 2026-11-19 00:00 to 2026-11-20 00:00")
    assert (affected, [at.day for at in seen]) == (7, [19, 19])


def test_every_kind_is_in_the_union_and_in_the_documentation() -> None:
    root = Path(__file__).parents[2]
    files = {path.stem: path.read_text() for path in (root / "sql/measure/warnings").glob("*.sql")}
    kinds = {name for name, text in files.items() if " AS severity" in text}
    union = files["warnings"]
    assert kinds == {name for name in files if f"SELECT '{name}' AS kind, * FROM {name}\n" in union}
    section = (root / "docs/semantics.md").read_text().partition("\n## Warnings\n")[2].partition("\n## ")[0]
    assert kinds == {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}


def test_labels_of_one_kind_of_answer_that_find_none_are_named(tmp_path: Path) -> None:
    """30 of 90 labels are of calls that no file holds; of the 100 of another evaluator it is 9, less than a tenth."""
    settings = f"[workloads.chat.quality]\nmin_score = 0.5\n{LABELS}"
    labels = [{"request": f"a{n}" if n < 60 else f"gone{n}", "evaluator": "judge", "score": n % 2} for n in range(90)]
    labels += [{"request": f"a{n}" if n < 91 else f"gone{n}", "evaluator": "other", "score": n % 2} for n in range(100)]
    header = ("request", "evaluator", "score", "at")
    write(tmp_path / "landing/labels.csv", header, [label | {"at": BEGIN_S + 2000} for label in labels])
    found = warned(tmp_path, settings, calls(100))
    assert counts(found["label_unjoined"]) == [("medium", "judge", 30, 90)]
    assert "30 name no request that was collected near that time. Compare" in found["label_unjoined"][0]["message"]
    assert "label_unjoined" not in warned(
        tmp_path, settings, calls(100) + [c | {"id": f"gone{n}"} for n, c in enumerate(calls(100))]
    )


def test_a_judge_that_passes_everything_is_named(tmp_path: Path) -> None:
    """Of 300 labels of each route: all that pass are named, one less is too few, and one that fails is a judgement."""
    names = ("all", "fewer", "one")
    labels = [
        {"request": f"a{n}", "evaluator": "judge", "score": 0 if n == 2 else 1, "at": BEGIN_S + 10000}
        for n in range(900)
        if n != 1
    ]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), labels)
    workloads = "".join(
        f'[workloads.{n}]\nmatch = {{ route = "{n}" }}\n[workloads.{n}.quality]\nmin_score = 0.5\n' for n in names
    )
    found = warned(tmp_path, f"{workloads}{LABELS}", calls(900, route=lambda n: names[n % 3]))
    assert counts(found["quality_never_failed"]) == [("low", "all", 300, 300)]


def dated(labels: int, after_s: Callable[[int], float]) -> list[dict[str, Any]]:
    """Labels of calls, each so long after its call began."""
    named = ({"request": f"a{n}", "evaluator": "judge", "score": n % 2} for n in range(labels))
    return [label | {"at": BEGIN_S + 10 * n + after_s(n)} for n, label in enumerate(named)]


def test_labels_that_are_dated_before_their_requests_have_arrived(tmp_path: Path) -> None:
    """All six hours early; the reach of a request is ten minutes, so that labels of five minutes before count."""
    settings = f'[workloads.chat.quality]\nevaluators = ["judge"]\nmin_score = 0.5\n{LABELS}'
    header = ("request", "evaluator", "score", "at")
    write(tmp_path / "landing/labels.csv", header, dated(25, lambda _: -6 * 3600))
    found = warned(tmp_path, settings, calls())
    said = "25 are dated a median of 6.0 h before the request that they name. Correct when they are dated: a time zone"
    assert counts(found["label_unjoined"]) == [("medium", "judge", 25, 25)]
    assert said in found["label_unjoined"][0]["message"]
    assert f"Its 25 label(s) of 2026-11-20 judge no request: {said}" in found["evaluator_never_judged"][0]["message"]
    asked = ["labels", "plan", "--width", "0.2", "--config", str(tmp_path / "goodput.toml")]
    plan = CliRunner().invoke(app, asked).output
    assert "chat: no label judges any of these requests yet" in plan
    assert said in " ".join(plan.split())
    write(tmp_path / "near/landing/labels.csv", header, dated(25, lambda _: -300))
    assert not {"label_unjoined", "evaluator_never_judged"} & warned(tmp_path / "near", settings, calls()).keys()


def test_labels_that_come_too_late_are_named_though_no_request_is_of_their_day(tmp_path: Path) -> None:
    """Half of 40 come after an hour and half after 15 days; those of ten days later count, whatever day it is."""
    settings = f"[workloads.chat.quality]\nmin_score = 0.5\n{LABELS}"
    header, day = ("request", "evaluator", "score", "at"), 86400

    def found(folder: str, days: float, more: str = "") -> list[Row]:
        late = dated(40, lambda n: 2 + (days * day if n % 2 else 3600))
        write(tmp_path / folder / "landing/labels.csv", header, late)
        return warned(tmp_path / folder, more + settings, calls(40)).get("label_unjoined", [])

    (late,) = found("late", 15)
    assert counts([late]) == [("medium", "judge", 20, 20)]
    assert (
        "20 of 20 label(s) of judge of 2026-12-05 judge no request: 20 come a median of 15.0 days after the request "
        in late["message"]
    )
    assert "later than `label_lateness_s` (14.0 days). Raise `label_lateness_s`" in late["message"]
    assert found("ten", 10) == []
    assert found("allowed", 15, "label_lateness_s = 1382400.0\n") == []


def test_few_labels_of_a_later_day_hide_nothing_and_those_of_sessions_judge_something(tmp_path: Path) -> None:
    """25 labels of one day name nothing; 5 of the next day are right, and 25 of another evaluator judge sessions."""
    settings = f"[workloads.chat.quality]\nmin_score = 0.5\n{LABELS}" + source(
        "sessions",
        "sessions.csv",
        "quality_labels",
        units={"labelled_at": "epoch_s"},
        **{"session_id": "session", "evaluator": "evaluator", "score": "score", "labelled_at": "at"},
    )
    wrong = [label | {"request": f"gone{n}"} for n, label in enumerate(dated(25, lambda _: 3600))]
    write(
        tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), [*wrong, *dated(5, lambda _: 86400)]
    )
    sessions = [{"session": f"s{n}", "evaluator": "whole", "score": 1, "at": BEGIN_S + 3600} for n in range(25)]
    write(tmp_path / "landing/sessions.csv", ("session", "evaluator", "score", "at"), sessions)
    found = warned(tmp_path, settings, calls(session=lambda n: f"s{n}"))
    assert counts(found["label_unjoined"]) == [("medium", "judge", 25, 25)]


@pytest.mark.parametrize(
    ("bound", "scores", "is_said"),
    [
        (0.7, (90, 20), True),
        (0.7, (5, 4, 2, 1), True),
        (0.5, (100, 0), True),
        (1, (5, 2), True),
        (4, (90, 20), True),
        (0.7, (1, 1), False),  # all of them perfect
        (0.7, (0.9, 0.2), False),
        (3, (5, 4, 2, 1), False),
        (1, (3, 2, 1), False),  # counts of which one is enough
        (0.5, (3, 1, 0), False),
        (0.5, (4.5, 0.25, -3), False),  # of a reward model, without ends
        (70, (90, 75), False),
    ],
)
def test_scores_on_another_scale_than_the_bound_are_named(
    tmp_path: Path, bound: float, scores: tuple[float, ...], is_said: bool
) -> None:
    """Of 20 judged answers; those of the same evaluator in another workload, of which there are 19, are too few."""
    header = ("request", "evaluator", "score", "at")
    labels = [
        {"request": f"a{n}", "evaluator": "judge", "score": scores[n // 2 % len(scores)], "at": BEGIN_S + 900}
        for n in range(39)
    ]
    write(tmp_path / "landing/labels.csv", header, labels)
    workloads = "".join(
        f'[workloads.{n}]\nmatch = {{ route = "{n}" }}\n[workloads.{n}.quality]\nmin_score = {bound}\n'
        for n in ("enough", "fewer")
    )
    found = warned(tmp_path, f"{workloads}{LABELS}", calls(39, route=lambda n: ("enough", "fewer")[n % 2]))
    passing = sum(scores[n % len(scores)] >= bound for n in range(20))
    expected = [("high", "enough: judge", passing, 20)] if is_said else []
    assert counts(found.get("score_scale_mismatched", [])) == expected
    for row in found.get("score_scale_mismatched", []):
        assert (
            f"reach from {min(scores)} to {max(scores)}, on another scale than `min_score` = {bound}" in row["message"]
        )


def test_scores_of_an_evaluator_with_verdicts_of_its_own_need_no_scale(tmp_path: Path) -> None:
    labels = [
        {"request": f"a{n}", "evaluator": "judge", "score": 2 + n % 4, "passed": n % 4 > 0, "at": BEGIN_S + 900}
        for n in range(25)
    ]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "passed", "at"), labels)
    settings = f'[workloads.chat.quality]\nmin_score = 0.7\n{LABELS}passed = "passed"\n'
    assert warned(tmp_path, settings, calls()) == {}


def judged_anew(times: int, ways: int, later_s: int) -> list[dict[str, Any]]:
    """One evaluator judges 40 answers, the first `times` twice, of which the first `ways` pass and fail."""
    first = [{"request": f"a{n}", "evaluator": "judge", "score": n % 2, "at": BEGIN_S + 900} for n in range(40)]
    again = [
        label | {"score": 1 - label["score"] if n < ways else label["score"], "at": BEGIN_S + 900 + later_s}
        for n, label in enumerate(first[:times])
    ]
    return [*first, *again]


@pytest.mark.parametrize(
    ("times", "ways", "is_said"), [(30, 3, True), (30, 2, False), (20, 2, True), (19, 19, False), (40, 0, False)]
)
def test_an_evaluator_that_contradicts_itself_is_named(tmp_path: Path, times: int, ways: int, is_said: bool) -> None:
    """From 20 that it judged twice on, and a tenth of these; judging alike again, or delivering again, is none."""
    settings = f"[workloads.chat.quality]\nmin_score = 0.5\n{LABELS}"
    labels, header = judged_anew(times, ways, 60), ("request", "evaluator", "score", "at")
    write(tmp_path / "landing/labels.csv", header, [*labels, *labels])
    found = warned(tmp_path, settings, calls(40))
    expected = [("medium", "chat: judge", ways, times)] if is_said else []
    assert counts(found.get("label_contradicted", [])) == expected
    assert not any("same instant" in row["message"] for row in found.get("label_contradicted", []))


def test_which_of_two_judgements_of_one_instant_counts_does_not_depend_on_their_order(tmp_path: Path) -> None:
    settings = f"[workloads.chat.quality]\nmin_score = 0.5\n{LABELS}"
    labels, header = judged_anew(40, 30, 0), ("request", "evaluator", "score", "at")
    accepted = []
    for name, rows in (("one", labels), ("other", labels[::-1])):
        write(tmp_path / name / "landing/labels.csv", header, rows)
        found = warned(tmp_path / name, settings, calls(40))
        # the ten that were judged alike at one instant are delivered twice: one judgement each
        assert counts(found["label_contradicted"]) == [("medium", "chat: judge", 30, 30)]
        assert "of 30 the latest were made at the same instant" in found["label_contradicted"][0]["message"]
        labelled = "SELECT label_id, current FROM quality_labels ORDER BY label_id"
        accepted.append(ask(Workspace(tmp_path / name / "goodput.toml"), labelled).rows())
    assert accepted[0] == accepted[1]
    assert sum(current for _, current in accepted[0]) == 40


def judged_twice(seen_by_dear: Callable[[int], bool]) -> list[dict[str, Any]]:
    """A cheap evaluator judges 200 answers and fails every tenth; a dear one passes those that it sees."""
    cheap = [{"request": f"a{n}", "evaluator": "cheap", "score": 0 if n % 10 == 0 else 1} for n in range(200)]
    dear = [{"request": f"a{n}", "evaluator": "dear", "score": 1} for n in range(200) if seen_by_dear(n)]
    return [label | {"at": BEGIN_S + 4000} for label in (*cheap, *dear)]


def test_a_judge_that_sees_what_another_passes_is_named(tmp_path: Path) -> None:
    """Of the 180 that pass 90 go on, of the 20 that fail none; then one in two of all does."""
    settings = f'[workloads.chat.quality]\nevaluators = ["cheap", "dear"]\nmin_score = 0.5\n{LABELS}'
    header = ("request", "evaluator", "score", "at")
    write(tmp_path / "landing/labels.csv", header, judged_twice(lambda n: n % 10 != 0 and n // 10 % 2 == 0))
    found = warned(tmp_path, settings, calls(200))
    assert counts(found["judges_depend"]) == [("high", "chat: dear after cheap", 90, 200)]
    write(tmp_path / "again/landing/labels.csv", header, judged_twice(lambda n: n // 10 % 2 == 0))
    assert "judges_depend" not in warned(tmp_path / "again", settings, calls(200))


NAMED = """[workloads.chat]
ttft_s = 1.0
[work.big]
model = "{model}"
[served_models.big]
pool = "{pool}"
model = "llama"
[replicas.r1]
names = ["{name}"]
"""


def test_names_in_the_settings_that_nothing_is_called_by_are_said_with_those_that_are_there(tmp_path: Path) -> None:
    rows = calls(replica="pod-1")
    found = warned(tmp_path, NAMED.format(model="mistral*", pool="green", name="pod-2"), rows)["setting_unmatched"]
    assert [row["subject"] for row in found] == ["replicas, r1", "served_models, pool green", "work, model mistral*"]
    assert [row["message"].partition("that name. ")[2] for row in found] == [
        "Replicas seen: pod-1",
        "Pools seen: blue",
        "Models seen: llama-3-8b",
    ]
    assert "setting_unmatched" not in warned(tmp_path, NAMED.format(model="llama*", pool="bl*", name="pod-1"), rows)


def test_a_rate_that_matches_no_replica_or_pays_for_little_of_its_time_is_named(tmp_path: Path) -> None:
    """25 calls within 242 s are all that shows the replica up: 0.1 of 24 h."""
    rates = '[rates.gpu]\npool = "{}"\nusd_per_gpu_hour = 3.0'
    rows = calls(replica="r1")
    found = warned(tmp_path, rates.format("Blue*"), rows)
    (unmatched,) = found["rate_unmatched"]
    assert unmatched["subject"] == "rates.gpu"
    assert unmatched["message"].endswith("no replica has pool Blue*. Pools seen: blue; replicas: r1")
    assert "work_without_price" in found
    found = warned(tmp_path, rates.format("blue"), rows)
    assert not {"rate_unmatched", "work_without_price"} & found.keys()
    (unsampled,) = found["rate_unsampled"]
    assert "such as r1: they are paid for 0.1 h in which requests show them up, of 24.0 h" in unsampled["message"]


def test_a_rate_that_next_to_nothing_displaces_is_named(tmp_path: Path) -> None:
    """Two replicas are up for 242 s each, at $3 an hour; a bill names one of them, for the hour."""
    settings = '[rates.gpu]\npool = "blue"\nusd_per_gpu_hour = 3.0\n'
    settings += bills(
        "bill",
        "bill.csv",
        'basis = "billing"',
        cost_id="id",
        amount_usd="amount",
        replica="replica",
        charge_category="category",
    )
    rows = [*calls(replica="r1"), *[{**row, "id": f"b{row['id']}", "replica": "r2"} for row in calls(replica="r2")]]
    hour = {"from": "2026-11-20T09:00:00Z", "until": "2026-11-20T10:00:00Z", "id": "x", "replica": "r2"}
    for amount, credit in ((0.99, 5.0), (1.01, -5.0)):  # a credit displaces nothing, whatever it comes to
        lines = [
            {**hour, "amount": amount, "category": "Usage"},
            {**hour, "id": "y", "amount": credit, "category": "Credit"},
        ]
        write(tmp_path / "landing/bill.csv", tuple(lines[0]), lines)
        found = warned(tmp_path, settings, rows)
        assert ("rate_displaced" in found) == (amount < 1)
        if amount < 1:
            (row,) = found["rate_displaced"]
            assert (row["severity"], row["subject"], row["affected"]) == ("high", "rates.gpu", 1)
            assert row["amount_usd"] == pytest.approx(3 - 0.99)
            assert (
                "such as r2: what they charge for 1.00 h of GPUs is $0.99, at the rate that is $3.00" in row["message"]
            )


BILLS = bills("gpu", "gpu.csv", cost_id="invoice", amount_usd="amount", currency="currency")


def test_lines_of_costs_in_no_number_are_named(tmp_path: Path) -> None:
    lines = [("a", 10, "USD"), ("a", 20.5, "USD"), ("b", 7, "EUR"), ("c", 1, "USD")]
    period = {"from": "2026-11-20T09:00:00Z", "until": "2026-11-20T10:00:00Z"}
    rows = [{**period, "invoice": name, "amount": amount, "currency": currency} for name, amount, currency in lines]
    write(tmp_path / "landing/gpu.csv", ("invoice", "from", "until", "amount", "currency"), rows)
    settings = f"[workloads.chat]\nttft_s = 1.0\n{BILLS}"
    found = warned(tmp_path, settings, calls())["cost_line_unused"]
    assert counts(found) == [("high", "gpu: EUR", 1, None), ("high", "gpu: cost_id", 1, None)]
    assert "with 7.00 EUR are in no number" in found[0]["message"]
    assert [row["amount_usd"] for row in found] == [None, 10.0]  # of 10 and 20.5 the larger counts
    mended = settings.replace('cost_id = "invoice"\n', "") + "[costs.currencies]\nEUR = 1.1\n"
    assert "cost_line_unused" not in warned(tmp_path, mended)
    # 7 EUR at a million dollars each are believed, 7 thousand are not, and nothing waits for them
    write(tmp_path / "landing/gpu.csv", ("from", "until", "amount", "currency"), [{**rows[2], "amount": 7000}])
    dear = mended.replace("EUR = 1.1", "EUR = 1e6")
    (found,) = warned(tmp_path, dear)["cost_line_unused"]
    assert counts([found]) == [("high", "gpu: EUR", 1, None)]
    assert "more than a billion US dollars. Check the rate" in found["message"]
    write(tmp_path / "landing/gpu.csv", ("from", "until", "amount", "currency"), [rows[2]])
    assert "cost_line_unused" not in warned(tmp_path, dear)


def test_lines_of_costs_that_cannot_be_read_are_named_until_they_are_mended(tmp_path: Path) -> None:
    period = {"from": "2026-11-20T09:00:00Z", "until": "2026-11-20T10:00:00Z", "currency": "USD"}
    header = ("invoice", "from", "until", "amount", "currency")
    settings = f"[workloads.chat]\nttft_s = 1.0\n{BILLS}"
    few = [{**period, "invoice": f"i{n}", "amount": 1} for n in range(30)]
    write(tmp_path / "landing/gpu.csv", header, [*few, {**period, "invoice": "large", "amount": '"1,500.00"'}])
    (found,) = warned(tmp_path, settings, calls())["cost_line_quarantined"]
    assert counts([found]) == [("high", "gpu.csv", 1, None)]
    assert "line 32" in found["message"]
    write(tmp_path / "landing/gpu.csv", header, [*few, {**period, "invoice": "large", "amount": 1500}])
    assert "cost_line_quarantined" not in warned(tmp_path, settings)


def test_money_that_nobody_carries_and_files_that_were_refused_are_named_until_they_are_mended(tmp_path: Path) -> None:
    """Of 240 USD over a day, telemetry saw one hour: 10 USD of it are spent on what it knows."""
    named = bills("gpu", "gpu.csv", 'basis = "billing"', cost_id="invoice", amount_usd="amount", pool="pool")
    settings = f"[workloads.chat]\nttft_s = 1.0\n{named}"
    header = ("invoice", "from", "until", "amount", "pool")
    day = {"from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "pool": "blue"}
    write(tmp_path / "landing/gpu.csv", header, [{**day, "invoice": "i1", "amount": 240}])
    (found,) = warned(tmp_path, settings, calls(replica="r1"))["cost_unattributed"]
    assert (found["subject"], found["amount_usd"]) == ("costs", pytest.approx(230))
    assert "Of the 1 measured day from 2026-11-20 on $230.00 of $240.00 are unattributed" in found["message"]
    # overhead of a tenant whom nobody served is nobody's too
    tenants = bills("gpu", "gpu.csv", cost_id="invoice", amount_usd="amount", tenant="pool")
    (found,) = warned(tmp_path, f"[workloads.chat]\nttft_s = 1.0\n{tenants}")["cost_unattributed"]
    assert found["amount_usd"] == pytest.approx(240)
    hour = {"from": "2026-11-20T09:00:00Z", "until": "2026-11-20T10:00:00Z", "pool": "blue"}
    write(
        tmp_path / "landing/gpu.csv",
        header,
        [{**hour, "invoice": "i1", "amount": 10}, {**day, "invoice": "i2", "amount": 0}],
    )
    assert "cost_unattributed" not in warned(tmp_path, settings)
    write(tmp_path / "landing/gpu.csv", header[1:], [{**hour, "amount": 10}])
    (refused,) = warned(tmp_path, settings)["file_refused"]
    assert (refused["severity"], refused["affected"]) == ("high", 1)
    assert "invoice" in refused["message"]
    assert refused["message"].startswith("Nothing of 1 file(s) is in any number, such as gpu.csv: refused, ")
    write(tmp_path / "landing/gpu.csv", header, [{**hour, "invoice": "i1", "amount": 10}])
    assert "file_refused" not in warned(tmp_path, settings)
    # a mistake in the settings takes nothing back, and the warning does not say that it does
    (refused,) = warned(tmp_path, settings.replace('"invoice"', '"number"'))["file_refused"]
    assert refused["message"].startswith("1 file(s) are in numbers only as they were read before, such as gpu.csv: ")
    assert "number" in refused["message"]


def test_a_file_that_was_not_read_to_its_end_is_named_with_what_was_not(tmp_path: Path) -> None:
    """Behind the one message stand a length and 100 bytes that are no message; half a message is only not there yet."""
    path = tmp_path / "landing/traces.pb"
    path.parent.mkdir()
    message = length_prefixed([_one_span()])
    path.write_bytes(message + struct.pack(">I", 200) + b"x" * 100)
    (found,) = warned(tmp_path, "[workloads.chat]\nttft_s = 1.0")["file_cut_short"]
    assert (found["severity"], found["subject"], found["affected"]) == ("high", "traces.pb", 104)
    assert "Up to 104 byte(s) are in no number" in found["message"]
    path.write_bytes(message + message[:-10])
    assert "file_cut_short" not in warned(tmp_path, "[workloads.chat]\nttft_s = 1.0")


def _one_span() -> bytes:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name, span.start_time_unix_nano = b"t" * 16, b"s" * 8, "s", BEGIN_S * 10**9
    return data.SerializeToString()


def test_a_slice_without_values_and_a_score_that_none_reaches_are_named(tmp_path: Path) -> None:
    judged = [{"request": f"a{n}", "evaluator": "grounded", "score": 0.9, "at": BEGIN_S + 900} for n in range(20)]
    write(tmp_path / "landing/labels.csv", ("request", "evaluator", "score", "at"), judged)
    settings = f'[slices]\nby = ["attributes.taem"]\n[workloads.chat.quality]\nmin_score = 70\n{LABELS}'
    found = warned(tmp_path, settings, calls())
    assert counts(found["slice_unknown"]) == [("medium", "attributes.taem", 25, 25)]
    both = settings.replace(
        '"attributes.taem"', '"workload_attributes.taem", "attributes.taem", "workload_attributes.x"'
    )
    assert counts(warned(tmp_path, both)["slice_unknown"]) == [
        ("medium", "attributes.taem", 25, 25),
        ("medium", "workload_attributes.x", 25, 25),
    ]
    assert counts(found["quality_never_passed"]) == [("high", "chat", 20, 20)]
    assert "quality_never_passed" not in warned(tmp_path, settings.replace("70", "0.7"))


def test_pools_and_replicas_that_alarms_do_not_watch_are_counted(tmp_path: Path) -> None:
    rows = calls(pool=lambda n: f"p{n % 2}", replica=lambda n: f"r{n % 5}")

    def unwatched(most: int, enabled: str) -> list[tuple[str, str, int | None, int | None]]:
        settings = SETTINGS.replace("alarms.enabled = false", f"alarms.enabled = {enabled}")
        more = f"alarms.max_series = {most}\n[workloads.chat]\nttft_s = 1.0"
        return counts(warned(tmp_path, more, rows, settings).get("series_unwatched", []))

    assert unwatched(5, "true") == []
    assert unwatched(4, "true") == [("medium", "replica", 1, 5)]
    assert unwatched(1, "true") == [("medium", "pool", 1, 2), ("medium", "replica", 4, 5)]
    assert unwatched(1, "false") == []
