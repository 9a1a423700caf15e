"""What shows that two instrumentations of a caller write the same calls, hour by hour."""

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import compute, connect

HOUR_S = 498_609 * 3600


def wrote(instrumentation: str, begin_s: float, end_s: float) -> dict[str, object]:
    """A record of one answer, in a trace of its own."""
    started_ns, ended_ns = (round((HOUR_S + at) * 1e9) for at in (begin_s, end_s))
    row = dict.fromkeys(arrow_schema("serving_records").names)
    return row | {
        "record_id": instrumentation,
        "trace_id": instrumentation,
        "instrumentation": instrumentation,
        "layer": "client",
        "outcome": "ok",
        "response_id": "r",
        "started_ns": started_ns,
        "ended_ns": ended_ns,
    }


@pytest.mark.parametrize(("end_s", "hours"), [(3599.9, [498_609]), (3600.02, [])])
def test_an_hour_is_shown_by_its_own_records_whatever_else_is_loaded(end_s: float, hours: list[int]) -> None:
    """The outer record ends in that hour or in the next, which is not there when the hour is computed alone."""
    rows = [wrote("outer", 3598, end_s), wrote("inner", 3598.1, 3599.85)]
    with connect() as connection:
        connection.register("serving_records", pa.Table.from_pylist(rows, schema=arrow_schema("serving_records")))
        compute(connection, "same_calls")
        found = connection.sql("SELECT epoch_hour FROM same_calls").fetchall()
    assert [hour for (hour,) in found] == hours
