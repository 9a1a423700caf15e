"""The one list of gates, and what has to agree with it."""

from typing import get_args

from goodput.contracts import arrow_schema, contract
from goodput.plumbing.sql_files import sql_file
from goodput.settings.gates import COUNT_GATES, GATES, LATENCY_GATES, CountName, LatencyName
from goodput.settings.model import Workload


def test_the_order_of_gates_is_that_of_verdicts() -> None:
    """failed, over_budget, slow, rejected."""
    assert ("success", *COUNT_GATES, *LATENCY_GATES, "quality") == GATES
    assert next(iter(COUNT_GATES)) == "retries"


def test_what_names_gates_names_them_all() -> None:
    columns = arrow_schema("requests").names
    assert tuple(name.removeprefix("pass_") for name in columns if name.startswith("pass_")) == GATES
    assert contract("gate_failures")["gate"].valid_values == GATES
    assert get_args(CountName) == tuple(COUNT_GATES)
    assert get_args(LatencyName) == tuple(LATENCY_GATES)
    for gate in (*COUNT_GATES.values(), *LATENCY_GATES.values()):
        assert gate.setting in Workload.model_fields
        assert gate.measured in columns


def test_who_fails_a_gate_can_be_asked_for() -> None:
    """`asked_requests` has a line for each, as a window leads to the requests behind it."""
    text = sql_file("asked_requests").text
    assert [gate for gate in GATES if f"WHEN '{gate}' THEN NOT r.pass_{gate}" not in text] == []
