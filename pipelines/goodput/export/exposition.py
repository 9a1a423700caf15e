"""The text that Prometheus reads: of each length the newest whole window, and the state as it is.

Without timestamps, as the textfile collector refuses them and a scrape drops what is older than its head: when a window
ended is a metric of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

import duckdb

from goodput.export.catalog import ExportedMetric, all_metrics
from goodput.export.points import Point, choose, newest, points, whole_windows
from goodput.export.prometheus_names import label_name, metric_name

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def exposition(connection: duckdb.DuckDBPyConnection) -> str:
    """What is published now, in Prometheus' text format (version 0.0.4).

    It makes temporary tables: on one connection one call at a time.
    """
    choose(connection, newest(whole_windows(connection)))
    return "".join(_lines(chain(points(connection, of_windows=True), points(connection, of_windows=False))))


def _lines(found: Iterable[Point]) -> Iterator[str]:
    by_metric: defaultdict[ExportedMetric, list[Point]] = defaultdict(list)
    for point in found:
        by_metric[point.metric].append(point)
    for metric in all_metrics():
        name = metric_name(metric)
        if metric in by_metric:
            yield f"# HELP {name} {metric.meaning}\n# TYPE {name} gauge\n"
        for point in by_metric[metric]:
            yield f"{name}{_labels(point)} {point.value!r}\n"


def _labels(point: Point) -> str:
    named = (f'{label_name(name)}="{str(value).translate(_ESCAPED)}"' for name, value in point.attributes)
    return "{" + ",".join(named) + "}"
