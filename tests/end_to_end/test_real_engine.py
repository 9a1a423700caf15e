"""A real engine behind a real gateway, with clients whose own truth lies beside their telemetry.

Expectations are counted in plain Python from the clients' file and the scrapes, never from what was computed.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from goodput.plumbing.workspace import Workspace
from published import ask, run_at

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "captures" / "vllm"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not beside this checkout")

LABELS = ("labels_otlp_evaluation.jsonl", "labels_late_otlp_evaluation.jsonl")
LAYERS = {"C": "client_traces.pb.gz", "G": "gateway_traces.pb.gz", "E": "engine_traces.pb.gz"}
Row = dict[str, Any]


def run_over(folder: Path, part: str, *files: str, settings: str = "") -> Workspace:
    landing = ", ".join(f'"{(CAPTURES / part / name).resolve()}"' for name in files)
    folder.mkdir()
    (folder / "goodput.toml").write_text(f'landing = [{landing}]\nlake = "lake"\n{settings}')
    return run_at(folder / "goodput.toml")


@cache
def truth(part: str) -> list[Row]:
    with gzip.open(CAPTURES / part / "client_truth.jsonl.gz") as file:
        return [json.loads(line) for line in file]


def labels() -> Iterator[Row]:
    """What each label names: its trace and span, or its answer."""
    for name in LABELS:
        for line in (CAPTURES / "main" / name).read_text().splitlines():
            for resource in json.loads(line)["resourceLogs"]:
                for scope in resource["scopeLogs"]:
                    for row in scope["logRecords"]:
                        said = {item["key"]: next(iter(item["value"].values())) for item in row["attributes"]}
                        yield {"span_id": row.get("spanId") or None, "response_id": said.get("gen_ai.response.id")}


@pytest.mark.parametrize("layers", ["E", "G", "CGE"])
def test_labels_find_the_answer_that_they_judge(tmp_path: Path, layers: str) -> None:
    """Labels of 80 % of the answers; two of five name the client's span, which only the client's telemetry has.

    A gateway sees what was sent through it: labels of the other answers are listed.
    """
    workspace = run_over(tmp_path / layers, "main", *(LAYERS[layer] for layer in layers), *LABELS)
    answers = {}
    for row in truth("main"):
        for attempt in row["attempts"]:
            answers[attempt["span_id"]] = answers[attempt["response_id"]] = row
    judged = [
        (name["span_id"] or name["response_id"], answers[name["span_id"] or name["response_id"]]) for name in labels()
    ]
    seen = [(name, row["response_id"]) for name, row in judged if layers != "G" or row["via"] == "gateway"]
    found = ask(
        workspace,
        "SELECT DISTINCT split_part(subject_id, ':', -1), r.response_id "
        "FROM quality_labels JOIN attempts USING (request_key) JOIN serving_records AS r "
        "ON list_contains(record_ids, r.record_id) WHERE r.response_id IS NOT NULL",
    )
    assert set(seen) <= set(found.rows())
    assert ask(workspace, "SELECT count(*) FROM quality_labels").item() == len(seen)
    unjoined = ask(workspace, "SELECT reason, count(*) FROM unjoined_labels GROUP BY ALL").rows()
    assert unjoined == ([("not_collected", len(judged) - len(seen))] if layers == "G" else [])
