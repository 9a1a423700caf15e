# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "litellm[proxy]==1.106.2",
#   "openai==2.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""LiteLLM's proxy before the model, with retries of its own and its callback `otel` of the second generation."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openai import OpenAI

from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.ports import free_port, wait_until_open
from harness.truth import Seen

_PATIENCE_S = 20  # a call that hangs takes the gateway as many timeouts as it tries, and the pauses between


def setup(where: Where) -> tuple[Emit, Flush]:
    port = free_port()
    config = Path(tempfile.mkdtemp()) / "config.yaml"
    config.write_text(json.dumps(_config(where)))  # JSON is YAML
    told = {
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "LITELLM_OTEL_V2": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_EXPORTER": "otlp_http",
        "OTEL_ENDPOINT": where.otlp,
        "OTEL_EXPORTER_OTLP_ENDPOINT": where.otlp,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_SERVICE_NAME": "litellm-gateway",
    }
    command = [str(Path(sys.executable).parent / "litellm"), "--config", str(config), "--port", str(port)]
    proxy = subprocess.Popen([*command, "--host", "127.0.0.1"], env=os.environ | told)
    wait_until_open(port)
    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="key", timeout=_PATIENCE_S, max_retries=0)

    def emit(call: Call, seen: Seen) -> None:
        metadata = {"session_id": call.session} if call.session else {}
        openai_chat(client, call, seen, extra_body={"metadata": metadata})

    return emit, lambda: (time.sleep(10), proxy.terminate(), proxy.wait())


def _config(where: Where) -> dict[str, object]:
    model = {"model": f"openai/{MODEL}", "api_base": f"{where.model}/v1", "api_key": "key"}
    again = {"num_retries": RETRIES, "retry_after": 0, "disable_cooldowns": True}
    waits = {"timeout": CLIENT_TIMEOUT_S, "stream_timeout": CLIENT_TIMEOUT_S}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": model}],
        "router_settings": again | waits,
        "litellm_settings": {"callbacks": ["otel"], "turn_off_message_logging": True, "num_retries": RETRIES},
    }


capture(__file__, setup, is_gateway=True, settings="LITELLM_OTEL_V2=true, its own retries")
