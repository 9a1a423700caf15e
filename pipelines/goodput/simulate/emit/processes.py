"""The processes of the demo that emit telemetry: the resource and the instrumentation scope of each."""

from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.sdk.version import __version__ as sdk_version

from goodput.simulate.fleet.replica import Incarnation

_SDK: Final = {
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "telemetry.sdk.version": sdk_version,
}


@dataclass(frozen=True, slots=True)
class Process:
    """A process that emits."""

    resource: Resource
    scope: InstrumentationScope


GATEWAY: Final = Process(
    Resource(
        _SDK
        | {
            "service.name": "llm-gateway",
            "service.version": "2.4.1",
            "service.instance.id": "serving.llm-gateway-0.gateway",
            "k8s.pod.name": "llm-gateway-0",
        }
    ),
    InstrumentationScope("llm_gateway.genai", "2.4.1"),
)
RAG_APP: Final = Process(
    Resource(_SDK | {"service.name": "rag-app", "service.version": "0.31.0"}),
    InstrumentationScope("opentelemetry.instrumentation.openai_v2", "2.9"),
)
BATCH_RUNNER: Final = Process(
    Resource(_SDK | {"service.name": "batch-runner", "service.version": "1.0.2"}),
    InstrumentationScope("opentelemetry.instrumentation.openai_v2", "2.9"),
)
JUDGE: Final = Process(
    Resource(_SDK | {"service.name": "quality-judge", "service.version": "1.3.0"}),
    InstrumentationScope("quality.judge", "1.3.0"),
)


def engine_process(incarnation: Incarnation, pod_uid: str) -> Process:
    """Return a vLLM engine, with the resource that a Kubernetes deployment gives it."""
    return Process(
        Resource(
            _SDK
            | {
                "service.name": "vllm",
                "service.version": incarnation.engine.spec.revision,
                "service.instance.id": f"serving.{incarnation.replica}.vllm",
                "k8s.namespace.name": "serving",
                "k8s.deployment.name": incarnation.pool,
                "k8s.pod.name": incarnation.replica,
                "k8s.pod.uid": pod_uid,
                "vllm.instrumenting_module_name": "vllm.llm_engine",
                "vllm.process_id": str(100 + int(pod_uid[:4], 16) % 800),
            }
        ),
        InstrumentationScope("vllm.llm_engine", ""),
    )
