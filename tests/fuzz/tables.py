"""Fuzzed tables that the settings declare: requests, labels, bills and events, as CSV, JSON lines and Parquet."""

import csv
import io
import json
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.files import Fuzzed
from fuzz.hostile import TIMES_NS, anything, as_json, like, text
from fuzz.seeds import DEMO_NS, HOUR_NS, HOURS, SHIFT_NS
from goodput.settings.columns import mappable_columns

FORMATS = ("csv", "jsonl", "parquet")
TABLES = {"records": "attempts", "labels": "quality_labels", "bills": "cost_records", "events": "ops_events"}
_PLAIN: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("amount_usd", "billed_usd"): (0, 1.25, 12, -3, 1e300, -1e300, 1e11, 1e9, 5e-324),
    ("input_tokens", "output_tokens", "draft_tokens"): (500, 1000, 10**9),
    ("http_status", "reported_attempts", "preemptions", "occurrences"): (0, 1, 64, 200),
    ("score", "gpu_s", "tokens", "reported_cost_usd"): (0.0, 0.5, 1.0, 1e308, -1e308, 1e-308),
    ("passed", "withdrawn", "streamed", "covers_tries", "needs_parent"): (False, True),
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "layer": ("client", "gateway", "engine", "sidecar"),
    "outcome": ("ok", "error", "timeout", "cancelled", "unknown", "fine"),
    "basis": ("billing", "allocation", "rate_card", "token_price", "overhead", "gift"),
    "kind": ("deployment", "scale_out", "restart", "salt_rotation", "incident", "party"),
    "currency": ("USD", "EUR", "usd", "XXX", "€", ""),
    "charge_category": ("Usage", "Purchase", "Tax", "Credit", "Adjustment", "Bribe"),
    "evaluator": ("helpfulness", "groundedness", "judge", ""),
    "label": ("pass", "fail", "maybe"),
    "pool": ("chat", "rag", "elsewhere"),
    "replica": ("vllm-chat-0", "fuzz-0", "fuzz-1"),
    "model": ("llama-3.1-8b", "gpt", "m"),
}


def declarations() -> dict[str, Any]:
    """The sources of the settings: each table in each format, with every column that can be mapped."""
    return {
        f"{name}_{form}": {
            "format": form,
            "path": f"fuzz/{name}/*.{form}",
            "table": table,
            "columns": {column: _mapped(column, kind) for column, kind in mappable_columns(table).items()},
        }
        for name, table in TABLES.items()
        for form in FORMATS
    }


def _mapped(column: str, kind: str) -> Any:
    units = {"time": "epoch_ns", "duration": "s"}
    return {"column": column, "unit": units[kind]} if kind in units else column


def table_file(chance: Random, name: str, form: str, inputs: int, number: int) -> Fuzzed:
    """A file of rows of which most have one or two cells at an edge."""
    rows = [_row(chance, TABLES[name]) for _ in range(inputs)]
    for row in rows:
        if chance.random() < 0.6:
            for key in chance.sample(list(row), min(len(row), chance.choice((1, 1, 2, 5)))):
                row[key] = like(chance, key, row[key]) if chance.random() < 0.7 else anything(chance)
    content, is_exact = _WRITERS[form](chance, rows)
    path = f"fuzz/{name}/{number}.{form}".encode()
    return Fuzzed(path, content, f"{name} ({form})", inputs, inputs if is_exact else None)


def _row(chance: Random, table: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    begins = DEMO_NS + SHIFT_NS + chance.randrange(HOURS * HOUR_NS)
    for column, kind in mappable_columns(table).items():
        needed = column.startswith(("started", "labelled", "occurred", "period", "amount")) or column in _CHOICES
        if not needed and chance.random() < 0.7:
            continue
        if kind == "time":
            row[column] = _instant(chance, column, begins)
        elif kind == "duration":
            row[column] = chance.choice((0, 0.1, 0.5, 2.5))
        elif column in _CHOICES:
            row[column] = chance.choice(_CHOICES[column][:-1] if chance.random() < 0.98 else _CHOICES[column])
        else:
            row[column] = _plain(chance, column)
    return row


def _instant(chance: Random, column: str, begins: int) -> int:
    if chance.random() < 0.02:
        return chance.choice(TIMES_NS)
    later = {"ended_at": 3, "first_token_at": 1, "revised_at": 60, "period_end": 3600}.get(column, 0)
    return begins + later * 10**9


def _plain(chance: Random, column: str) -> Any:
    for columns, values in _PLAIN.items():
        if column in columns:
            return chance.choice(values)
    if column.endswith("tokens"):
        return chance.choice((0, 1, 64, 200))
    if column.endswith(("trace_id", "span_id")):
        return f"{chance.randrange(5000) + 1:0{32 if column.endswith('trace_id') else 16}x}"
    if column.endswith(("_id", "_key")):
        return f"{column}-{chance.randrange(3000)}"
    return chance.choice(("a", "b", text(chance)))


def _csv(chance: Random, rows: list[dict[str, Any]]) -> tuple[bytes, bool]:
    names = sorted({key for row in rows for key in row})
    written = io.StringIO()
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(written, quoting=quoting, lineterminator=chance.choice(("\n", "\r\n")))
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    content = written.getvalue().encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        for _ in range(5):
            at = chance.randrange(len(content))
            content = content[:at] + chance.choice((b'"', b"\x00", b"\xff", b"\r", b",,,,", b"\n")) + content[at:]
    return content, False  # a cell may hold the end of a line


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else json.dumps(value) if isinstance(value, dict | list) else str(value)


def _json_lines(chance: Random, rows: list[dict[str, Any]]) -> tuple[bytes, bool]:
    lines = [as_json(chance, row) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"), True


def _parquet(chance: Random, rows: list[dict[str, Any]]) -> tuple[bytes, bool]:
    """Of a column of many types its most frequent one; at times one that no such column has."""
    columns = {}
    texts = chance.choice([pa.string()] * 9 + [pa.large_string()] * 2 + [pa.binary()])
    for name in sorted({key for row in rows for key in row}):
        values = [row.get(name) for row in rows]
        kind = chance.choice([type(value) for value in values if value is not None] or [str])
        columns[name] = _array(chance, kind, values, texts)
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue(), True


def _array(chance: Random, kind: type, values: list[Any], as_text: pa.DataType) -> pa.Array:
    if kind is float or kind is bool:
        return pa.array([value if type(value) is kind else None for value in values])
    if kind is int:
        numbers = [value if type(value) is int and -(2**63) <= value < 2**63 else None for value in values]
        types = (*[pa.int64()] * 20, pa.timestamp("ns"), pa.duration("ns"), pa.decimal128(38, 0))
        return pa.array(numbers, pa.int64()).cast(chance.choice(types), safe=False)
    texts = [None if value is None else _cell(value).encode("utf-8", "replace").decode() for value in values]
    return pa.array(texts, pa.string()).cast(as_text)


_WRITERS = {"csv": _csv, "jsonl": _json_lines, "parquet": _parquet}
