"""Cells as text to the contract's columns: by mapping, else by what the path gives, else by constants.

Only renaming, typing and saying what a label judges belong here; what follows from columns is conform's work.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from goodput.collect.kept import attributes_json
from goodput.collect.received import LandedFile, RefusedRow, found
from goodput.collect.row_id import row_ids
from goodput.collect.tabular.block import EXCERPT_CHARACTERS, TextBlock
from goodput.collect.tabular.copies import RepeatedRows
from goodput.collect.tabular.cost_periods import REASON, RULE, are_instants
from goodput.collect.tabular.units import duration_s, expected, plain, time_ns
from goodput.contracts import arrow_schema
from goodput.errors import SourceRefused
from goodput.settings.columns import RECORDS_OF, mappable_columns
from goodput.settings.sources import MappedColumn, TableSource

_LOWER_CASE = ("outcome", "layer", "trace_id", "span_id", "parent_span_id", "kind", "basis")
# Of these tables two equal rows without such an id are two facts. A judgement or an event that is there twice is one.
_IDS = {
    "attempts": ("attempt_id", "request_key", "response_id", "call_id", "span_id"),
    "cost_records": ("cost_id",),
}
_SUBJECTS = ("span", "response", "request", "trace", "session")  # a row that names several judges the first


class CanonicalTable:
    """How one file's rows become rows of serving_records, label_records, event_records or cost_lines.

    Raises SourceRefused where a constant, or what the path gives, is no value of its column.
    """

    def __init__(self, file: LandedFile, source: TableSource, kept: Sequence[str] = ()) -> None:
        if not source.canonical:
            raise SourceRefused(file.path, "its source maps no column")
        self.name = RECORDS_OF[source.table]
        self._file = file
        self._source = source
        self._kinds = mappable_columns(source.table)
        self._types = pl.Schema(arrow_schema(self.name))
        self._fixed = self._fixed_values()
        self._kept = kept
        self._copies = RepeatedRows()

    def frame(self, block: TextBlock) -> tuple[pl.DataFrame, list[RefusedRow]]:
        """Rows of the contract without `source_id`, and the rows that hold an unreadable cell."""
        mapped = self._source.canonical
        block = self._without_nulls(block)
        values = block.cells.select(
            self._read(pl.col(column.column), name, column, block.units).alias(name) for name, column in mapped.items()
        )
        unreadable = pl.DataFrame(
            (block.cells[column.column].is_not_null() & values[name].is_null()).alias(name)
            for name, column in mapped.items()
        )
        bad = unreadable.select(pl.any_horizontal(pl.all())).to_series()
        rows = self._with_fixed(values).with_columns(
            line=block.line,
            position=pl.lit(0, pl.Int32),
            dialect=pl.lit(self._file.reader),
            record_id=self._record_ids(block, values),
        )
        if self.name == RECORDS_OF["attempts"]:
            rows = rows.with_columns(attributes=self._attributes(block))
        shaped = self._as_contract(_COMPLETE[self._source.table](rows))
        refused = self._refused(block, unreadable, bad) if bad.any() else []
        instant = are_instants(rows) & ~bad
        if instant.any():
            wrong = zip(block.line.filter(instant), block.received.filter(instant), strict=True)
            refused += [RefusedRow(line, 0, self.name, RULE, REASON, _excerpt(text)) for line, text in wrong]
        return (shaped.filter(~bad & ~instant) if refused else shaped), refused

    def _without_nulls(self, block: TextBlock) -> TextBlock:
        """The block with no value in cells whose text stands for none."""
        if not self._source.nulls:
            return block
        cells = block.cells.with_columns(pl.when(~pl.all().is_in(self._source.nulls)).then(pl.all()))
        return replace(block, cells=cells)

    def _attributes(self, block: TextBlock) -> pl.Series:
        """By the settings' names for them: columns, else what the path gives; kept columns by their own names."""
        found = {name: pl.col(name) for name in self._kept if name in block.cells.columns}
        found |= {name: pl.lit(text) for name, text in self._file.captures.items() if name not in self._kinds}
        for name, column in self._source.attributes.items():
            found[name] = pl.coalesce(pl.col(column), found[name]) if name in found else pl.col(column)
        return block.cells.with_columns(attributes_json(found).alias("attributes"))["attributes"]

    def _record_ids(self, block: TextBlock, values: pl.DataFrame) -> pl.Series:
        """Hash of what the row says, mapped or not, and of what the path adds; equal ones without id numbered."""
        shared = json.dumps([self._file.captures, block.emitted_names], sort_keys=True)
        digest = hashlib.blake2b(shared.encode(), digest_size=16).hexdigest()
        ids = row_ids(block.emitted.with_columns(shared=pl.lit(digest)))
        if self._source.table not in _IDS:
            return ids
        given = [pl.col(name).is_not_null() for name in _IDS[self._source.table] if name in values.columns]
        identified = values.select(pl.any_horizontal(given)).to_series() if given else None
        return self._copies.numbered(ids, identified)

    def _read(self, text: pl.Expr, name: str, mapped: MappedColumn, units: dict[str, str]) -> pl.Expr:
        unit = units.get(mapped.column, mapped.unit)
        if unit is not None and self._kinds[name] == "time":
            return time_ns(text, unit, mapped.tz) + mapped.plus_s * 10**9
        if unit is not None and self._kinds[name] == "duration":
            return duration_s(text, unit)
        return plain(text.str.to_lowercase() if name in _LOWER_CASE else text, self._type(name))

    def _type(self, name: str) -> pl.DataType:
        return self._types.get(name, pl.String())  # ids that the contract knows by another name

    def _fixed_values(self) -> dict[str, pl.Series]:
        given = {
            name: json.dumps(value) if isinstance(value, bool) else str(value)
            for name, value in self._source.constants.items()
        }
        given |= {name: value for name, value in self._file.captures.items() if name in self._kinds}
        values = {name: self._fixed_value(name, text) for name, text in given.items() if text}
        wrong = [
            f"{name} = {given[name]!r} is no {self._kinds[name]} value"
            for name, value in values.items()
            if value.is_null().any()
        ]
        if wrong:
            raise SourceRefused(self._file.path, f"its path or the constants of its source: {'; '.join(wrong)}")
        return values

    def _fixed_value(self, name: str, text: str) -> pl.Series:
        """A path or constant declares no unit: durations are in seconds, times ISO 8601 or Unix seconds."""
        units = {"time": ("iso8601", "epoch_s"), "duration": ("s",), "plain": (None,)}[self._kinds[name]]
        read = [self._read(pl.lit(text), name, MappedColumn(column=name, unit=unit), {}) for unit in units]
        return pl.select(pl.coalesce(read).alias(name)).to_series()

    def _with_fixed(self, values: pl.DataFrame) -> pl.DataFrame:
        fixed = {name: pl.lit(value[0], value.dtype) for name, value in self._fixed.items()}
        return values.with_columns(
            (pl.coalesce(name, value) if name in values.columns else value).alias(name) for name, value in fixed.items()
        )

    def _refused(self, block: TextBlock, unreadable: pl.DataFrame, bad: pl.Series) -> list[RefusedRow]:
        rows = zip(
            block.line.filter(bad),
            block.received.filter(bad),
            block.cells.filter(bad).iter_rows(named=True),
            unreadable.filter(bad).iter_rows(named=True),
            strict=True,
        )
        return [self._refused_row(line, received, cells, wrong) for line, received, cells, wrong in rows]

    def _refused_row(self, line: int, received: str, cells: dict[str, str], wrong: dict[str, bool]) -> RefusedRow:
        names = [name for name, is_wrong in wrong.items() if is_wrong]
        reasons = []
        for name in names:
            mapped = self._source.canonical[name]
            wanted = expected(self._kinds[name], mapped, self._type(name))
            reasons.append(f"{mapped.column} = {found(cells[mapped.column])} is not {wanted}")
        return RefusedRow(line, 0, self.name, f"{names[0]}_unreadable", "; ".join(reasons), _excerpt(received))

    def _as_contract(self, rows: pl.DataFrame) -> pl.DataFrame:
        renamed = rows.rename({name: f"{name.removesuffix('_at')}_ns" for name in rows.columns if self._is_time(name)})
        return renamed.select(
            pl.col(name).cast(dtype) for name, dtype in self._types.items() if name in renamed.columns
        )

    def _is_time(self, name: str) -> bool:
        return self._kinds.get(name) == "time"


def _excerpt(received: str) -> str:
    return received[:EXCERPT_CHARACTERS].rstrip("\r\n")


def _attempts(rows: pl.DataFrame) -> pl.DataFrame:
    layer = pl.col("layer").fill_null("gateway") if "layer" in rows.columns else pl.lit("gateway")
    return rows.with_columns(layer=layer, record_id=_first_of(rows, "attempt_id", "record_id"))


def _labels(rows: pl.DataFrame) -> pl.DataFrame:
    """What a label judges: of the ids that a row gives, the one that says most exactly which answer."""
    ids = ("trace_id", "span_id", "response_id", "request_key", "session_id")
    absent = [name for name in ("label_id", "withdrawn", *ids) if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    named = {
        "span": pl.concat_str("trace_id", "span_id", separator=":"),
        "response": pl.col("response_id"),
        "request": pl.col("request_key"),
        "trace": pl.col("trace_id"),
        "session": pl.col("session_id"),
    }
    kinds = [pl.when(named[kind].is_not_null()).then(pl.lit(kind)) for kind in _SUBJECTS]
    kind = pl.coalesce(kinds)
    return rows.with_columns(
        subject_kind=kind,
        subject_id=pl.coalesce(named[kind] for kind in _SUBJECTS),
        response_id=pl.when(kind == "span").then("response_id"),
        label_id=pl.coalesce("label_id", "record_id"),
        withdrawn=pl.col("withdrawn").cast(pl.Boolean).fill_null(value=False),
    )


def _events(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(event_id=_first_of(rows, "event_id", "record_id"))


def _costs(rows: pl.DataFrame) -> pl.DataFrame:
    basis = pl.col("basis").fill_null("overhead") if "basis" in rows.columns else pl.lit("overhead")
    return rows.with_columns(basis=basis, cost_id=_first_of(rows, "cost_id", "record_id"))


def _first_of(rows: pl.DataFrame, *names: str) -> pl.Expr:
    return pl.coalesce(name for name in names if name in rows.columns)


_COMPLETE: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "attempts": _attempts,
    "quality_labels": _labels,
    "ops_events": _events,
    "cost_records": _costs,
}
