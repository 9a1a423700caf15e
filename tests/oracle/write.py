"""A fleet as landing files and goodput.toml, the rows in any number of files."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from oracle.fleet import ATTRIBUTES, Fleet, Row, S
from oracle.scrape import otlp

RECORDS = (
    *("attempt_id", "layer", "instrumentation", "trace_id", "span_id", "parent_span_id", "request_key", "response_id"),
    *("tenant", "session_id", "model", "replica", "pool", "route", "streamed", "input_tokens", "cached_input_tokens"),
    *("output_tokens", "draft_tokens", "accepted_draft_tokens", "preemptions", "recomputed_tokens", "outcome"),
    *(
        "cache_write_tokens",
        "reasoning_tokens",
        "finish_reason",
        "error_type",
        "reported_attempts",
        "reported_cost_usd",
    ),
)
LABELS = (
    *("label_id", "trace_id", "span_id", "response_id", "request_key", "session_id", "evaluator", "passed", "score"),
    *("label", "withdrawn"),
)
BILLS = (
    *("cost_id", "basis", "pool", "replica", "model", "amount_usd", "workload", "route", "tenant", "request_key"),
    "session_id",
)
EVENTS = ("event_id", "kind", "occurrences", "subject", "pool", "replica", "revision", "detail")
SOURCES = {
    "records": ("attempts", RECORDS, ("started_at", "ended_at", "first_token_at", "intended_at")),
    "labels": ("quality_labels", LABELS, ("labelled_at", "revised_at")),
    "events": ("ops_events", EVENTS, ("occurred_at", "revised_at")),
    "bills": ("cost_records", BILLS, ("period_start", "period_end")),
}
DURATIONS = ("queue_s", "prefill_s", "decode_s", "itl_p95_s", "jitter_s")


def write(fleet: Fleet, folder: Path, *, shuffle: Random | None = None) -> Path:
    """Write everything below `folder`; returns the path of goodput.toml."""
    settings(fleet, folder)
    for name, text in files(fleet, shuffle).items():
        path = folder / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "goodput.toml"


def settings(fleet: Fleet, folder: Path) -> None:
    """Write goodput.toml with the fleet's settings and the sources of its rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "landing").mkdir(exist_ok=True)
    chosen = {**fleet.settings, "landing": ["landing"], "lake": "lake", "alarms": {"enabled": False}}
    chosen["sources"] = {name: _source(name, rows) for name, rows in _rows(fleet).items() if rows}
    (folder / "goodput.toml").write_text(toml(chosen))


def files(fleet: Fleet, shuffle: Random | None = None) -> dict[str, str]:
    """Text by name: each kind in one file, or in a random number of them in random order."""
    found = {}
    for kind, rows in (("records", fleet.records), ("labels", fleet.labels), ("events", fleet.events)):
        for n, part in enumerate(_parts(rows, shuffle)):
            found[f"{kind}/{n}.jsonl"] = "".join(json.dumps(row) + "\n" for row in part)
    if fleet.readings:
        found["metrics.jsonl"] = "".join(otlp(reading) for reading in fleet.readings)
    if fleet.prices:
        found["prices/model_prices_and_context_window.json"] = json.dumps(_price_list(fleet.prices))
    for n, bill in enumerate(fleet.bills):
        found[f"bills/{n}.jsonl"] = "".join(json.dumps(row) + "\n" for row in bill)
    found |= {path: _focus(lines) for path, lines in fleet.exports.items()}
    return found


def _focus(lines: list[Row]) -> str:
    """Lines of a bill as FOCUS has them in CSV."""
    text = io.StringIO()
    charges = [_charge(line) for line in lines]
    writer = csv.DictWriter(text, list(charges[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(charges)
    return text.getvalue()


def _charge(line: Row) -> Row:
    used = {name: line[name] for name in ("replica", "pool", "model", "tenant") if line.get(name)}
    tags = used | ({"cost-center": line["workload"]} if line.get("workload") else {})
    return {
        "BillingAccountId": line["account"],
        "SubAccountId": line["sub_account"],
        "BillingPeriodStart": _iso(line["billed_from"]),
        "ChargePeriodStart": _iso(line["period_start"]),
        "ChargePeriodEnd": _iso(line["period_end"]),
        "EffectiveCost": str(line["amount"]),
        "BillingCurrency": line["currency"],
        "ServiceName": line["service"],
        "ChargeCategory": line["category"],
        "Tags": json.dumps(tags),
    }


def _iso(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // S, UTC):%Y-%m-%dT%H:%M:%S}.{ns % S:09d}Z"


def _parts(rows: list[Row], shuffle: Random | None) -> list[list[Row]]:
    if shuffle is None:
        return [rows] if rows else []
    rows = shuffle.sample(rows, len(rows))
    count = shuffle.randint(1, 4)
    return [part for n in range(count) if (part := rows[n::count])]


def _price_list(prices: dict[str, dict[str, str]]) -> Row:
    """Token prices as LiteLLM writes them."""
    names = {
        "input": "input_cost_per_token",
        "cached": "cache_read_input_token_cost",
        "output": "output_cost_per_token",
        "cache_write": "cache_creation_input_token_cost",
        "reasoning": "output_cost_per_reasoning_token",
        "above_1k": "input_cost_per_token_above_1k_tokens",
    }
    said = {"litellm_provider": "openai", "mode": "chat"}
    return {model: said | {names[kind]: float(usd) for kind, usd in of.items()} for model, of in prices.items()}


def _rows(fleet: Fleet) -> dict[str, list[Row]]:
    bills = [row for bill in fleet.bills for row in bill]
    return {"records": fleet.records, "labels": fleet.labels, "events": fleet.events, "bills": bills}


def _source(name: str, rows: list[Row]) -> Row:
    table, plain, times = SOURCES[name]
    used = {column for row in rows for column in row}
    columns: Row = {column: column for column in plain if column in used}
    columns |= {column: {"column": column, "unit": "epoch_ns"} for column in times}
    if name == "records":
        columns |= {column: {"column": column, "unit": "s"} for column in DURATIONS}
        columns |= {f"attributes.{column}": column for column in ATTRIBUTES if column in used}
    return {"format": "jsonl", "path": f"{name}/*.jsonl", "table": table, "columns": columns}


def toml(table: Row, path: str = "") -> str:
    """A table of settings as TOML."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    nested = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"[{path}]"] if path else []
    lines += [f"{json.dumps(key)} = {_value(value)}" for key, value in plain.items() if value is not None]
    text = "\n".join(lines) + "\n"
    return text + "".join(
        toml(value, f"{path}.{json.dumps(key)}" if path else json.dumps(key)) for key, value in nested.items()
    )


def _value(value: Any) -> str:
    return json.dumps(value)
