"""`goodput compare`: two routes, models, pools or periods side by side, and which is better, where one is."""

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from goodput.ask.cells import significant
from goodput.ask.comparison import Comparison, compared
from goodput.ask.database import published
from goodput.ask.kept import without_requests
from goodput.ask.sides import named_sides, within
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves


class CompareFormat(StrEnum):
    """How a comparison is written."""

    table = "table"
    json = "json"


def compare(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    values: Annotated[list[str] | None, typer.Argument(metavar="A B", help="The two values of --by.")] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="A column of requests (route, model, pool, tenant ...), or model_revision: what was last deployed"
            " where they were served, before they arrived.",
        ),
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help="Side A: what ended before (UTC, ISO 8601).")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="TIME", help="Side B: what ended at this time or later.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Nothing that ended before.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Nothing that ended later.")] = None,
    workload: Annotated[str | None, typer.Option("--workload", help="Only requests of this workload.")] = None,
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[CompareFormat, typer.Option("--format")] = CompareFormat.table,
) -> None:
    """Set two sides against each other: throughput, goodput, cost, latencies, and the tails where they differ.

    Every difference has a 95 % interval; where that holds 0 the sides are not distinguishable. What a side does in a
    base window is one observation, and what hits both sides in one cancels; latencies take them for independent.
    Slices are by prompt and answer length, with wider intervals as they are many.
    Cost is loaded: idle replicas are carried by those whom their pool served, overhead by all requests that it is for.

    Example:
      goodput compare --by route stable canary
      goodput compare --by model_revision 3.0.0 3.1.0-fp8
      goodput compare --before 2026-11-20T09:00 --after 2026-11-20T09:30 --workload chat
    """
    sides = named_sides(values or [], by, before, after)
    period = within(since, until)
    bounds = {**period, "workload": workload}
    with until_reader_leaves(), published(config, lake) as connection:
        found = compared(connection, sides, bounds)
        if missing := without_requests(connection, period["since"]):
            Console(stderr=True).print(missing, highlight=False)
        if format is CompareFormat.json:
            _print_json(found)
        else:
            _print(found, console())


_COVERS = (
    "they cover windows like these; `goodput`, and shares and prices on the page, cover these requests alone, "
    "so theirs are narrower and may lie apart where none shows here"
)


def _print_json(found: Comparison) -> None:
    import msgspec  # noqa: PLC0415  (a table does not need it)

    encoded = msgspec.json.encode(found, enc_hook=str)
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")


def _print(found: Comparison, out: Console) -> None:
    for side in found.sides:
        low_n = ", few: a p99 is no better than the maximum" if side["low_n"] else ""
        labels = f", {side['labelled']} of {side['need']} labelled" if side["need"] else ""
        lasted = significant(float(side["time_s"]))
        out.print(f"{side['side']}: {side['name']}: {side['n']} requests in {lasted} s{labels}{_spent(side)}{low_n}")
    if found.beside is not None:
        out.print(found.beside)
    if found.divided is not None:
        out.print(found.divided)
    if found.counted is not None:
        out.print(found.counted)
    out.print()
    measures = ("metric", "A", "B", "B - A", "better")
    out.print(table(measures, _lines(found), out.width))
    out.print("in brackets: 95 % intervals; those of slices so wide that all of them hold at once")
    out.print(_COVERS)
    if any(row["metric"] == _COST for row in found.metrics):
        out.print(f"cost_per_accepted_usd: {found.cost_contains}")
    out.print()
    shown = [row for row in found.slices if row["better"] in {"A", "B"} or row["is_tail"]]
    if shown:
        out.print("The longest prompts and answers, and slices by length that differ:")
        out.print(table(("slice", "n A", "n B", *measures), [_slice_line(row) for row in shown], out.width))
        out.print()
    for line in found.undecided:
        out.print(line)
    if found.drift is not None:
        out.print(found.drift)
    out.print(found.verdict)


def _spent(side: dict[str, Any]) -> str:
    if side["cost_usd"] is None:
        return ""
    beside = [
        f"{name} ${side[f'{name}_usd']:,.2f}" for name in ("idle", "overhead", "unattributed") if side[f"{name}_usd"]
    ]
    return f", ${side['cost_usd']:,.2f}" + (f" of which {', '.join(beside)}" if beside else "")


_COST = "cost_per_accepted_usd"
_NO_COST = {
    "cost_unknown": "unknown: {unpriced} of {n} without a price",
    "nothing_accepted": "nothing was accepted",
    "labels_not_drawn": "unknown: labels not drawn at random",
}


def _lines(found: Comparison) -> list[tuple[object, ...]]:
    """A line for each metric; where a side has no cost per accepted, why in its place."""
    why = [_NO_COST[side["no_cost"]].format(**side) if side["no_cost"] else None for side in found.sides]
    lines = [_line(row) for row in found.metrics]
    kept = [
        (name, a or why[0], b or why[1], *rest) if name == _COST else (name, a, b, *rest) for name, a, b, *rest in lines
    ]
    if any(row["metric"] == _COST for row in found.metrics):
        return kept
    place = next((n for n, row in enumerate(found.metrics) if row["metric"].startswith("p")), len(kept))  # of quantiles
    return [*kept[:place], (_COST, *why, None, "neither"), *kept[place:]]


def _line(row: dict[str, Any]) -> tuple[object, ...]:
    better = row["better"] if row["better"] in {"A", "B"} else "neither"
    return row["metric"], _interval(row, "a"), _interval(row, "b"), _interval(row, "difference"), better


def _slice_line(row: dict[str, Any]) -> tuple[object, ...]:
    named = f"{row['dimension']} {row['from_tokens']}..{row['to_tokens']}"
    return named, row["n_a"], row["n_b"], *_line(row)


def _interval(row: dict[str, Any], value: str) -> str | None:
    """A value with its interval; too few observations leave an end of that open."""
    if row[value] is None:
        return None
    low, high = (
        "open" if (end := row[f"{value}_ci_{side}"]) is None else significant(end, 3) for side in ("low", "high")
    )
    return f"{significant(row[value], 3)} ({low}..{high})"
