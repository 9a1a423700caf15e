"""Draws pictures of alarms as PNGs, as a process of its own: what draws is large and somebody else's.

Its standard input is an `PictureJob` as JSON. The same chart gives the same bytes.
"""

import json
import re
import signal
import sys
from functools import cache, partial
from pathlib import Path

import msgspec
import vl_convert

from goodput.notify.chart import AlarmChart
from goodput.plumbing.files import write_atomically
from goodput.report.alarm_marks import printable
from goodput.report.alarm_picture import SCALE, described
from goodput.report.assets import asset
from goodput.report.looks import VEGA_LITE

_COLOUR = re.compile(r"var\((--[\w-]+)\)")


class PictureJob(msgspec.Struct):
    """What is drawn where: chart number n goes to `<n>.png` in the folder; `within_s` ends it, whatever it is doing."""

    folder: str
    within_s: int
    charts: list[AlarmChart]


def picture(chart: AlarmChart) -> bytes:
    """The PNG of a chart, 1200 pixels wide."""
    drawn: bytes = vl_convert.vegalite_to_png(in_light(chart), vl_version=VEGA_LITE, scale=SCALE)
    return drawn


def in_light(chart: AlarmChart) -> str:
    """The chart as Vega-Lite, in the colours that the page has on paper."""
    return _COLOUR.sub(lambda named: _colours()[named[1]], json.dumps(described(chart)))


@cache
def _colours() -> dict[str, str]:
    """The page's colours on paper, by the names of their variables: those that stand first in its style."""
    light = asset("page.css").partition("}")[0]
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", light))


def main() -> int:
    """Draw what standard input asks for; 1 where some of it cannot be drawn, and standard error says why."""
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=PictureJob)
    signal.alarm(asked.within_s)  # whoever waited may be gone: nothing outlives its time
    failed: list[str] = []
    for number, chart in enumerate(asked.charts):
        try:
            png = picture(chart)
        except Exception as error:  # the others can be drawn
            failed.append(f"{printable(chart.title)[:80]}: {error}")
        else:
            write_atomically(Path(asked.folder, f"{number}.png"), partial(Path.write_bytes, data=png))
    sys.stderr.write("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
