"""What warns where the names of replicas do not tell processes apart."""

import pytest

from goodput.plumbing.sql_files import compute, connect
from river import at_ns


def doubled(*lives: tuple[str, str, float, float]) -> list[tuple[str, int]]:
    """Names that are doubled and by how many, of processes: names, layer, and when they wrote first and last."""
    with connect() as connection:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE serving_records (layer VARCHAR, replica VARCHAR, replica_names VARCHAR, "
            "started_ns BIGINT, ended_ns BIGINT)"
        )
        for names, layer, first, last in lives:
            replica = names.split()[0]
            for begin in (first, last - 1):
                row = [layer, replica, names, at_ns(begin), at_ns(begin + 1)]
                connection.execute("INSERT INTO serving_records VALUES (?, ?, ?, ?, ?)", row)
        compute(connection, "replica_doubled")
        return connection.sql("SELECT subject, affected FROM replica_doubled ORDER BY subject").fetchall()


def test_two_live_processes_of_one_name_are_told() -> None:
    east, west = ("vllm-0 uid-e i-1", "engine", 0.0, 600.0), ("vllm-0 uid-w i-2", "engine", 300.0, 900.0)
    assert doubled(east, west, ("vllm-1 uid-x i-3", "engine", 0.0, 900.0)) == [("vllm-0", 2)]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("vllm-0 uid-w i-2", "engine", 590.0, 900.0), id="a pod that follows another of its name"),
        pytest.param(("vllm-0 uid-e i-2", "engine", 0.0, 600.0), id="two processes of one pod"),
        pytest.param(("vllm-0 uid-w i-2", "gateway", 0.0, 600.0), id="a gateway's word"),
    ],
)
def test_one_pod_after_another_and_processes_of_one_pod_are_no_conflict(second: tuple[str, str, float, float]) -> None:
    assert doubled(("vllm-0 uid-e i-1", "engine", 0.0, 600.0), second) == []
