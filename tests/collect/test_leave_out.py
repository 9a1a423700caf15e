"""What the settings leave out, and that it is counted (trap 30)."""

from pathlib import Path
from typing import Any

import pytest

from collect.telemetry import CHAT, read, span
from goodput.settings.model import Settings

SYNTHETIC: dict[str, Any] = {
    "synthetic": {"attributes": {"traffic.synthetic": "true", "user.id": ["probe-*", "smoke?"]}},
    "staging": {"attributes": {"deployment.environment.name": "staging"}},
}


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"traffic.synthetic": True, "user.id": "probe-17"}, "left_out:synthetic"),
        ({"traffic.synthetic": "true", "user.id": "smoke1"}, "left_out:synthetic"),
        ({"traffic.synthetic": True, "user.id": "probe-\n"}, "left_out:synthetic"),
        ({"traffic.synthetic": True, "user.id": "smoke12"}, None),  # ? is one character
        ({"traffic.synthetic": True, "user.id": "a-probe-17"}, None),  # from its beginning
        ({"traffic.synthetic": True}, None),  # every attribute has to match
        ({"user.id": "probe-17"}, None),
        ({"deployment.environment.name": "staging"}, "left_out:staging"),
        ({"deployment.environment.name": "staging.2"}, None),
        ({}, None),
    ],
)
def test_trap_30_synthetic_traffic_is_left_out_by_attribute(
    tmp_path: Path, said: dict[str, object], rule: str | None
) -> None:
    spans = [span(said={**CHAT, **said}, spanId="1" * 16), span(said={**CHAT, "user.id": "u-1"}, spanId="2" * 16)]
    reading = read(tmp_path, *spans, leave_out=SYNTHETIC)
    kept = [row["span_id"] for row in reading.tables["serving_records"]]
    assert kept == (["2" * 16] if rule else ["1" * 16, "2" * 16])
    assert reading.ignored == ({rule: 1} if rule else {})
    assert reading.rows_read == 2


def test_an_attribute_of_the_resource_counts_where_the_span_has_none(tmp_path: Path) -> None:
    resource: dict[str, object] = {"deployment.environment.name": "staging"}
    spans = [span(spanId="1" * 16), span(said={**CHAT, "deployment.environment.name": "prod"}, spanId="2" * 16)]
    reading = read(tmp_path, *spans, resource=resource, leave_out=SYNTHETIC)
    assert [row["span_id"] for row in reading.tables["serving_records"]] == ["2" * 16]
    assert reading.ignored == {"left_out:staging": 1}


def test_what_is_no_request_is_left_out_for_that_alone(tmp_path: Path) -> None:
    other = span("other", {"deployment.environment.name": "staging"})
    assert read(tmp_path, other, leave_out=SYNTHETIC).ignored == {"span_is_no_request": 1}


@pytest.mark.parametrize("attributes", [{}, {"user.id": []}])
def test_a_rule_that_would_leave_out_everything_is_refused(attributes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="would leave out every record"):
        Settings.model_validate({"leave_out": {"all": {"attributes": attributes}}})
