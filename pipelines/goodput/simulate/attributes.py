"""The names, values and units that the demo fleet's records carry.

GenAI semantic conventions for the gateway and the judge, vLLM's own (partly legacy) names for the engine.
"""

from typing import Final

from opentelemetry.util.types import AttributeValue

from goodput.simulate.events import NEVER
from goodput.simulate.gateway import Attempt
from goodput.simulate.judge import Judgement
from goodput.simulate.replica import Job
from goodput.simulate.traffic import UserRequest

Attributes = dict[str, AttributeValue]

_HTTP_STATUS: Final = {"ok": 200, "timeout": 504, "cancelled": 499}


def http_status(attempt: Attempt) -> int:
    """Return the status that the user got when this attempt was the last."""
    return int(attempt.error_type) if attempt.outcome == "error" else _HTTP_STATUS[attempt.outcome]


def http_attributes(method: str, path: str, status_code: int) -> Attributes:
    """Return the attributes of an HTTP SERVER span of the gateway."""
    return {"http.request.method": method, "url.path": path, "http.response.status_code": status_code}


def client_attributes(request: UserRequest, attempt: Attempt) -> Attributes:
    """Return the attributes of the GenAI CLIENT span of one attempt."""
    workload = request.workload
    asked: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": workload.model,
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": workload.output.high,
        "gen_ai.request.temperature": workload.temperature,
        "gen_ai.conversation.id": request.session_id,
        "server.address": attempt.replica.spec.name,
        "tenant.id": request.tenant,
        "llm.route": request.route,
        "llm.pool": workload.pool,
    }
    return asked | _answer_attributes(request, attempt)


def _answer_attributes(request: UserRequest, attempt: Attempt) -> Attributes:
    """Return what the gateway had seen by the end: the id comes with each chunk, usage only with the last."""
    attributes: Attributes = {}
    if attempt.first_chunk_s < NEVER:
        attributes["gen_ai.response.id"] = attempt.response_id
        attributes["gen_ai.response.model"] = request.workload.model
        waited_s = round(attempt.first_chunk_s - attempt.started_s, 9)
        attributes["gen_ai.response.time_to_first_chunk"] = waited_s
        finish_reason = request.finish_reason if attempt.outcome == "ok" else "error"
        attributes["gen_ai.response.finish_reasons"] = [finish_reason]
    if attempt.outcome == "ok" and attempt.job is not None:
        attributes["gen_ai.usage.input_tokens"] = request.input_tokens
        attributes["gen_ai.usage.output_tokens"] = request.output_tokens
        attributes["gen_ai.usage.cache_read.input_tokens"] = attempt.job.cached_tokens
    if attempt.error_type:
        attributes["error.type"] = attempt.error_type
    return attributes


def engine_attributes(request: UserRequest, job: Job) -> Attributes:
    """Return the attributes of vLLM's `llm_request` span; latencies in seconds."""
    attributes: Attributes = {
        "gen_ai.request.id": job.request_id,
        "gen_ai.request.max_tokens": request.workload.output.high,
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
    if request.workload.temperature:
        # vLLM leaves out a sampling parameter that is zero.
        attributes["gen_ai.request.temperature"] = request.workload.temperature
    return attributes


def label_attributes(request: UserRequest, response_id: str, judgement: Judgement) -> Attributes:
    """Return the attributes of a `gen_ai.evaluation.result` event."""
    return {
        "gen_ai.evaluation.name": request.workload.evaluator,
        "gen_ai.evaluation.score.value": judgement.score,
        "gen_ai.evaluation.score.label": "pass" if judgement.passed else "fail",
        "gen_ai.response.id": response_id,
    }
