"""The one list of gates, and what has to agree with it."""

from typing import get_args

from goodput.contracts import arrow_schema, contract
from goodput.settings.gates import GATES, LATENCY_GATES, LatencyName
from goodput.settings.model import Workload


def test_the_order_of_gates_is_that_of_verdicts() -> None:
    # failed, over_budget, slow (the latency gates), rejected
    assert GATES[:2] == ("success", "retries")
    assert GATES[2:-1] == tuple(LATENCY_GATES)
    assert GATES[-1] == "quality"


def test_what_names_gates_names_them_all() -> None:
    columns = arrow_schema("requests").names
    assert tuple(name.removeprefix("pass_") for name in columns if name.startswith("pass_")) == GATES
    assert contract("gate_failures")["gate"].valid_values == GATES
    assert get_args(LatencyName) == tuple(LATENCY_GATES)
    for gate in LATENCY_GATES.values():
        assert gate.setting in Workload.model_fields
        assert gate.measured in columns
