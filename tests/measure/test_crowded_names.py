"""More models, pools and routes than a window keeps apart: the rest are one, and nothing else changes.

See docs/semantics.md#slices.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from goodput.plumbing.workspace import Workspace
from published import RESTATED, ask, run_at, table

BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z
SETTINGS = """
landing = ["landing"]
lake = "lake"
windows_s = [300, 3600, 86400]
[slices]
max_names = {most}
[alarms]
enabled = false
[workloads.one]
match = {{ route = ["/a*", "/b*"] }}
ttft_s = 1.0
quality = {{ evaluators = ["judge"], min_score = 0.5 }}
[workloads.other]
ttft_s = 0.5
[rates.dear]
pool = "p0"
usd_per_gpu_hour = 36.0
[rates.cheap]
usd_per_gpu_hour = 3.6
[sources.calls]
format = "csv"
path = "calls.csv"
constants = {{ outcome = "ok", layer = "engine" }}
[sources.calls.columns]
attempt_id = "id"
request_key = "id"
started_at = {{ column = "start", unit = "epoch_s" }}
ended_at = {{ column = "end", unit = "epoch_s" }}
ttft_s = {{ column = "ttft", unit = "s" }}
model = "model"
pool = "pool"
route = "route"
replica = "replica"
[sources.labels]
format = "csv"
path = "labels.csv"
table = "quality_labels"
constants = {{ evaluator = "judge" }}
[sources.labels.columns]
request_key = "id"
score = "score"
labelled_at = {{ column = "end", unit = "epoch_s" }}
"""
NAMES = ("model", "pool", "route")
DIMENSIONS = ("workload", *NAMES)
MOST = 2
Row = dict[str, Any]


def calls() -> list[Row]:
    """Calls of two hours, some names much more often than others, some unknown, a fifth of them judged.

    The model of most calls is itself named as names are that are not kept.
    """
    chance = random.Random(4)
    rows = []
    for n in range(500):
        start = BEGIN_S + chance.uniform(0, 7190)
        pool = chance.choice(["p0", "p0", "p0", "p1", "p1", "p2", "p3"])
        rows.append(
            {
                "id": f"r{n}",
                "start": f"{start:.3f}",
                "end": f"{start + chance.uniform(2, 9):.3f}",
                "ttft": f"{chance.choice([0.3, 0.45, 0.7, 1.2])}",
                "model": chance.choice(["m0", "m0", "m1", "m1", "(other)", "(other)", "(other)", "m2", "m3", ""]),
                "pool": pool,
                "route": chance.choice(["/a", "/a", "/a", "/b", "/c", "/d", "/d", f"/b/{chance.randrange(99)}", ""]),
                "replica": f"{pool}-{chance.randrange(2)}",
                "score": chance.choice(["0.2", "0.9"]) if chance.random() < 0.2 else "",
            }
        )
    return rows


def land(folder: Path, most: int) -> Workspace:
    (folder / "landing").mkdir(parents=True)
    rows = calls()
    for name, columns, kept in (
        ("calls", [name for name in rows[0] if name != "score"], rows),
        ("labels", ["id", "score", "end"], [row for row in rows if row["score"]]),
    ):
        lines = [",".join(columns), *(",".join(row[column] for column in columns) for row in kept)]
        (folder / f"landing/{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "goodput.toml").write_text(SETTINGS.format(most=most))
    return run_at(folder / "goodput.toml")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """All names apart."""
    return land(tmp_path_factory.mktemp("whole"), 1000)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two of each kind."""
    return land(tmp_path_factory.mktemp("crowded"), MOST)


def kept() -> Mapping[tuple[datetime, int, str], set[str]]:
    """Names of most requests by window and kind, of as many the first."""
    counts: dict[tuple[datetime, int, str], Counter[str]] = defaultdict(Counter)
    for row in calls():
        for window_s in (300, 3600, 86400):
            start = datetime.fromtimestamp(int(float(row["end"])) // window_s * window_s, UTC)
            for kind in NAMES:
                counts[start, window_s, kind].update([row[kind]] if row[kind] else [])
    return {
        at: set(sorted(of, key=lambda name, of=of: (name == "(other)", -of[name], name))[:MOST])
        for at, of in counts.items()
    }  # type: ignore[misc]


def folded(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the names that a crowded window does not keep called (other)."""
    names = kept()

    def called(row: Row) -> Iterator[tuple[str, str | None]]:
        for kind in NAMES:
            apart = {None, "unknown", *names[row["window_start"], row["window_s"], kind]}
            yield kind, row[kind] if row[kind] in apart else "(other)"

    return pl.DataFrame([row | dict(called(row)) for row in rows.to_dicts()], schema=rows.schema)


def named_apart(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of no name (other), whoever called them so."""
    return rows.filter(~pl.any_horizontal(pl.col(name).eq_missing("(other)") for name in NAMES))


@pytest.mark.parametrize("relation", ["goodput", "waste", "gate_failures"])
def test_rows_of_no_crowded_name_are_as_without_a_limit(whole: Workspace, crowded: Workspace, relation: str) -> None:
    """Every column: counts, money, percentiles, estimates and their intervals."""
    before, now = (table(at, relation).drop(RESTATED, strict=False) for at in (whole, crowded))
    kept_apart = before.filter(pl.struct(NAMES) == folded(before).select(pl.struct(NAMES)).to_series())
    untouched = named_apart(kept_apart)
    assert set(untouched["slice"]) == set(before["slice"])
    assert 0.1 < untouched.height / before.height < 0.9
    keys = ["window_s", "window_start", "slice", *DIMENSIONS, *({"bucket", "gate"} & set(before.columns))]
    assert_frame_equal(named_apart(now).sort(keys), untouched.sort(keys), check_exact=False, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("relation", "added"),
    [
        ("goodput", ["offered", "arrivals", "succeeded", "accepted", "need_label", "labelled", "n_ttft", "cost_usd"]),
        ("waste", ["measured_usd", "gpu_s", "tokens", "unpriced"]),
        ("gate_failures", ["gated", "failing", "only_failing"]),
    ],
)
def test_what_is_beyond_adds_up_to_what_it_was(
    whole: Workspace, crowded: Workspace, relation: str, added: list[str]
) -> None:
    keys = ["window_s", "window_start", "slice", *DIMENSIONS, *(["bucket"] if relation == "waste" else [])]
    keys += ["gate"] if relation == "gate_failures" else []
    before, now = folded(table(whole, relation)), table(crowded, relation)
    assert now.select(keys).is_duplicated().sum() == 0
    sums = before.group_by(keys).agg(pl.sum(*added)).sort(keys)
    own = now.select(*keys, *added).with_columns(pl.col(*added).fill_null(0)).sort(keys)
    assert_frame_equal(own, sums, check_exact=False, rel_tol=1e-9, abs_tol=1e-12)
    assert (now["route"] == "(other)").any()


def test_what_evaluators_say_has_the_models_that_are_kept(whole: Workspace, crowded: Workspace) -> None:
    """Of the others together all answers count, also those of models of which none was judged."""
    before, now = (
        table(at, "quality").with_columns(slice=pl.lit(""), pool=None, route=None) for at in (whole, crowded)
    )
    keys = ["window_s", "window_start", "workload", "model", "evaluator"]
    sums = folded(before).group_by(keys).agg(pl.sum("judged", "passed")).sort(keys)
    assert now.select(*keys, "judged", "passed").sort(keys).equals(sums)
    asked = "SELECT workload, coalesce(model, 'unknown') AS model, NULL AS pool, NULL AS route, ended_at FROM requests"
    requests = ask(crowded, asked)
    for window_s in (300, 3600, 86400):
        start = pl.from_epoch(pl.col("ended_at").dt.epoch("s") // window_s * window_s).dt.replace_time_zone("UTC")
        placed = folded(requests.with_columns(window_start=start, window_s=window_s))
        answered = {(row["window_start"], row["workload"], row["model"]): 0 for row in placed.to_dicts()}
        for row in placed.to_dicts():
            answered[row["window_start"], row["workload"], row["model"]] += 1
        for row in now.filter(window_s=window_s).to_dicts():
            assert row["answered"] == answered[row["window_start"], row["workload"], row["model"]]


def test_a_frontier_has_the_routes_and_pools_of_most_arrivals(whole: Workspace, crowded: Workspace) -> None:
    arrived = Counter(row["route"] for row in calls())
    asked = "SELECT DISTINCT route FROM frontier WHERE slice = 'route' ORDER BY route"
    most = sorted(arrived.keys() - {""}, key=lambda name: (-arrived[name], name))[:MOST]
    assert set(ask(crowded, asked)["route"]) == {*most, "unknown"}
    assert {*most, "unknown", "/b", "/c"} < set(ask(whole, asked)["route"])
    kept_rows = table(whole, "frontier").filter(pl.col("route").is_in([*most, "unknown"]))
    drop = [name for name in kept_rows.columns if "usd" in name or "cost" in name]  # of windows with the name
    assert_frame_equal(table(crowded, "frontier").filter(slice="route").drop(drop), kept_rows.drop(drop))


def test_a_warning_names_the_column(whole: Workspace, crowded: Workspace) -> None:
    asked = "SELECT subject, affected, total FROM warnings WHERE kind = 'slice_crowded' ORDER BY subject"
    assert ask(whole, asked).is_empty()
    day = (datetime.fromtimestamp(BEGIN_S // 86400 * 86400, UTC), 86400)
    beyond = {kind: sum(row[kind] not in {"", *kept()[*day, kind]} for row in calls()) for kind in NAMES}
    assert ask(crowded, asked).rows() == [(kind, beyond[kind], 500) for kind in NAMES]
    message = ask(crowded, "SELECT message FROM warnings WHERE kind = 'slice_crowded' AND subject = 'route'").item()
    assert message == (
        "Column route has more names than slices.max_names: in the latest window with so many, "
        f"{beyond['route']} of 500 request(s) are in (other). Have emitters report names without ids of their own, "
        "or raise slices.max_names"
    )


def test_a_warning_counts_replicas_beyond_the_names_that_are_kept(whole: Workspace, crowded: Workspace) -> None:
    asked = "SELECT subject, affected, message FROM warnings WHERE kind = 'replica_crowded'"
    assert ask(whole, asked).is_empty()
    served = Counter(row["replica"] for row in calls())
    once = sum(attempts == 1 for attempts in served.values())
    [(subject, affected, message)] = ask(crowded, asked).rows()
    assert (subject, affected) == ("replica", len(served))
    assert message.startswith(f"{len(served)} replicas in the latest window, {once} of which served one attempt")
