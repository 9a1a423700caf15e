"""Changes of a fleet after which its tables are known from those before."""

import copy
from collections.abc import Callable

from oracle.fleet import DAY, Fleet, Row, S

TIMES = (
    *("started_at", "ended_at", "first_token_at", "intended_at", "labelled_at", "revised_at", "at", "began"),
    *("period_start", "period_end", "billed_from", "occurred_at"),
)
MONEY = ("amount", "amount_usd", "reported_cost_usd", "usd_per_gpu_hour")
WORKLOADS = {"w0": "zulu", "w1": "alpha", "w2": "mike"}


def shifted(fleet: Fleet, days: int) -> Fleet:
    """Everything some whole days later."""
    found = _changed(fleet, lambda name, value: value + days * DAY if name in TIMES and value is not None else value)
    for reading in found.readings:
        if "process_started_s" in reading["gauges"]:
            reading["gauges"]["process_started_s"] += days * DAY // S
    return found


def dearer(fleet: Fleet, factor: int) -> Fleet:
    """Every price and every amount times a factor."""
    found = _changed(fleet, lambda name, value: value * factor if name in MONEY and value is not None else value)
    found.prices = {
        model: {kind: str(float(usd) * factor) for kind, usd in of.items()} for model, of in fleet.prices.items()
    }
    return found


def renamed(fleet: Fleet) -> Fleet:
    """Workloads under other names, in the same order of the settings."""
    found = _changed(fleet, lambda name, value: WORKLOADS.get(value, value) if name == "workload" else value)
    found.settings["workloads"] = {WORKLOADS[name]: table for name, table in fleet.workloads.items()}
    return found


def with_windows(fleet: Fleet, windows_s: list[int]) -> Fleet:
    """The same fleet asked for other windows."""
    found = copy.deepcopy(fleet)
    found.settings["windows_s"] = windows_s
    return found


def _changed(fleet: Fleet, change: Callable[[str, object], object]) -> Fleet:
    found = copy.deepcopy(fleet)
    # a line that two exports have is one row of each, to be changed once
    found.exports = {path: [dict(line) for line in lines] for path, lines in found.exports.items()}
    tables = [*found.settings.get("rates", {}).values(), *found.records, *found.labels, *found.readings]
    tables += found.events
    money = (row for of in (found.bills, found.exports.values()) for bill in of for row in bill)
    for row in (*tables, *money):
        _change(row, change)
    return found


def _change(row: Row, change: Callable[[str, object], object]) -> None:
    for name, value in row.items():
        row[name] = change(name, value)
