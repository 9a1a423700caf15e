"""Which lines of bills count, in US dollars: docs/semantics.md#bills."""

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from oracle.fleet import DAY, Fleet, Row, exact

Place = tuple[str, int]  # file and number of a line in it, of which the first has the names of columns


def cost_records(fleet: Fleet) -> list[Row]:
    """Lines of every source that count, with `dialect`, `basis` and `amount_usd`."""
    rows = (row | {"dialect": "bills"} for bill in fleet.bills for row in bill)
    found = [row for row in rows if row["basis"] != "billing" or _is_chosen(fleet, row)]
    for (path, number), (line, reason) in _judged(fleet).items():
        if reason is None:
            usd = (exact(line["amount"]) or Fraction(0)) * (_rate(fleet, line) or Fraction(0))
            charge = {"dialect": "focus", "basis": "billing", "cost_id": f"{path}:{number}", "amount_usd": usd}
            found.append(line | charge)
    return found


def unused_lines(fleet: Fleet) -> list[tuple[int, Row, str]]:
    """Lines of exported bills that are in no number, by their number, and why; copies of what counts are not listed."""
    judged = [(number, line, reason) for (_, number), (line, reason) in _judged(fleet).items()]
    counted = [(number, line) for number, line, reason in judged if reason is None]
    unused = [(number, line, reason) for number, line, reason in judged if reason and (number, line) not in counted]
    # of copies the last export's reason holds
    return sorted(unused, key=lambda row: row[2], reverse=True)


def _judged(fleet: Fleet) -> dict[Place, tuple[Row, str | None]]:
    """Every line with the reason why it does not count, if it does not; files of one content are one."""
    unused = _unused_by_place(fleet)
    lying: dict[Place, list[str | None]] = defaultdict(list)
    lines: dict[Place, Row] = {}
    for path, number, line in _lines(fleet):
        lying[_home(fleet, path), number].append(unused.get((path, number)))
        lines[_home(fleet, path), number] = line
    # superseded comes last by name: it holds only where every export of the line is
    return {place: (lines[place], min(map(str, reasons)) if all(reasons) else None) for place, reasons in lying.items()}


def _home(fleet: Fleet, path: str) -> str:
    """The first file of the same content."""
    return min(other for other, lines in fleet.exports.items() if lines == fleet.exports[path])


def _unused_by_place(fleet: Fleet) -> dict[Place, str]:
    found: dict[Place, str] = {}
    exports = _exports(fleet)
    for path, number, line in _lines(fleet):
        if _is_replaced(exports, _export(path), line):
            found[path, number] = "superseded"
        elif not _is_chosen(fleet, line):
            found[path, number] = "not_chosen"
        elif _rate(fleet, line) is None:
            found[path, number] = "no_exchange_rate"
    return found


def _is_replaced(exports: dict[str, list[Row]], export: str, line: Row) -> bool:
    """Whether a later export has lines of the line's day, and reaches over the line's time with those of its period."""
    for name, rows in sorted(exports.items(), key=_order(exports, line), reverse=True):
        if name == export:
            return False
        own = [other for other in rows if _period(other) == _period(line)]
        if any(_of_day(other) == _of_day(line) for other in own):
            begins, reaches = (min(o["period_start"] for o in own), max(o["period_end"] for o in own))
            if line["period_start"] < reaches and line["period_end"] > begins:
                return True
    return False


def _lines(fleet: Fleet) -> list[tuple[str, int, Row]]:
    return [(path, n, line) for path, lines in fleet.exports.items() for n, line in enumerate(lines, 2)]


def _is_chosen(fleet: Fleet, line: Row) -> bool:
    """Whether a bill's service counts; of a line without one it is the empty word."""
    asked = fleet.settings.get("costs", {}).get("services", ["*"])
    return any(fnmatchcase(line.get("service", ""), glob) for glob in asked)


def _rate(fleet: Fleet, line: Row) -> Fraction | None:
    if line["currency"] == "USD":
        return Fraction(1)
    return exact(fleet.settings["costs"]["currencies"].get(line["currency"]))


def _export(path: str) -> str:
    """What export a file is of: files of one folder that differ in a part number are one."""
    return re.sub(r"part-\d+\.csv$", "", path)


def _exports(fleet: Fleet) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for path, _, line in _lines(fleet):
        found[_export(path)].append(line)
    return found


def _period(line: Row) -> tuple[Any, ...]:
    return line["account"], line["sub_account"], line["billed_from"]


def _of_day(line: Row) -> tuple[Any, ...]:
    return *_period(line), line["period_start"] // DAY


def _order(exports: dict[str, list[Row]], line: Row) -> Any:
    """From the first to the last export of a line's billing period: by date, how far it reaches, lines, name."""

    def rank(item: tuple[str, list[Row]]) -> tuple[Any, ...]:
        name, lines = item
        own = [other for other in lines if _period(other) == _period(line)]
        dates = re.findall(r"\d{4}-\d\d-\d\d", name)
        return dates[-1:], max((other["period_end"] for other in own), default=0), len(own), name

    return rank
