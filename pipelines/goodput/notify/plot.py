"""Draws a chart as a PNG: the series with its gaps, what was usual, where the rule fires, the onset, what went before.

The same chart gives the same bytes. Which alarms are drawn, and where pictures lie, is `plots`' work.
"""

import math
import textwrap
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from goodput.notify.chart import Chart, Mark, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _FAINT, _GRID, _ROOM = "#1f2933", "#7b8794", "#e4e7eb", "#e8edf2"
_LINE, _USUAL, _BOUND, _ALARM, _OPERATION = "#1f5fa8", "#52606d", "#c2410c", "#fde3d8", "#6d28d9"
_SIZE, _DPI = (10.0, 5.4), 120
_TITLE_COLUMNS, _TITLE_LINES = 112, 3
_LABEL_WIDTH, _LABEL_LINES = 0.16, 4  # share of the axis that one label takes; lines: each mark may need its own
_A_DAY_S = 86400
_STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with the library: the same letters everywhere
    "font.size": 9.5,
    "text.parse_math": False,  # the name of a pool is no formula
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
    **{f"{axis}tick.color": _FAINT for axis in "xy"},
    **{f"{axis}tick.labelcolor": _INK for axis in "xy"},
}


def draw(chart: Chart) -> bytes:
    """The PNG of a chart, 1200 x 648."""
    import matplotlib as mpl  # noqa: PLC0415  (a third of a second that only a picture waits for)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks are drawn as boxes
        mpl.rcdefaults()  # whatever a matplotlibrc says
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]  # it lists the name of every setting there is
        figure = Figure(figsize=_SIZE, dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        _compose(figure, chart)
        written = BytesIO()
        figure.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _compose(figure: "Figure", chart: Chart) -> None:
    title = textwrap.wrap(_printable(chart.title), _TITLE_COLUMNS, max_lines=_TITLE_LINES, placeholder=" …")
    figure.text(0.012, 0.978, "\n".join(title), va="top", fontsize=10, fontweight="bold", linespacing=1.35)
    begin = 0.985 - 0.041 * len(title)  # of the legend, below the title
    heights = (3.6, 1) if any(score is not None for score in chart.score) else (1,)
    frame = {"left": 0.075, "right": 0.985, "top": begin - 0.155, "bottom": 0.1, "hspace": 0.12}
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights, **frame)
    axes = [figure.add_subplot(grid[row]) for row in range(len(heights))]
    _series(axes[0], chart)
    if len(axes) > 1:
        _scores(axes[1], chart)
    for one in axes:
        _time(one, chart, labelled=one is axes[-1])
    _labels(axes[0], chart)
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, loc="upper left", bbox_to_anchor=(0.066, begin), ncols=5, frameon=False, fontsize=8.5)


def _series(axes: "Axes", chart: Chart) -> None:
    ends, usual, bound = _ends(chart), _floats(chart.usual), _floats(chart.bound)
    quantity = _printable(chart.quantity)
    axes.plot(ends, _floats(chart.value), color=_LINE, lw=1.7, marker="o", ms=2.4, zorder=4, label=quantity)
    known = not all(map(math.isnan, usual))
    if known:
        axes.fill_between(ends, usual, bound, color=_ROOM, lw=0, zorder=1)
        axes.plot(ends, usual, color=_USUAL, lw=1.2, ls=(0, (5, 2)), zorder=3, label="usual")
    if not all(map(math.isnan, bound)):
        label = "fires if it stays beyond" if known else "bound"
        axes.plot(ends, bound, color=_BOUND, lw=1.0, zorder=3, label=label)
    for number, (since, until) in enumerate(_gaps(chart)):
        label = "_" if number else "no data"
        axes.axvspan(since, until, facecolor="none", edgecolor="#cbd2d9", hatch="///", lw=0, zorder=1, label=label)
    axes.set_ylabel(quantity)
    axes.margins(y=0.08)
    axes.grid(axis="y", color=_GRID, lw=0.7)
    axes.set_axisbelow(True)


def _scores(axes: "Axes", chart: Chart) -> None:
    axes.plot(_ends(chart), _floats(chart.score), color=_LINE, lw=1.3, zorder=3)
    if chart.threshold is not None:
        axes.axhline(chart.threshold, color=_BOUND, lw=1.0, zorder=2)
        where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        label = f"fires at {chart.threshold:.3g}"
        axes.annotate(label, (0.006, chart.threshold), xytext=(0, 2.5), color=_BOUND, fontsize=8.5, **where)
    axes.set_ylabel("score")
    axes.margins(y=0.2)
    axes.grid(axis="y", color=_GRID, lw=0.7)
    axes.locator_params(axis="y", nbins=3)


def _time(axes: "Axes", chart: Chart, *, labelled: bool) -> None:
    """The axis of time, the time for which it fired, and the marks."""
    from matplotlib import dates  # noqa: PLC0415

    of_time: Any = dates
    locator = of_time.AutoDateLocator(tz=UTC, minticks=5, maxticks=10)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(of_time.ConciseDateFormatter(locator, tz=UTC))
    first, last = _shown(chart)
    axes.set_xlim(first, last)
    axes.tick_params(axis="x", labelbottom=labelled)
    axes.xaxis.get_offset_text().set_visible(labelled)
    if labelled:
        axes.set_xlabel("UTC", loc="left")
    over = last if chart.over_at is None else min(_day(chart.over_at), last)
    axes.axvspan(max(_day(chart.fired_at), first), over, color=_ALARM, lw=0, zorder=0)
    for mark, colour, style in _marks(chart):
        axes.axvline(_day(mark.at), color=colour, lw=1.1, ls=style, zorder=2)


def _labels(axes: "Axes", chart: Chart) -> None:
    """The names of the marks above the axes, each on the lowest line that has room for it."""
    first, last = _shown(chart)
    taken = [-math.inf] * _LABEL_LINES
    for mark, colour, _ in sorted(_marks(chart), key=lambda found: found[0].at):
        where = (_day(mark.at) - first) / (last - first)
        before = where > 1 - _LABEL_WIDTH  # no room behind it
        begins = where - _LABEL_WIDTH if before else where
        line = next((number for number, until in enumerate(taken) if until <= begins), _LABEL_LINES - 1)
        taken[line] = begins + _LABEL_WIDTH
        near = (-2 if before else 2, 3 + 11 * line)
        label = f"{_printable(mark.what)} {mark.at.astimezone(UTC):%d %b %H:%M}"
        style: dict[str, Any] = {"color": colour, "ha": "right" if before else "left", "fontsize": 8.5}
        axes.annotate(label, (where, 1), xycoords="axes fraction", xytext=near, textcoords="offset points", **style)


def _marks(chart: Chart) -> Iterator[tuple[Mark, str, Any]]:
    """What is marked within the time that is shown, with its colour and its line."""
    first, last = _shown(chart)
    marks: list[tuple[Mark | None, str, Any]] = [
        (Mark(chart.onset_at, "onset") if chart.onset_at else None, _INK, (0, (1, 1.5))),
        (Mark(chart.fired_at, chart.severity), _BOUND, "-"),
        (Mark(chart.over_at, "over") if chart.over_at else None, _FAINT, "-"),
        (chart.operation, _OPERATION, (0, (4, 2))),
    ]
    yield from ((mark, colour, line) for mark, colour, line in marks if mark and first <= _day(mark.at) <= last)


def _gaps(chart: Chart) -> Iterator[tuple[float, float]]:
    """Spans without a value between windows that have one."""
    known = [at for at, value in zip(_ends(chart), chart.value, strict=True) if value is not None]
    a_window = 1.5 * chart.window_s / _A_DAY_S
    yield from ((before, after) for before, after in pairwise(known) if after - before > a_window)


def _shown(chart: Chart) -> tuple[float, float]:
    """Both ends of the axis of time: a little beyond the newest window, so that what happens there is seen."""
    first, last = _day(chart.starts[0]), _ends(chart)[-1]
    return first, last + (last - first) / 50


def _ends(chart: Chart) -> list[float]:
    return [_day(start) + chart.window_s / _A_DAY_S for start in chart.starts]


def _day(at: datetime) -> float:
    """An instant as the library counts: days of UTC since 1970."""
    return at.timestamp() / _A_DAY_S


def _floats(values: Numbers) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
