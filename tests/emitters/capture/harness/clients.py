"""How an application calls a model with the vendors' own SDKs: the same code under every instrumentation of them."""

import time
from typing import Any

from .plan import CHUNKS_BEFORE_LEAVING, MODEL, Call
from .truth import Seen
from .wire import TOOL

_PARAMETERS = {"type": "object", "properties": {"river": {"type": "string"}}}


def openai_chat(client: Any, call: Call, seen: Seen, **more: Any) -> None:
    """One chat completion with `openai`."""
    tool = {"type": "function", "function": {"name": TOOL, "description": "Look a river up", "parameters": _PARAMETERS}}
    asked: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": call.prompt}], **more}
    if call.kind == "tool":
        asked["tools"] = [tool]
    if not call.stream:
        client.chat.completions.create(**asked)
        return
    if call.kind != "nousage":
        asked["stream_options"] = {"include_usage": True}
    chunks = 0
    stream = client.chat.completions.create(**asked, stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            seen.first_ns = seen.first_ns or time.time_ns()
            chunks += 1
        if call.kind == "leave" and chunks == CHUNKS_BEFORE_LEAVING:
            seen.outcome = "cancelled"
            stream.close()
            return


def anthropic_message(client: Any, call: Call, seen: Seen, **more: Any) -> None:
    """One message with `anthropic`."""
    messages = [{"role": "user", "content": call.prompt}]
    asked: dict[str, Any] = {"model": MODEL, "messages": messages, "max_tokens": 512, **more}
    if call.kind == "tool":
        asked["tools"] = [{"name": TOOL, "description": "Look a river up", "input_schema": _PARAMETERS}]
    if not call.stream:
        client.messages.create(**asked)
        return
    chunks = 0
    stream = client.messages.create(**asked, stream=True)
    for event in stream:
        if event.type == "content_block_delta":
            seen.first_ns = seen.first_ns or time.time_ns()
            chunks += 1
        if call.kind == "leave" and chunks == CHUNKS_BEFORE_LEAVING:
            seen.outcome = "cancelled"
            stream.close()
            return
