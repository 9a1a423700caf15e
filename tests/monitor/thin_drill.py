"""How often alarms of latencies are false, and how soon pages are right, where traffic is too thin for hours."""

from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.settings.model import Settings
from monitor.line import Line, rate
from monitor.noise import NORMAL, ROUGH
from monitor.rows import MONDAY
from monitor.thin import Thin, thin_rows

SETTINGS = Settings(windows_s=(300, 3600, 21600, 86400))
SERIES, DAYS, LEARNING = 150, 56, 14
ONSET_DAY, AFTER_DAYS = 30, 8
THINLY = ((10, "a day"), (40, "6 h"))  # requests an hour, and the windows that bear them
DRIFTS = {(10, 0.02): 72, (10, 0.05): 48, (40, 0.02): 36, (40, 0.05): 24}  # promised hours to the median page


def thin_lines() -> Iterator[Line]:
    """All of them."""
    for per_hour, windows in THINLY:
        yield from false(7501, Thin(per_hour, DAYS), f"{per_hour} requests/h ({windows})", (1.0, 10.0))
        yield from false(7502, Thin(per_hour, DAYS, ROUGH), f"the same, rough ({windows})", (2.0, 20.0))
    for (per_hour, drift), most in DRIFTS.items():
        yield delay(per_hour, drift, most)


def false(seed: int, fleet: Thin, what: str, most: tuple[float, float]) -> Iterator[Line]:
    """False pages, then tickets, of which at most so many are promised."""
    series = trends(np.random.default_rng(seed), fleet, SERIES)
    for severity, promised in zip(("page", "ticket"), most, strict=True):
        count = sum(1 for one in series if one.severity == severity for _ in spans(one))
        yield rate(f"false {severity}s, {what}", count, SERIES * (DAYS - LEARNING), promised)


def delay(per_hour: float, drift: float, most: float) -> Line:
    fleet = Thin(per_hour, ONSET_DAY + AFTER_DAYS, NORMAL, drift, ONSET_DAY * 24)
    onset_s = int((MONDAY + timedelta(days=ONSET_DAY)).timestamp())
    first: dict[object, float] = {}
    for one in trends(np.random.default_rng(7503), fleet, SERIES):
        for _, starts_s, _ in spans(one):
            if one.severity == "page" and starts_s >= onset_s:
                first[one.labels] = min(first.get(one.labels, np.inf), (starts_s - onset_s) / 3600)
    delays = np.array([*first.values(), *[np.inf] * (SERIES - len(first))])
    p50, p90 = np.quantile(delays, (0.5, 0.9), method="inverted_cdf")
    what = f"{per_hour} requests/h that drift {drift:.0%} an hour"
    return Line(what, f"{p50:.0f}/{p90:.0f} h of {SERIES}", f"p50 <= {most:g} h", bool(p50 <= most))


def trends(rng: np.random.Generator, fleet: Thin, series: int) -> list[RuleSeries]:
    """Pages and tickets of the trends of a fleet."""
    rows = thin_rows(rng, fleet, series)
    evaluation = Evaluation(Evidence({"goodput": rows}, SETTINGS), MONDAY + timedelta(days=fleet.days))
    return [one for one in evaluation.rule_series if one.kind == "trend"]
