"""Hours cut into shards: joined apart and united they are what they are joined at once, whatever links their rows.

See docs/scale.md#an-hour-that-is-cut.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnwritable
from goodput.join.nodes import JOIN, REPLICA_NAMES
from goodput.join.options import match_options
from goodput.join.shards import HOURS_IN_SHARDS, components
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import hour_label
from goodput.plumbing.lake import SHARDS, Lake
from goodput.plumbing.node import STORED, Batch, Parts
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.runner import Died, InProcess
from goodput.plumbing.sharded import in_shards, is_cut
from goodput.plumbing.sql_files import compute, connect
from goodput.plumbing.work import Broken, ComputedBatch, Done
from goodput.settings.cluster import Cluster
from goodput.settings.model import Settings
from join.messy_hours import messy_hours
from river import START_S, Row, at_ns, label, link, record

FIRST = START_S // 3600
ROWS = ("serving_records", "span_links", "label_records")
OBSERVED_NS = at_ns(86_400)
FILES = 3
Tables = Mapping[str, pa.Table]


# Batches of rows in files, and what is made of them.


def batch_of(folder: Path, rows: Tables, settings: Settings | None = None, observed_ns: int = OBSERVED_NS) -> Batch:
    """A batch of the first two hours from START_S, with these rows in some files; tables without any have none."""
    lake, chosen = Lake(folder / "lake"), settings or Settings()
    hours, around = ({hour_label(FIRST + n): "0" * 32 for n in of} for of in (range(2), range(-2, 5)))
    names = Batch(REPLICA_NAMES, lake, chosen, around, _files(folder, REPLICA_NAMES.inputs, rows), REPLICA_NAMES.inputs)
    known = {**rows, **read(names, REPLICA_NAMES.compute(names))}
    observed = {"observed": as_rows("observed", {"observed_until_ns": observed_ns})}
    return Batch(JOIN, lake, chosen, hours, _files(folder, JOIN.inputs, known), JOIN.inputs, observed)


def _files(folder: Path, tables: Iterable[str], rows: Tables) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        found[table] = {"all": []}
        if table in rows:
            for number, portion in enumerate(_apart(rows[table])):
                file = folder / f"{table}-{number}.parquet"
                pq.write_table(portion, file)
                found[table]["all"].append(str(file))
    return found


def _apart(rows: pa.Table) -> list[pa.Table]:
    """A table in some of which no two rows follow each other, as those of one request lie in several files."""
    several = (rows.take(pa.array(range(number, rows.num_rows, FILES), pa.int64())) for number in range(FILES))
    return [some for some in several if some.num_rows]


def tables_of(rows: Iterable[Row]) -> Tables:
    """The conformed tables of these rows, each told by its columns."""
    found: dict[str, list[Row]] = {table: [] for table in ROWS}
    for row in rows:
        table = "label_records" if "label_id" in row else "span_links" if "link_id" in row else "serving_records"
        found[table].append(row)
    return {table: pa.Table.from_pylist(found[table], schema=arrow_schema(table)) for table in ROWS}


def read(batch: Batch, parts: Parts) -> Tables:
    """The rows of each table of a batch, hour by hour in their order."""
    return {
        table: pa.concat_tables(pq.ParquetFile(parts[table][hour].path).read() for hour in batch.hours)
        for table in batch.node.tables
    }


def whole(batch: Batch) -> Tables:
    return read(batch, JOIN.compute(batch))


class Wide(InProcess):
    """Divides a batch that is cut into portions."""

    width = 2


def became(batch: Batch, runner: InProcess | None = None) -> Done:
    """What became of a batch that is cut."""
    ((_, done),) = in_shards([batch], runner or Wide())
    return done


def cut(batch: Batch, runner: InProcess | None = None) -> Tables:
    done = became(batch, runner)
    assert isinstance(done, ComputedBatch), done
    assert not (batch.lake.root / SHARDS).exists()
    return read(batch, done.parts)


def assert_same(made: Tables, expected: Tables) -> None:
    for table in JOIN.tables:
        assert made[table].equals(expected[table]), table


def into(batch: Batch, count: int, **steps: Any) -> Batch:
    """The batch, to be cut into so many shards, perhaps by other steps than the join's."""
    return replace(batch, node=replace(JOIN, shards=replace(HOURS_IN_SHARDS, count=lambda _: count, **steps)))


def counting(batch: Batch, found: list[int]) -> Batch:
    """The batch, which notes how many records each of its shards has."""

    def joined(shard: Batch, folder: Path) -> None:
        found.append(sum(pq.read_metadata(file).num_rows for file in shard.files("serving_records")))
        HOURS_IN_SHARDS.compute(shard, folder)

    assert batch.node.shards is not None
    return replace(batch, node=replace(JOIN, shards=replace(batch.node.shards, compute=joined)))


# Whatever rows there are.


@pytest.mark.parametrize(
    ("seed", "shards", "is_one_system", "within"),
    [(1, 2, False, ()), (2, 4, False, ()), (5, 3, False, ()), (4, 3, True, ()), (6, 3, False, ("k", "j"))],
)
def test_hours_in_shards_are_the_hours_at_once(
    tmp_path: Path, seed: int, shards: int, is_one_system: bool, within: tuple[str, ...]
) -> None:
    messy = messy_hours(Random(seed), 96, is_one_system=is_one_system)
    records = -(-messy.tables["serving_records"].num_rows // shards)
    # the settings refuse shards as small as these
    cluster = Cluster.model_construct(workers=1, ray=None, shard_records=records)
    settings = messy.settings.model_copy(update={"cluster": cluster, "match_within": within})
    batch = batch_of(tmp_path, messy.tables, settings, messy.observed_ns)
    assert is_cut(batch)
    expected = whole(batch)
    assert all(expected[table].num_rows for table in JOIN.tables)
    sizes: list[int] = []
    assert_same(cut(counting(batch, sizes)), expected)
    assert len(sizes) == shards
    assert sum(map(bool, sizes)) >= 2


def test_what_most_rows_share_is_one_shard_and_the_others_have_the_rest(tmp_path: Path) -> None:
    rows = [
        record("a", n, n + 0.5, trace=f"{n:032x}", call_id="most" if n % 5 < 3 else f"id-{n}", session_id=f"S{n % 7}")
        for n in range(100)
    ]
    batch = into(batch_of(tmp_path, tables_of(rows)), 3)
    sizes: list[int] = []
    assert_same(cut(counting(batch, sizes)), whole(batch))
    *rest, largest = sorted(sizes)
    assert (sum(sizes), len(sizes)) == (100, 3)
    assert largest >= 60
    assert all(5 <= size <= 25 for size in rest)  # 40 rows in three shards


# Rows that one link alone brings together, in traces of their own, and the same rows with other ids.

GATEWAY: Row = {"layer": "gateway", "dialect": "gateway"}
ENGINE: Row = {"layer": "engine", "dialect": "engine", "input_tokens": 5}
OUTER: Row = {"instrumentation": "framework", "input_tokens": 5}
INNER: Row = {"instrumentation": "sdk", "input_tokens": 5}
CLUSTER = "k8s.cluster.name"
WITHIN = Settings(match_within=(CLUSTER,))


@dataclass(frozen=True)
class Scene:
    """Ids and a minute of a case's own: `other` is `one` where the case's rows are to belong together."""

    number: int
    is_linked: bool

    @property
    def one(self) -> str:
        return f"{self.number:014x}01"

    @property
    def other(self) -> str:
        return self.one if self.is_linked else f"{self.number:014x}02"

    def trace(self, which: int) -> str:
        return f"{self.number:030x}{which:02x}"

    def record(self, which: int, start: float = 0.0, end: float | None = 1.0, **given: Any) -> Row:
        """The record of one of the traces."""
        told = {"trace": self.trace(which), **given}
        began = 60.0 * self.number
        return record(told.pop("span", "a"), began + start, None if end is None else began + end, **told)

    def row(self, name: str, start: float = 0.0, end: float = 1.0, **given: Any) -> Row:
        """A record without a trace."""
        told = {"trace": None, "span": None, "record_id": f"row-{self.number}-{name}", **given}
        return self.record(0, start, end, **told)


Case = tuple[list[Row], list[Row]]  # rows that lie apart from those of the second list unless something links them


def call_id(scene: Scene) -> Case:
    return [scene.record(1, call_id=scene.one)], [scene.record(2, call_id=scene.other)]


def response_id(scene: Scene) -> Case:
    """An engine's span of another trace is the gateway's try."""
    outer, inner = ({"response_id": named} for named in (scene.one, scene.other))
    return [scene.record(1, 0, 3, **GATEWAY, **outer)], [scene.record(2, 1, 3, **ENGINE, **inner)]


def request_key(scene: Scene) -> Case:
    return [scene.record(1, request_key=scene.one)], [scene.record(2, request_key=scene.other)]


def copies(scene: Scene) -> Case:
    """A row that one source has without the trace, and another with it."""
    kept, copy = (f"row-{name}" for name in (scene.one, scene.other))
    traced: Row = {"trace_id": scene.trace(1), "source_id": "s2"}
    return [scene.row("", record_id=kept)], [scene.row("", record_id=copy, **traced)]


def orphans(scene: Scene) -> Case:
    """Tries of which the parent is known, and no trace."""
    first, second = (scene.row(n, parent=p, **ENGINE) for n, p in (("1", scene.one), ("2", scene.other)))
    return [first], [second]


def parallel_choices(scene: Scene) -> Case:
    first, second = (scene.record(n, call_id=i, **ENGINE) for n, i in ((1, scene.one), (2, scene.other)))
    return [first], [second]


def halves(scene: Scene) -> Case:
    """Until the headers and from them on, outside any span: each is a trace."""
    until, after = {"model": scene.one, **_headers(scene, 0.5)}, {"model": scene.other, **_headers(scene, 0.55)}
    return [scene.record(1, 0, None, **until)], [scene.record(2, 0.55, 2, **after)]


def halves_without_a_trace(scene: Scene) -> Case:
    until, after = {"model": scene.one, **_headers(scene, 0.5)}, {"model": scene.other, **_headers(scene, 0.55)}
    return (
        [{**scene.row("1", parent="p1", **until), "ended_ns": None, "outcome": "unknown"}],
        [scene.row("2", 0.55, 2, parent="p2", **after)],
    )


def _headers(scene: Scene, after: float) -> Row:
    return {"headers_ns": at_ns(60.0 * scene.number + after), "streamed": True}


def doubles(scene: Scene) -> Case:
    """Two instrumentations of which `known_doubles` show that they write the same calls, as far apart as may be."""
    tokens = 9 if scene.is_linked else 8
    return (
        [scene.record(1, 0, 3, output_tokens=9, **OUTER)],
        [scene.record(2, 0.2, 2.8, output_tokens=tokens, **INNER)],
    )


def doubles_the_other_way(scene: Scene) -> Case:
    late = 0.1 if scene.is_linked else 0.25
    return [scene.record(1, late, 3, model="m", **INNER)], [scene.record(2, 0, 3, **OUTER)]


def refusal(scene: Scene) -> Case:
    """A gateway's span that refused, and its log of that, a moment longer."""
    span = {"covers_tries": True, "outcome": "error", "http_status": 429, **GATEWAY}
    log = {"layer": "gateway", "dialect": "log", "outcome": "error", "http_status": 429 if scene.is_linked else 503}
    return [scene.record(1, 0, 0.02, **span)], [scene.row("log", -0.005, 0.025, **log)]


# What is matched by time alone is so within one value of an attribute of the settings.


def halves_in_one_cluster(scene: Scene) -> Case:
    until, after = ({"model": f"m-{scene.number}", **_headers(scene, at)} for at in (0.5, 0.55))
    one, other = _clusters(scene)
    return [scene.record(1, 0, None, **until, **one)], [scene.record(2, 0.55, 2, **after, **other)]


def doubles_in_one_cluster(scene: Scene) -> Case:
    one, other = _clusters(scene)
    return [scene.record(1, 0, 3, **OUTER, **one)], [scene.record(2, 0.1, 2.9, **INNER, **other)]


def refusal_in_one_cluster(scene: Scene) -> Case:
    refused = {"outcome": "error", "http_status": 429}
    one, other = _clusters(scene)
    span, log = {"covers_tries": True, **GATEWAY, **refused}, {"layer": "gateway", "dialect": "log", **refused}
    return [scene.record(1, 0, 0.02, **span, **one)], [scene.row("log", 0, 0.02, **log, **other)]


def _clusters(scene: Scene) -> tuple[Row, Row]:
    """One, and the same or none: to have none is to be elsewhere."""
    one = {"attributes": f'{{"{CLUSTER}":"eu"}}'}
    return one, one if scene.is_linked else {}


def label_of_a_span(scene: Scene) -> Case:
    return [scene.record(1)], [label("span", f"{scene.trace(1 if scene.is_linked else 2)}:a")]


def label_of_a_span_without_its_trace(scene: Scene) -> Case:
    return [scene.record(1, span=scene.one)], [label("span", scene.other)]


def label_of_a_span_that_was_not_collected(scene: Scene) -> Case:
    named = scene.trace(1 if scene.is_linked else 2)
    return [scene.record(1, parent="p")], [label("span", f"{named}:p")]


def label_of_a_span_without_its_trace_that_was_not_collected(scene: Scene) -> Case:
    return [scene.record(1, parent=scene.one)], [label("span", scene.other)]


def label_of_a_row(scene: Scene) -> Case:
    return [scene.record(1, record_id=scene.one, span_id=None)], [label("span", scene.other)]


def label_of_an_attempt_that_its_source_names(scene: Scene) -> Case:
    """Such a name may look as if it began with a trace."""
    return [scene.record(1, record_id=f"{scene.one}:1")], [label("span", f"{scene.other}:1")]


def label_of_a_request(scene: Scene) -> Case:
    return [scene.record(1, request_key=scene.one)], [label("request", scene.other)]


def label_of_a_request_without_a_key(scene: Scene) -> Case:
    """It is called as its first record is."""
    return [scene.record(1, record_id=scene.one)], [label("request", scene.other)]


def label_of_a_response(scene: Scene) -> Case:
    return [scene.record(1, response_id=scene.one)], [label("response", scene.other)]


def label_with_a_response_beside_its_subject(scene: Scene) -> Case:
    named = {"response_id": scene.other, "label_id": f"label-{scene.one}"}
    return [scene.record(1, response_id=scene.one)], [label("session", "S1", **named)]


def label_of_a_trace(scene: Scene) -> Case:
    return [scene.record(1)], [label("trace", scene.trace(1 if scene.is_linked else 2))]


def label_of_a_span_that_two_traces_have(scene: Scene) -> Case:
    """It judges neither, as nobody knows which."""
    return [scene.record(1, span=scene.one), label("span", scene.one)], [scene.record(2, span=scene.other)]


def revised_label(scene: Scene) -> Case:
    """What a label's last revision names, it judges, and no longer what one before it named."""
    return _of_two_traces(scene, {"label_id": f"label-{scene.one}"}, {"label_id": f"label-{scene.other}"})


def copied_label(scene: Scene) -> Case:
    """Of copies from two sources only the first counts, whatever the second calls it."""
    first, second = {"record_id": f"judged-{scene.one}"}, {"record_id": f"judged-{scene.other}", "source_id": "l2"}
    return _of_two_traces(scene, first, second)


def _of_two_traces(scene: Scene, first: Row, second: Row) -> Case:
    return (
        [scene.record(1), label("trace", scene.trace(1), **first)],
        [scene.record(2), label("trace", scene.trace(2), at=3700.0, **second)],
    )


def span_above(scene: Scene) -> Case:
    """A span that is no record tells of those below it in its trace."""
    above = link("p", None, trace=scene.trace(1 if scene.is_linked else 2), session_id="S1")
    return [scene.record(1, parent="p")], [above]


def spans_above_what_is_linked(scene: Scene) -> Case:
    """They go where the records of their trace go."""
    first, second = (
        [scene.record(n, parent="p", call_id=call), link("p", None, trace=scene.trace(n), session_id=f"S{n}")]
        for n, call in ((1, scene.one), (2, scene.other))
    )
    return first, second


CASES: Mapping[str, Callable[[Scene], Case]] = {
    case.__name__: case
    for case in (
        call_id,
        response_id,
        request_key,
        copies,
        orphans,
        parallel_choices,
        halves,
        halves_without_a_trace,
        doubles,
        doubles_the_other_way,
        refusal,
        halves_in_one_cluster,
        doubles_in_one_cluster,
        refusal_in_one_cluster,
        label_of_a_span,
        label_of_a_span_without_its_trace,
        label_of_a_span_that_was_not_collected,
        label_of_a_span_without_its_trace_that_was_not_collected,
        label_of_a_row,
        label_of_an_attempt_that_its_source_names,
        label_of_a_request,
        label_of_a_request_without_a_key,
        label_of_a_response,
        label_with_a_response_beside_its_subject,
        label_of_a_trace,
        label_of_a_span_that_two_traces_have,
        revised_label,
        copied_label,
        span_above,
        spans_above_what_is_linked,
    )
}


def known_doubles() -> list[Row]:
    """Three calls that two instrumentations wrote with the same id: so their other records may be of one call too."""
    scene = Scene(0, is_linked=True)
    return [
        scene.record(10 * n + which, 4 * n + late, 4 * n + 3 - late, response_id=f"answer-{n}", **told)
        for n in range(3)
        for which, late, told in ((1, 0.0, OUTER), (2, 0.05, INNER))
    ]


@cache
def scenes(is_linked: bool) -> Mapping[str, Case]:
    return {name: case(Scene(n, is_linked)) for n, (name, case) in enumerate(CASES.items(), 1)}


def shards_of(rows: Iterable[Row]) -> dict[tuple[str, str], int]:
    """The shard of each row, of so many shards that no two components share one."""
    keys = {"sharded_records": "record_id", "sharded_links": "link_id", "sharded_labels": "record_id"}
    with connect() as connection:
        for table, held in tables_of(rows).items():
            connection.register(table, held)
        register(connection, "match_options", match_options(WITHIN))
        for name in (*closure(("emitter_facts",), STORED), *closure(("shard_links",), STORED)):
            compute(connection, name)
        links = connection.sql("SELECT place, id FROM shard_links").to_arrow_table()
        register(connection, "shard_components", components(links))
        register(connection, "shard_count", pa.table({"shards": pa.array([2**31 - 1], pa.uint64())}))
        for name in keys:
            compute(connection, name)
        found = " UNION ALL ".join(f"SELECT {key}, source_id, shard FROM {name}" for name, key in keys.items())
        return {(key, source_id): shard for key, source_id, shard in connection.sql(found).fetchall()}


def places(rows: Iterable[Row], found: Mapping[tuple[str, str], int]) -> set[int]:
    """The shards in which rows lie."""
    return {found[row.get("record_id") or row["link_id"], row["source_id"]] for row in rows}


@cache
def placed(is_linked: bool) -> Mapping[tuple[str, str], int]:
    """The shard of each row of all cases."""
    cases = scenes(is_linked).values()
    return shards_of([*known_doubles(), *(row for case in cases for side in case for row in side)])


@pytest.mark.parametrize("name", CASES)
def test_rows_that_one_link_joins_are_in_one_shard(name: str) -> None:
    first, second = scenes(True)[name]
    assert len(places([*first, *second], placed(True))) == 1


@pytest.mark.parametrize("name", CASES)
def test_the_same_rows_with_other_ids_are_in_two(name: str) -> None:
    first, second = (places(side, placed(False)) for side in scenes(False)[name])
    assert (len(first), len(second)) == (1, 1)
    assert first != second


@pytest.mark.parametrize("is_linked", [True, False])
def test_joined_apart_rows_are_something_else_only_where_a_link_joins_them(tmp_path: Path, is_linked: bool) -> None:
    cases = scenes(is_linked)
    sides = [[row for case in cases.values() for row in case[side]] for side in (0, 1)]
    together, *apart = (
        joined(tmp_path / name, [*known_doubles(), *rows])
        for name, rows in (("together", sides[0] + sides[1]), ("first", sides[0]), ("second", sides[1]))
    )
    changed = {name for name, case in cases.items() if of_case(case, together) != of_case(case, apart[0] + apart[1])}
    assert changed == (set(CASES) if is_linked else set())


def joined(folder: Path, rows: Iterable[Row]) -> list[Row]:
    """Attempts and labels of rows that are joined at once."""
    folder.mkdir()
    made = whole(batch_of(folder, tables_of(rows), WITHIN))
    return [row for table in ("attempts", "quality_labels") for row in made[table].to_pylist()]


def of_case(case: Case, rows: Iterable[Row]) -> list[str]:
    """What became of a case's rows, in any order."""
    ids = {row.get("label_id") or row.get("record_id") for side in case for row in side}
    return sorted(str(row) for row in rows if (row.get("label_id") or row["attempt_id"]) in ids)


# What is alike in all but its trace and is not one another's.

ALIKE: Mapping[str, tuple[Row, Row]] = {
    "one session, replica and time": (
        {"session_id": "S1", "tenant": "t", "model": "m", "route": "r", "address": "h:1", **INNER},
        {"session_id": "S1", "tenant": "t", "model": "m", "route": "r", "address": "h:1", **INNER},
    ),
    "one engine": ({"pool": "p", "replica": "r1", **ENGINE}, {"pool": "p", "replica": "r1", **ENGINE}),
    "instrumentations of which nothing is known": (OUTER, INNER),
    "refused alike": (
        {"covers_tries": True, "http_status": 429, "outcome": "error", **GATEWAY},
        {"covers_tries": True, "http_status": 429, "outcome": "error", **GATEWAY},
    ),
    "headers below a parent": (
        {"headers_ns": at_ns(0.5), "parent": "p", "model": "m"},
        {"headers_ns": at_ns(0.5), "parent": "p", "model": "m"},
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_rows_that_are_only_alike_are_not_linked(name: str) -> None:
    rows = [record("a", trace=f"{n:032x}", **given) for n, given in enumerate(ALIKE[name], 1)]
    assert len(places(rows, shards_of(rows))) == 2


# Components by themselves.


def links_of(pairs: Iterable[tuple[int, int]]) -> pa.Table:
    place, other = ([pair[end] for pair in pairs] for end in (0, 1))
    return pa.table({"place": pa.array(place, pa.uint64()), "id": pa.array(other, pa.uint64())})


def least_of_each(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Each end with the least of those that it is linked to, by whatever way."""
    lower: dict[int, int] = {}

    def least(end: int) -> int:
        while lower.setdefault(end, end) != end:
            end = lower[end]
        return end

    for first, second in pairs:
        ends = sorted((least(first), least(second)))
        lower[ends[1]] = ends[0]
    return {end: least(end) for end in lower}


def random_pairs(chance: Random, ends: int, count: int) -> list[tuple[int, int]]:
    known = [chance.getrandbits(64) for _ in range(ends - 2)] + [0, 2**64 - 1]
    return [(chance.choice(known), chance.choice(known)) for _ in range(count)]


def chain(chance: Random, length: int) -> list[tuple[int, int]]:
    ends = sorted((chance.getrandbits(64) for _ in range(length)), key=lambda _: chance.random())
    pairs = list(pairwise(ends))
    return chance.sample(pairs, len(pairs))


@pytest.mark.parametrize(
    "pairs",
    [
        *(random_pairs(Random(seed), 1000, count) for seed, count in ((1, 300), (2, 500), (3, 2000))),
        chain(Random(4), 3000),
        [(2**63 + 1, 2**63 - 1), (2**64 - 1, 2**63 + 1), (5, 2**63), (7, 7)],
    ],
    ids=["few", "some", "many", "chain", "beyond 2**63"],
)
def test_components_have_the_least_place_that_each_is_linked_to(pairs: Sequence[tuple[int, int]]) -> None:
    found = components(links_of(pairs)).to_pydict()
    assert dict(zip(found["place"], found["component"], strict=True)) == least_of_each(pairs)
    assert len(found["place"]) == len(set(found["place"]))


def test_no_links_have_no_components() -> None:
    assert components(links_of([])).num_rows == 0


# Few rows, and steps that fail.


def few(without: str | None = None) -> Tables:
    """Three requests: a label of one, and a span above another."""
    rows = tables_of(
        [
            *(record("a", n, n + 1, trace=f"{n:032x}", parent="p") for n in (1, 2, 3)),
            label("trace", f"{1:032x}"),
            link("p", None, trace=f"{2:032x}", session_id="S1"),
        ]
    )
    return {table: held for table, held in rows.items() if table != without}


def test_a_batch_is_cut_where_it_has_more_records_than_a_shard_may_have(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, few())
    counts = [None, 1, 2, 3, 4]
    settings = [
        batch.settings.model_copy(update={"cluster": Cluster.model_construct(workers=1, ray=None, shard_records=most)})
        for most in counts
    ]
    assert [HOURS_IN_SHARDS.count(replace(batch, settings=chosen)) for chosen in settings] == [1, 3, 2, 1, 1]


@pytest.mark.parametrize("without", [None, *ROWS])
def test_shards_may_lack_rows_of_a_table_or_any(tmp_path: Path, without: str | None) -> None:
    sizes: list[int] = []
    batch = into(batch_of(tmp_path, few(without)), 4)
    assert_same(cut(counting(batch, sizes)), whole(batch))
    assert len(sizes) == 4
    assert 0 in sizes


class Dying(InProcess):
    """Whoever works on one of the things that are given out, counted from 1, dies of it."""

    def __init__(self, of: int) -> None:
        self._left = of

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            self._left -= 1
            yield item, work(item) if self._left else Died("killed")


class Twice(InProcess):
    """Works on all twice, as where a worker dies once it is done."""

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            work(item)
            yield item, work(item)


def failing(error: Exception) -> Callable[[Batch, Path], None]:
    """A step that joins all shards but the second."""

    def joined(shard: Batch, folder: Path) -> None:
        if folder.name.endswith("1"):
            raise error
        HOURS_IN_SHARDS.compute(shard, folder)

    return joined


def test_a_shard_that_breaks_breaks_its_batch(tmp_path: Path) -> None:
    batch = into(batch_of(tmp_path, few()), 2, compute=failing(ValueError("no such row")))
    done = became(batch)
    assert isinstance(done, Broken)
    assert done.reason == "ValueError: no such row"
    assert "in joined" in done.traceback
    assert not (batch.lake.root / SHARDS).exists()


def test_a_batch_that_breaks_breaks_no_other(tmp_path: Path) -> None:
    batches = []
    for name in ("bad", "good", "last"):
        (tmp_path / name).mkdir()
        steps = {"compute": failing(ValueError("no such row"))} if name == "bad" else {}
        batches.append(into(batch_of(tmp_path / name, few()), 2, **steps))

    found = list(in_shards(batches, Wide()))
    assert [batches.index(batch) for batch, _ in found] == [0, 1, 2]
    assert isinstance(found[0][1], Broken)
    for batch, done in found[1:]:
        assert isinstance(done, ComputedBatch)
        assert_same(read(batch, done.parts), whole(batch))


@pytest.mark.parametrize("widths", [(2, 1), (1, 3), (4, 1)])
def test_a_cluster_that_grows_or_shrinks_leaves_no_batch_out(tmp_path: Path, widths: tuple[int, int]) -> None:
    """A node is lost, or another joins, while the first batches are at work: each batch is computed once."""
    batches = []
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).mkdir()
        batches.append(into(batch_of(tmp_path / name, few()), 2))

    class Changing(InProcess):
        width = widths[0]

        def map(self, work: Any, items: Any) -> Iterator[Any]:
            yield from super().map(work, items)
            self.width = widths[1]

    found = list(in_shards(batches, Changing()))
    assert [batches.index(batch) for batch, _ in found] == [0, 1, 2, 3]


def test_a_lake_that_cannot_be_written_is_no_fault_of_the_batch(tmp_path: Path) -> None:
    error = LakeUnwritable(tmp_path, OSError("disk full"))
    batch = into(batch_of(tmp_path, few()), 2, compute=failing(error))
    with pytest.raises(LakeUnwritable):
        became(batch)
    assert not (batch.lake.root / SHARDS).exists()


@pytest.mark.parametrize(("of", "step"), [(1, "divide"), (2, "cut"), (4, "the second of two shards"), (5, "unite")])
def test_who_dies_of_a_step_breaks_the_batch(tmp_path: Path, of: int, step: str) -> None:
    batch = into(batch_of(tmp_path, few()), 2)
    done = became(batch, Dying(of))
    assert isinstance(done, Broken), step
    assert done.reason == "killed"
    assert not (batch.lake.root / SHARDS).exists()


def test_steps_that_are_done_again_make_the_same(tmp_path: Path) -> None:
    batch = into(batch_of(tmp_path, few()), 2)
    assert_same(cut(batch, Twice()), whole(batch))


def test_what_a_run_before_left_counts_for_nothing(tmp_path: Path) -> None:
    batch = into(batch_of(tmp_path, few()), 2)
    for left in (
        "cut-0/apart/serving_records/shard=0/left.parquet",
        "made-0/attempts.parquet",
        "made-9/attempts.parquet",
    ):
        file = batch.lake.root / SHARDS / batch.node.name / "0" / left
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"half a file")
    assert_same(cut(batch), whole(batch))
