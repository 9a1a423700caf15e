"""Level and tail of one series by the text of docs/alarms.md, window after window in plain Python: no arrays, no ridge
solver, no sharing with the detector but what an hour's class is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

A_DAY, LAG, DAYS = 24, 7, 21
CLIP, FLOOR = 4.0, 0.02
Series = Sequence[float | None]


@dataclass(frozen=True)
class Window:
    """What a chart says of one window: its distance in sigma."""

    expected: float
    sigma: float


def history(day: int) -> range:
    """Windows that are history on a day of a long series."""
    return range((day - LAG - DAYS) * A_DAY, (day - LAG) * A_DAY)


def baseline(values: Series, past: range) -> tuple[dict[tuple[bool, int], float], float]:
    """What is usual by kind of day and hour, and how far the history strays from it."""
    hours: dict[tuple[bool, int], list[float]] = {}
    for at in past:
        if values[at] is not None:
            hours.setdefault(alike(at), []).append(values[at])
    work = {hour: median(hours[False, hour]) for hour in range(24)}
    off = {}
    for hour in range(24):
        block = range(hour // 6 * 6, hour // 6 * 6 + 6)
        strayed = [value - work[h] for h in block for value in hours[True, h]]
        off[hour] = (median(hours[True, hour]) + work[hour] + median(strayed)) / 2
    usual = {(is_off, h): smooth(one, h) for is_off, one in ((False, work), (True, off)) for h in range(24)}
    left = [values[at] - usual[alike(at)] for at in past if values[at] is not None]
    centre = median(left)
    return {key: value + centre for key, value in usual.items()}, 1.4826 * median(abs(one - centre) for one in left)


def smooth(one: dict[int, float], hour: int) -> float:
    return (one[(hour - 1) % 24] + 2 * one[hour] + one[(hour + 1) % 24]) / 4


def alike(at: int) -> tuple[bool, int]:
    """Kind of day and hour of a window of a series that begins on a Monday."""
    return at // A_DAY % 7 >= 5, at % A_DAY


def chart(
    values: Series, covariates: Sequence[Series], tail: tuple[Series, Series, float], day: int
) -> tuple[list[Window], float]:
    """The windows of a day, and by how much the series strays; `tail`: ln p95, requests, and draws a request."""
    past = history(day)
    usual, scale = baseline(values, past)
    body, requests, draws = tail
    index = median(values[at] - body[at] for at in past if values[at] is not None) / math.log(5)
    usually = median(requests[at] for at in past if values[at] is not None)
    first = max(scale, FLOOR)
    bases = [baseline(one, past) for one in covariates]

    def strayed(at: int, most: float) -> list[float]:
        far = [(one[at] - base[alike(at)]) / wide for one, (base, wide) in zip(covariates, bases, strict=True)]
        return [min(max(x, -most), most) for x in far]

    known = [at for at in past if values[at] is not None]
    y = [min(max((values[at] - usual[alike(at)]) / first, -CLIP), CLIP) for at in known]
    slopes = ridge([strayed(at, CLIP) for at in known], y)

    def expected(at: int) -> float:
        return usual[alike(at)] + first * sum(b * x for b, x in zip(slopes, strayed(at, 6.0), strict=True))

    centre = median(values[at] - expected(at) for at in known)
    left = [values[at] - expected(at) - centre for at in known]
    sigma = max(1.4826 * median(abs(one) for one in left), FLOOR)
    strays = straying([one / sigma for one in left])
    windows = []
    for at in range(day * A_DAY, (day + 1) * A_DAY):
        more = max(usually / requests[at] - 1, 0.0)
        square = sigma**2 * (1 + 3 / (len(known) / 24)) / (1 + 3 / 21)
        wide = math.sqrt(square + min(index**2 * draws / usually, square) * more)
        windows.append(Window(expected(at) + centre, max(wide * strays, FLOOR)))
    return windows, strays


def ridge(x: list[list[float]], y: list[float]) -> list[float]:
    """Slopes of one or two covariates with a ridge worth a day."""
    cross = [[sum(a[i] * a[j] for a in x) + (24 if i == j else 0) for j in range(len(x[0]))] for i in range(len(x[0]))]
    moment = [sum(a[i] * b for a, b in zip(x, y, strict=True)) for i in range(len(x[0]))]
    if len(moment) == 1:
        return [moment[0] / cross[0][0]]
    det = cross[0][0] * cross[1][1] - cross[0][1] ** 2
    return [
        (moment[0] * cross[1][1] - moment[1] * cross[0][1]) / det,
        (moment[1] * cross[0][0] - moment[0] * cross[0][1]) / det,
    ]


def straying(z: list[float]) -> float:
    average, square = 0.0, 0.0
    for one in z:
        average = 0.7 * average + 0.3 * min(max(one, -CLIP), CLIP)
        square += min(max(average, -2.5), 2.5) ** 2
    ratio = math.sqrt(square / len(z)) / 0.65
    return min(max(ratio if ratio >= 1 else math.sqrt(ratio), 0.88), 2.2)
