"""What the page adds up of several windows, and says of how final they are, by rows of which the truth is plain."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema, contract_names
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import sql_file
from goodput.report.catalog import all_charts
from goodput.report.gather import INNER, Gathered, observed, of_choice
from goodput.report.shown import Period, Slice
from goodput.report.tiles import tiles
from report.test_period_totals import judged_by, labelled, spent, total, unjudged, window

DAY = datetime(2026, 11, 20, tzinfo=UTC)
TRUST = (
    "blocked_partitions",
    "coverage",
    "disruptions",
    "goodput",
    "pruned",
    "reconciliation",
    "sources",
    "warnings",
    "watermark",
)


def asked(
    name: str, chosen: dict[str, Any] | Sequence[dict[str, Any]] | None = None, **tables: pa.Table
) -> list[dict[str, Any]]:
    """The rows of a chart over the ten days from DAY; what it reads of the page itself is computed unless given."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for relation, rows in tables.items():
            connection.register(relation, rows)
        period = {
            "period": "all",
            "from_at": DAY,
            "until_at": DAY + timedelta(days=9),
            "whole_s": 86400,
            "drawn_s": 3600,
        }
        register(connection, "shown_periods", as_rows("shown_periods", period))
        one = chosen or {"slice": "workload", "workload": "chat"}
        several = [{"choice": 0, **one}] if isinstance(one, dict) else one
        register(connection, "shown_slices", as_rows("shown_slices", *several))
        if "workloads" not in tables:
            register(connection, "workloads", judged_by(chat="estimate"))
        read = closure([name], {*contract_names(), *tables})
        for inner in INNER:
            if inner in read and inner != name:
                connection.execute(f'CREATE TEMP TABLE "{inner}" AS {sql_file(inner).text}')
        found: list[dict[str, Any]] = connection.sql(sql_file(name).text).to_arrow_table().to_pylist()
    return found


def judged(day: int, answered: int, ratio: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    row = dict.fromkeys(field.name for field in arrow_schema("quality"))
    named = {"window_start": DAY + timedelta(days=day), "window_s": 86400, "workload": "chat", "model": "m"}
    ends = {"pass_ratio": ratio, "pass_ci_low_ratio": low, "pass_ci_high_ratio": high}
    return {**row, **named, **ends, "answered": answered, "judged": 10, "passed": 8}


def test_quality_of_several_windows_has_the_ends_of_all_of_them() -> None:
    rows = [judged(0, 100, 0.8, 0.7, 0.9), judged(1, 300, 0.6, 0.5, 0.7)]
    (found,) = asked("judged_answers", quality=pa.Table.from_pylist(rows, schema=arrow_schema("quality")))
    # of 400 answers 80 + 180 pass; 70 + 150 at least and 90 + 210 at most
    assert [found[name] for name in ("ratio", "low", "high")] == pytest.approx([0.65, 0.55, 0.75])
    rows.append(judged(2, 50, None, None, None))
    (found,) = asked("judged_answers", quality=pa.Table.from_pylist(rows, schema=arrow_schema("quality")))
    assert [found[name] for name in ("ratio", "low", "high")] == [None, None, None]


def test_a_bucket_of_several_windows_has_the_ends_of_all_of_them() -> None:
    rows = [
        {**spent(day, usd), "bucket": bucket, "ci_low_usd": low, "ci_high_usd": high}
        for day, bucket, usd, low, high in (
            (0, "slow", 3.0, 2.5, 3.5),
            (1, "slow", 2.0, 1.0, 4.0),
            (0, "idle", 9.0, None, None),
        )
    ]
    found = asked("money_totals", waste=pa.Table.from_pylist(rows, schema=arrow_schema("waste")))
    ends = {row["bucket"]: (row["usd"], row["low_usd"], row["high_usd"]) for row in found}
    assert ends == {"slow": (5.0, 3.5, 7.5), "idle": (9.0, None, None)}


def test_how_many_were_accepted_is_as_sure_as_the_share() -> None:
    sure, drawn = window(0, 600, 600, 600), window(0, 600, 550, 640)
    assert tiles(total(sure | {"output_token_goodput_tps": 2.0}), None)[1].note == "with 172,800 output tokens"
    tile = tiles(total(drawn | {"output_token_goodput_tps": 2.0}), None)[1]
    assert (tile.value, tile.note) == ("600", "550 to 640; with about 173,000 output tokens")
    assert tiles(total(sure), None)[1].note == "their output tokens are not known"


def test_the_last_tile_names_where_most_went() -> None:
    waste = [{**spent(0, usd), "bucket": name} for name, usd in {"accepted": 9.0, "idle": 1.0, "slow": 3.0}.items()]
    row = window(0, 600, 500, 700, cost_usd=13.0, wasted_ratio=4 / 13)
    assert tiles(total(row, waste=waste), None)[3].note == "$4.00: slow, idle"
    waste += [{**spent(0, 0.5), "bucket": name} for name in ("unattributed", "retry")]
    assert tiles(total(row, waste=waste), None)[3].note == "$4.00: slow, idle, retry and smaller ones"


@pytest.mark.parametrize(
    ("final_day", "said"),
    [
        (
            -14,
            "nothing of what is shown yet: late labels or bills can change it, each window until 16 days after its end",
        ),
        (0, "nothing of what is shown yet: late labels or bills can change it, each window until 2 days after its end"),
        (1, "2026-11-21 00:00 UTC; later windows can still change by late labels or bills"),
    ],
)
def test_until_when_windows_are_final(final_day: int, said: str) -> None:
    (found,) = [row["says"] for row in trusted(final_day) if row["name"] == "Final until"]
    assert found == said


def test_what_limits_the_numbers_is_said() -> None:
    """Telemetry of two of nine days, windows that may yet change, and of two operations one without a price."""
    answer = next(chart for chart in all_charts() if chart.name == "trust_facts").answer
    hours = [window(0, 5, 4, 6, window_s=3600, slice="overall", window_start=DAY + timedelta(hours=n)) for n in (6, 53)]
    money = {**hours[0], "window_start": DAY + timedelta(days=8), "offered": 0, "partial": True}
    operations = [
        {
            **dict.fromkeys(field.name for field in arrow_schema("disruptions")),
            "event_id": str(usd),
            "excess_cost_usd": usd,
        }
        | {"occurred_at": DAY + timedelta(hours=7)}
        for usd in (1.5, None)
    ]
    limited = answer(trusted(-14, goodput=[*hours, money], disruptions=operations))
    assert "Nothing speaks against" not in limited
    assert limited.endswith(
        " What limits these numbers: telemetry has 48 of these 216 h; nothing is final yet; "
        "1 of 2 operations without a price."
    )
    # of the first hour 20 minutes were observed, of the last 10
    edges = [{**hour, "partial": True, "observed_s": 60.0 * m} for hour, m in zip(hours, (20, 10), strict=True)]
    assert "telemetry has 46.5 of these 216 h" in answer(trusted(-14, goodput=edges))
    assert "telemetry has 0.333 of these 216 h" in answer(trusted(-14, goodput=edges[:1]))
    whole = [{**hours[0], "window_start": DAY + timedelta(hours=n)} for n in (0, 9 * 24 - 1)]
    assert "limits" not in answer(trusted(9, goodput=whole, disruptions=operations[:1]))
    facts = [{"name": "Telemetry", "is_doubtful": False, "limits": None}]
    assert answer(facts).startswith("Nothing speaks against these numbers")


def test_a_replica_whose_telemetry_is_thin_limits_the_numbers() -> None:
    def hour(replica: str, nth: int, ratio: float) -> dict[str, Any]:
        row = dict.fromkeys(field.name for field in arrow_schema("coverage"))
        counts = {"attempts_compared": int(1000 * ratio), "requests_counted": 1000, "requests_unobserved": 0}
        named = {"replica": replica, "window_start": DAY + timedelta(hours=nth), "window_s": 3600}
        return {**row, **named, **counts, "coverage_ratio": ratio, "low_coverage": ratio < 0.95}

    def limits(*hours: dict[str, Any]) -> str | None:
        (found,) = [row for row in trusted(0, coverage=list(hours)) if row["name"] == "Seen of what engines counted"]
        limit: str | None = found["limits"]
        return limit

    assert limits(hour("a", 1, 1.0), hour("b", 1, 0.95)) is None
    said = "b has records of 90.9 % of what its engine counted in the hour from 20 Nov 02:00 UTC"
    assert limits(hour("a", 1, 1.0), hour("b", 2, 0.909)) == said
    more = [hour("b", 1, 0.94), hour("a", 3, 0.93)]
    assert limits(*more, hour("b", 2, 0.909)) == f"{said}, the least of 3 hours of replicas below 95 %"
    # of hours alike the first, and in it the first replica by name, whatever the order of rows
    alike = [hour("b", 2, 0.909), hour("c", 2, 0.909), hour("a", 3, 0.909)]
    assert {limits(*hours) for hours in permutations(alike)} == {f"{said}, the least of 3 hours of replicas below 95 %"}


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([{}], "0 ignored"),
        ([{"a": 4}, {"b": 3, "a": 2}], "9 ignored: 6 a, 3 b (`goodput sources` has their files)"),
        (
            [{"a": 1, "b": 9, "c": 2}, {"d": 7, "e": 1, "c": 3}],
            "23 ignored: 9 b, 7 d, 5 c and 2 by 2 more (`goodput sources` has their files)",
        ),
    ],
)
def test_rows_that_are_ignored_are_so_by_rules_that_are_named(rules: list[dict[str, int]], said: str) -> None:
    rows = [
        {**dict.fromkeys(field.name for field in arrow_schema("sources")), "ignored": json.dumps(of), "rows_read": 30}
        | {"rows_ignored": sum(of.values())}
        for of in rules
    ]
    (found,) = [row["says"] for row in trusted(0, sources=rows) if row["name"] == "Rows read"]
    assert found.endswith(f"0 quarantined, {said}")


def trusted(final_day: int, **given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The facts of trust where nothing but these rows is published."""
    final_at, observed_at = DAY + timedelta(days=final_day), DAY + timedelta(days=2)
    mark = {"final_until_at": final_at, "observed_until_at": observed_at}
    tables = {
        name: pa.Table.from_pylist([], schema=arrow_schema(name))
        for name in ("coverage", "disruptions", "goodput", "reconciliation")
    }
    others = {
        "sources": "rows_read rows_kept rows_duplicate rows_quarantined rows_ignored",
        "warnings": "kind subject message",
        "blocked_partitions": "node",
    }
    for name, columns in others.items():
        kind = pa.int64() if name == "sources" else pa.string()
        tables[name] = pa.table({column: pa.array([], kind) for column in columns.split()})
    tables["sources"] = tables["sources"].append_column("ignored", pa.array([], pa.string()))
    instant = pa.timestamp("us", "UTC")
    tables["pruned"] = pa.schema(
        [("relation", pa.string()), ("holds", pa.string()), ("kept_from", instant)]
    ).empty_table()
    tables["watermark"] = pa.Table.from_pylist([mark], schema=pa.schema([(name, instant) for name in mark]))
    assert set(tables) == set(TRUST)
    tables |= {name: pa.Table.from_pylist(rows, schema=arrow_schema(name)) for name, rows in given.items()}
    return asked("trust_facts", **tables)


NAMED = dict.fromkeys(Slice.__dataclass_fields__)
CHAT = {**NAMED, "slice": "workload", "workload": "chat"}


def side_by_side(chosen: Sequence[dict[str, Any]]) -> list[set[tuple[str | None, str]]]:
    """For each choice the rows that the chart of slices shows: of which workload, if within one, and what."""
    shown = [Slice(**{**one, "choice": number}) for number, one in enumerate(chosen)]
    ends = dict.fromkeys(("accepted", "ratio", "ratio_low", "ratio_high", "wasted_ratio", "price_usd", "price_low_usd"))
    totals = [
        {"period": "all", "choice": one.choice, "offered": 10, "cost_usd": 1.0, "unpriced": 0, "price_high_usd": None}
        | ends
        for one in shown
    ]
    period = Period("all", DAY, DAY + timedelta(days=9), 86400, 3600)
    with duckdb.connect() as connection:
        register(connection, "shown_slices", as_rows("shown_slices", *map(asdict, shown)))
        connection.register("period_totals", pl.DataFrame(totals, schema_overrides=dict.fromkeys(ends, pl.Float64)))
        found = pl.DataFrame(connection.sql(sql_file("slice_totals").text).to_arrow_table())
    chart = next(chart for chart in all_charts() if chart.name == "slice_totals")
    return [set(of_choice(chart, found, period, one).select("within", "name").iter_rows()) for one in shown]


def test_within_a_workload_its_routes_stand_side_by_side() -> None:
    """Tenants are cut of all requests: chosen a workload, a reader sees its routes, as on a page of it alone."""
    chosen = [
        {**NAMED, "slice": "overall"},
        {**NAMED, "slice": "tenant", "slice_value": "acme"},
        CHAT,
        *({**CHAT, "slice": "workload_route", "route": route} for route in ("sticky", "random")),
        {**CHAT, "slice": "workload_route", "workload": "rag", "route": "sticky"},
    ]
    sticky, random, other = {(None, "chat sticky")}, {(None, "chat random")}, {(None, "rag sticky")}
    tenants = {(None, "acme")}
    assert side_by_side(chosen) == [tenants, tenants, sticky | random, sticky, random, other]


@pytest.mark.parametrize("by", ["tenant", "attributes.team"])
def test_within_a_workload_stand_the_tenants_or_attributes_that_are_published_there(by: str) -> None:
    """A pool of the workload is not divided by them, and shows the workload's; a route is shown as it is."""
    chosen = [
        {**NAMED, "slice": "overall"},
        {**NAMED, "slice": by, "slice_value": "a"},
        CHAT,
        {**CHAT, "slice": "workload_pool", "pool": "p"},
        *({**CHAT, "slice": f"workload_{by}", "slice_value": value} for value in "ab"),
        {**CHAT, "slice": f"workload_{by}", "slice_value": "a", "workload": "rag"},
        {**CHAT, "slice": "workload_attributes.zone", "slice_value": "z"},
        {**CHAT, "slice": "workload_route", "route": "sticky"},
    ]
    of_chat, of_rag = {("chat", "a"), ("chat", "b")}, {("rag", "a")}
    of_all = {(None, "a"), *of_chat, *of_rag}
    route = {(None, "chat sticky")}
    expected = [of_all, of_all, of_chat, of_chat, of_chat, of_chat, of_rag, of_chat, route]
    assert side_by_side(chosen) == expected


def test_within_workloads_alone_stands_what_is_published_within_them_alone() -> None:
    """Over all there are workloads and routes, as no tenant is published there."""
    chosen = [
        {**NAMED, "slice": "overall"},
        CHAT,
        {**CHAT, "slice": "workload_tenant", "slice_value": "a"},
        {**CHAT, "slice": "workload_route", "route": "sticky"},
    ]
    route, tenant = {(None, "chat sticky")}, {("chat", "a")}
    assert side_by_side(chosen) == [route, tenant, tenant, route]


def test_what_was_done_to_the_whole_fleet_was_done_to_each_pool() -> None:
    """Of a workload those of the pools that serve it; of a cache that names no pool nobody knows whose it is."""
    rows = pl.DataFrame({"period": ["all"] * 4, "pool": ["a", "b", "c", None], "model": ["m"] * 4})
    period = Period("all", DAY, DAY + timedelta(days=9), 86400, 3600)
    charts = {chart.name: chart for chart in all_charts()}

    def shown(chart: str, **of: Any) -> list[str | None]:
        one = Slice(**{**dict.fromkeys(Slice.__dataclass_fields__), "slice": "workload", **of})
        pools: list[str | None] = of_choice(charts[chart], rows, period, one)["pool"].to_list()
        return pools

    assert shown("operations_done") == ["a", "b", "c", None]
    assert shown("operations_done", pool="a") == ["a", None]
    assert shown("operations_done", workload="chat", pools=("a", "b")) == ["a", "b", None]
    assert shown("replica_hits", workload="chat", pools=("a", "b")) == ["a", "b"]


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        # 460 of the 500 that nobody judged: 40 of them fail
        (760, {"accepted": 760, "rejected": 60, "unlabelled": 0, "slow": 100, "failed": 80}),
        (None, {"accepted": 300, "rejected": 20, "unlabelled": 500, "slow": 100, "failed": 80}),
    ],
)
def test_every_request_has_one_fate_judged_or_estimated(estimate: float | None, expected: dict[str, int]) -> None:
    counts = {"accepted": 300, "rejected": 20, "unlabelled": 500, "slow": 100, "failed": 80}
    row = window(0, estimate, 0, 1000) | counts
    found = asked("verdict_totals", goodput=pa.Table.from_pylist([row], schema=arrow_schema("goodput")))
    assert {one["verdict"]: one["expected"] for one in found if one["requests"]} == pytest.approx(expected)
    assert sum(one["expected"] for one in found) == pytest.approx(row["offered"])
    names = {one["verdict"]: one["name"] for one in found}
    assert (names["accepted"], names["unlabelled"]) == ("judged and accepted", "not judged")


def test_fates_of_days_without_a_label_are_those_of_the_others() -> None:
    """Of a hundred labels 70 passed: so do 700 of the 1,000 that day, and of the 1,000 on the next."""
    days = [labelled(0, 700) | {"accepted": 70, "rejected": 30, "unlabelled": 900}, unjudged(1) | {"unlabelled": 1000}]
    days[0] |= {"quality_pass_in_bounds_ratio": 0.7}
    found = asked("verdict_totals", goodput=pa.Table.from_pylist(days, schema=arrow_schema("goodput")))
    assert {one["verdict"]: one["expected"] for one in found if one["expected"]} == pytest.approx(
        {"accepted": 1400, "rejected": 600}
    )


HOURS = [DAY + timedelta(hours=hour) for hour in range(4)]


def lost(usd: float, bucket: str, at: datetime = DAY, window_s: int = 86400, **of: Any) -> dict[str, Any]:
    row = {**spent(0, usd), "workload": None, **of}
    return {**row, "bucket": bucket, "window_start": at, "window_s": window_s, "ci_low_usd": None, "ci_high_usd": None}


def mending(
    waste: list[dict[str, Any]],
    goodput: list[dict[str, Any]],
    up: Sequence[tuple[str, datetime, int]] = (),
    *,
    is_sustained: bool | None = None,
    is_failed_by_prompts: bool = False,
    **chosen: str,
) -> list[dict[str, Any]]:
    """Pool a bears 0.1 requests/s a replica, needs 9 at its peak and had 4; of pool b no knee is known."""
    replica = dict.fromkeys(field.name for field in arrow_schema("replica_windows")) | {
        "window_s": 3600,
        "up_s": 3600.0,
    }
    seen = [
        replica | {"pool": pool, "window_start": at, "replica": str(number)}
        for pool, at, number_of in up
        for number in range(number_of)
    ]
    tables = {"waste": waste, "goodput": goodput, "replica_windows": seen}
    shown = {name: pa.Table.from_pylist(rows, schema=arrow_schema(name)) for name, rows in tables.items()}
    needs: dict[str, Any] = {"knee_censored": [False, False, False], "is_sustained": [True, is_sustained, True]}
    needs |= {"divided_by": ["pool", "pool", "route"], "pool": ["a", "b", "a"], "knee_rps": [0.1, None, 0.2]}
    needs |= {"knee_ci_low_rps": [0.05, None, 0.1], "knee_ci_high_rps": [None, None, 0.3]}
    needs |= {"is_failed_by_prompts": [is_failed_by_prompts, False, False]}
    needs |= {"headroom": [1.2, 1.2, 1.2], "recommended_replicas": [9, None, 7], "most_replicas": [4, 4, 3]}
    return asked("worth_mending", chosen, load_curves=pa.table(needs), **shown)


@pytest.mark.parametrize(("is_sustained", "spare"), [(None, 3.0), (True, 3.0), (False, 0.0)])
def test_a_pool_whose_gates_held_at_no_load_has_none_to_spare_at_quiet_times(
    is_sustained: bool | None, spare: float
) -> None:
    """Pool b has no knee: it idles $3 in an hour with less than half of its busiest, and fails its gates there too."""
    waste = idled("chat", "b", (1.0, 3.0, 0.0, 0.0))
    goodput = [served("chat", "b"), *pooled("b", (100, 40, None, None))]
    (row,) = mending(waste, goodput, is_sustained=is_sustained, slice="overall")
    assert (row["spare_usd"], row["spare_by"]) == (pytest.approx(spare), "short" if is_sustained is False else "quiet")


def test_replicas_that_came_during_an_operation_are_told() -> None:
    """Two of pool a up from 0:00 on, a third from 1:30 on; drawn by the hour: 2, then 2.5, then 3."""
    replica = dict.fromkeys(field.name for field in arrow_schema("replica_windows")) | {"window_s": 3600, "pool": "a"}
    up = [
        replica | {"window_start": at, "replica": name, "up_s": up_s}
        for name, lasts in {"a": (3600.0,) * 4, "b": (3600.0,) * 4, "c": (0.0, 1800.0, 3600.0, 3600.0)}.items()
        for at, up_s in zip(HOURS, lasts, strict=True)
    ]
    up.append(replica | {"pool": "b", "window_start": HOURS[1], "replica": "x", "up_s": 3600.0})
    done = {"event_id": "e", "kind": "deployment", "pool": "a", "occurred_at": HOURS[1] + timedelta(minutes=10)}
    done |= {"ended_at": HOURS[2] + timedelta(minutes=10), "lost_accepted": 100.0, "excess_cost_usd": 0.8}
    done |= {"baseline_cost_per_accepted_usd": 0.005}
    quality = pa.table({"event_id": pa.array([], pa.string())})
    tables = {"disruptions": [done, done | {"event_id": "other", "pool": "nobody's"}], "replica_windows": up}
    shown = {name: pa.Table.from_pylist(rows, schema=arrow_schema(name)) for name, rows in tables.items()}
    found = asked("operations_done", operation_quality=quality, **shown)
    assert {row["event_id"]: (row["replicas_before"], row["replicas_most"]) for row in found} == {
        "e": (2.0, 3.0),
        "other": (None, None),
    }
    assert [(row["lost_usd"], row["paid_usd"]) for row in found] == [pytest.approx((0.5, 0.3))] * 2


def test_what_is_worth_mending_is_told_by_workload_what_can_be_mended_most_first() -> None:
    chat, rag = ({"slice": "workload", "workload": name} for name in ("chat", "rag"))
    waste = [
        *(lost(usd, "idle", DAY + timedelta(days=day), **of) for day, usd, of in ((0, 4.0, chat), (1, 5.0, chat))),
        lost(6.0, "idle", **rag),
        lost(7.0, "slow", **rag),
        lost(2.0, "unattributed", slice="workload"),  # machines of which no workload is known
        lost(20.0, "accepted", **rag),
        lost(6.0, "unlabelled", **chat),
        lost(24.0, "idle", slice="overall"),  # the same dollars once more, undivided
    ]
    found = [(row["bucket"], row["part"], row["usd"], row["share"]) for row in mending(waste, [], slice="overall")]
    # of 9 + 6 + 7 + 2 + 20 + 6
    assert found == [
        ("idle", "chat", 9.0, 0.18),
        ("slow", "rag", 7.0, 0.14),
        ("idle", "rag", 6.0, 0.12),
        ("unattributed", "no workload", 2.0, 0.04),
    ]


def test_of_slow_answers_it_is_told_what_a_queue_alone_made_late_and_what_nobody_knows() -> None:
    known = {"slice": "workload", "workload": "chat", "window_s": 86400}
    waste = [
        lost(
            7.0,
            "slow",
            direct_usd=5.0,
            queue_late_usd=1.0,
            retries_late_usd=0.25,
            prefill_late_usd=2.0,
            work_late_usd=1.25,
            **known,
        ),
        *(
            lost(2.0, "slow", DAY + timedelta(days=1), direct_usd=2.0, **late, **known)
            for late in [
                {"queue_late_usd": 0.5, "retries_late_usd": 0.0, "prefill_late_usd": 0.5, "work_late_usd": 1.0}
            ]
        ),
        lost(3.0, "idle", **known),
    ]
    slow, idle = mending(waste, [], slice="overall")
    names = ("queue_late_usd", "retries_late_usd", "prefill_late_usd", "work_late_usd", "wait_unknown_usd")
    assert [slow[name] for name in names] == [1.5, 0.25, 2.5, 2.25, 0.5]
    assert [idle[name] for name in names] == [None] * 5


def test_of_one_workload_it_is_told_by_route_and_of_one_route_as_a_whole() -> None:
    routes = [{"slice": "workload_route", "workload": "chat", "route": name} for name in ("sticky", "random")]
    other = {"slice": "workload_route", "workload": "rag", "route": "sticky"}
    waste = [*(lost(usd, "slow", **of) for usd, of in zip((1.0, 3.0), routes, strict=True)), lost(9.0, "slow", **other)]
    found = mending(waste, [], slice="workload", workload="chat")
    assert [(row["divided_by"], row["part"], row["usd"]) for row in found] == [
        ("route", "random", 3.0),
        ("route", "sticky", 1.0),
    ]
    (one,) = mending(waste, [], **routes[0])
    assert (one["divided_by"], one["part"], one["usd"], one["share"]) == (None, None, 1.0, 1.0)


def pooled(name: str, counts: Sequence[int | None]) -> list[dict[str, Any]]:
    """Requests that came to a pool hour by hour."""
    return [
        window(0, offered, 0, offered, offered=offered, window_start=at, window_s=3600, slice="pool", pool=name)
        for at, offered in zip(HOURS, counts, strict=True)
        if offered is not None
    ]


def served(workload: str, name: str) -> dict[str, Any]:
    return window(0, 1, 0, 1, offered=1, slice="finest", workload=workload, pool=name)


def idled(workload: str, pool: str, dollars: Sequence[float]) -> list[dict[str, Any]]:
    """Idle dollars of a workload, all of one pool, hour by hour and as a day."""
    of = ({"slice": "workload", "workload": workload}, {"slice": "pool", "pool": pool})
    hourly = [lost(usd, "idle", at, 3600, **one) for one in of for at, usd in zip(HOURS, dollars, strict=True)]
    return [lost(sum(dollars), "idle", **of[0]), *hourly]


def test_idle_dollars_beyond_what_the_knee_needs_are_spare() -> None:
    """0.2 requests/s at 0.1 a replica and a fifth more are 3 replicas (2.4): of 4 one is spare, of 3 or of 2 none."""
    waste = [
        *idled("chat", "a", (3.0, 1.0, 2.0, 4.0)),
        *(
            lost(usd, "accepted", at, 3600, slice="pool", pool="a")
            for at, usd in zip(HOURS, (5.0, 3.0, 9.0, 0.0), strict=True)
        ),
        lost(99.0, "overhead", HOURS[0], 3600, slice="pool", pool="a"),  # no replica's
    ]
    goodput = [served("chat", "a"), *pooled("a", (720, 720, 720, None))]
    up = [("a", at, number) for at, number in zip(HOURS, (4, 3, 2, 4), strict=True)]
    (row,) = mending(waste, goodput, up, slice="overall")
    # a quarter of 8, nothing twice, and of the hour without a request 3 of 4
    assert (row["usd"], row["spare_usd"], row["spare_by"]) == (10.0, pytest.approx(2.0 + 3.0), "knee")
    assert row["mendable_usd"] == row["spare_usd"]
    # at 0.05 a replica 0.2 requests/s need 5, more than there are; an end that is not known leaves but one replica
    assert row["spare_low_usd"] == pytest.approx(3.0)
    assert row["spare_high_usd"] == pytest.approx(3.0 + 1.0 + 2.0 + 3.0)
    assert row["at_peak"] == "pool a needs 9 where there were 4"
    # prompts that alone fail more than may do so with any number of replicas
    (row,) = mending(waste, goodput, up, is_failed_by_prompts=True, slice="overall")
    assert row["at_peak"] is None
    # and the knee is theirs: what is known are the quiet hours, here that without a request, of which one replica stays
    assert (row["spare_usd"], row["spare_by"], row["spare_low_usd"]) == (pytest.approx(3.0), "quiet", 0.0)
    # what would go is idle: of a window with a dollar idle not more, whatever its replicas cost
    (row,) = mending([*waste, lost(90.0, "slow", HOURS[0], 3600, slice="pool", pool="a")], goodput, up, slice="overall")
    assert row["spare_usd"] == pytest.approx(3.0 + 3.0)
    # nobody sampled replicas: what is known are its quiet hours, here that without a request
    (row,) = mending(waste, goodput, [], slice="overall")
    assert (row["spare_usd"], row["spare_by"]) == (pytest.approx(4.0), "quiet")
    assert (row["spare_low_usd"], row["spare_high_usd"]) == (0.0, pytest.approx(4.0))


def test_of_a_pool_without_a_knee_the_dollars_of_its_quiet_windows_are_spare() -> None:
    waste = idled("rag", "b", (1.0, 2.0, 3.0, 4.0))
    goodput = [served("rag", "b"), *pooled("b", (100, 50, 51, None)), *pooled("a", (9, 999, 9, 999))]
    (row,) = mending(waste, goodput, slice="overall")
    # the second hour has half of the busiest, the last nothing; what other pools have does not count
    assert (row["usd"], row["spare_usd"], row["spare_by"]) == (10.0, pytest.approx(6.0), "quiet")
    assert row["at_peak"] is None
    (row,) = mending(waste, [], slice="overall")
    assert (row["spare_usd"], row["spare_by"], row["mendable_usd"]) == (None, None, 10.0)
    # one replica stays: of two one may go, of one none
    up = [("b", at, number) for at, number in zip(HOURS, (4, 2, 4, 1), strict=True)]
    (row,) = mending(waste, goodput, up, slice="overall")
    assert row["spare_usd"] == pytest.approx(2.0 / 2)


@pytest.mark.parametrize(("replicas", "spare_usd"), [(1, 0.0), (2, 5.0)])
def test_what_idles_without_any_request_is_spare_by_its_pool(replicas: int, spare_usd: float) -> None:
    """Nobody asks for the workload `unknown` of such hours: all but one replica of the pool that idled may go."""
    paid = {"slice": "finest", "workload": "unknown", "pool": "b"}
    waste = [
        *idled("unknown", "b", (0.0, 4.0, 6.0, 0.0)),
        *(lost(usd, "idle", at, 3600, **paid) for at, usd in zip(HOURS, (0.0, 4.0, 6.0, 0.0), strict=True)),
        lost(10.0, "idle", **paid),
    ]
    up = [("b", at, replicas) for at in HOURS]
    (row,) = mending(waste, pooled("b", (100, None, None, 100)), up, slice="overall")
    assert (row["usd"], row["spare_by"]) == (10.0, "quiet")
    assert row["spare_usd"] == row["mendable_usd"] == pytest.approx(spare_usd)


def test_where_nothing_says_how_many_replicas_there_were_none_is_spare() -> None:
    """Hours of an outage have no requests either: what idles in them may be the one replica that stays."""
    waste = idled("rag", "b", (1.0, 2.0, 3.0, 4.0))
    goodput = [served("rag", "b"), *pooled("b", (100, 40, None, None))]
    (row,) = mending(waste, goodput, [("b", HOURS[0], 2), ("b", HOURS[1], 2)], slice="overall")
    assert row["spare_usd"] == pytest.approx(2.0 / 2)


def test_of_an_hour_observed_in_part_the_rate_is_that_of_what_was_observed() -> None:
    """40 requests of a tenth of an hour are as many a second as 400: that was no quiet hour, and the others were."""
    waste = idled("rag", "b", (1.0, 2.0, 3.0, 4.0))
    hours = pooled("b", (40, 100, 150, 150))
    goodput = [served("rag", "b"), hours[0] | {"partial": True, "observed_s": 360.0}, *hours[1:]]
    (row,) = mending(waste, goodput, slice="overall")
    assert row["spare_usd"] == pytest.approx(2.0 + 3.0 + 4.0)


def test_of_several_pools_each_has_its_own_spare_share() -> None:
    """Of a tenant that both pools serve it is known what it idles, not where: as of both pools together."""
    tenant = {"slice": "tenant", "slice_value": "acme"}
    pools = [*idled("chat", "a", (2.0, 0.0, 0.0, 0.0)), *idled("rag", "b", (6.0, 6.0, 0.0, 0.0))]
    waste = [one for one in pools if one["slice"] == "pool"]
    waste += [lost(8.0, "idle", **tenant), *(lost(4.0, "idle", at, 3600, **tenant) for at in HOURS[:2])]
    goodput = [served("chat", "a"), served("rag", "b"), *pooled("a", (720, 720, 0, 0)), *pooled("b", (10, 100, 0, 0))]
    up = [("a", at, 6) for at in HOURS]
    (row,) = mending(waste, goodput, up, **tenant)
    # of a 3 of 6, a dollar of 2, and all 6 of b: 7 of 8 in the first hour; none in the second
    assert (row["spare_usd"], row["spare_by"]) == (pytest.approx(8.0 * (4.0 * 7 / 8) / 8.0), "both")


@pytest.mark.parametrize(
    ("limits", "said"),
    [("telemetry has 2 of these 24 h", "Telemetry has 2 of 24 h, from 09:00 to 11:00 UTC."), (None, "")],
)
def test_the_head_names_the_time_with_telemetry_where_it_is_not_all(limits: str | None, said: str) -> None:
    row = {"name": "Telemetry", "says": "2 of 24 h, from 09:00 to 11:00 UTC", "limits": limits}
    facts = pl.DataFrame([row], schema_overrides={"limits": pl.String})
    assert observed(Gathered((), (), 0, pl.DataFrame(), {"trust_facts": facts}, {}, {})) == said


def test_an_hour_of_a_replica_costs_what_its_pool_did_by_the_hours_that_they_were_up() -> None:
    """Two days of pool p, of 24 and 12 replica hours, for $90 beside $50 of overhead; nobody pays for q."""
    empty = dict.fromkeys(field.name for field in arrow_schema("waste"))
    days = [DAY, DAY + timedelta(days=1)]
    spent_on = [
        empty | {"slice": "pool", "pool": "p", "bucket": bucket, "window_s": 86400, "window_start": at, "usd": usd}
        for at, bucket, usd in [(days[0], "idle", 40.0), (days[0], "overhead", 50.0), (days[1], "accepted", 50.0)]
    ]
    lived = [
        dict.fromkeys(field.name for field in arrow_schema("replica_windows"))
        | {"pool": pool, "replica": f"{pool}{nth}", "window_s": 86400, "window_start": at, "up_s": 3600.0 * hours}
        for pool in "pq"
        for nth, (at, hours) in enumerate([(days[0], 18), (days[0], 6), (days[1], 12)])
    ]
    loads = [
        dict.fromkeys(field.name for field in arrow_schema("frontier"))
        | {"slice": "pool", "pool": pool, "load_rps": 0.1}
        for pool in "pq"
    ]
    of_all = {"slice": "finest", "window_s": 86400, "workload": "w", "model": "m", "route": "r"}
    counts = [(days[0], "p", 3, 100), (days[1], "p", 1, 300), (days[1], "q", 0, 0)]
    windows, judged = (
        [
            dict.fromkeys(field.name for field in arrow_schema(name))
            | of_all
            | {"window_start": at, "pool": pool}
            | {"prefill_late": late, "gate": "ttft", "gated": many}
            for at, pool, late, many in counts
        ]
        for name in ("goodput", "gate_failures")
    )
    # answers without such a gate are none of those that it judges
    judged += [row | {"gate": "e2e", "gated": 1000} for row in judged]
    tables = {
        "frontier": loads,
        "replica_windows": lived,
        "waste": spent_on,
        "goodput": windows,
        "gate_failures": judged,
    }
    found = asked(
        "load_curves", **{n: pa.Table.from_pylist(rows, schema=arrow_schema(n)) for n, rows in tables.items()}
    )
    assert {row["pool"]: row["replica_hour_usd"] for row in found} == {"p": pytest.approx(90 / 36), "q": None}
    assert {row["pool"]: row["prefill_late_ratio"] for row in found} == {"p": pytest.approx(4 / 400), "q": None}
