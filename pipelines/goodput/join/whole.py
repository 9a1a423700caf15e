"""Tables that are small enough to be made whole: ops events, costs, prices, labels of sessions.

Which of them have to be made again, and making them; the arithmetic is SQL, and tables by the hour are not here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cached_property

import duckdb
import pyarrow as pa

from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.ledger import LedgerEntry
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file
from goodput.settings.model import Settings

CELL = "all"


@dataclass(frozen=True)
class Whole:
    """One such table: the conformed rows and settings that it is made from, its relations in order, its row order."""

    records: str
    relations: tuple[str, ...]
    order: str
    rules: str | None = None  # relation of what the settings say
    dated: bool = False  # whether the paths of its sources matter


TABLES = {
    "ops_events": Whole("event_records", ("ops_events",), "occurred_at, event_id", "event_subjects"),
    "cost_records": Whole(
        *("cost_lines", ("source_exports", "billed_lines", "allocated_lines", "cost_records"), "period_start, cost_id"),
        *("cost_rules", True),
    ),
    "token_prices": Whole("price_lines", ("source_exports", "token_prices"), "model, valid_from", "price_rules", True),
    "session_labels": Whole("label_records", ("session_labels",), "label_id"),
}


@dataclass(frozen=True)
class WholeInputs:
    """Everything that the tables are made from, as it lies in the lake now."""

    lake: Lake
    settings: Settings
    ledger: Mapping[str, LedgerEntry]

    def stale(self) -> dict[str, str]:
        """Tables that were not made from what lies in the lake now, with the fingerprint of what does."""
        due = {table: self._fingerprint(table) for table in TABLES}
        return {t: inputs for t, inputs in due.items() if inputs_of(self.lake.part("joined", t, CELL)) != inputs}

    def make(self, tables: Mapping[str, str]) -> dict[str, int]:
        """Write the candidates of `tables` (table -> fingerprint of its inputs); rows by table."""
        with connect() as connection:
            for name, rows in self._rules.items():
                register(connection, name, rows)
            return {table: self._make(connection, table, inputs) for table, inputs in tables.items()}

    def _make(self, connection: duckdb.DuckDBPyConnection, table: str, inputs: str) -> int:
        whole = TABLES[table]
        read_parts(connection, whole.records, self._files(whole.records), arrow_schema(whole.records))
        register(connection, "source_files", self._source_files(self._sources(whole.records)))
        for relation in whole.relations:
            compute(connection, relation)
        columns = ", ".join(f'"{column.name}"' for column in contract(table).columns)
        select = f'SELECT {columns} FROM "{table}" ORDER BY {whole.order}'  # noqa: S608  (identifiers of the contract)
        rows = connection.sql(select).to_arrow_table().cast(arrow_schema(table))
        write_parquet(self.lake.part("candidate", table, CELL), rows, inputs=inputs)
        return int(rows.num_rows)

    def _fingerprint(self, table: str) -> str:
        whole = TABLES[table]
        sources = self._sources(whole.records)
        paths = [self.ledger[source].path for source in sources] if whole.dated else []
        rules = self._rules[whole.rules].to_pylist() if whole.rules else []
        texts = [sql_file(name).text for name in ("macros", *whole.relations)]
        return fingerprint(texts, str(contract(table)), rules, sources, paths)

    def _files(self, records: str) -> list[str]:
        found = [path for paths in self.lake.parts("conformed", records).values() for path in paths]
        return sorted(str(path) for path in found if path.stem in self.ledger)

    def _sources(self, records: str) -> list[str]:
        found = {path.stem for paths in self.lake.parts("conformed", records).values() for path in paths}
        return sorted(found & self.ledger.keys())

    def _source_files(self, sources: Iterable[str]) -> pa.Table:
        entries = [self.ledger[source] for source in sources]
        rows = [{"source_id": e.source_id, "path": e.path, "content_hash": e.content_hash} for e in entries]
        return pa.Table.from_pylist(rows, schema=PARAMETERS["source_files"].schema)

    @cached_property
    def _rules(self) -> dict[str, pa.Table]:
        return rule_tables(self.settings)


def rule_tables(settings: Settings) -> dict[str, pa.Table]:
    """What the settings say of events, costs and prices, as relations that SQL joins."""
    events, costs, begin = settings.events, settings.costs, settings.prices.valid_from
    subjects = [
        {"subject": subject, "pool": events.pools.get(subject), "replica": events.replicas.get(subject)}
        for subject in sorted({*events.pools, *events.replicas})
    ]
    tags = {name: list(getattr(costs, name)) for name in ("pool_tags", "replica_tags", "model_tags")}
    chosen = {name: list(getattr(costs, name)) or None for name in ("services", "sub_accounts")}
    valid_from = begin and datetime.combine(begin, time(), UTC)
    return {
        "event_subjects": pa.Table.from_pylist(subjects, schema=PARAMETERS["event_subjects"].schema),
        "cost_rules": pa.Table.from_pylist([{**tags, **chosen}], schema=PARAMETERS["cost_rules"].schema),
        "price_rules": pa.Table.from_pylist([{"valid_from": valid_from}], schema=PARAMETERS["price_rules"].schema),
    }
