"""Runs that Dagster starts are told of by the same code: all their steps are one trace, whose id is the run's."""

from pathlib import Path
from uuid import UUID

import dagster as dg

from telemetry.collector import collecting
from test_definitions import execute, make_workspace


def test_the_steps_of_a_dagster_run_are_one_trace(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    settings = tmp_path / "goodput.toml"
    with collecting() as collector, dg.DagsterInstance.ephemeral() as instance:
        settings.write_text(f'{settings.read_text()}[telemetry]\nendpoint = "{collector.url}"\n')
        done = execute(workspace, instance, "ingest")
    assert done.success
    spans = collector.spans
    assert {UUID(bytes=span.trace_id) for span in spans} == {UUID(done.run_id)}
    roots = {span.span_id: span for span in spans if not span.parent_id}
    steps = {event.step_key for event in done.all_events if event.event_type_value == "STEP_SUCCESS"}
    assert [root.name for root in roots.values()] == ["goodput step"] * len(steps)
    first = [span.name for span in spans if span.parent_id in roots]
    assert first[0] == "ingest"
    assert {"compute cost_records", "publish"} <= {*first}
    assert collector.value("goodput.ingested.rows") == 24  # that make_workspace lands
