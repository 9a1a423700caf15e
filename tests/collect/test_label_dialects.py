"""Labels of Langfuse, Phoenix and MLflow: what each row judges, what it says, and which rows are no judgement."""

import json
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading, Row, put
from collect.telemetry import Reading as OtlpReading

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "captures" / "given"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
NINE_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
MINUTE_NS = 60 * 10**9

SCORE = {
    "id": "s1",
    "traceId": TRACE,
    "observationId": SPAN,
    "sessionId": None,
    "datasetRunId": None,
    "name": "helpful",
    "value": 0.8,
    "dataType": "NUMERIC",
    "source": "EVAL",
    "timestamp": "2026-11-20T09:00:00.000Z",
    "createdAt": "2026-11-20T09:00:01.000Z",
    "updatedAt": "2026-11-20T09:01:00.000Z",
}
V3 = {key: SCORE[key] for key in ("id", "name", "source", "timestamp", "updatedAt")}
ANNOTATION = {
    "id": "QW5ub3RhdGlvbjox",
    "name": "correctness",
    "annotator_kind": "LLM",
    "result": {"label": "correct", "score": 1, "explanation": "it is"},
    "identifier": "",
    "span_id": SPAN,
    "created_at": "2026-11-20T09:00:00.000000+00:00",
    "updated_at": "2026-11-20T09:01:00+00:00",
}
ASSESSMENT = {
    "assessment_id": "a-1",
    "assessment_name": "grounded",
    "trace_id": f"tr-{TRACE}",
    "span_id": SPAN,
    "source": {"source_type": "LLM_JUDGE", "source_id": "judge-1"},
    "create_time": "2026-11-20T09:00:00Z",
    "last_update_time": "2026-11-20T09:01:00Z",
    "feedback": {"value": True},
    "metadata": {"mlflow.assessment.judgeCost": 0.002},
    "valid": True,
}
SAYS = ("subject_kind", "subject_id", "evaluator", "score", "label", "passed", "withdrawn")


def read(path: Path, *rows: Row) -> Reading:
    return Reading(put(path / "labels.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows)))


def label(path: Path, row: Row) -> Row:
    reading = read(path, row)
    assert not reading.refused
    (found,) = reading.tables["label_records"]
    return found


def says(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in SAYS)


ON_SPAN = ("span", f"{TRACE}:{SPAN}")


@pytest.mark.parametrize(
    ("given", "subject", "said"),
    [
        ({}, ON_SPAN, (0.8, None, None, False)),
        ({"value": 1, "stringValue": "True", "dataType": "BOOLEAN"}, ON_SPAN, (None, "True", True, False)),
        ({"value": 0, "stringValue": "False", "dataType": "BOOLEAN"}, ON_SPAN, (None, "False", False, False)),
        # the number of a category is nobody's: it defaults to 0
        ({"value": 0, "stringValue": "good", "dataType": "CATEGORICAL"}, ON_SPAN, (None, "good", None, False)),
        ({"value": 1, "dataType": "BOOLEAN", "metadata": {"score": 0.7}}, ON_SPAN, (0.7, None, True, False)),
        ({"observationId": None}, ("trace", TRACE), (0.8, None, None, False)),
        ({"traceId": TRACE.upper(), "observationId": None}, ("trace", TRACE), (0.8, None, None, False)),
        ({"traceId": None, "observationId": None, "sessionId": "c7"}, ("session", "c7"), (0.8, None, None, False)),
        ({"is_deleted": 1}, ON_SPAN, (0.8, None, None, True)),
    ],
)
def test_langfuse_scores(tmp_path: Path, given: Row, subject: tuple[str, str], said: tuple[Any, ...]) -> None:
    found = label(tmp_path, {**SCORE, **given})
    assert says(found) == (*subject, "helpful", *said)
    assert (found["label_id"], found["labelled_ns"], found["revised_ns"]) == ("s1", NINE_NS, NINE_NS + MINUTE_NS)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"value": 0.8, "dataType": "NUMERIC", "subject": {"kind": "observation", "id": SPAN, "traceId": TRACE}},
            (*ON_SPAN, "helpful", 0.8, None, None, False),
        ),
        (
            {"value": "good", "dataType": "CATEGORICAL", "subject": {"kind": "trace", "id": TRACE}},
            ("trace", TRACE, "helpful", None, "good", None, False),
        ),
        (
            {"value": False, "dataType": "BOOLEAN", "subject": {"kind": "session", "id": "chat-7"}},
            ("session", "chat-7", "helpful", None, "false", False, False),
        ),
    ],
)
def test_langfuse_scores_of_v3_name_their_subject(tmp_path: Path, given: Row, expected: tuple[Any, ...]) -> None:
    assert says(label(tmp_path, {**V3, **given})) == expected


def test_langfuse_exports_write_the_same_in_snake_case(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    exported = {
        **{"id": "s1", "trace_id": TRACE, "observation_id": SPAN, "name": "helpful", "value": 0.8, "source": "EVAL"},
        **{"data_type": "NUMERIC", "timestamp": "2026-11-20 09:00:00.000", "updated_at": "2026-11-20 09:01:00.000"},
    }
    one, other = label(tmp_path / "a", SCORE), label(tmp_path / "b", exported)
    assert says(one) == says(other)
    assert (one["labelled_ns"], one["revised_ns"]) == (other["labelled_ns"], other["revised_ns"])


@pytest.mark.parametrize(
    "row",
    [
        {**SCORE, "metadata": {"plan_id": "plan-1"}},
        {**ANNOTATION, "metadata": {"plan_id": "plan-1"}},
        {**ASSESSMENT, "metadata": {"plan_id": "plan-1"}},
    ],
    ids=["langfuse", "phoenix", "mlflow"],
)
def test_labels_name_the_plan_by_which_their_request_was_drawn(tmp_path: Path, row: Row) -> None:
    assert label(tmp_path, row)["plan_id"] == "plan-1"
    assert label(tmp_path, {**row, "metadata": {}}).get("plan_id") is None


def test_what_is_no_judgement_is_counted(tmp_path: Path) -> None:
    correction = {**SCORE, "value": 0, "stringValue": "better", "dataType": "CORRECTION"}
    text = {**SCORE, "value": 0, "stringValue": "well, well", "dataType": "TEXT"}
    experiment = {**SCORE, "traceId": None, "observationId": None, "datasetRunId": "run-1"}
    page = {"data": [SCORE, correction, text, experiment], "meta": {"page": 1, "totalItems": 4}}
    reading = read(tmp_path, page)
    assert reading.ignored == {"score_is_no_judgement": 2, "score_of_an_experiment": 1}
    assert [(row["line"], row["position"]) for row in reading.tables["label_records"]] == [(1, 0)]


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({}, ("span", SPAN)),  # Phoenix does not name the trace
        ({"span_id": None, "trace_id": TRACE}, ("trace", TRACE)),
        ({"span_id": None, "session_id": "chat-7"}, ("session", "chat-7")),
    ],
)
def test_phoenix_annotations(tmp_path: Path, given: Row, subject: tuple[str, str]) -> None:
    found = label(tmp_path, {**ANNOTATION, **given})
    assert says(found) == (*subject, "correctness", 1.0, "correct", None, False)
    assert found["label_id"] == f"phoenix/{subject[0]}/{subject[1]}/correctness/"
    assert (found["labelled_ns"], found["revised_ns"]) == (NINE_NS, NINE_NS + MINUTE_NS)


def test_phoenix_tables_say_the_same(tmp_path: Path) -> None:
    flat = {**ANNOTATION, "result.label": "correct", "result.score": 1}
    names = [name for name in flat if name not in {"result", "identifier"}]
    text = ",".join(names) + "\n" + ",".join(str(flat[name]) for name in names) + "\n"
    (found,) = Reading(put(tmp_path / "annotations.csv", text)).tables["label_records"]
    expected = label(tmp_path, ANNOTATION)
    assert says(found) == says(expected)
    for name in ("label_id", "labelled_ns", "revised_ns"):
        assert found[name] == expected[name], name


def test_trap_20_phoenix_judging_again_is_another_revision_of_the_same_label(tmp_path: Path) -> None:
    again = {**ANNOTATION, "result": {"label": "wrong", "score": 0}, "updated_at": "2026-11-20T10:00:00+00:00"}
    first, second = read(tmp_path, {"data": [ANNOTATION, again], "next_cursor": None}).tables["label_records"]
    assert first["label_id"] == second["label_id"]
    assert first["record_id"] != second["record_id"]
    assert first["revised_ns"] < second["revised_ns"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, (None, None, True, False)),
        ({"feedback": {"value": False}}, (None, None, False, False)),
        ({"feedback": {"value": 0.25}}, (0.25, None, None, False)),
        ({"feedback": {"value": "yes"}}, (None, "yes", None, False)),
        ({"valid": False}, (None, None, True, True)),  # another overrides it
    ],
)
def test_mlflow_assessments(tmp_path: Path, given: Row, said: tuple[Any, ...]) -> None:
    found = label(tmp_path, {**ASSESSMENT, **given})
    assert says(found) == (*ON_SPAN, "grounded", *said)
    assert (found["labelled_ns"], found["revised_ns"]) == (NINE_NS, NINE_NS + MINUTE_NS)


def test_mlflow_assessments_within_their_trace(tmp_path: Path) -> None:
    old = {key: value for key, value in ASSESSMENT.items() if not key.endswith("_time")}
    old |= {"name": "grounded", "create_time_ms": NINE_NS // 10**6, "last_update_time_ms": NINE_NS // 10**6 + 60_000}
    others = [
        {**ASSESSMENT, "assessment_id": "a-2", "feedback": None, "expectation": {"value": "Paris"}},
        {**ASSESSMENT, "assessment_id": "a-3", "feedback": {"value": None, "error": {"error_code": "TIMEOUT"}}},
        {**ASSESSMENT, "assessment_id": "a-4", "feedback": {"value": {"tone": 1, "facts": 0}}},
    ]
    reading = read(tmp_path, {"info": {"trace_id": f"tr-{TRACE}", "assessments": [old, *others]}})
    (found,) = reading.tables["label_records"]
    assert says(found) == (*ON_SPAN, "grounded", None, None, True, False)
    assert (found["labelled_ns"], found["revised_ns"]) == (NINE_NS, NINE_NS + MINUTE_NS)
    assert reading.ignored == {
        "assessment_is_no_judgement": 1,
        "evaluation_failed": 1,
        "assessment_has_no_single_value": 1,
    }


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")
def test_two_emitters_of_the_same_judgements_say_the_same() -> None:
    scores = Reading(CAPTURES / "labels_langfuse_scores_v2.jsonl").tables["label_records"]
    pages = list(map(json.loads, (CAPTURES / "labels_langfuse_scores_v2.jsonl").read_text().splitlines()))
    answers = {score["id"]: score["metadata"]["response_id"] for page in pages for score in page["data"]}
    events = OtlpReading(CAPTURES / "labels_otlp_evaluation.jsonl").tables["label_records"]
    spans = {row["response_id"]: row["subject_id"] for row in events if row["subject_kind"] == "span"}
    passes = {"pass": True, "fail": False}
    by_event = {
        row["response_id"] or row["subject_id"]: (
            row["evaluator"],
            row["score"],
            passes[row["label"]],
            row["withdrawn"],
        )
        for row in events
    }
    by_score = {
        answers[row["label_id"]]: (row["evaluator"], row["score"], row["passed"], row["withdrawn"]) for row in scores
    }
    assert by_score == by_event
    assert (len(by_score), sum(passed for _, _, passed, _ in by_score.values())) == (259, 233)
    subjects = {answers[row["label_id"]]: row["subject_id"] for row in scores}
    assert {answer: subjects[answer] for answer in spans} == spans
