"""Finds the hours that newly arrived labels judge, so that only those are joined again."""

import json
from functools import partial
from pathlib import Path

from goodput.join.staleness import JoinInputs, files_of, label_hours_folder
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hours import epoch_hour, hour_label, neighbours
from goodput.plumbing.lake import write_atomically
from goodput.plumbing.sql_files import connect, read_parts, sql_file


def note_label_hours(inputs: JoinInputs) -> None:
    """Write, for each label source not looked at before, the hours of the requests it may judge (semantics 3, 9)."""
    folder = label_hours_folder(inputs.lake)
    by_source: dict[str, list[str]] = {}
    for hour, paths in inputs.parts["label_records"].items():
        for path in paths:
            by_source.setdefault(path.stem, []).append(hour)
    for source_id, hours in by_source.items():
        target = folder / f"{source_id}.json"
        if not target.exists():
            text = json.dumps(_judged_hours(inputs, source_id, hours))
            write_atomically(target, partial(Path.write_text, data=text))


def _judged_hours(inputs: JoinInputs, source_id: str, hours: list[str]) -> list[str]:
    labels = [inputs.lake.part("conformed", "label_records", f"hour={hour}", source_id) for hour in hours]
    first = epoch_hour(min(hours)) - int(inputs.settings.label_lateness_s // 3600)
    last = epoch_hour(max(hours)) + inputs.reach
    near = [hour for hour in inputs.parts["serving_records"] if first <= epoch_hour(hour) <= last]
    with connect() as connection:
        read_parts(connection, "label_records", [str(path) for path in labels], arrow_schema("label_records"))
        records = files_of(inputs.parts["serving_records"], near)
        read_parts(connection, "serving_records", records, arrow_schema("serving_records"))
        rows = connection.sql(sql_file("label_hours").text).fetchall()
    return sorted(neighbours((hour_label(row[0]) for row in rows), 0, inputs.reach))
