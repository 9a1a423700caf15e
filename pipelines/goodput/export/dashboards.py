"""The dashboard for Grafana, built by Grafana's own SDK of what `panels` lists.

The SDK is an extra of the package, which nothing but this needs. Its older form of a dashboard is taken, which every
Grafana of today reads.
"""

import json
import warnings
from string import ascii_uppercase
from typing import TYPE_CHECKING

from goodput.errors import GrafanaMissing
from goodput.export.panels import METRICS, ROWS, DashboardPanel, Look, label
from goodput.export.prometheus_names import metric_name

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the older form
        from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.common import (
        DataSourceRef,
        LegendDisplayMode,
        LineInterpolation,
        StackingMode,
        VisibilityMode,
    )
    from grafana_foundation_sdk.models.dashboard import VariableRefresh, VariableSort
    from grafana_foundation_sdk.models.prometheus import PromQueryFormat
except ModuleNotFoundError as error:
    raise GrafanaMissing from error

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Panel as BuiltPanel

_SOURCE = DataSourceRef("prometheus", "${datasource}")
_WIDTH = 24  # of Grafana's grid
_HEIGHTS: dict[Look, int] = {"number": 4, "lines": 8, "stacked": 8, "list": 8}


def dashboard_json() -> str:
    """The dashboard as a file that Grafana imports or provisions."""
    built = (
        dashboard.Dashboard("Goodput")
        .uid("goodput")
        .description("What share of answers was accepted, how sure that is, what one cost, and where the rest went")
        .tags(["goodput"])
        .timezone("utc")
        .time("now-24h", "now")
        .refresh("5m")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("window", "Window, seconds", "goodput.window_end.timestamp", "window_s"))
        .with_variable(_variable("workload", "Workload", "goodput.offered", "workload").multi(True).include_all(True))
    )
    for title, panels in ROWS.items():
        built.with_row(dashboard.Row(title))
        for panel in panels:
            built.with_panel(_panel(panel, _WIDTH // min(len(panels), 6 if panel.look == "number" else 3)))
    return json.dumps(built.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _variable(name: str, shown: str, metric: str, column: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(shown)
        .datasource(_SOURCE)
        .query(f"label_values({metric_name(METRICS[metric])}, {label(column)})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NUMERICAL_ASC)
    )


def _panel(panel: DashboardPanel, width: int) -> "Builder[BuiltPanel]":
    built = _looking(panel.look)
    for ref_id, query in zip(ascii_uppercase, panel.queries, strict=False):
        target = prometheus.Dataquery().ref_id(ref_id).expr(query.promql).legend_format(query.legend)
        built.with_target(target.instant().format(PromQueryFormat.TABLE) if panel.look == "list" else target.range())
    return built.title(panel.title).unit(panel.unit).datasource(_SOURCE).span(width).height(_HEIGHTS[panel.look])


def _looking(look: Look) -> "timeseries.Panel | stat.Panel | table.Panel":
    if look == "number":
        return stat.Panel()
    if look == "list":
        return table.Panel()
    lines = (
        timeseries.Panel()
        .line_interpolation(LineInterpolation.STEP_AFTER)
        .show_points(VisibilityMode.NEVER)
        .legend(common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).show_legend(True))
    )
    if look == "stacked":
        lines.fill_opacity(60).stacking(common.StackingConfig().mode(StackingMode.NORMAL))
    return lines
