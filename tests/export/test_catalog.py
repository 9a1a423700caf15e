"""Names and units by the conventions: Prometheus' own translation of OTLP, one name for one thing."""

import re
from pathlib import Path

import pytest

from goodput.export.catalog import SOURCES, ExportedMetric, all_metrics
from goodput.export.prometheus_names import metric_name
from goodput.telemetry.quantities import QUANTITIES

DOCS = Path(__file__).parents[2] / "docs/export.md"


# Gauges of prometheus/otlptranslator's own tests (metric_namer_test.go), as far as units of the catalog occur there.
@pytest.mark.parametrize(
    ("name", "unit", "translated"),
    [
        ("cpu_usage", "1", "cpu_usage_ratio"),
        ("cpu_usage_ratio", "1", "cpu_usage_ratio"),
        ("custom_metric", "{custom}", "custom_metric"),
        ("response_time_seconds", "s", "response_time_seconds"),
        ("request_duration", "s", "request_duration_seconds"),
        # a unit in braces per second, by its rules: the braces go, the time stays
        ("requests", "{request}/s", "requests_per_second"),
        # and a ratio in the middle of a name goes to its end
        ("quality.ratio.low", "1", "quality_low_ratio"),
    ],
)
def test_names_are_translated_as_receivers_do_it(name: str, unit: str, translated: str) -> None:
    assert metric_name(ExportedMetric(name, unit, "", "")) == translated


def test_names_follow_the_conventions_and_are_of_one_thing_each() -> None:
    metrics = list(all_metrics())
    for names in ([metric.name for metric in metrics], [metric_name(metric) for metric in metrics]):
        assert len(set(names)) == len(names)
    for metric in metrics:
        assert re.fullmatch(r"goodput(\.[a-z][a-z0-9_]*)+", metric.name)
        assert re.fullmatch(r"1|s|\{[a-zA-Z]+\}(/s)?", metric.unit)
        assert metric_name(metric).startswith("goodput_")


def test_own_telemetry_may_go_to_the_same_store() -> None:
    assert not {metric.name for metric in all_metrics()} & set(QUANTITIES)


def test_every_attribute_and_every_metric_is_documented() -> None:
    """The page is for readers: a row for each metric, with both of its names, and each attribute once."""
    text = DOCS.read_text()
    for metric in all_metrics():
        if ".ci_" not in metric.name:
            assert f"| `{metric.name}` | `{metric_name(metric)}` | {metric.unit} |" in text
    for source in SOURCES:
        for column in source.keys:
            assert f"`{column}`" in text
