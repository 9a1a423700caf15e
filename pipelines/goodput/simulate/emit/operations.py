"""What operators' systems emit of operations: CDEvents of deployments, Kubernetes' event of a scale-out, and a line of
the team's own log for a salt rotation, of which no standard speaks.

A slow replica and fragmented memory are announced by nobody.
"""

import json
from collections.abc import Sequence
from uuid import UUID

from numpy.random import Generator
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from goodput.simulate.emit.clock import Clock
from goodput.simulate.fleet.config import FleetConfig, Operation
from goodput.simulate.story import DEPLOYED_BEFORE_S


def cdevents(clock: Clock, config: FleetConfig, rng: Generator) -> bytes:
    """Return a line of JSON per deployment, at its beginning: those that pools begin with, and those of the day."""
    deployments = [
        ("upgraded", one.at_s, one.pool, one.engine.revision)
        for one in config.operations
        if one.kind == "deployment" and one.engine is not None
    ]
    deployments += [
        ("deployed", -DEPLOYED_BEFORE_S[pool.name], pool.name, pool.engine.revision) for pool in config.pools
    ]
    lines = {at_s: _cdevent(clock.iso(at_s), what, pool, revision, rng) for what, at_s, pool, revision in deployments}
    return b"".join(lines[at_s] for at_s in sorted(lines))


def _cdevent(at: str, what: str, pool: str, revision: str, rng: Generator) -> bytes:
    return _line(
        {
            "context": {
                "specversion": "0.5.0",
                "id": str(UUID(bytes=rng.bytes(16))),
                "source": "/serving/deployer",
                "type": f"dev.cdevents.service.{what}.0.3.0",
                "timestamp": at,
            },
            "subject": {
                "id": pool,
                "source": "/serving",
                "content": {"environment": {"id": "serving"}, "artifactId": f"pkg:oci/vllm-{pool}@{revision}"},
            },
        }
    )


def scale_out_record(clock: Clock, operation: Operation, replicas: int, rng: Generator) -> ReadableLogRecord:
    """Return Kubernetes' event of a scale-out from `replicas`, as the Collector's k8s_events receiver logs it."""
    at_ns = clock.ns(operation.at_s)
    uid, name = str(UUID(bytes=rng.bytes(16))), f"{operation.pool}.{rng.bytes(8).hex()}"
    record = LogRecord(
        timestamp=at_ns,
        observed_timestamp=at_ns + 1_000_000_000,
        context=Context(),
        severity_text="Normal",
        severity_number=SeverityNumber.INFO,
        body=f"Scaled up replica set {operation.pool}-5c7d9f8b6 to {replicas + operation.count} from {replicas}",
        attributes={
            "k8s.event.reason": "ScalingReplicaSet",
            "k8s.event.action": "",
            "k8s.event.start_time": clock.iso(operation.at_s),
            "k8s.event.name": name,
            "k8s.event.uid": uid,
            "k8s.event.count": 1,
            "k8s.namespace.name": "serving",
        },
    )
    resource = Resource(
        {
            "k8s.object.kind": "Deployment",
            "k8s.object.name": operation.pool,
            "k8s.object.uid": str(UUID(bytes=rng.bytes(16))),
            "k8s.object.api_version": "apps/v1",
        }
    )
    return ReadableLogRecord(record, resource, InstrumentationScope("k8seventsreceiver"))


def salt_rotations(clock: Clock, operations: Sequence[Operation]) -> bytes:
    """Return a line of JSON per salt rotation."""
    return b"".join(
        _line({"at": clock.iso(one.at_s), "event": "salt_rotation", "pool": one.pool, "by": "security-rotation-job"})
        for one in operations
        if one.kind == "salt_rotation"
    )


def _line(document: dict[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"
