# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "mlflow==3.17.2",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""MLflow's `mlflow.openai.autolog`, exported as OTLP."""

import os
import time

import mlflow
from openai import OpenAI

from harness import otel
from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES

_EXPORTED_EVERY_S = 8


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{where.otlp}/v1/traces"
    os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
    mlflow.openai.autolog()
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    return (lambda call, seen: openai_chat(client, call, seen)), lambda: time.sleep(_EXPORTED_EVERY_S)


capture(__file__, setup, settings="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
