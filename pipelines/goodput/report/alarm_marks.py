"""What a picture of an alarm marks in time, on which line each label stands, and which time is shown."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from goodput.notify.chart import AlarmChart, Mark
from goodput.report.looks import INK, MUTED, PURPLE, RED

_LABEL_WIDTH, _LABEL_LINES = 0.17, 4  # share of the axis that one label takes; lines: each mark may need its own


def placed(chart: AlarmChart) -> Iterator[tuple[Mark, int, bool]]:
    """Each mark with the lowest line that has room for its label, and whether the label stands before it."""
    first, last = shown(chart)
    taken = [-1.0] * _LABEL_LINES
    for mark, _, _ in sorted(shown_marks(chart), key=lambda found: found[0].at):
        where = (mark.at - first) / (last - first)
        is_before = where > 1 - _LABEL_WIDTH  # no room behind it
        begins = where - _LABEL_WIDTH if is_before else where
        line = next((number for number, until in enumerate(taken) if until <= begins), _LABEL_LINES - 1)
        taken[line] = begins + _LABEL_WIDTH
        yield mark, line, is_before


def shown_marks(chart: AlarmChart) -> Iterator[tuple[Mark, str, list[float]]]:
    """What is marked within the time that is shown, with its colour and its line."""
    first, last = shown(chart)
    marks: list[tuple[Mark | None, str, list[float]]] = [
        (Mark(chart.onset_at, "onset") if chart.onset_at else None, INK, [1, 2]),
        (Mark(chart.fired_at, chart.severity), RED, [1, 0]),
        (Mark(chart.over_at, "over") if chart.over_at else None, MUTED, [1, 0]),
        (chart.operation, PURPLE, [4, 3]),
    ]
    yield from ((mark, colour, dash) for mark, colour, dash in marks if mark and first <= mark.at <= last)


def shown(chart: AlarmChart) -> tuple[datetime, datetime]:
    """Both ends of the axis of time: a little beyond the newest window, so that what happens there is seen."""
    first, last = chart.starts[0], ends(chart)[-1]
    return first, last + (last - first) / 50


def ends(chart: AlarmChart) -> list[datetime]:
    """The ends of its windows, which is when their values are known."""
    return [start + timedelta(seconds=chart.window_s) for start in chart.starts]


def epoch_ms(at: datetime) -> int:
    """An instant in milliseconds since 1970."""
    return round(at.timestamp() * 1000)


def printable(text: str) -> str:
    """A text without what no letter stands for."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
