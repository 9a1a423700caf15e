"""How evenly labels lie: which cell is shown does not depend on the order in which requests come."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.join.workloads import workload_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Workload

ENDED = datetime(2026, 11, 20, 9, 10, tzinfo=UTC)


def request(tenant: str, labelled: bool) -> dict[str, object]:
    told = {"ended_at": ENDED, "workload": "qa", "verdict": "accepted", "needs_label": True, "model": "m"}
    return {**told, "tenant": tenant, "pass_quality": True if labelled else None, "output_tokens": 8}


@pytest.mark.parametrize("step", [1, -1])
def test_of_two_cells_that_add_as_much_the_last_by_name_is_shown(step: int) -> None:
    """Two of two and none of two, where half have a label, are as far from it."""
    rows = [request("a", True), request("a", True), request("b", False), request("b", False)][::step]
    settings = Settings(workloads={"qa": Workload(quality=Quality())})
    with connect() as connection:
        connection.register("requests", pa.Table.from_pylist(rows, schema=arrow_schema("requests")))
        connection.register("workload_rules", workload_rows(settings))
        connection.register("grains", pa.table({"window_s": pa.array([3600], pa.int32())}))
        compute(connection, "label_rates")
        asked = "SELECT cell_tenant, cell_labelled FROM label_rates WHERE cut_by = 'tenant'"
        assert connection.sql(asked).fetchall() == [("b", 0)]
