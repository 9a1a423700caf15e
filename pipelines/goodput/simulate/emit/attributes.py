"""The names, values and units that the demo fleet's spans and labels carry.

GenAI semantic conventions for clients and the judge, vLLM's own (partly legacy) names for the engine.
"""

from typing import Final

from opentelemetry.util.types import AttributeValue

from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.gateway import Attempt
from goodput.simulate.fleet.job import Job
from goodput.simulate.judge import Judgement
from goodput.simulate.story import BATCH, BY_NAME

Attributes = dict[str, AttributeValue]

_HTTP_STATUS: Final = {"ok": 200, "timeout": 504, "cancelled": 499}


def http_status(attempt: Attempt) -> int:
    """Return the status that the user got when this attempt was the last."""
    return int(attempt.error_type) if attempt.outcome == "error" else _HTTP_STATUS[attempt.outcome]


def http_attributes(method: str, path: str, status_code: int) -> Attributes:
    """Return the attributes of an HTTP SERVER span of the gateway."""
    return {"http.request.method": method, "url.path": path, "http.response.status_code": status_code}


def client_attributes(arrival: Arrival, attempt: Attempt) -> Attributes:
    """Return the attributes of the GenAI CLIENT span of one attempt."""
    model = attempt.incarnation.engine.spec.model
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": model,
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": arrival.max_tokens,
        "gen_ai.request.temperature": BY_NAME[arrival.workload].temperature,
        "server.address": attempt.incarnation.replica,
        "tenant.id": arrival.tenant,
        "llm.route": arrival.route,
        "llm.pool": arrival.pool,
    }
    if arrival.workload == BATCH.name:
        attributes["idempotency.key"] = arrival.request_id
    if arrival.session_id:
        attributes["gen_ai.conversation.id"] = arrival.session_id
    if attempt.first_chunk_s < NEVER:
        attributes["gen_ai.response.id"] = attempt.response_id
        attributes["gen_ai.response.model"] = model
        waited_s = round(attempt.first_chunk_s - attempt.started_s, 9)
        attributes["gen_ai.response.time_to_first_chunk"] = waited_s
        attributes["gen_ai.response.finish_reasons"] = [arrival.finish_reason if attempt.outcome == "ok" else "error"]
    if attempt.outcome == "ok" and attempt.job is not None:
        attributes["gen_ai.usage.input_tokens"] = arrival.input_tokens
        attributes["gen_ai.usage.output_tokens"] = arrival.output_tokens
        attributes["gen_ai.usage.cache_read.input_tokens"] = attempt.job.cached_tokens
    if attempt.error_type:
        attributes["error.type"] = attempt.error_type
    return attributes


def engine_attributes(arrival: Arrival, job: Job) -> Attributes:
    """Return the attributes of vLLM's `llm_request` span; latencies in seconds."""
    attributes: Attributes = {
        "gen_ai.request.id": job.request_id,
        "gen_ai.request.max_tokens": arrival.max_tokens,
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.n": 1,
        "gen_ai.usage.prompt_tokens": job.input_tokens,
        "gen_ai.usage.completion_tokens": job.output_tokens,
        "gen_ai.latency.time_to_first_token": job.first_token_s - job.received_s,
        "gen_ai.latency.e2e": job.completed_s - job.received_s,
        "gen_ai.latency.time_in_queue": job.scheduled_s - job.queued_s,
        "gen_ai.latency.time_in_model_prefill": job.first_token_s - job.scheduled_s,
        "gen_ai.latency.time_in_model_decode": job.completed_s - job.first_token_s,
        "gen_ai.latency.time_in_model_inference": job.completed_s - job.scheduled_s,
    }
    temperature = BY_NAME[arrival.workload].temperature
    if temperature:
        # vLLM leaves out a sampling parameter that is zero.
        attributes["gen_ai.request.temperature"] = temperature
    return attributes


def label_attributes(arrival: Arrival, response_id: str, judgement: Judgement) -> Attributes:
    """Return the attributes of a `gen_ai.evaluation.result` event."""
    return {
        "gen_ai.evaluation.name": BY_NAME[arrival.workload].evaluator,
        "gen_ai.evaluation.score.value": judgement.score,
        "gen_ai.evaluation.score.label": "pass" if judgement.passed else "fail",
        "gen_ai.response.id": response_id,
    }
