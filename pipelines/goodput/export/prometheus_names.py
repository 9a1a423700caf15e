"""How a metric of the catalog is called in Prometheus: as its OTLP receiver and the Collector would call it.

Whichever way a number takes, one query finds it (OpenTelemetry's specification, "Prometheus and OpenMetrics
Compatibility").
"""

import re

from goodput.export.catalog import Metric

_UNITS = {"s": "seconds", "1": "ratio"}
_PER = {"s": "per_second"}


def metric_name(metric: Metric) -> str:
    """The name, with the unit at its end unless it is there: what is in braces is no unit."""
    counted, _, per = metric.unit.partition("/")
    words = re.findall("[a-zA-Z0-9]+", metric.name)
    suffix = _UNITS.get(counted, "")
    if suffix == "ratio":
        words = [word for word in words if word != suffix]
    for unit in (suffix, _PER.get(per, "")):
        if unit and unit not in words:
            words.append(unit)
    return "_".join(words)


def label_name(attribute: str) -> str:
    """The name of an attribute."""
    return attribute.replace(".", "_")
