"""Spans that no dialect reads and that look like calls of a model: never ignored without their name.

A look, not a reading: it is judged by what is decoded anyway, and what is beside calls that are read is none.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.received import Received

RULE = "span_looks_like_call"
OTHERWISE = "span_is_no_request"
_VOCABULARIES = ("gen_ai.", "llm.", "langfuse.observation.", "ai.model.", "ai.usage.", "traceloop.")
_FACTS = ("usage", "token", "model")
# Attributes that say what a span is of, and the values that mean a call of a generating model.
OPERATIONS = (
    *("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type"),
    "ai.operationId",
)
CALLS = r"(?i)^(chat|text_completion|completion|generate_content|generation|llm)$|\.do(Generate|Stream)$"
ROUTES = ("url.path", "http.route", "http.target", "http.path", "url.full", "http.url", "uri")
_METHODS = ("http.request.method", "http.method", "method")
_SHOWING = frozenset((*ROUTES, *_METHODS, *OPERATIONS))
_PLACE = ("trace_id", "span_id", "parent_span_id")
_NAMES_OF_A_FILE = 20
NAME_CHARACTERS = 60


class UnreadCalls:
    """Counts them for each file by name, in few names; of the others only how many there are."""

    def __init__(self) -> None:
        self._names: dict[int, set[str]] = {}

    def count(self, received: Received, rest: pl.DataFrame, read: Iterable[pl.DataFrame]) -> None:
        """Count the spans of `rest`, which no dialect reads; `read` are those of the same block that some does.

        What `marks_try` says to be counted as a try is recognised by that.
        """
        if rest.is_empty():
            return
        looks = looks_like_call(rest)
        if not looks.any():
            received.ignore(OTHERWISE, rest["line"])
            return
        looks &= ~rest["marks_try"].fill_null(value=False)
        place = (received.file, *_PLACE)
        known = [frame.select(place) for frame in read]
        calls = _apart(rest.select("line", "position", "name", *place).filter(looks), known)
        for file, own, mine in received.by_file(calls):
            names = mine.select(span_name().alias("name")).group_by("name", maintain_order=True).len()
            for name, count in names.iter_rows():
                own.ignore(f"{RULE}:{self._counted_as(file, name)}", count)
        others = rest.join(calls, on=["line", "position"], how="anti") if calls.height else rest
        received.ignore(OTHERWISE, others["line"])

    def _counted_as(self, file: int, name: str) -> str:
        names = self._names.setdefault(file, set())
        if len(names) < _NAMES_OF_A_FILE:
            names.add(name)
        return name if name in names else "others"


def looks_like_call(rows: pl.DataFrame) -> pl.Series:
    """Whether each span has facts of a call to a model, or asks for one by HTTP, and does not state another."""
    showing = (name for name in rows.columns if name in _SHOWING or _is_fact(name))
    there = [name for name in showing if rows[name].null_count() < rows.height]
    facts = [pl.col(name).is_not_null() for name in there if _is_fact(name)]
    if not facts and not any(name in ROUTES for name in there):
        return pl.repeat(value=False, n=rows.height, eager=True)
    text = {name: pl.col(name).cast(pl.String) for name in (*ROUTES, *_METHODS, *OPERATIONS) if name in there}
    method = pl.coalesce(*(text[name] for name in _METHODS if name in text), pl.lit(None, pl.String))
    asks = [asks_to_generate(text[name], method).fill_null(value=False) for name in ROUTES if name in text]
    another = [~text[name].str.contains(CALLS).fill_null(value=True) for name in OPERATIONS if name in text]
    either = pl.any_horizontal(*facts, *asks) if facts or asks else pl.lit(value=False)
    holds = either & ~pl.any_horizontal(*another) if another else either
    return rows.select(pl.first().alias("row"), holds.alias("holds"))["holds"]  # a constant has a value for each row


def span_name() -> pl.Expr:
    """The span's name as a person sorts by it: without ids and numbers, which make each one another, and not long."""
    bare = pl.col("name").str.replace_all(r"[0-9a-fA-F]{8}[0-9a-fA-F-]*|[0-9]+", "*").str.replace_all(r"[^ -~]", "?")
    return bare.str.slice(0, NAME_CHARACTERS).fill_null("(no name)")


def _is_fact(name: str) -> bool:
    return name.startswith(_VOCABULARIES) and any(word in name for word in _FACTS)


def _apart(calls: pl.DataFrame, read: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Those that are neither around a span of their file that is read nor inside one."""
    if not calls.height or not read:
        return calls
    known, inner, outer = pl.concat(read), ["file", "trace_id", "span_id"], ["file", "trace_id", "parent_span_id"]
    inside = calls.join(known, left_on=outer, right_on=inner, how="anti")
    return inside.join(known, left_on=inner, right_on=outer, how="anti")
