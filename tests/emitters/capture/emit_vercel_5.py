# /// script
# requires-python = ">=3.11"
# dependencies = ["opentelemetry-proto==1.45.2"]
# ///
"""The Vercel AI SDK 5 with its telemetry on; a program of Node, with packages from npm."""

from harness.node import capture

capture(
    __file__,
    "vercel.mjs",
    {
        "ai": "5.0.277",
        "@ai-sdk/openai-compatible": "1.0.61",
        "@opentelemetry/api": "1.9.1",
        "@opentelemetry/exporter-trace-otlp-proto": "0.223.1",
        "@opentelemetry/resources": "2.12.1",
        "@opentelemetry/sdk-trace-node": "2.12.0",
    },
    without=["nousage", "tool"],
)
