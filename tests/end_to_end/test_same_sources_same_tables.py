"""Identities V and R, and restatement: the same sources give the same tables, however they arrive.

See docs/semantics.md#time-and-restatement.
"""

import json
import random
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from goodput.plumbing.workspace import Workspace
from published import RESTATED, ask, run_at, table

T0_NS = 1_772_000_000 * 10**9  # 2026-02-25T06:13:20Z
SETTINGS = """
landing = ["landing"]
lake = "lake"
[workloads.chat]
match = { model = "m-*" }
ttft_s = 1.0
tpot_s = 0.05
retry_budget = 0
[workloads.chat.quality]
evaluators = ["judge"]
min_score = 0.5
[sources.rows]
format = "csv"
path = "*.csv"
[sources.rows.columns]
attempt_id = "id"
started_at = { column = "start_ns", unit = "epoch_ns" }
ended_at = { column = "end_ns", unit = "epoch_ns" }
ttft_s = { column = "ttft", unit = "s" }
output_tokens = "out"
model = "model"
"""
QUIET = f"{SETTINGS}[alarms]\nenabled = false\n"  # for what no alarm has a part in


def attribute(key: str, value: object) -> dict[str, object]:
    kind = "doubleValue" if isinstance(value, float) else "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def otlp_line(rng: random.Random, names: range) -> str:
    """One export batch: client spans with engine spans below them, some failed, some odd, some no requests at all."""
    spans: list[dict[str, object]] = []
    for name in names:
        trace, client, engine = f"{name + 1:032x}", f"{2 * name + 1:016x}", f"{2 * name + 2:016x}"
        start = T0_NS + rng.randrange(3 * 3600) * 10**9
        end = start + rng.randrange(1, 9000) * 10**6
        ids = {"traceId": trace, "startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
        spans.append(
            {
                **ids,
                "spanId": client,
                "parentSpanId": f"{rng.randrange(1, 5):016x}",
                "name": "chat m",
                "kind": 3,
                "status": {"code": 2} if rng.random() < 0.2 else {},
                "attributes": [
                    attribute("gen_ai.operation.name", rng.choice(["chat", "chat", "chat", "embeddings"])),
                    attribute("gen_ai.provider.name", "openai"),
                    attribute("gen_ai.request.model", rng.choice(["m-a", "m-b", "other"])),
                    attribute("gen_ai.response.time_to_first_chunk", rng.choice([0.2, 0.9, 1.0, 1.4, -1.0])),
                    attribute("gen_ai.response.id", f"r{name}"),
                    attribute("gen_ai.usage.output_tokens", rng.choice([0, 1, 40, 400])),
                ],
            }
        )
        if rng.random() < 0.5:
            usage = attribute("gen_ai.usage.completion_tokens", rng.choice([1, 50]))
            spans.append(
                {**ids, "spanId": engine, "parentSpanId": client, "name": "llm_request", "attributes": [usage]}
            )
    return json.dumps({"resourceSpans": [{"resource": ENGINE, "scopeSpans": [{"scope": {}, "spans": spans}]}]}) + "\n"


ENGINE = {"attributes": [attribute("host.name", "engine-0")]}


def metrics_line(rng: random.Random) -> str:
    """The engine's counter every five minutes for three hours, restarted now and then, and a gauge out of range."""
    counted, counters = 0, []
    for at in range(0, 3 * 3600, 300):
        counted = rng.randrange(3) if rng.random() < 0.05 else counted + rng.randrange(3)
        counters.append({"timeUnixNano": str(T0_NS + at * 10**9), "asInt": str(counted)})
    gauges = [{"timeUnixNano": str(T0_NS + at * 10**9), "asDouble": rng.choice([0.5, 50])} for at in (7, 9)]
    metrics = [
        {
            "name": "vllm:request_success",
            "sum": {"dataPoints": counters, "aggregationTemporality": 2, "isMonotonic": True},
        },
        {"name": "vllm:kv_cache_usage_perc", "gauge": {"dataPoints": gauges}},
    ]
    return json.dumps({"resourceMetrics": [{"resource": ENGINE, "scopeMetrics": [{"metrics": metrics}]}]}) + "\n"


def scrape(rng: random.Random) -> str:
    """The same counter as a scrape shows it, and one that only scrapes know."""
    label = '{pod="engine-0"}'
    return (
        f"vllm:request_success_total{label} {rng.randrange(9)}\nvllm:prompt_tokens_total{label} {rng.randrange(99)}\n"
    )


def label_line(rng: random.Random, names: range) -> str:
    records = [
        {
            "timeUnixNano": str(T0_NS + rng.randrange(4 * 3600) * 10**9),
            "eventName": "gen_ai.evaluation.result",
            "attributes": [
                attribute("gen_ai.evaluation.name", "judge"),
                attribute("gen_ai.evaluation.score.value", rng.choice([0.1, 0.5, 0.9])),
                attribute("gen_ai.response.id", f"r{name}"),
            ],
        }
        for name in names
        if rng.random() < 0.6
    ]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}) + "\n"


def csv_row(rng: random.Random, name: int) -> str:
    start = T0_NS + rng.randrange(3 * 3600) * 10**9
    cells = (f"row{name}", start, start + rng.randrange(1, 9) * 10**9, rng.choice(["0.5", "1.5", "", "x"]), 30, "m-c")
    return ",".join(map(str, cells)) + "\n"


def sources(rng: random.Random) -> dict[str, str]:
    """Files by name: batches of OTLP, labels and CSV rows, with lines that stand in several of them."""
    lines = [otlp_line(rng, range(at, at + 4)) for at in range(0, 24, 4)] + [label_line(rng, range(24))]
    lines += [metrics_line(rng) for _ in range(2)]
    rows = [csv_row(rng, name) for name in range(10)]
    files: dict[str, str] = {}
    for number in range(4):
        files[f"spans-{number}.jsonl"] = "".join(rng.sample(lines, k=rng.randrange(1, len(lines)))) + "not json\n"
        files[f"rows-{number}.csv"] = "id,start_ns,end_ns,ttft,out,model\n" + "".join(rng.choices(rows, k=6))
    files |= {f"{T0_NS // 10**9 + rng.randrange(3 * 3600)}.prom": scrape(rng) for _ in range(5)}
    files["all.jsonl"] = "".join(lines)
    return files


def measured(workspace: Workspace) -> dict[str, pl.DataFrame]:
    names = (
        *("goodput", "requests", "attempts", "quality_labels", "replica_samples", "coverage", "cost_ledger", "waste"),
        *("cache_by_replica", "replica_windows", "latest_window", "warnings", "watermark"),
    )
    return {name: table(workspace, name, RESTATED if name == "goodput" else ()) for name in names}


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.integers(2, 3))
def test_any_order_any_duplication_any_split_into_runs(seed: int, cuts: int) -> None:
    rng = random.Random(seed)
    files = sources(rng)
    with TemporaryDirectory() as at_once, TemporaryDirectory() as bit_by_bit:
        once = Path(at_once)
        (once / "goodput.toml").write_text(QUIET)
        (once / "landing").mkdir()
        for name, text in files.items():
            (once / "landing" / name).write_text(text)
        expected = measured(run_at(once / "goodput.toml"))

        later = Path(bit_by_bit)
        (later / "goodput.toml").write_text(QUIET)
        (later / "landing").mkdir()
        order = rng.sample(sorted(files), k=len(files))
        for cut in range(cuts):
            for name in order[cut::cuts]:
                (later / "landing" / name).write_text(files[name])
            copied = rng.choice(order[cut::cuts])
            if copied.endswith(".jsonl"):
                # of one content warnings name the place where it was read, of several in a run the first by name
                shutil.copy(later / "landing" / copied, later / "landing" / f"zz-copy-{cut}.jsonl")
            workspace = run_at(later / "goodput.toml")
        for name, frame in measured(workspace).items():
            assert_frame_equal(frame, expected[name])
        check_identities(workspace)


def check_identities(workspace: Workspace) -> None:
    broken = """SELECT path FROM sources
        WHERE rows_read <> rows_kept + rows_duplicate + rows_quarantined + rows_ignored"""
    assert ask(workspace, broken).height == 0
    verdicts = "failed + ungated + over_budget + slow + rejected + unevaluable + unlabelled + accepted"
    assert ask(workspace, f"SELECT * FROM goodput WHERE offered <> {verdicts}").height == 0
    kept = ask(workspace, "SELECT sum(rows_kept) FROM sources").item()
    counts = ("sum(len(record_ids)) FROM attempts", "count(*) FROM label_rows", "count(*) FROM replica_samples")
    in_use = "SELECT " + " + ".join(f"(SELECT {count})" for count in counts)
    labels = "WITH label_rows AS (SELECT DISTINCT label_id FROM quality_labels) " + in_use
    unmatched = kept - ask(workspace, labels).item()
    assert 0 <= unmatched <= 24  # labels of requests that are none of ours are kept but judge nothing


def test_a_grown_file_counts_as_if_it_had_been_whole_at_first(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = [otlp_line(rng, range(at, at + 4)) for at in range(0, 24, 4)]
    whole = "".join(lines)
    results = []
    for name, steps in (("whole", [len(whole)]), ("grown", [len(lines[0]) + 10, len(lines[0] + lines[1]), len(whole)])):
        folder = tmp_path / name
        (folder / "landing").mkdir(parents=True)
        (folder / "goodput.toml").write_text(QUIET)
        for step in steps:  # the first step ends in the middle of a line
            (folder / "landing/spans.jsonl").write_text(whole[:step])
            workspace = run_at(folder / "goodput.toml")
        results.append(workspace)
    for name, frame in measured(results[0]).items():
        assert_frame_equal(measured(results[1])[name], frame)
    assert table(results[1], "sources", ("ingested_at", "landing")).equals(
        table(results[0], "sources", ("ingested_at", "landing"))
    )


def test_trap_20_late_labels_restate_only_what_they_judge(tmp_path: Path) -> None:
    rng = random.Random(11)
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(QUIET)
    (tmp_path / "landing/spans.jsonl").write_text(otlp_line(rng, range(40)))
    before = run_at(tmp_path / "goodput.toml")
    assert ask(before, "SELECT max(revision) FROM goodput").item() == 0
    old = table(before, "goodput")
    judged = ask(before, "SELECT request_key, ended_at FROM requests WHERE needs_label ORDER BY request_key LIMIT 1")
    record, ended = judged.row(0)
    trace, span = record.split(":")
    label = {"timeUnixNano": str(T0_NS + 5 * 3600 * 10**9), "eventName": "gen_ai.evaluation.result"}
    label |= {"traceId": trace.upper(), "spanId": span}
    label["attributes"] = [
        attribute("gen_ai.evaluation.name", "judge"),
        attribute("gen_ai.evaluation.score.value", 0.9),
    ]
    (tmp_path / "landing/labels.jsonl").write_text(
        json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [label]}]}]}) + "\n"
    )
    after = run_at(tmp_path / "goodput.toml")
    new = table(after, "goodput")
    restated = new.filter(pl.col("revision") > 0)
    assert set(restated["revision"]) == {1}
    starts = restated["window_start"].dt.epoch("s")
    assert ((starts <= ended.timestamp()) & (ended.timestamp() < starts + restated["window_s"])).all()
    assert restated["accepted"].sum() == old.join(restated, on=new.columns[:7], how="semi", nulls_equal=True)[
        "accepted"
    ].sum() + len(restated)
    untouched = new.filter(pl.col("revision") == 0)
    assert untouched.equals(old.join(untouched, on=new.columns[:7], how="semi", nulls_equal=True))
    assert ask(after, "SELECT count(*) FROM restatements").item() == restated.height


def test_late_metrics_restate_the_coverage_of_their_hours(tmp_path: Path) -> None:
    """One engine span, and later its engine's counter, which says that four requests ended in that minute."""
    ended_s = T0_NS // 10**9
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(QUIET)
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "llm_request"}
    span |= {"startTimeUnixNano": str(T0_NS - 10**9), "endTimeUnixNano": str(T0_NS)}
    spans = {"resourceSpans": [{"resource": ENGINE, "scopeSpans": [{"spans": [span]}]}]}
    (tmp_path / "landing/spans.jsonl").write_text(json.dumps(spans) + "\n")
    asked = "SELECT DISTINCT coverage_ratio, revision FROM goodput WHERE offered > 0"
    assert ask(run_at(tmp_path / "goodput.toml"), asked).rows() == [(None, 0)]
    for at, counted in ((ended_s - 30, 10), (ended_s + 30, 14)):
        (tmp_path / f"landing/{at}.prom").write_text(f'vllm:request_success_total{{pod="engine-0"}} {counted}\n')
    workspace = run_at(tmp_path / "goodput.toml")
    assert ask(workspace, asked).rows() == [(0.25, 1)]
    told = "SELECT attempts_seen, requests_counted, low_coverage FROM coverage WHERE replica = 'engine-0'"
    assert ask(workspace, told).rows() == [(1, 4, True)]
