"""A sampling plan as people read it: the strata, and beneath them what each workload's draw rests on."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from goodput.ask.cells import iso, plain, significant
from goodput.ask.database import Row
from goodput.ask.label_plan import Plan
from goodput.ask.label_search import CELL, WHOLE, Drawn
from goodput.cli.render import MAX_ROWS, table

_HEADER = ("workload", "route", "from", "need label", "labelled", "width now", "to draw", "width expected")


def print_plan(made: Plan, output: Path | None, lateness: timedelta, out: Console) -> None:
    """Print a plan. `output`: where its keys were written; `lateness`: how long after a request its label may come."""
    asked = made.asked
    totals = [row for row in made.strata if row["route"] is None]
    drawn, need = (sum(row[name] for row in totals) for name in ("to_draw", "need_label"))
    out.print(f"{asked.plan_id}: seed {asked.seed}, what ended from {iso(asked.since)} to {iso(asked.until)}:")
    out.print(f"{drawn} to judge of {need} that need a label, for a width of {significant(asked.width)}")
    out.print()
    out.print(table(_HEADER, [tuple(_line(row)) for row in made.strata[:MAX_ROWS]], out.width))
    if len(made.strata) > MAX_ROWS:
        out.print(f"Only the first {MAX_ROWS} strata are shown: --format csv has every one.")
    out.print("width: of the 95 % interval of goodput_ratio, from end to end; about one in 20 comes out wider")
    out.print()
    for row in made.provenance:
        for line in _remarks(row, made.drawn[row["workload"]], asked.part_s // 3600):
            out.print(f"{plain(row['workload'])}: {line}")
    if not drawn:
        out.print("Nothing is to be judged: the intervals are as narrow as that.")
        return
    out.print(
        f"Labels count that are made within {significant(lateness / timedelta(days=1))} days of the request's end."
    )
    if output is None:
        out.print("No keys were written: -o keys.csv writes them.")
    else:
        out.print(f"Keys: {plain(str(output))}. Keep plan_id with each label, so that it shows where it came from.")


def _line(row: Row) -> Iterator[object]:
    total = row["route"] is None
    yield row["workload"]
    yield "all" if total else row["route"]
    yield "all" if total else row["part_start"]
    yield from (row[name] for name in ("need_label", "labelled", "width_now", "to_draw", "expected_width"))


def _remarks(row: Row, drawn: Drawn, part_h: int) -> Iterator[str]:
    yield _strata(drawn, "hour" if part_h == 1 else f"{part_h} hours")
    yield _labels(row)
    if row["unlabelled"] != "estimate":
        yield f'unlabelled = "{row["unlabelled"]}" publishes bounds, so that only what is judged narrows them'
    if row["by_this_plan"]:
        yield (
            f"of this plan {row['by_this_plan']} are judged; {row['passed_over']} whose turn came before are not. "
            "Where judges skip what is hard to judge, the others are no random sample"
        )


def _strata(drawn: Drawn, part: str) -> str:
    """What the strata are, and why no finer ones."""
    whole, cells = drawn.to_draw[WHOLE], drawn.to_draw.get(CELL)
    if cells is None:
        return "whole sessions are drawn; they pass through routes and hours, so that all of them are one stratum"
    if drawn.design == CELL:
        return (
            f"drawn by model, pool, route and {part}, more where labels vary more; as one stratum it would take {whole}"
        )
    if not whole:
        return "as narrow as that already"
    return f"drawn as one stratum, which takes {whole} labels; by model, pool, route and {part} it would take {cells}"


def _labels(row: Row) -> str:
    others = row["labelled"] - row["by_plan"]
    if row["sampling"] == "none":
        return (
            f"{row['labelled']} labels of plans count; {row['undrawn']} others do not, as nobody drew them (sampling = "
            '"none"). goodput publishes an interval once evaluators names who judges these keys, and sampling how'
        )
    if not others:
        return (
            f"{row['labelled']} labels count, all of them from a plan"
            if row["labelled"]
            else "no label judges any of these requests yet"
        )
    how = "whole sessions" if row["sampling"] == "session" else "requests"
    return (
        f"{row['labelled']} labels count, {row['by_plan']} of them from a plan; the others are a sample only if {how} "
        f'were drawn at random, as sampling = "{row["sampling"]}" states'
    )
