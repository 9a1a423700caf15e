# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "smg==1.13.0",
#   "grpcio==1.76.0",
#   "openai==3.54.0",
#   "opentelemetry-proto==1.45.2",
# ]
# ///
"""SGLang's model gateway (smg) before the model, with retries of its own: its spans."""

import subprocess
import sys
import time
from pathlib import Path

from openai import OpenAI

from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.grpc_receiver import GrpcReceiver
from harness.plan import CLIENT_TIMEOUT_S, RETRIES, Call
from harness.ports import free_port, wait_until_open
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    port, receiver = free_port(), GrpcReceiver(where.traces)
    options = {
        "--worker-urls": where.model,
        "--host": "127.0.0.1",
        "--port": str(port),
        "--policy": "round_robin",
        "--retry-max-retries": str(RETRIES + 1),
        "--request-timeout-secs": str(int(CLIENT_TIMEOUT_S)),
        "--otlp-traces-endpoint": f"127.0.0.1:{receiver.port}",
        "--prometheus-port": str(free_port()),
    }
    words = [word for option in options.items() for word in option]
    command = [str(Path(sys.executable).parent / "smg"), "launch", *words, "--enable-trace"]
    router = subprocess.Popen(command)
    wait_until_open(port)
    time.sleep(3)  # until it knows the model
    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="key", timeout=4 * CLIENT_TIMEOUT_S, max_retries=0)

    def emit(call: Call, seen: Seen) -> None:
        openai_chat(client, call, seen, extra_headers={"x-request-id": call.rid})

    return emit, lambda: (time.sleep(8), router.terminate(), router.wait())


capture(__file__, setup, is_gateway=True, settings="its own retries")
