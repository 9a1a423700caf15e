"""One line of `make drill-alarms`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One figure, and whether it keeps what is promised."""

    what: str
    figure: str
    promised: str
    kept: bool
