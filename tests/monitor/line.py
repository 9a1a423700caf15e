"""One line of `make drill-alarms`."""

from dataclasses import dataclass

from scipy.stats import chi2


@dataclass(frozen=True)
class Line:
    """One figure, and whether it keeps what is promised."""

    what: str
    figure: str
    promised: str
    kept: bool


def rate(what: str, events: int, days: float, most: float) -> Line:
    """Events in 1,000 series-days with the exact interval of a Poisson count, of which `most` are promised."""
    low = chi2.ppf(0.025, 2 * events) / 2 if events else 0.0
    high = chi2.ppf(0.975, 2 * events + 2) / 2
    found, low, high = (1000 * n / days for n in (events, low, high))
    figure = f"{found:.2f} [{low:.2f}, {high:.2f}] per 1,000 of {days:,.0f}"
    return Line(what, figure, f"<= {most:g} per 1,000 series-days", found <= most)
