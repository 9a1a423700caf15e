"""The contracts themselves: their shape, their units, their rules, and the columns that users were promised."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from goodput.contracts import Column, arrow_schema, contract, contract_names, stored_tables
from goodput.nodes import NODES

SCHEMAS = Path(__file__).parents[2] / "schemas"
TABLES = (
    *("accepted_units", "alarm_events", "alarm_power", "alarm_series", "alarms", "attempts", "billed_buckets"),
    *("binding_gate", "blocked_partitions"),
    *(
        "cache_by_replica",
        "cache_effect",
        "cost_ledger",
        "cost_line_rows",
        "cost_lines",
        "cost_records",
        "coverage",
        "deliveries",
        "disruption_cost",
    ),
    *(
        "disruption_frequency",
        "disruptions",
        "emitter_facts",
        "evaluator_labels",
        "event_records",
        "frontier",
        "gate_failures",
        "goodput",
        "id_hours",
    ),
    *("judged_hours", "known_replicas"),
    *("label_rates", "label_records", "label_rows", "landed_files", "latest_window", "load_windows", "ops_events"),
    *("paid_time", "price_lines", "quality", "quality_labels"),
    *(
        "quarantine",
        "reconciliation",
        "record_rows",
        "replica_histograms",
        "replica_names",
        "replica_samples",
        "replica_windows",
        "requests",
        "restatements",
    ),
    *(
        "sample_records",
        "sample_rows",
        "serving_records",
        "session_hours",
        "session_label_records",
        "session_labels",
        "sessions",
    ),
    *(
        "source_ledger",
        "source_places",
        "source_rows",
        "sources",
        "span_links",
        "token_prices",
        "unjoined_labels",
        "unknown_metrics",
        "unused_cost_lines",
        "warnings",
        "waste",
        "watermark",
    ),
)
# How the lake stores each: its layer, then its tables by the partitions that they have.
STORED = {
    "collected": {"none": "landed_files source_ledger source_places"},
    "conformed": {
        "none": "cost_lines event_records price_lines quarantine",
        "hour": "label_records sample_records serving_records span_links",
    },
    "joined": {
        "none": """cost_line_rows cost_records judged_hours ops_events record_rows session_labels token_prices
            unused_cost_lines""",
        "hour": """attempts emitter_facts label_rows quality_labels replica_names replica_samples requests sample_rows
            session_hours session_label_records source_rows""",
    },
    "measured": {
        "none": """blocked_partitions disruption_cost disruption_frequency evaluator_labels frontier latest_window
            warnings watermark""",
        "hour": "billed_buckets cost_ledger coverage known_replicas paid_time",
        "day": "disruptions id_hours reconciliation",
        "windows": """cache_by_replica cache_effect gate_failures goodput label_rates load_windows quality
            replica_histograms replica_windows restatements waste""",
    },
    "monitored": {"none": "alarm_events alarm_power alarm_series alarms"},
}
DERIVED = {
    "accepted_units",
    "binding_gate",
    "deliveries",
    "sessions",
    "sources",
    "unjoined_labels",
    "unknown_metrics",
}  # when asked
NOT_PUBLISHED = {
    *(
        "cost_lines",
        "event_records",
        "emitter_facts",
        "judged_hours",
        "label_records",
        "landed_files",
        "load_windows",
        "price_lines",
    ),
    *("billed_buckets", "evaluator_labels", "id_hours", "known_replicas", "label_rates", "paid_time"),
    *("sample_records", "session_hours", "session_label_records", "source_places", "span_links"),
}
INSIDE = {  # others are derived from these
    *("cost_line_rows", "label_rows", "record_rows", "sample_rows", "source_ledger", "source_rows"),
}
OVER_PARTS = {
    "attempts",
    "cost_ledger",
    "quality_labels",
    "quarantine",
    "replica_samples",
    "requests",
    "serving_records",
    "unused_cost_lines",
}
NINE_S = 1_795_165_200  # 2026-11-20T09:00:00Z, hour 498657 of the Unix epoch
NINE, JUST_BEFORE = datetime.fromtimestamp(NINE_S, UTC), datetime.fromtimestamp(NINE_S - 0.000001, UTC)
HOURS: Mapping[str, list[tuple[dict[str, Any], int]]] = {
    "serving_records": [
        ({"started_ns": NINE_S * 10**9 - 1, "ended_ns": NINE_S * 10**9}, 498657),
        ({"started_ns": NINE_S * 10**9 - 1, "ended_ns": None}, 498656),
    ],
    "label_records": [({"labelled_ns": NINE_S * 10**9}, 498657), ({"labelled_ns": NINE_S * 10**9 - 1}, 498656)],
    "sample_records": [({"sampled_ns": (NINE_S + 3600) * 10**9 - 1}, 498657)],
    "span_links": [({"ended_ns": NINE_S * 10**9 - 1}, 498656)],
    "replica_samples": [({"sampled_ns": NINE_S * 10**9}, 498657)],
    "requests": [
        ({"arrived_at": JUST_BEFORE, "ended_at": NINE}, 498657),
        ({"arrived_at": JUST_BEFORE, "ended_at": None}, 498656),
    ],
}
TYPES = {
    "VARCHAR",
    "VARCHAR[]",
    "INTEGER[]",
    "BIGINT[]",
    "DOUBLE[]",
    "BIGINT",
    "INTEGER",
    "DOUBLE",
    "BOOLEAN",
    "TIMESTAMPTZ",
}

# docs/semantics.md#published-relations, with those of #windows for goodput.
PROMISED = {
    "attempts": """attempt_id request_key attempt_index source dialect started_at first_token_at ended_at workload
        tenant session_id model replica pool route ttft_s e2e_s queue_s prefill_s decode_s tpot_s itl_p95_s jitter_s
        input_tokens cached_input_tokens cache_write_tokens output_tokens reasoning_tokens draft_tokens
        accepted_draft_tokens preemptions recomputed_tokens outcome finish_reason error_type http_status
        reported_cost_usd""",
    "requests": """request_key arrived_at ended_at attempts retry_count model replica pool route ttft_s e2e_s tpot_s
        input_tokens output_tokens streamed outcome pass_success pass_retries pass_ttft pass_tpot pass_e2e
        pass_quality verdict cost_usd""",
    "quality_labels": """label_id subject_kind subject_id request_key evaluator score label passed labelled_at
        withdrawn""",
    "goodput": """window_start window_s workload model pool route offered arrivals succeeded failed over_budget slow
        rejected unevaluable unlabelled accepted throughput_rps goodput_rps goodput_ratio goodput_lower_rps
        goodput_upper_rps goodput_ci_low_rps goodput_ci_high_rps definition quality_coverage_ratio output_tps
        output_token_goodput_tps p50_ttft_s p95_ttft_s p99_ttft_s p50_tpot_s p95_tpot_s p99_tpot_s p50_e2e_s p95_e2e_s
        p99_e2e_s p50_queue_s p95_queue_s p99_queue_s n_ttft n_tpot n_e2e n_queue ttft_fail_ratio tpot_fail_ratio
        e2e_fail_ratio retry_ratio tpot_na binding_gate cost_usd cost_per_accepted_usd low_n partial computed_at
        revision""",
    "ops_events": "event_id kind occurred_at pool replica revision source",
    "cost_records": """cost_id basis pool replica model workload route tenant request_key session_id period_start
        period_end amount_usd source""",
    "sources": "source_id path status reason rows_read rows_kept rows_duplicate rows_quarantined rows_ignored ignored",
    "quarantine": "source_id path line position table_name rule reason",
    "cost_ledger": "attempt_id window_start bucket pool replica model usd gpu_s tokens estimated",
    "waste": "window_start window_s workload model pool route bucket usd gpu_s tokens share_ratio estimated",
    "replica_samples": "replica metric sampled_at value kind",
    "restatements": "window_start window_s workload model pool route revision restated_at",
}
KEYS = {
    "attempts": ("attempt_id",),
    "requests": ("request_key", "delivering_attempt_id"),
    "quality_labels": ("label_id",),
    "goodput": ("window_start", "window_s", "slice", "slice_value", "workload", "model", "pool", "route"),
    "ops_events": ("event_id",),
    "cost_records": ("cost_id", "dialect"),
    "token_prices": ("model", "valid_from"),
    "session_labels": ("label_id",),
    "deliveries": ("delivery_id",),
    "alarm_series": ("alarm_id", "window_start"),
    "sources": ("source_id",),
    "quarantine": ("source_id", "line", "position"),
    "serving_records": ("record_id",),
    "label_records": ("record_id",),
    "span_links": ("link_id",),
    "sample_records": ("record_id",),
    "replica_samples": ("series_id", "sampled_ns"),
    "coverage": ("window_start", "replica"),
    "cost_ledger": (
        *("window_start", "attempt_id", "bucket", "basis", "workload", "model", "pool", "route"),
        *("tenant", "replica"),
    ),
    "waste": ("window_start", "window_s", "slice", "slice_value", "workload", "model", "pool", "route", "bucket"),
    "disruptions": ("event_id",),
    "quality": ("window_start", "window_s", "workload", "model", "evaluator", "label"),
    "cache_effect": ("window_start", "window_s", "pool", "model", "cached_up_to_ratio"),
    "latest_window": ("window_start", "window_s"),
    "warnings": ("kind", "subject"),
    "watermark": ("observed_until_at",),
    "id_hours": ("id_hash", "epoch_hour"),
    "disruption_cost": ("kind", "pool"),
    "disruption_frequency": ("kind", "pool", "events_per_day"),
    "cache_by_replica": ("window_start", "window_s", "replica"),
    "replica_windows": ("window_start", "window_s", "replica"),
}


def document(table: str) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = yaml.safe_load((SCHEMAS / f"{table}.yaml").read_text())
    return loaded


def test_there_is_a_contract_for_every_table_and_for_nothing_else() -> None:
    assert contract_names() == TABLES


@pytest.mark.parametrize("table", TABLES)
def test_a_contract_has_the_shape_of_the_open_data_contract_standard(table: str) -> None:
    found = document(table)
    assert (found["apiVersion"], found["kind"], found["status"]) == ("v3.1.0", "DataContract", "active")
    assert (found["id"], found["name"]) == (f"goodput.{table}", table)
    assert found["version"].count(".") == 2
    assert found["description"]["purpose"].endswith((".", ")."))
    (schema,) = found["schema"]
    assert (schema["name"], schema["physicalType"]) == (table, "table")
    names = [column["name"] for column in schema["properties"]]
    assert len(names) == len(set(names))
    rules = [rule["name"] for rule in schema.get("quality", [])]
    assert len(rules) == len(set(rules))
    for rule in schema.get("quality", []):
        assert rule.keys() == {"name", "type", "engine", "implementation", "description"}
        assert (rule["type"], rule["engine"]) == ("custom", "goodput-row")


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_type_and_a_description(table: str) -> None:
    for column in contract(table).columns:
        assert column.duckdb_type in TYPES, column.name
        assert len(column.description) > 3, column.name
        assert not column.description.endswith("."), column.name


@pytest.mark.parametrize("table", TABLES)
def test_inherited_columns_mean_what_they_mean_where_they_come_from(table: str) -> None:
    for item in document(table)["schema"][0]["properties"]:
        if "authoritativeDefinitions" not in item:
            assert item.keys() >= {"physicalType", "description"}, item
            continue
        assert item.keys() <= {"name", "primaryKey", "authoritativeDefinitions"}, item
        ((definition),) = item["authoritativeDefinitions"]
        file, _, name = definition["url"].partition("#")
        assert (definition["type"], name) == ("column", item["name"])
        source, here = contract(file.removesuffix(".yaml"))[name], contract(table)[name]
        assert (here.duckdb_type, here.description, here.minimum, here.maximum, here.pattern, here.valid_values) == (
            *(source.duckdb_type, source.description),
            *(source.minimum, source.maximum, source.pattern, source.valid_values),
        )


@pytest.mark.parametrize("table", TABLES)
def test_times_durations_and_money_are_named_with_their_unit(table: str) -> None:
    endings = {"TIMESTAMPTZ": ("_at", "_start", "_end", "_from", "_to", "since")}
    for column in contract(table).columns:
        if column.duckdb_type in endings:
            assert column.name.endswith(endings[column.duckdb_type]), column.name
        if column.name.endswith("_at"):
            assert column.duckdb_type == "TIMESTAMPTZ", column.name
        if column.name.endswith("_ns"):
            assert column.duckdb_type == "BIGINT", column.name
        if column.name.endswith(("_usd", "_ratio", "_rps", "_tps")):
            assert column.duckdb_type == "DOUBLE", column.name
        if column.name.endswith("_s"):
            assert column.duckdb_type == ("INTEGER" if column.name == "window_s" else "DOUBLE"), column.name
        if column.name.endswith("_tokens"):
            assert column.duckdb_type == "BIGINT", column.name


@pytest.mark.parametrize("table", TABLES)
def test_every_rule_can_be_asked_of_duckdb_and_an_empty_row_breaks_only_what_is_required(table: str) -> None:
    agreed = contract(table)
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pylist([{}], schema=arrow_schema(table)))
        for rule in agreed.rules:
            ((holds,),) = connection.sql(f"SELECT {rule.holds} FROM rows").fetchall()
            assert holds is (False if rule.name.endswith("_missing") else None), rule
    assert len({rule.name for rule in agreed.rules}) == len(agreed.rules)


@pytest.mark.parametrize("table", PROMISED)
def test_the_promised_columns_are_there(table: str) -> None:
    promised = PROMISED[table].split()
    assert len(promised) == len(set(promised))
    assert set(promised) - {column.name for column in contract(table).columns} == set()


@pytest.mark.parametrize("table", KEYS)
def test_keys(table: str) -> None:
    assert contract(table).primary_key == KEYS[table]


@pytest.mark.parametrize("table", TABLES)
def test_the_arrow_schema_has_the_columns_in_order(table: str) -> None:
    schema = arrow_schema(table)
    assert schema.names == [column.name for column in contract(table).columns]
    types = {
        "VARCHAR": pa.string(),
        "VARCHAR[]": pa.list_(pa.string()),
        "INTEGER[]": pa.list_(pa.int32()),
        "BIGINT[]": pa.list_(pa.int64()),
        "DOUBLE[]": pa.list_(pa.float64()),
        "BIGINT": pa.int64(),
        "INTEGER": pa.int32(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    }
    for column in contract(table).columns:
        expected = types[column.duckdb_type]
        found = schema.field(column.name).type
        assert found == expected or (pa.types.is_list(found) and found.value_type == pa.string()), column.name


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("ttft_s", "s"),
        ("started_ns", "ns"),
        ("cost_usd", "USD"),
        ("usd", "USD"),
        ("tokens", "tokens"),
        ("input_tokens", "tokens"),
        ("goodput_ratio", "0..1"),
        ("goodput_rps", "requests/s"),
        ("output_tps", "output tokens/s"),
        ("ended_at", "UTC"),
        ("size_bytes", "bytes"),
        ("attempts", None),
        ("preemptions", None),
        ("position", None),
    ],
)
def test_units_follow_from_names(name: str, unit: str | None) -> None:
    assert Column(name, "DOUBLE", "what it is").unit == unit


def test_a_time_is_in_utc_whatever_it_is_called() -> None:
    assert Column("window_start", "TIMESTAMPTZ", "what it is").unit == "UTC"


def test_rules_that_follow_from_columns() -> None:
    rules = {rule.name: rule.holds for rule in contract("serving_records").rules}
    assert rules["record_id_missing"] == "record_id IS NOT NULL"
    assert rules["layer_invalid"] == "layer IN ('client', 'gateway', 'engine')"
    assert rules["trace_id_malformed"] == "regexp_matches(trace_id, '^[0-9a-f]{32}$')"
    assert rules["http_status_out_of_range"] == "http_status >= 0 AND http_status <= 999"
    believed = "reported_cost_usd >= 0 AND reported_cost_usd <= 1000000 AND isfinite(reported_cost_usd)"
    assert rules["reported_cost_usd_out_of_range"] == believed
    assert "tenant_missing" not in rules


def test_no_duration_and_no_amount_can_be_negative_or_endless() -> None:
    for table in ("serving_records", "attempts", "requests", "goodput"):
        for column in contract(table).columns:
            if column.name in {"cost_usd", "direct_cost_usd"} or column.name.startswith("cost_per_accepted_"):
                continue  # a window of credits and corrections may cost less than nothing
            if column.name.endswith(("_s", "_usd", "_rps", "_tps", "_tokens")):
                assert column.minimum in {0, 1}, (table, column.name)


def test_verdicts_stand_in_the_contract_in_their_order() -> None:
    verdicts = ("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled", "accepted")
    assert contract("requests")["verdict"].valid_values[:8] == verdicts
    columns = [column.name for column in contract("goodput").columns]
    places = [columns.index(verdict) for verdict in verdicts]
    assert all(second == first + 1 for first, second in pairwise(places))


def test_the_lake_stores_what_the_contracts_say_and_nothing_else() -> None:
    found: dict[str, dict[str, list[str]]] = {}
    for table in stored_tables():
        found.setdefault(contract(table).layer, {}).setdefault(contract(table).partition, []).append(table)
    by_layer = {layer: {kind: names.split() for kind, names in by_kind.items()} for layer, by_kind in STORED.items()}
    assert found == by_layer
    assert set(TABLES) - set(stored_tables()) == DERIVED


def test_each_relation_is_published_once_as_its_contract_says() -> None:
    published = {table: contract(table).published for table in stored_tables()}
    assert {table for table, how in published.items() if how == "no"} == NOT_PUBLISHED
    assert {table for table, how in published.items() if how == "inside"} == INSIDE
    assert {table for table, how in published.items() if how == "view"} == OVER_PARTS
    others = {table: how for table, how in published.items() if how not in {"no", "inside", "view", "table"}}
    assert others == {"session_labels": "quality_labels"}
    assert arrow_schema("session_labels").equals(arrow_schema("quality_labels"))


@pytest.mark.parametrize("table", TABLES)
def test_custom_properties_are_known_and_each_given_once(table: str) -> None:
    given = document(table).get("customProperties", [])
    assert all(item.keys() == {"property", "value"} for item in given)
    names = [item["property"] for item in given]
    assert len(names) == len(set(names))
    required = {"layer", "partition", "published"} if table in stored_tables() else set()
    assert required <= set(names) <= {"layer", "partition", "partitionedBy", "order", "published"}
    assert ("partitionedBy" in names) == (contract(table).partition == "hour")


@pytest.mark.parametrize("table", sorted(HOURS))
def test_a_row_is_stored_in_the_hour_in_which_it_ended_or_was_seen(table: str) -> None:
    schema = arrow_schema(table)
    for row, hour in HOURS[table]:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("given", pa.Table.from_pylist([row], schema=schema))
            assert connection.sql(f"SELECT {contract(table).partitioned_by} FROM given").fetchall() == [(hour,)]


def test_each_computed_table_is_made_by_one_node() -> None:
    """One without a node would be published without rows; the plan itself writes what is blocked."""
    made = [table for node in NODES for table in node.tables]
    computed = {table for table in stored_tables() if contract(table).layer in {"joined", "measured"}}
    assert sorted(made) == sorted(computed - {"blocked_partitions"})


@pytest.mark.parametrize("table", [t for t in stored_tables() if contract(t).layer in {"joined", "measured"}])
def test_rows_of_a_computed_part_have_one_order(table: str) -> None:
    """Equal rows then make equal bytes, by which a partition is known to be unchanged."""
    order = {name.strip() for name in contract(table).order.split(",")}
    within_a_part = {"epoch_hour"} if table != "restatements" else {"revision"}  # of one restatement: one time
    assert set(contract(table).primary_key) - within_a_part <= order
    assert order - {column.name for column in contract(table).columns} <= {"request_at"}
    assert contract(table).primary_key


def test_what_a_table_means_is_its_columns_rules_and_order_whatever_is_said_of_them() -> None:
    requests = contract("requests")
    said = replace(requests, description="x", columns=tuple(replace(c, description="x") for c in requests.columns))
    assert said.meaning == requests.meaning
    assert replace(requests, order="request_key").meaning != requests.meaning
    assert replace(requests, rules=requests.rules[1:]).meaning != requests.meaning
    assert replace(requests, columns=requests.columns[1:]).meaning != requests.meaning
    assert replace(requests, partitioned_by="0").meaning != requests.meaning
