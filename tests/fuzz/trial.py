"""One trial: a run over sane and fuzzed telemetry, and all that must hold after it."""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from traceback import format_exception

import polars as pl

from fuzz.files import Fuzzed
from fuzz.landing import put_fuzzed, put_sane
from goodput.conform.withdraw import withdraw
from goodput.errors import PartitionsBlocked
from goodput.plumbing import source_ledger, source_places
from goodput.plumbing.hours import day_of
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import ask

_DAY = "2026-11-20"  # of the sane telemetry; nothing fuzzed is dated so
_LIMIT_S, _INPUTS_PER_S = 120.0, 300  # CPU seconds of a run are bounded by this and by its inputs
# What is published of the sane telemetry, but for what is learnt from other days too: costs are shared by bills that
# span them, and estimates lean on them.
_SANE = {
    "attempts": f"SELECT * FROM attempts WHERE started_at::DATE = '{_DAY}' ORDER BY ALL",
    "requests": f"SELECT * EXCLUDE (cost_usd) FROM requests WHERE arrived_at::DATE = '{_DAY}' ORDER BY ALL",
    "quality_labels": f"SELECT * FROM quality_labels WHERE request_at::DATE = '{_DAY}' ORDER BY ALL",
    "goodput": f"""
        SELECT window_start, window_s, slice, workload, model, pool, route, offered, arrivals, accepted, failed, slow,
            rejected, unlabelled, output_tps, p99_ttft_s, p99_e2e_s
        FROM goodput WHERE window_start::DATE = '{_DAY}' ORDER BY ALL
    """,
}
_IDENTITY_R = """
SELECT path, rows_read, rows_kept, rows_duplicate, rows_quarantined, rows_ignored FROM sources
WHERE NOT is_pending AND rows_read <> rows_kept + rows_duplicate + rows_quarantined + rows_ignored
"""
_SUMS = """
SELECT coalesce(sum(rows_read), 0), coalesce(sum(rows_quarantined), 0), coalesce(sum(rows_ignored), 0),
    coalesce(sum(rows_duplicate), 0), count(*) FILTER (status = 'refused'), count(*) FILTER (is_pending)
FROM sources WHERE path LIKE 'fuzz/%'
"""
Sane = dict[str, pl.DataFrame]


@dataclass
class Ended:
    """What became of a trial: inputs by kind, what was done with the rows, and what should not have been."""

    inputs: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    def add(self, other: "Ended") -> None:
        """Another trial."""
        for mine, others in ((self.inputs, other.inputs), (self.rows, other.rows), (self.blocked, other.blocked)):
            mine.update(others)
        self.faults += other.faults
        self.cpu_s += other.cpu_s


def sane_lake(folder: Path) -> Sane:
    """What is published of the sane telemetry alone."""
    workspace = Workspace(put_sane(folder))
    run(workspace)
    return _sane(workspace)


def trial(chance: Random, folder: Path, inputs: int, sane: Sane, *, heals: bool = False) -> Ended:
    """A run over the sane telemetry with so many fuzzed inputs beside it, and a second one with nothing new.

    With `heals` the fuzzed files are taken away and forgotten, and a last run must publish the sane telemetry alone.
    """
    config = put_sane(folder)
    made = put_fuzzed(chance, folder, inputs)
    ended = Ended()
    for file in made:
        ended.inputs[file.kind] += file.inputs
    ended.faults += _checked(config, made, sane, ended)
    if heals and not ended.faults:
        ended.faults += _healed(config, sane)
    return ended


def _checked(config: Path, made: list[Fuzzed], sane: Sane, ended: Ended) -> Iterator[str]:
    began = time.process_time()
    _, crash = ran(config)
    ended.cpu_s = time.process_time() - began
    if crash:
        yield crash
        return
    limit_s = _LIMIT_S + sum(file.inputs for file in made) / _INPUTS_PER_S
    if ended.cpu_s > limit_s:
        yield f"hang: a run took {ended.cpu_s:.0f} CPU s, more than {limit_s:.0f}"
    workspace = Workspace(config)
    yield from lost_rows(workspace, made)
    yield from different(workspace, sane)
    read, quarantined, ignored, duplicate, refused, pending = ask(workspace, _SUMS).row(0)
    ended.rows.update(read=read, quarantined=quarantined, ignored=ignored, duplicate=duplicate, refused_files=refused)
    blocked = ask(workspace, "SELECT table_name, partition, reason, blocked_by FROM blocked_partitions ORDER BY ALL")
    for name, partition, reason, blocked_by in blocked.iter_rows():
        ended.blocked[f"{name}: {reason}" if blocked_by is None else "waits for one of these"] += 1
        if day_of(partition) == _DAY or partition == "all":
            yield f"blocked: {name} {partition}: {reason}"
    if pending and not blocked.height:
        yield f"pending: {pending} sources, and nothing is blocked"
    changed, crash = ran(config)
    if crash or changed:
        yield f"second run: {crash or 'changed what is published'}"


def ran(config: Path) -> tuple[bool, str]:
    """Whether a run changed what is published, and what ended it that should not have."""
    try:
        return run(Workspace(config)).changed, ""
    except PartitionsBlocked:
        return False, ""
    except BaseException as error:  # a panic of Rust's is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return False, "crash: " + "".join(format_exception(error))


def lost_rows(workspace: Workspace, made: list[Fuzzed]) -> Iterator[str]:
    """Sources whose account does not add up, and files or rows that are in none."""
    for row in ask(workspace, _IDENTITY_R).iter_rows(named=True):
        yield f"identity R: {row}"
    sources = "SELECT path, status, rows_read FROM sources WHERE path LIKE 'fuzz/%'"
    known = {path: (status, rows) for path, status, rows in ask(workspace, sources).iter_rows()}
    places = set(_places(workspace))
    for file in made:
        path = file.path.decode("utf-8", "backslashreplace")
        if path not in known and path not in places:
            yield f"lost: {path} is no source"
        elif file.rows is not None and known.get(path) not in {None, ("refused", 0), ("read", file.rows)}:
            yield f"lost: {path} has {file.rows} rows, and its account {known.get(path)}"


def _places(workspace: Workspace) -> list[str]:
    """Paths at which files lie that are known under another one."""
    return source_places.read(workspace.lake)["path"].to_list()


def _sane(workspace: Workspace) -> Sane:
    return {name: ask(workspace, sql) for name, sql in _SANE.items()}


def different(workspace: Workspace, sane: Sane) -> Iterator[str]:
    for name, rows in _sane(workspace).items():
        if not rows.equals(sane[name]):
            found = pl.concat([rows, sane[name]], how="vertical_relaxed")
            odd = found.filter(~found.is_duplicated())
            yield f"not as without: {name}, {odd.height} rows differ: {str(odd.head(2).to_dicts())[:1500]}"


def _healed(config: Path, sane: Sane) -> Iterator[str]:
    """Take the fuzzed files away, as `goodput forget` does."""
    shutil.rmtree(config.parent / "landing/fuzz")
    workspace = Workspace(config)
    known = source_ledger.read_frame(workspace.lake, ["source_id", "path"])
    with workspace.lake.lock():
        withdraw(workspace.lake, known.filter(pl.col("path").str.starts_with("fuzz/"))["source_id"].to_list())
    _, crash = ran(config)
    if crash:
        yield f"after forget: {crash}"
        return
    yield from (f"after forget: {item}" for item in different(Workspace(config), sane))
    left = ask(Workspace(config), f"SELECT count(*) FROM requests WHERE arrived_at::DATE <> '{_DAY}'").item()
    blocked = ask(Workspace(config), "SELECT count(*) FROM blocked_partitions").item()
    if left or blocked:
        yield f"after forget: {left} requests of other days, {blocked} blocked partitions"
