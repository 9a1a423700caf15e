"""Makes serving, label and sample records and span links of OTLP, by the dialect that each row speaks.

Decoding is `otlp`'s work and what a dialect means is the dialect's.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

import polars as pl
import pyarrow as pa

from goodput.collect.declared import resource_keys, span_dialects
from goodput.collect.dialect import Dialect, Ignore
from goodput.collect.dialects import genai
from goodput.collect.dialects.registry import LOG_DIALECTS, MARKS_TRY
from goodput.collect.kept import attributes_json
from goodput.collect.leave_out import configured
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpBlock, OtlpDecoder
from goodput.collect.otlp.events import WantedEvents
from goodput.collect.otlp.framing import Framed
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.records import LOG_COLUMNS, SPAN_COLUMNS
from goodput.collect.received import Received, RefusedRow
from goodput.collect.samples import take_samples
from goodput.collect.series import VERSION_KEY, histogram_names, is_left_out, metric_names
from goodput.collect.together import Together
from goodput.collect.unread import UnreadCalls
from goodput.collect.witness import Witness
from goodput.settings.model import Attributes, Settings

OF_THE_PROCESS = (
    "replica",
    "pool",
)  # stated of an engine by its resource; a caller's resource states it of the caller
_RESOURCE = "resource."  # in front of a name in the settings: of the resource, whatever the span says
_ANYWHERE = ("request_key", "tenant", "session_id", "route")


class OtlpRecords:
    """What blocks of OTLP hold, in canonical words, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self.span_dialects = span_dialects(settings)
        self._settings = settings
        self._attributes = settings.attributes
        self._kept = settings.kept_attributes
        self._leave_out = settings.leave_out
        named = [name for values in settings.attributes.model_dump().values() for name in values]
        named += self._kept
        named += sorted({name for rule in settings.leave_out.values() for name in rule.attributes})
        strings = [Wanted(name, "string") for name in named if not _is_column(name)]
        of_spans = [w for dialect in self.span_dialects for w in dialect.wanted]
        of_logs = [w for dialect in LOG_DIALECTS for w in dialect.wanted]
        of_logs += [
            Wanted(name, "string") for name in named if not name.startswith(_RESOURCE) and name not in LOG_COLUMNS
        ]
        of_resource = [Wanted(name.removeprefix(_RESOURCE), "string") for name in [*named, VERSION_KEY]]
        of_resource += resource_keys((*LOG_DIALECTS, *self.span_dialects))
        self._wanted = {
            "span_keys": _distinct([w for w in of_spans if not w.key.startswith(_RESOURCE)] + strings),
            "resource_keys": _distinct(of_resource),
            "log_keys": _distinct([w for w in of_logs if not w.key.startswith(_RESOURCE)]),
        }
        self._wanted_events = WantedEvents(
            [name for dialect in self.span_dialects for name in dialect.first_token_events],
            [value for dialect in self.span_dialects for value in dialect.event_values],
        )
        self._limits = Limits(settings.limits.max_line_bytes, settings.limits.max_decompressed_bytes)
        self.decoder = self.decoder_of(every=False)

    def decoder_of(self, *, every: bool) -> OtlpDecoder:
        """Decodes what dialects and settings want, or `every` attribute of spans and name of a metric."""
        return OtlpDecoder(
            **self._wanted,
            wanted_events=self._wanted_events,
            metric_names=metric_names(),
            histogram_names=histogram_names(),
            limits=self._limits,
            every=every,
        )

    def received(self, block: OtlpBlock, unread: UnreadCalls, witness: Witness | None = None) -> Received:
        """The rows of a block of a file; a `witness` sees what is in it."""
        received = Received()
        self._take_all(received, block, unread, witness)
        return received

    def received_together(self, files: Sequence[Framed]) -> Together:
        """The rows of several files of one block each."""
        received = Together(len(files))
        for block in self.decoder.decode_together(files):
            self._take_all(received, block, UnreadCalls(), None)
        received.settle()
        return received

    def _take_all(self, received: Received, block: OtlpBlock, unread: UnreadCalls, witness: Witness | None) -> None:
        _account(received, block, witness)
        if block.spans is not None:
            shares, rest = self._take(received, block.spans, self.span_dialects, witness.spans if witness else None)
            others = rest.with_columns(marks_try=MARKS_TRY)
            unread.count(received, others, [mine for _, mine in shares])
            tries = [mine.with_columns(marks_try=pl.lit(value=True)) for dialect, mine in shares if dialect.marks_try]
            if rest.height or tries:
                received.add("span_links", _links(pl.concat([others, *tries]), self._attributes.session_id))
        if block.logs is not None:
            _, rest = self._take(received, block.logs, LOG_DIALECTS, witness.logs if witness else None)
            received.ignore("log_is_no_label", rest["line"])
        if block.points is not None:
            readings = _readable(received, pl.DataFrame(block.points), "sample_records")
            take_samples(received, readings.drop("unreadable"), self._settings, "otlp")

    def _take(
        self,
        received: Received,
        rows: pa.Table,
        dialects: tuple[Dialect, ...],
        show: Callable[[str | None, pl.DataFrame], None] | None,
    ) -> tuple[list[tuple[Dialect, pl.DataFrame]], pl.DataFrame]:
        """Add the rows that dialects speak; the rows of each, and those that none does."""
        frame = _frame(rows)
        received.read(frame["line"])
        shares, rest = _split(frame, dialects)
        if show:
            for name, some in [*((dialect.name, mine) for dialect, mine in shares), (None, rest)]:
                show(name, some)
        for dialect, mine in shares:
            readable = _readable(received, mine, dialect.table)
            readable = dialect.kept(readable, received.ignore, self._ignored(readable))
            if readable.height:
                self._add(received, dialect, readable)
        return shares, rest

    def _ignored(self, rows: pl.DataFrame) -> tuple[Ignore, ...]:
        return configured(self._leave_out, lambda name: _first_text([name, f"{_RESOURCE}{name}"], rows))

    def _add(self, received: Received, dialect: Dialect, rows: pl.DataFrame) -> None:
        columns: dict[str, pl.Expr] = {field.canonical: field.value() for field in dialect.fields}
        if dialect.table == "serving_records":
            for canonical, value in _configured(self._attributes, rows, of_the_process=dialect.from_engine).items():
                columns[canonical] = pl.coalesce(value, columns[canonical]) if canonical in columns else value
            if dialect.from_engine and "model" in columns:
                columns["model"] = pl.coalesce(columns["model"], _first_text(list(self._attributes.model), rows))
            if "start_ns" in rows.columns:  # of a log record its dialect says what it is and when it began
                columns["instrumentation"] = pl.col("scope_name")
                columns["record_id"] = pl.concat_str("trace_id", "span_id", separator=":")
                columns["started_ns"] = pl.col("start_ns")
            columns["attributes"] = _kept_attributes(self._kept, rows)
        # All at once: an attribute may be called as a canonical column is.
        received.add(dialect.table, dialect.finish(rows.with_columns(dialect=pl.lit(dialect.name), **columns)))


def _account(received: Received, block: OtlpBlock, witness: Witness | None) -> None:
    """Count what of a block is no row, and set aside what cannot be read."""
    for bad in block.bad_lines:
        rule = "line_unreadable" if bad.position is None else "record_unreadable"
        received.refused.append(RefusedRow(bad.line, bad.position or 0, None, rule, bad.reason, bad.excerpt))
    received.read(pl.Series([bad.line for bad in block.bad_lines], dtype=pl.Int64))
    if block.point_counts is not None:
        for _, own, counts in received.by_file(pl.DataFrame(block.point_counts)):
            own.rows_read += int(counts["points"].sum())
            own.ignore("part_of_reading", int(counts["folded"].sum()))
    if block.unread_metrics is not None:
        unread = pl.DataFrame(block.unread_metrics)
        for _, own, mine in received.by_file(unread):
            names = mine.group_by("name").agg(pl.col("readings").sum())
            own.leave_out_metrics(names.with_columns(left_out=is_left_out(pl.col("name"))))
        if witness:
            witness.metrics(unread.filter(~is_left_out(pl.col("name")))["name"].unique(maintain_order=True))


def _frame(rows: pa.Table) -> pl.DataFrame:
    """The rows as a frame in which a column without any value, as most are, is a constant that costs nothing."""
    silent, present = [], []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if column.null_count == len(rows):
            silent.append(_nothing(field.name, field.type))
        else:
            present.append(field.name)
    return pl.DataFrame(rows.select(present)).with_columns(silent)


@cache
def _nothing(name: str, kind: pa.DataType) -> pl.Expr:
    return pl.lit(None, pl.Series(pa.nulls(0, kind)).dtype).alias(name)


def _split(
    rows: pl.DataFrame, dialects: tuple[Dialect, ...]
) -> tuple[list[tuple[Dialect, pl.DataFrame]], pl.DataFrame]:
    """The rows by the first dialect that matches each, and those that none matches."""
    speaks = rows.select(_spoken(dialects)).to_series()
    numbers = speaks.unique().sort().to_list()
    shares = {number: rows if len(numbers) == 1 else rows.filter(speaks == number) for number in numbers}
    rest = shares.pop(len(dialects), rows.clear())
    return [(dialects[number], share) for number, share in shares.items()], rest


@lru_cache(maxsize=8)  # made for each file anew it takes a tenth of the time of a small one
def _spoken(dialects: tuple[Dialect, ...]) -> pl.Expr:
    """The number of the first dialect that matches a row, that of all of them where none does."""
    first = pl.coalesce(pl.when(d.matches).then(pl.lit(number, pl.Int16)) for number, d in enumerate(dialects))
    return first.fill_null(len(dialects)).alias("speaks")


def _readable(received: Received, rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """The rows without those in which something that is wanted cannot be read: they are refused."""
    if rows["unreadable"].null_count() == rows.height:
        return rows
    unreadable = rows.filter(pl.col("unreadable").is_not_null())
    for line, position, key in unreadable.select("line", "position", "unreadable").iter_rows():
        reason = f"attribute {key} cannot be read as its type"
        received.refused.append(RefusedRow(line, position, table, "attribute_unreadable", reason, None))
    return rows.filter(pl.col("unreadable").is_null())


def _configured(attributes: Attributes, rows: pl.DataFrame, *, of_the_process: bool) -> dict[str, pl.Expr]:
    """What configured attributes say, the span before its resource."""
    found: dict[str, pl.Expr] = {}
    for canonical in (*_ANYWHERE, *OF_THE_PROCESS):
        names: tuple[str, ...] = getattr(attributes, canonical)
        from_resource = of_the_process or canonical in _ANYWHERE
        sources = [*names, *(f"{_RESOURCE}{name}" for name in names if from_resource)]
        found[canonical] = _first_text(sources, rows)
    if of_the_process:
        found["replica_names"] = _all_names(attributes.replica, rows)
    return found


def _all_names(names: tuple[str, ...], rows: pl.DataFrame) -> pl.Expr:
    """Every name of the process with a space between two; NULL where there is but one."""
    known = [_first_text([name, f"{_RESOURCE}{name}"], rows) for name in names]
    together = pl.concat_str(*known, separator=" ", ignore_nulls=True)
    return pl.when(together.str.contains(" ", literal=True)).then(together)


def _kept_attributes(names: Iterable[str], rows: pl.DataFrame) -> pl.Expr:
    """JSON object of the attributes that the settings name, the span before its resource; NULL where it has none."""
    return attributes_json({name: _first_text([name, f"{_RESOURCE}{name}"], rows) for name in names})


def _first_text(names: list[str], rows: pl.DataFrame) -> pl.Expr:
    """The first of some columns that says something, as text; the members of a list with commas between them."""
    texts = []
    held = set(rows.columns)
    for name in names:
        if name in held:
            listed = isinstance(rows.get_column(name).dtype, pl.List)
            texts.append(pl.col(name).list.join(",") if listed else pl.col(name).cast(pl.String))
    return pl.coalesce(*texts, pl.lit(None, pl.String))


def _links(rows: pl.DataFrame, session_names: tuple[str, ...]) -> pl.DataFrame:
    failed = pl.col("status_code") == genai.ERROR
    # a root links nothing, but what is below it may belong to its session, or have failed with it
    tells = pl.any_horizontal(pl.col("parent_span_id", "session_id", "error_type").is_not_null())
    linked = rows.lazy().select(
        *("line", "position", "trace_id", "span_id", "parent_span_id", "marks_try"),
        session_id=_first_text([*session_names], rows),
        outcome=genai.gave_up(failed),
        error_type=pl.when(failed).then(pl.coalesce("error.type", "exception_type", pl.lit("_OTHER"))),
        link_id=pl.concat_str("trace_id", "span_id", separator=":"),
        ended_ns="end_ns",
    )
    return linked.filter(pl.all_horizontal(pl.col("link_id", "ended_ns").is_not_null()) & tells).collect()


def _is_column(name: str) -> bool:
    """Whether settings call a field of the span, or an attribute of its resource, by this name."""
    return name in SPAN_COLUMNS or name.startswith(_RESOURCE)


def _distinct(wanted: list[Wanted]) -> list[Wanted]:
    """Each key once, read as the first dialect that wants it reads it."""
    return list({item.key: item for item in reversed(wanted)}.values())
