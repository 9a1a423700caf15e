"""Which dialects there are, by the kind of row that speaks them; of several that match a row the first reads it."""

import polars as pl

from goodput.collect.dialect import Dialect
from goodput.collect.dialects.argo_cd import ARGO_CD, ARGO_CD_LIST
from goodput.collect.dialects.cdevents import CDEVENTS
from goodput.collect.dialects.dynamo import DYNAMO_REQUESTS
from goodput.collect.dialects.dynamo_spans import DYNAMO
from goodput.collect.dialects.envoy import ENVOY, ENVOY_TEXT
from goodput.collect.dialects.envoy_logs import ENVOY_LOG
from goodput.collect.dialects.envoy_spans import ENVOY_REQUEST, ENVOY_TRY
from goodput.collect.dialects.evaluation import EVALUATION
from goodput.collect.dialects.focus import FOCUS
from goodput.collect.dialects.genai import GENAI
from goodput.collect.dialects.github import GITHUB
from goodput.collect.dialects.kubernetes import (
    EVENTS_RECEIVER,
    KUBERNETES,
    KUBERNETES_LIST,
    KUBERNETES_WATCH,
    OBJECTS_RECEIVER,
)
from goodput.collect.dialects.langfuse import LANGFUSE, LANGFUSE_PAGE
from goodput.collect.dialects.langfuse_spans import LANGFUSE_GENERATION
from goodput.collect.dialects.litellm import LITELLM_PAYLOADS, LITELLM_SPEND
from goodput.collect.dialects.litellm_prices import LITELLM_PRICES
from goodput.collect.dialects.litellm_spans import LITELLM_CALL, LITELLM_HTTP, LITELLM_REFUSAL, ROUTED
from goodput.collect.dialects.llmd_spans import LLMD
from goodput.collect.dialects.logfire import LOGFIRE, LOGFIRE_STREAM
from goodput.collect.dialects.metrics.dynamo import DYNAMO_FRONTEND_METRICS, DYNAMO_WORKER_METRICS
from goodput.collect.dialects.metrics.gpu import GPU_METRICS
from goodput.collect.dialects.metrics.litellm import LITELLM_METRICS
from goodput.collect.dialects.metrics.llm_d import LLM_D_METRICS
from goodput.collect.dialects.metrics.processes import PROCESS_METRICS
from goodput.collect.dialects.metrics.sglang import SGLANG_METRICS
from goodput.collect.dialects.metrics.sglang_router import SGLANG_ROUTER_METRICS
from goodput.collect.dialects.metrics.tensorrt_llm import TENSORRT_LLM_METRICS
from goodput.collect.dialects.metrics.tgi import TGI_METRICS
from goodput.collect.dialects.metrics.triton import TRITON_METRICS
from goodput.collect.dialects.metrics.vllm import VLLM_METRICS
from goodput.collect.dialects.mlflow import MLFLOW, MLFLOW_TRACE
from goodput.collect.dialects.mlflow_spans import MLFLOW_CALL
from goodput.collect.dialects.opencost import OPENCOST, OPENCOST_ANSWER
from goodput.collect.dialects.openinference import OPENINFERENCE
from goodput.collect.dialects.openllmetry import OPENLLMETRY
from goodput.collect.dialects.phoenix import PHOENIX, PHOENIX_PAGE
from goodput.collect.dialects.sglang import SGLANG_REQUEST_LOG, SGLANG_REQUESTS
from goodput.collect.dialects.sglang_spans import SGLANG
from goodput.collect.dialects.smg_spans import SMG
from goodput.collect.dialects.strands import STRANDS
from goodput.collect.dialects.trtllm import TRTLLM_PERF_METRICS
from goodput.collect.dialects.trtllm_spans import TRTLLM
from goodput.collect.dialects.vercel import VERCEL
from goodput.collect.dialects.vllm import VLLM
from goodput.collect.metric import MetricDialect

SPAN_DIALECTS: tuple[Dialect, ...] = (
    *(TRTLLM, VLLM, SGLANG),  # engines
    *(LITELLM_CALL, LITELLM_REFUSAL, LITELLM_HTTP, DYNAMO, LLMD, SMG, ENVOY_REQUEST, ENVOY_TRY),  # gateways
    *(LANGFUSE_GENERATION, LOGFIRE_STREAM, LOGFIRE, OPENLLMETRY, STRANDS, VERCEL),  # clients
    *(GENAI, OPENINFERENCE),  # conventions that any of them may speak as well
    MLFLOW_CALL,  # its tracing also takes in what others wrote
)
MARKS_TRY: pl.Expr = ROUTED  # spans that are no record of a request, and one more try of the request above them
LOG_DIALECTS: tuple[Dialect, ...] = (EVALUATION, EVENTS_RECEIVER, OBJECTS_RECEIVER, ENVOY_LOG)
OBJECT_DIALECTS: tuple[Dialect, ...] = (
    *(SGLANG_REQUESTS, SGLANG_REQUEST_LOG, TRTLLM_PERF_METRICS),  # engines
    *(*LITELLM_PAYLOADS, LITELLM_SPEND, *DYNAMO_REQUESTS, ENVOY_TEXT, ENVOY),  # gateways
    *(LANGFUSE, LANGFUSE_PAGE, PHOENIX, PHOENIX_PAGE, MLFLOW, MLFLOW_TRACE),  # labels
    *(CDEVENTS, KUBERNETES, KUBERNETES_LIST, KUBERNETES_WATCH, ARGO_CD, ARGO_CD_LIST, GITHUB),  # operations
    *(FOCUS, OPENCOST, OPENCOST_ANSWER, LITELLM_PRICES),  # money
)
# Where two report the same of one replica, the first counts: an engine before what passes its metrics on.
METRIC_DIALECTS: tuple[MetricDialect, ...] = (
    VLLM_METRICS,
    SGLANG_METRICS,
    TENSORRT_LLM_METRICS,
    TGI_METRICS,
    TRITON_METRICS,
    DYNAMO_WORKER_METRICS,
    GPU_METRICS,
    DYNAMO_FRONTEND_METRICS,
    SGLANG_ROUTER_METRICS,
    LLM_D_METRICS,
    LITELLM_METRICS,
    PROCESS_METRICS,
)
