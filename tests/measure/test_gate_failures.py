"""How often each gate fails, and how often it alone: counted again without SQL from random requests."""

from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import connect, sql_file
from river import START_S, VERDICTS, Parts, Row, Stretch, at, at_ns, judged, measure, one_workload

GATES = ("success", "retries", "ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline", "quality")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], list[Row], list[Row]]:
    """Random requests of ten minutes, and rows of gate_failures and binding_gate in windows of five."""
    chance = Random(2)
    rows = [
        judged(f"r{n}", chance.choice(VERDICTS), chance.uniform(1, 599), route=chance.choice(["r1", "r2"]))
        | {f"pass_{gate}": chance.choice([None, True, False]) for gate in GATES[1:]}
        | {"sole_failing_gate": chance.choice([None, *GATES])}
        for n in range(300)
    ]
    path = tmp_path_factory.mktemp("gates") / "requests.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("requests")), path)
    stretch = Stretch(START_S, START_S + 600, (at_ns(-10), at_ns(4000)))
    made = measure(one_workload(), Parts([str(path)]), [300], stretch)
    with connect() as connection:
        connection.register("goodput", made.goodput.to_arrow())
        connection.register("gate_failures", made.gate_failures.to_arrow())
        binding = connection.sql(sql_file("binding_gate").text).to_arrow_table().to_pylist()
    return rows, made.gate_failures.to_dicts(), binding


@pytest.mark.parametrize("minute", [0, 5])
@pytest.mark.parametrize("route", [None, "r1"])
def test_each_gate_is_counted(found: tuple[list[Row], list[Row], list[Row]], minute: int, route: str | None) -> None:
    requests, told, binding = found
    start = at(60 * minute)
    inside = [r for r in requests if 0 <= (r["ended_at"] - start).total_seconds() < 300 and route in {None, r["route"]}]
    expected = {
        gate: (
            sum(r[f"pass_{gate}"] is not None for r in inside),
            sum(r[f"pass_{gate}"] is False for r in inside),
            sum(r["sole_failing_gate"] == gate for r in inside),
        )
        for gate in GATES
    }
    slice_name = "overall" if route is None else "workload_route"
    rows = [r for r in told if (r["window_start"], r["slice"], r["route"]) == (start, slice_name, route)]
    assert {r["gate"]: (r["gated"], r["failing"], r["only_failing"]) for r in rows} == expected
    for row in rows:
        assert row["fail_ratio"] == pytest.approx(row["failing"] / row["gated"])
    (bound,) = [r for r in binding if (r["window_start"], r["slice"], r["route"]) == (start, slice_name, route)]
    assert bound["would_accept"] == max(only for _, _, only in expected.values())
    assert expected[bound["gate"]] == (bound["gated"], bound["failing"], bound["would_accept"])
