"""`goodput alarms replay`: what trend alarms see in their own history, how often they fire, and at which threshold."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from goodput.ask.alarm_evidence import series_of
from goodput.ask.cells import plain
from goodput.ask.database import Row, asked, published
from goodput.cli.fired_rates import fired_rates, rate_of
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves
from goodput.errors import UsageError

_DRIFTS = ("10pct", "5pct", "2pct")
_DRIFTS_IN = tuple(f"{name.removesuffix('pct')} %/h in" for name in _DRIFTS)
_POWER_HEADER = (
    *("alarm", "rule", "series", "armed", "fired", "sigma", "strays", "tail"),
    *("sees", *_DRIFTS_IN, "why not"),
)
_RATE = "in 1,000 series-days, true or false (95 %)"
_FIRED_HEADER = ("metric", "severity", "series", "days", "fired", _RATE)
_BUDGET_HEADER = ("rule", "series", "days", "now", "fired", "threshold", "fires", _RATE, *_DRIFTS_IN)


def replay(
    rule: Annotated[str | None, typer.Argument(help="Of this rule alone.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Alarms to bear in 1,000 series-days: each rule's threshold for it.", min=0),
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """What each trend alarm can see, replayed over its own last four weeks, and how often it is wrong.

    Example:
      goodput alarms replay p99_ttft_s_page
      goodput alarms replay --budget 1
    """
    with until_reader_leaves(), published(config, lake) as connection:
        found = asked(connection, "replayed_alarms", {"rule": rule})
        if rule is not None and not found:
            raise UsageError(f"No trend rule is called {rule!r}: `goodput alarms replay` shows them all.")
        if budget is None:
            _print(found)
    if budget is not None:
        with until_reader_leaves():
            _print_thresholds(budget, rule, config, lake)


def _print(found: list[Row]) -> None:
    out = console()
    if found:
        out.print(table(_POWER_HEADER, [_power_line(row) for row in found[:MAX_ROWS]], out.width))
    pooled = list(fired_rates(found))
    if pooled:
        out.print(table(_FIRED_HEADER, pooled, out.width))
    armed = [row for row in found if row["armed"]]
    expected = sum(row["false_alarms_per_week"] for row in armed)
    of_noise = f"{expected:.2g} false alarms a week expected of noise as serving traffic has it (docs/alarms.md)"
    out.print(plain(f"{len(armed)} of {len(found)} trend alarms armed; {of_noise}"))


def _power_line(row: Row) -> tuple[object, ...]:
    seen = None if row["smallest_shift"] is None else f"{100 * row['smallest_shift']:.0f} %"
    if row["metric"].endswith("_ratio") and row["smallest_shift"] is not None:
        seen = f"{row['smallest_shift']:.2g}"
    delays = [_hours(row[f"drift_{name}_delay_s"]) for name in _DRIFTS]
    sigma = None if row["sigma"] is None else f"{row['sigma']:.3f}"
    strays, tail = (None if row[name] is None else f"{row[name]:.2f}" for name in ("strays", "tail_share"))
    armed = "yes" if row["armed"] else "no"
    noise = (sigma, strays, tail)
    return (row["alarm_id"], row["rule"], series_of(row), armed, row["fired"], *noise, seen, *delays, row["why"])


def _print_thresholds(budget: float, rule: str | None, config: Config, lake: LakeRoot) -> None:
    """The least threshold of each rule that keeps the budget on what all its series did, and what it finds there."""
    from goodput.alarms import thresholds_for  # noqa: PLC0415  (judges every series anew: only who asks waits for it)
    from goodput.plumbing.workspace import lake_of  # noqa: PLC0415
    from goodput.settings.load import load_settings  # noqa: PLC0415

    settings = load_settings(config, lake=lake)
    at = lake_of(settings)
    at.pull()
    found = thresholds_for(at, settings, datetime.now(UTC), budget)
    lines = []
    for one in sorted(found, key=lambda one: one.rule):
        if rule in {None, one.rule}:
            many = (one.rule, one.series, round(one.days), f"{one.now:g}", one.fired_now)
            delays = [_hours(one.delays_s.get(name)) for name in _DRIFTS]
            if one.threshold is None:
                lines.append((*many, "none keeps it", None, None, *delays))
            else:
                wrong = rate_of(one.fired, one.days, one.series)
                lines.append((*many, f"{one.threshold:g}", one.fired, wrong, *delays))
    out = console()
    if lines:
        out.print(table(_BUDGET_HEADER, lines, out.width))
    heading = f"{len(lines)} trend rule(s), at most {budget:g} alarm(s) in 1,000 series-days, true or false"
    out.print(plain(f"{heading}; set one by [alarms.rules.NAME] threshold"))


def _hours(delay_s: float | None) -> str | None:
    return None if delay_s is None else f"{delay_s / 3600:.0f} h"
