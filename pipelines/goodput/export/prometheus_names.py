"""How a metric of the catalog is called in Prometheus: as its OTLP receiver and the Collector would call it.

Whichever way a number takes, one query finds it (OpenTelemetry's specification, "Prometheus and OpenMetrics
Compatibility").
"""

import re

from goodput.export.catalog import ExportedMetric

_UNITS = {"s": "seconds", "{request}/s": "per_second", "{token}/s": "per_second"}


def metric_name(metric: ExportedMetric) -> str:
    """The name, with the unit at its end unless it is there: what is in braces is no unit, and 1 is a ratio."""
    words = re.findall("[a-zA-Z0-9]+", metric.name)
    if metric.unit == "1":
        return "_".join([*(word for word in words if word != "ratio"), "ratio"])
    suffix = _UNITS.get(metric.unit)
    return "_".join(words if suffix is None or suffix in words else [*words, suffix])


def label_name(attribute: str) -> str:
    """The name of an attribute."""
    return attribute.replace(".", "_")
