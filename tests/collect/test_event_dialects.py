"""Ops events of CDEvents, Kubernetes, Argo CD and GitHub: what is an operation, on what, and when."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading, Row, put
from collect.telemetry import Reading as OtlpReading
from collect.telemetry import attributes
from collect.telemetry import put as put_lines

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "captures" / "given"
NINE_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
MINUTE_NS = 60 * 10**9
SAYS = ("kind", "occurred_ns", "subject", "pool", "replica", "revision")

SERVICE = {"id": "chat", "content": {"environment": {"id": "prod"}, "artifactId": "pkg:oci/chat@sha256:1"}}
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "chat.1", "namespace": "llm", "uid": "u1", "creationTimestamp": "2026-11-20T08:59:00Z"},
    "involvedObject": {"kind": "Deployment", "namespace": "llm", "name": "chat", "uid": "d1"},
    "reason": "ScalingReplicaSet",
    "message": "Scaled up replica set chat-5d4f8c7b9 to 4 from 2",
    "firstTimestamp": "2026-11-20T09:00:00Z",
    "lastTimestamp": "2026-11-20T09:00:00Z",
    "count": 1,
    "type": "Normal",
}
POD = {"kind": "Pod", "namespace": "llm", "name": "chat-5d4f8c7b9-x2x4z", "uid": "p1"}
APPLICATION = {
    "metadata": {"name": "chat", "namespace": "argocd"},
    "status": {
        "operationState": {
            "phase": "Succeeded",
            "startedAt": "2026-11-20T08:59:00Z",
            "finishedAt": "2026-11-20T09:00:00Z",
            "syncResult": {"revision": "6f2a"},
        }
    },
}
DEPLOYED = {
    "action": "created",
    "deployment_status": {"id": 7, "state": "success", "environment": "prod", "created_at": "2026-11-20T09:00:00Z"},
    "deployment": {"id": 3, "sha": "6f2a", "ref": "main", "task": "deploy", "environment": "prod"},
    "repository": {"name": "chat", "full_name": "acme/chat"},
}


def cdevent(operation: str, subject: Row = SERVICE, **context: str) -> Row:
    given = {"specversion": "0.5.0", "id": "e1", "source": "/cd", "timestamp": "2026-11-20T09:00:00Z", **context}
    return {"context": {**given, "type": f"dev.cdevents.{operation}"}, "subject": subject}


def read(path: Path, *rows: Row) -> Reading:
    return Reading(put(path / "events.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows)))


def event(path: Path, row: Row) -> Row:
    reading = read(path, row)
    assert not reading.refused
    (found,) = reading.tables["event_records"]
    return found


def says(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in SAYS)


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("service.deployed.0.3.0", "deployment"),
        ("service.deployed.0.2.0", "deployment"),
        ("service.upgraded.0.3.0-draft", "deployment"),
        ("service.rolledback.0.3.0", "deployment"),
        ("service.removed.0.3.0", "scale_in"),
    ],
)
def test_cdevents_of_any_version(tmp_path: Path, operation: str, kind: str) -> None:
    found = event(tmp_path, cdevent(operation))
    assert says(found) == (kind, NINE_NS, "chat", "chat", None, "pkg:oci/chat@sha256:1")


def test_a_cdevent_is_told_by_its_source_and_id(tmp_path: Path) -> None:
    uuid = "7f538303-1bd5-45e4-bf9c-369e4a07f6af"
    rows = [
        cdevent("service.deployed.0.3.0", id=name, source=source) for name in ("1", uuid) for source in ("/a", "/b")
    ]
    found = [row["event_id"] for row in read(tmp_path, *rows).tables["event_records"]]
    assert found == ["/a#1", "/b#1", uuid, uuid]


def test_an_incident_is_of_its_service_and_a_changed_environment_of_no_pool(tmp_path: Path) -> None:
    incident = {"id": "inc-1", "content": {"service": {"id": "chat"}, "environment": {"id": "prod"}}}
    changed = {"id": "prod", "content": {"name": "production"}}
    rows = [cdevent("incident.detected.0.3.0", incident), cdevent("environment.modified.0.3.0", changed, id="e2")]
    first, second = read(tmp_path, *rows).tables["event_records"]
    assert says(first) == ("incident", NINE_NS, "chat", "chat", None, None)
    assert says(second) == ("config_change", NINE_NS, "prod", None, None, None)


def test_a_cloudevent_holds_a_cdevent(tmp_path: Path) -> None:
    bare = cdevent("service.deployed.0.3.0")
    wrapped = {
        **{"specversion": "1.0", "id": "e1", "source": "/cd", "type": "dev.cdevents.service.deployed.0.3.0"},
        **{"time": "2026-11-20T09:00:00Z", "datacontenttype": "application/json", "data": bare},
    }
    first, second = read(tmp_path, bare, wrapped).tables["event_records"]
    assert says(first) == says(second)
    assert first["record_id"] == second["record_id"]


def test_what_is_no_operation_is_counted(tmp_path: Path) -> None:
    rows = [
        cdevent("service.published.0.3.0"),
        cdevent("incident.resolved.0.3.0"),
        cdevent("pipelinerun.finished.0.3.0"),
        {**APPLICATION, "status": {"operationState": {"phase": "Running", "startedAt": "2026-11-20T08:59:00Z"}}},
        {**DEPLOYED, "deployment_status": {**DEPLOYED["deployment_status"], "state": "in_progress"}},
        {"action": "created", "deployment": DEPLOYED["deployment"]},
        {
            **EVENT,
            "reason": "SuccessfulRescale",
            "message": "New size: 4; reason: cpu above target",
        },
    ]
    reading = read(tmp_path, *rows)
    assert (reading.ignored, reading.tables) == ({"event_is_no_operation": 7}, {})


# Trap 26: numbers stand in free text whose wording changed, two forms of one API, events that change in place


@pytest.mark.parametrize(
    ("reason", "message", "count", "kind"),
    [
        ("ScalingReplicaSet", "Scaled up replica set chat-5d4f8c7b9 to 4", 1, "scale_out"),
        ("ScalingReplicaSet", "Scaled up replica set chat-5d4f8c7b9 to 4 from 2", 1, "scale_out"),
        ("ScalingReplicaSet", "Scaled up replica set chat-5d4f8c7b9 from 2 to 4", 1, "scale_out"),
        ("ScalingReplicaSet", "Scaled up replica set chat-5d4f8c7b9 to 1 from 0", 1, "deployment"),
        ("ScalingReplicaSet", "Scaled up replica set chat-5d4f8c7b9 from 0 to 1", 1, "deployment"),
        ("ScalingReplicaSet", "Scaled down replica set chat-5d4f8c7b9 to 1 from 2", 1, "scale_in"),
        ("Killing", "Container vllm failed liveness probe, will be restarted", 1, "restart"),
        ("Killing", "Stopping container vllm", 1, None),
        ("BackOff", "Back-off restarting failed container vllm in pod chat", 9, "restart"),
        ("BackOff", 'Back-off pulling image "vllm:latest"', 9, None),
        ("Started", "Started container vllm", 1, None),
        ("Started", "Started container vllm", 2, "restart"),
        ("Evicted", "The node was low on resource: memory", 1, "incident"),
        ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", 40, None),
        ("Pulled", "Container image already present on machine", 1, None),
    ],
)
def test_trap_26_kubernetes_events_say_in_words_what_was_done(
    tmp_path: Path, reason: str, message: str, count: int, kind: str | None
) -> None:
    reading = read(tmp_path, {**EVENT, "reason": reason, "message": message, "count": count})
    found = [row["kind"] for row in reading.tables.get("event_records", [])]
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("involved", "pool", "replica"),
    [
        (EVENT["involvedObject"], "chat", None),
        (POD, "chat", POD["name"]),
        ({**POD, "name": "chat-0"}, "chat", "chat-0"),  # of a stateful set
        ({**POD, "name": "lonely", "uid": None}, "lonely", "lonely"),
        ({"kind": "Node", "name": "gpu-1"}, None, None),
    ],
)
def test_kubernetes_names_tell_the_pool(tmp_path: Path, involved: Row, pool: str | None, replica: str | None) -> None:
    found = event(tmp_path, {**EVENT, "involvedObject": involved, "reason": "Evicted", "message": "gone"})
    assert (found["pool"], found["replica"]) == (pool, replica)


def newer_form() -> Row:
    """EVENT as events.k8s.io/v1 gives it."""
    renamed = {"involvedObject": "regarding", "message": "note", "count": "deprecatedCount"}
    renamed |= {"firstTimestamp": "deprecatedFirstTimestamp", "lastTimestamp": "deprecatedLastTimestamp"}
    return {renamed.get(key, key): value for key, value in EVENT.items()} | {"apiVersion": "events.k8s.io/v1"}


def body(value: object) -> Row:
    """An AnyValue, maps as the Collector writes them."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": body(inner)} for key, inner in value.items()]}}
    return attributes({"": value})[0]["value"]  # type: ignore[no-any-return]


def collected(record: Row, resource: Row) -> str:
    resource_logs = {"resource": {"attributes": attributes(resource)}, "scopeLogs": [{"logRecords": [record]}]}
    return json.dumps({"resourceLogs": [resource_logs]})


def test_trap_26_one_event_in_every_form_that_it_comes_in(tmp_path: Path) -> None:
    rows = [EVENT, newer_form(), {"type": "MODIFIED", "object": EVENT}, {"kind": "EventList", "items": [EVENT]}]
    objects = read(tmp_path, *rows).tables["event_records"]
    receivers = [
        (
            {
                "timeUnixNano": str(NINE_NS),
                "body": {"stringValue": EVENT["message"]},
                "attributes": attributes(
                    {"k8s.event.reason": EVENT["reason"], "k8s.event.uid": "u1", "k8s.event.count": 1}
                ),
            },
            {"k8s.object.kind": "Deployment", "k8s.object.name": "chat", "k8s.object.uid": "d1"},
        ),
        *(
            (
                {
                    "observedTimeUnixNano": str(NINE_NS + MINUTE_NS),
                    "body": body(held),
                    "attributes": attributes({"event.domain": "k8s", "k8s.resource.name": "events"}),
                },
                {},
            )
            for held in (EVENT, {"type": "ADDED", "object": EVENT})
        ),
    ]
    path = put_lines(tmp_path / "otlp.jsonl", *(collected(record, resource) for record, resource in receivers))
    logs = OtlpReading(path).tables["event_records"]
    assert len(objects) + len(logs) == 7
    for row in (*objects, *logs):
        assert says(row) == ("scale_out", NINE_NS, "chat", "chat", None, "chat-5d4f8c7b9")
        assert (row["event_id"], row["revised_ns"], row["occurrences"]) == ("k8s/u1", NINE_NS, 1)
    assert len({row["record_id"] for row in (*objects, *logs)}) == 1


def test_trap_26_an_event_that_happens_again_moves(tmp_path: Path) -> None:
    again = {**EVENT, "count": 3, "lastTimestamp": "2026-11-20T09:01:00Z"}
    series = {**EVENT, "count": None, "series": {"count": 3, "lastObservedTime": "2026-11-20T09:01:00.000000Z"}}
    first, second, third = read(tmp_path, EVENT, again, series).tables["event_records"]
    assert first["event_id"] == second["event_id"] == third["event_id"]
    assert [row["revised_ns"] - NINE_NS for row in (first, second, third)] == [0, MINUTE_NS, MINUTE_NS]
    assert [row["occurrences"] for row in (first, second, third)] == [1, 3, 3]


def test_argo_cd_applications(tmp_path: Path) -> None:
    # as the API gives it, as a webhook's template holds it, listed
    rows = [APPLICATION, {"app": APPLICATION}, {"kind": "ApplicationList", "items": [APPLICATION]}]
    found = read(tmp_path, *rows).tables["event_records"]
    assert [says(row) for row in found] == 3 * [("deployment", NINE_NS, "chat", "chat", None, "6f2a")]
    assert len({row["event_id"] for row in found}) == 1


def test_github_deployments(tmp_path: Path) -> None:
    found = event(tmp_path, DEPLOYED)
    assert says(found) == ("deployment", NINE_NS, "chat", "chat", None, "6f2a")
    assert found["event_id"] == "github/3"


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")
def test_captured_events() -> None:
    reading = Reading(CAPTURES / "ops_events.jsonl")
    found = reading.tables["event_records"]
    assert reading.rows_read == 7
    assert Counter(row["kind"] for row in found) == {"deployment": 5, "incident": 1}
    assert reading.ignored == {"event_is_no_operation": 1}  # the incident was resolved
    assert Counter(row["subject"] for row in found) == {"replica-a": 1, "replica-b": 3, "replica-c": 1, "fallback-d": 1}
