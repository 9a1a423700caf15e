"""Judges the alarms by what is published and keeps their tables in the lake; the judging itself is `monitor`'s."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from goodput.contracts import arrow_schema
from goodput.monitor.alarm_tables import TABLES, alarm_tables, read_evidence
from goodput.monitor.budget import Kept
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.judged_days import JudgedDays
from goodput.plumbing.alarm_actions import read_actions
from goodput.plumbing.catalog import ALL
from goodput.plumbing.database import published
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.garbage import note_replaced
from goodput.plumbing.lake import Lake
from goodput.settings.model import Settings

_JUDGED = "judged.npz"
_FROM_THE_CLOCK = fingerprint("alarms")  # of tables that follow the clock as well


def judge(lake: Lake, settings: Settings, now: datetime) -> dict[str, int]:
    """Judge every alarm at `now` and add what is new to alarm_events; rows by table, `new_events` and `firing`.

    Raises LakeUnwritable.
    """
    catalog = lake.catalog
    before = {table: alarm_rows(lake, table) for table in TABLES if catalog[table].parts}
    known = {table: catalog[table].inputs(ALL) or "" for table in ("alarms", "alarm_power")}
    judged = JudgedDays(_judged_days(lake))
    made = alarm_tables(evidence(lake, settings, now, before), before, now, inputs=known, judged=judged)
    for table, rows in made.rows.items():
        inputs = made.inputs.get(table, _FROM_THE_CLOCK)
        part = lake.write_part(table, ALL, rows.to_arrow().cast(arrow_schema(table)), inputs)
        note_replaced(lake, catalog[table].replace({ALL: (part,)}))
    if judged.grown:
        write_atomically(lake.root / _JUDGED, lambda path: _write_arrays(path, judged.arrays()))
    counts = {table: rows.height for table, rows in made.rows.items()}
    return {**counts, "new_events": made.new_events, "firing": made.firing}


def _judged_days(lake: Lake) -> dict[str, NDArray[Any]]:
    """What the last evaluation judged days to be; nothing where that is not there or cannot be read."""
    try:
        with (lake.root / _JUDGED).open("rb") as file, np.load(file) as stored:
            return dict(stored)
    except (OSError, ValueError, TypeError, AttributeError, EOFError, BadZipFile):  # one array alone cannot be left
        return {}


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def evidence(
    lake: Lake, settings: Settings, now: datetime, before: Mapping[str, pl.DataFrame] | None = None
) -> Evidence:
    """What is published for alarms to be judged by, as of `now`."""
    with published(lake) as connection:
        return read_evidence(connection, settings, now, actions=read_actions(lake.root), before=before)


def thresholds_for(lake: Lake, settings: Settings, now: datetime, budget: float) -> list[Kept]:
    """By trend rule, the least threshold that keeps a budget of alarms in 1,000 series-days of what is published."""
    before = {table: alarm_rows(lake, table) for table in TABLES}
    evaluation = Evaluation(evidence(lake, settings, now, before), now, JudgedDays(_judged_days(lake)))
    return list(evaluation.thresholds_for(budget))


def alarm_rows(lake: Lake, table: str) -> pl.DataFrame:
    """Rows of one table of alarms as they were last judged; none before the first time."""
    parts = lake.catalog[table].parts.get(ALL, ())
    rows = [lake.catalog[table].read(part) for part in parts]
    return pl.DataFrame(pa.concat_tables([arrow_schema(table).empty_table(), *rows]))
