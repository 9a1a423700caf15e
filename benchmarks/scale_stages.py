"""What each stage of a run costs for a request, as measured: what `benchmarks.scale_model` reckons with.

`python -m benchmarks.scale_stages` measures every figure anew and prints it beside the one that stands here, in some
minutes: three hours of requests of two spans, the engine's of `whole_run` below one of a gateway, at two sizes; a line
through both is what a request and what a task costs. What is assumed of traffic, machines and prices is not here.
"""

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import orjson

from benchmarks.child import run
from benchmarks.whole_run import REPLICAS, SETTINGS, SPANS_PER_LINE, line_of, span_of
from goodput.nodes import NODES
from goodput.plumbing.assembly import assemble
from goodput.plumbing.catalog import Part
from goodput.plumbing.hours import HOUR_NS, day_of, hour_label
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.work import ComputedBatch, work
from goodput.plumbing.workspace import Workspace
from goodput.run import run as run_all
from goodput.runners.worker import bound
from goodput.steps import ingest_sources


@dataclass(frozen=True)
class Stage:
    """Nodes of the plan that follow each other, and whose partitions are tasks of workers.

    `core_s` and `memory_bytes` are what a request of the hour, or of the day so far, takes on one core; `task_core_s`
    and `task_bytes` what any task does; `stored_bytes` a request in the parts that it writes, `tables` of them for each
    partition. New rows of an hour make due the hours from `before` it to `after` it, as the plan's lookaround has it.
    """

    name: str
    nodes: tuple[str, ...]
    tables: int
    core_s: float
    task_core_s: float
    memory_bytes: float
    task_bytes: float
    stored_bytes: float
    before: int = 0
    after: int = 0
    is_of_day: bool = False
    of: Literal["all", "small", "large"] = "all"  # days: large ones have more requests than are held at once
    is_by_hour: bool = False  # a task for each hour of a day
    is_cut: bool = False  # by keys, where hours are cut into shards
    cuts: bool = False  # only of hours that are cut
    is_in_portions: bool = False  # a task for each worker that is free, or each file
    most_bytes: float = math.inf  # of memory, however many requests there are


_WINDOWS = ("waste", "quality", "windows", "replicas")
# Means of three times that this module was run, on two cores whose speed differs by half from day to day.
# tables; core seconds a request, a task; bytes of memory a request, a task; bytes stored a request
JOIN = Stage("join", ("replica_names", "join"), 7, 155e-6, 0.4, 31_000, 0.40e9, 313, before=2, after=2, is_cut=True)
# They spill: their memory is bounded by a worker's. Measured by benchmarks.growth, over two records a request; those of
# the hours beside an hour are linked and cut as well.
LINKS = Stage("links of the join", (), 0, 3e-6, 1.0, 0, 1.5e9, 0, before=2, after=2, cuts=True)
CUT = replace(LINKS, name="cut of the join", core_s=12e-6, is_in_portions=True)
UNITE = Stage("union of the join", (), 0, 13e-6, 1.0, 0, 1.5e9, 0, before=2, after=2, cuts=True)
SEEN = Stage("replicas seen", ("coverage", "known_replicas"), 2, 0.9e-6, 0.1, 30, 0.31e9, 0, before=2, after=1)
LEDGER = Stage("ledger", ("cost_ledger",), 3, 6.2e-6, 0.3, 1_840, 0.35e9, 64, before=2, after=1, is_cut=True)
# A shard takes 3.5 us of these; its union writes what it would. Both took less than 1 GB over three million attempts.
LEDGER_CUT = Stage("cut of the ledger", (), 0, 3.0e-6, 0.6, 0, 1.0e9, 0, before=2, after=1, cuts=True)
LEDGER_UNITE = Stage("union of the ledger", (), 0, 2.8e-6, 0.4, 0, 1.0e9, 0, before=2, after=1, cuts=True)
# what is before the shards of a stage, and after them
IN_SHARDS = {JOIN: ((LINKS, CUT), UNITE), LEDGER: ((LEDGER_CUT,), LEDGER_UNITE)}
# Beyond the requests that are held they spill: three million ran in 500 MB for no more CPU.
_HELD = 5e6
HOUR_WINDOWS = Stage(
    "windows of hours", _WINDOWS, 10, 4.7e-6, 1.0, 500, 0.37e9, 0, before=1, most_bytes=0.37e9 + 500 * _HELD
)
DAY_WINDOWS = Stage("windows of days", _WINDOWS, 10, 3.1e-6, 0.9, 255, 0.36e9, 0, is_of_day=True, of="small")
ADDED_UP = ("waste", "windows", "replicas")
DAY_HOURS = Stage(
    "hours of large days", ADDED_UP, 0, 4.9e-6, 0.3, 400, 0.32e9, 0,
    is_of_day=True, of="large", is_by_hour=True, most_bytes=0.32e9 + 400 * _HELD,
)  # fmt: skip
# Quality is made of the whole day: that is what a request takes here.
DAY_UNION = Stage("union of large days", _WINDOWS, 10, 0.2e-6, 0.6, 0, 0.35e9, 0, is_of_day=True, of="large")
_INDEX_BYTES = 2.5e9 + 0.3e9  # of five million rows at once (measure/id_hours.py)
ID_HOURS = Stage(
    "index of ids", ("id_hours",), 1, 3.0e-6, 0.05, 1_710, 0.3e9, 24, is_of_day=True, most_bytes=_INDEX_BYTES
)
BARRIERS = (
    (JOIN,),
    (SEEN,),
    (LEDGER,),
    (HOUR_WINDOWS, DAY_WINDOWS, DAY_HOURS),
    (DAY_UNION,),
    (ID_HOURS,),
)  # each waits for the end of the one before
STAGES = tuple(stage for stages in BARRIERS for stage in stages)

INGEST_CORE_S = 50e-6  # a request: its spans are decoded, held to their contract and written by one process
INGEST_CORES = 1.7  # that this process keeps busy meanwhile
RECORD_BYTES = 260  # a request in the parts that ingest writes
LANDED_BYTES = 2_030  # a request in OTLP/JSON
RUN_CORE_S = 3.6  # what the process of a run with workers takes beside ingest, on a history of a day
COMMIT_S = 0.0125  # that a part takes to count

_SIZES = (25_000, 100_000)  # requests an hour
_FIRST_HOUR = 498_672  # since the Unix epoch, a midnight
_HOURS = 3  # of which the middle one is measured: an hour reads those beside it


def main() -> None:
    """Print each figure as it is now, and as it stands here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_stages", description=__doc__)
    parser.add_argument("--requests", type=int, nargs=2, default=_SIZES, metavar=("SMALL", "LARGE"))
    parser.add_argument("--step", help=argparse.SUPPRESS)  # one measurement, in a process and folder of its own
    asked = parser.parse_args()
    if asked.step:
        print(json.dumps(_STEPS.get(asked.step, lambda: _compute(asked.step))()))
        return
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        small, large = (_measured(requests, Path(name, str(requests))) for requests in asked.requests)
    for what, now, here in _compared(small, large):
        print(f"{what}: {now:.3g}, here {here:.3g}", flush=True)


Found = dict[str, tuple[float, float]]  # by what was measured: of how many requests, and how much


def _compared(small: Found, large: Found) -> Iterator[tuple[str, float, float]]:
    def line(what: str) -> tuple[float, float]:
        (few, less), (many, more) = small[what], large[what]
        each = (more - less) / (many - few)
        return each, less - few * each

    for stage in STAGES:
        for what, each, fixed in (("core_s", "core_s", "task_core_s"), ("bytes", "memory_bytes", "task_bytes")):
            for name, now in zip((each, fixed), line(f"{stage.name} {what}"), strict=True):
                yield f"{stage.name}: {name}", now, getattr(stage, name)
        yield f"{stage.name}: stored_bytes", line(f"{stage.name} stored_bytes")[0], stage.stored_bytes
    yield "INGEST_CORE_S", line("ingest core_s")[0], INGEST_CORE_S
    yield "INGEST_CORES", large["ingest core_s"][1] / large["ingest wall_s"][1], INGEST_CORES
    yield "RECORD_BYTES", line("ingest stored_bytes")[0], RECORD_BYTES
    yield "LANDED_BYTES", line("landed_bytes")[0], LANDED_BYTES
    yield "RUN_CORE_S", small["run core_s"][1], RUN_CORE_S
    yield "COMMIT_S", large["commit_s"][1], COMMIT_S


def _measured(requests: int, folder: Path) -> Found:
    """Everything at one size."""
    folder.mkdir()
    (folder / "goodput.toml").write_text(SETTINGS)
    landed_bytes = _write(folder / "landing" / "first.jsonl", requests * _HOURS)
    found: Found = {"landed_bytes": (requests * _HOURS, landed_bytes)}
    for step in ("ingest", "first", "run", *(stage.name for stage in STAGES)):
        if step == "run":
            _write(folder / "landing" / "more.jsonl", SPANS_PER_LINE)
        ended = run([sys.executable, "-m", "benchmarks.scale_stages", "--step", step], folder)
        many = requests * (_HOURS if step == "ingest" or step in _OF_DAY else 1)
        found |= {f"{step} {what}": (many, much) for what, much in ended.said.items()}
        found[f"{step} bytes"] = (many, ended.peak_bytes)
    found["commit_s"] = found["join commit_s"]
    return found


def _write(path: Path, requests: int) -> int:
    """Write requests at an even pace over the hours; how many bytes they are."""
    path.parent.mkdir(exist_ok=True)
    chance, lines = random.Random(str(path.name)), requests // SPANS_PER_LINE
    with path.open("wb") as file:
        for line in range(lines):
            since, until = (_FIRST_HOUR * HOUR_NS + at * _HOURS * HOUR_NS // lines for at in (line, line + 1))
            engine = [span_of(chance, chance.randrange(since, until)) for _ in range(SPANS_PER_LINE)]
            file.write(line_of(line % REPLICAS, engine))
            file.write(_gateway_line([_gateway_span(span) for span in engine]))
        return file.tell()


def _gateway_span(engine: dict[str, Any]) -> dict[str, Any]:
    """The call that the engine's span lies below."""
    said = {item["key"].rpartition(".")[2]: item["value"] for item in engine["attributes"]}
    attributes = {
        "gen_ai.operation.name": {"stringValue": "chat"},
        "gen_ai.request.model": said["model"],
        "gen_ai.request.stream": {"boolValue": True},
        "gen_ai.response.id": said["id"],
        "gen_ai.response.time_to_first_chunk": said["time_to_first_token"],
        "gen_ai.usage.input_tokens": said["prompt_tokens"],
        "gen_ai.usage.output_tokens": said["completion_tokens"],
    }
    times = {key: engine[key] for key in ("traceId", "startTimeUnixNano", "endTimeUnixNano", "status")}
    listed = [{"key": key, "value": value} for key, value in attributes.items()]
    return {**times, "spanId": engine["parentSpanId"], "name": "chat", "kind": 3, "attributes": listed}


def _gateway_line(spans: list[dict[str, Any]]) -> bytes:
    resource_of = {"attributes": [{"key": "service.name", "value": {"stringValue": "gateway"}}]}
    batch = {"resource": resource_of, "scopeSpans": [{"scope": {"name": "serving"}, "spans": spans}]}
    return orjson.dumps({"resourceSpans": [batch]}, option=orjson.OPT_APPEND_NEWLINE)


def _ingest() -> dict[str, float]:
    workspace, begun_s, begun_core_s = Workspace(Path("goodput.toml")), time.perf_counter(), time.process_time()
    workspace.lake.open()
    with workspace.lake.lock():
        ingest_sources(workspace)
    taken = {"core_s": time.process_time() - begun_core_s, "wall_s": time.perf_counter() - begun_s}
    parts = workspace.lake.catalog["serving_records"].parts.values()
    return taken | {"stored_bytes": sum(part.size_bytes for found in parts for part in found)}


def _run() -> dict[str, float]:
    """A run's own time, start and imports included, without that of its workers."""
    run_all(Workspace(Path("goodput.toml"), workers=2))
    return {"core_s": time.process_time()}


def _compute(name: str) -> dict[str, float]:
    """A partition of a stage on one core, the second time: the first has imports to do."""
    bound(1, "80%", Path.cwd() / "spill")
    stage = next(stage for stage in STAGES if stage.name == name)
    hour = hour_label(_FIRST_HOUR + _HOURS // 2)
    partition = day_of(hour) if stage.is_of_day else hour
    return [_computed(stage, partition, mark) for mark in ("0" * 32, "1" * 32)][-1]


def _computed(stage: Stage, partition: str, made_from: str) -> dict[str, float]:
    """What the partition takes, computed and then committed as made from something else than before."""
    workspace = Workspace(Path("goodput.toml"))
    context = Context(workspace.lake, workspace.settings)
    core_s = commit_s = 0.0
    parts: list[Part] = []
    for node in (node for node in NODES if node.name in stage.nodes):
        batch, begun_s = assemble(context, node, {partition: made_from}), time.process_time()
        made = work(batch)
        core_s += time.process_time() - begun_s
        assert isinstance(made, ComputedBatch), made
        begun_s = time.process_time()
        for table, by_partition in made.parts.items():
            workspace.lake.catalog[table].replace({name: (part,) for name, part in by_partition.items()})
            parts += by_partition.values()
        commit_s += time.process_time() - begun_s
    assert len(parts) == stage.tables, f"{stage.name} writes {len(parts)} tables"
    stored_bytes = sum(part.size_bytes for part in parts)
    return {"core_s": core_s, "stored_bytes": stored_bytes, "commit_s": commit_s / len(parts)}


def _large_day() -> list[Batch]:
    """The day as batches of the nodes that add up its hours, as if it were more than is held at once."""
    bound(1, "80%", Path.cwd() / "spill")
    workspace = Workspace(Path("goodput.toml"))
    context = Context(workspace.lake, workspace.settings.model_copy(update={"max_exact_requests": 0}))
    day = {day_of(hour_label(_FIRST_HOUR)): "0" * 32}
    return [assemble(context, node, day) for node in NODES if node.name in ADDED_UP]


def _sums(day: Batch) -> list[Path]:
    return [Path("sums", day.node.name, str(number)).absolute() for number in range(len(day.by_hour))]


def _add_up_hours() -> dict[str, float]:
    """What the hour in the middle takes, once imports are done; the others are added up for the union."""
    core_s = 0.0
    for day in _large_day():
        assert day.node.shards is not None, day.node.name
        for hour, folder in zip(day.by_hour, _sums(day), strict=True):
            folder.mkdir(parents=True)
            begun_s = time.process_time()
            day.node.shards.compute(hour, folder)
            is_middle = hour.hours == [hour_label(_FIRST_HOUR + _HOURS // 2)]
            core_s += is_middle * (time.process_time() - begun_s)
    return {"core_s": core_s, "stored_bytes": 0.0}


def _unite_hours() -> dict[str, float]:
    """What the day takes of its sums, the second time."""
    for _ in range(2):
        begun_s = time.process_time()
        for day in _large_day():
            assert day.node.shards is not None, day.node.name
            day.node.shards.unite(day, [], _sums(day))
    return {"core_s": time.process_time() - begun_s, "stored_bytes": 0.0}


_OF_DAY = [stage.name for stage in STAGES if stage.is_of_day and not stage.is_by_hour]
_STEPS = {
    "ingest": _ingest,
    "first": _run,
    "run": _run,
    DAY_HOURS.name: _add_up_hours,
    DAY_UNION.name: _unite_hours,
}

if __name__ == "__main__":
    main()
