"""Which charts there are: every module of `charts`, in the order of their places."""

import pkgutil
from functools import cache
from importlib import import_module

from goodput.report import charts
from goodput.report.chart import Chart


@cache
def all_charts() -> tuple[Chart, ...]:
    """Every chart of the report, in order."""
    names = [module.name for module in pkgutil.iter_modules(charts.__path__)]
    found: list[Chart] = [import_module(f"goodput.report.charts.{name}").CHART for name in names]
    return tuple(sorted(found, key=lambda chart: chart.place))
