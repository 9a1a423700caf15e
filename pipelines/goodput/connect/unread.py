"""What no dialect reads, by name: spans, log events, metrics, and the keys of JSON objects. Values only as hashes."""

import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import msgspec
import polars as pl

from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.dialects.registry import MARKS_TRY
from goodput.collect.otlp.every_attribute import EVERY
from goodput.collect.otlp.records import SCOPE_VERSION
from goodput.collect.otlp.sniff import read_head
from goodput.collect.series import RESOURCE, VERSION_KEY
from goodput.collect.unread import CALLS, NAME_CHARACTERS, OPERATIONS, ROUTES, looks_like_call, span_name
from goodput.settings.dialects import path_of

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_GROUPS = 200  # span names and scopes that are listed separately
_ATTRIBUTES = 200  # of one group
_VALUES = 1000  # distinct ones counted of one attribute
_SPANS = 300_000  # whose places in their traces are kept
_OBJECTS = 1000
_DEPTH = 4  # keys above a map that is looked into
_CALL_WORDS = r"^(gen_ai|llm|ai|langfuse|openinference|traceloop|mlflow)\."
_HTTP_WORDS = r"^(http|url|rpc)\.|^uri$"
_ORIGIN = {"line": pl.Int64, "position": pl.Int32, "scope": pl.String, "version": pl.String}
_PLACE = ("trace_id", "span_id", "parent_span_id")


@dataclass
class Attribute:
    """One attribute's name: how many rows have it, in which types, and hashes of its values (at most _VALUES)."""

    name: str
    rows: int = 0
    types: Counter[str] = field(default_factory=Counter)
    values: set[str] = field(default_factory=set)


@dataclass
class SpanGroup:
    """Spans of one scope and name that no dialect reads; `looks` and `beside` say what they seem to be."""

    scope: str
    name: str
    kind: str
    spans: int = 0
    looks: int = 0  # like a call of a model
    http: int = 0  # a client or server of HTTP or RPC
    attributes: dict[str, Attribute] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """Whether the names of the spans go on."""
        return len(self.name) >= NAME_CHARACTERS


class Onlooker:
    """Looks on while OTLP is read (`collect.witness`), and keeps names and counts within bounds.

    `attribute_names` are those of all attributes of spans that a dialect reads, by dialect and scope.
    """

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str, str], SpanGroup] = {}
        self.events: Counter[str] = Counter()
        self.metric_names: set[str] = set()
        self.attribute_names: dict[tuple[str, str], Counter[str]] = {}
        self.object_keys: dict[str, Attribute] = {}
        self.objects_unread = 0
        self._key = secrets.token_bytes(16)  # so that nobody finds a value by hashing guesses
        self._origins: list[pl.DataFrame] = []
        self._read_places: list[pl.DataFrame] = []
        self._unread_places: list[pl.DataFrame] = []
        self._placed = 0

    def spans(self, dialect: str | None, rows: pl.DataFrame) -> None:
        """See `collect.witness`."""
        if not rows.height:
            return
        version = RESOURCE + VERSION_KEY
        named = rows.with_columns(scope=pl.col("scope_name").fill_null(""), sort=span_name())
        if dialect is not None:
            origin = named.select(
                *("line", "position", "scope"), version=pl.coalesce(SCOPE_VERSION, version).cast(pl.String)
            )
            self._origins.append(origin)
            self._remember(self._read_places, named)
            self._note(dialect, named)
        else:
            apart = ~MARKS_TRY.fill_null(value=False)  # the others are counted with the record above them
            self._unread(named.with_columns(looks=looks_like_call(rows)).filter(apart))

    def logs(self, dialect: str | None, rows: pl.DataFrame) -> None:
        """See `collect.witness`."""
        if dialect is None:
            names = rows.select(pl.col("event_name").fill_null("(no event name)")).to_series()
            for name, count in names.value_counts().iter_rows():
                self.events[name if len(self.events) < _GROUPS else "others"] += count

    def metrics(self, names: Iterable[str]) -> None:
        """See `collect.witness`."""
        self.metric_names |= set(names)

    @property
    def unknown_metrics(self) -> list[str]:
        """Names of metrics that no dialect knows, each once."""
        return sorted(self.metric_names)

    def take_origins(self) -> pl.DataFrame:
        """Line, position, scope and version of the spans that were read since the last call."""
        found = pl.concat(self._origins) if self._origins else pl.DataFrame(schema=_ORIGIN)
        self._origins = []
        return found

    def objects(self, path: Path) -> None:
        """Keep the keys of the first JSON objects of a file of which nothing is read."""
        for line in read_head(path).content.split(b"\n")[:_OBJECTS]:
            try:
                found = msgspec.json.decode(line, type=dict[str, object])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            self.objects_unread += 1
            for name, value in _leaves(found):
                self._count(self.object_keys, name, _json_type(value), str(value))

    def calls(self) -> list[tuple[SpanGroup, str]]:
        """Groups of spans that look like calls, the most frequent first, each with what is known of its place."""
        found = [(group, self._beside(group)) for group in self.groups.values() if group.looks or group.http]
        return sorted(found, key=lambda item: (bool(item[1]), -item[0].looks, -item[0].spans, item[0].name))

    @property
    def others(self) -> int:
        """Spans that are not read and do not look like calls."""
        return sum(group.spans for group in self.groups.values() if not (group.looks or group.http))

    def _remember(self, places: list[pl.DataFrame], rows: pl.DataFrame) -> None:
        if self._placed < _SPANS:
            self._placed += rows.height
            places.append(rows.select(*_PLACE, "scope", "sort"))

    def _note(self, dialect: str, rows: pl.DataFrame) -> None:
        each = rows.select("scope", key=pl.col(EVERY).list.eval(pl.element().struct.field("key"))).explode("key")
        for scope, key, count in each.drop_nulls("key").group_by("scope", "key").len().iter_rows():
            names = self.attribute_names.setdefault((dialect, scope), Counter())
            if key in names or len(names) < _ATTRIBUTES:
                names[key] += count

    def _unread(self, rows: pl.DataFrame) -> None:
        self._remember(self._unread_places, rows)
        keys = pl.col(EVERY).list.eval(pl.element().struct.field("key"))
        judged = rows.with_columns(
            looks=pl.col("looks") | ((_any(keys, _CALL_WORDS) | _asks()) & ~_is_another(rows)),
            http=pl.col("kind").is_in([2, 3]) & _any(keys, _HTTP_WORDS),
        )
        for (scope, name), some in judged.group_by("scope", "sort", maintain_order=True):
            kind = KINDS[int(some["kind"][0])] if 0 <= int(some["kind"][0]) < len(KINDS) else KINDS[0]
            group = self._group(str(scope), str(name), kind)
            group.spans += some.height
            group.looks += int(some["looks"].sum())
            group.http += int((some["http"] & ~some["looks"]).sum())
            if group.looks or group.http:
                self._attributes(group, some)

    def _group(self, scope: str, name: str, kind: str) -> SpanGroup:
        known = (scope, name, kind)
        if known not in self.groups and len(self.groups) >= _GROUPS:
            known = ("", "others", "")
        return self.groups.setdefault(known, SpanGroup(*known))

    def _attributes(self, group: SpanGroup, rows: pl.DataFrame) -> None:
        each = rows.select(pl.col(EVERY).explode()).drop_nulls().unnest(EVERY)
        for key, kind, text, count in each.group_by("key", "type", "text", maintain_order=True).len().iter_rows():
            self._count(group.attributes, key, kind, text, count)

    def _count(self, attributes: dict[str, Attribute], name: str, kind: str, text: str | None, rows: int = 1) -> None:
        if name not in attributes and len(attributes) >= _ATTRIBUTES:
            return
        found = attributes.setdefault(name, Attribute(name))
        found.rows += rows
        found.types[kind] += rows
        if text is not None and len(found.values) < _VALUES:
            found.values.add(blake2b(text.encode(), digest_size=4, key=self._key).hexdigest())

    def _beside(self, group: SpanGroup) -> str:
        """Whether most spans of a group are around or inside spans that are read."""
        if not self._read_places or not self._unread_places:
            return ""
        mine = pl.concat(self._unread_places).filter((pl.col("scope") == group.scope) & (pl.col("sort") == group.name))
        read = pl.concat(self._read_places)
        inside = mine.join(read, left_on=["trace_id", "parent_span_id"], right_on=["trace_id", "span_id"], how="semi")
        around = mine.join(read, left_on=["trace_id", "span_id"], right_on=["trace_id", "parent_span_id"], how="semi")
        if 2 * inside.height > mine.height:
            return "inside calls that are read"
        return "around calls that are read" if 2 * around.height > mine.height else ""


def _any(keys: pl.Expr, pattern: str) -> pl.Expr:
    return keys.list.eval(pl.element().str.contains(pattern)).list.any().fill_null(value=False)


def _asks() -> pl.Expr:
    """Whether an attribute is the route of a request that asks a model to generate."""
    names, texts = (pl.element().struct.field(part) for part in ("key", "text"))
    routes = names.is_in(list(ROUTES)) & asks_to_generate(texts, pl.lit(None, pl.String))
    return pl.col(EVERY).list.eval(routes).list.any().fill_null(value=False)


def _is_another(rows: pl.DataFrame) -> pl.Series:
    """Whether spans state that they are something else: agents, tools, chains, embeddings, stores."""
    names, texts = (pl.element().struct.field(part) for part in ("key", "text"))
    another = pl.col(EVERY).list.eval(names.is_in(list(OPERATIONS)) & ~texts.str.contains(CALLS))
    return rows.select(another.list.any().fill_null(value=False).alias("another")).to_series()


def _leaves(found: dict[str, object], *above: str) -> Iterable[tuple[str, object]]:
    """Values by the paths under which `[dialects]` may map them."""
    for key, value in found.items():
        if isinstance(value, dict) and len(above) < _DEPTH:
            yield from _leaves(value, *above, key)
        else:
            yield path_of((*above, key)), value


def _json_type(value: object) -> str:
    kinds = {str: "text", bool: "boolean", int: "integer", float: "number", list: "list", dict: "map"}
    return kinds.get(type(value), "empty")
