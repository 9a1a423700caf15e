"""How three APIs write an answer: OpenAI chat completions, Anthropic messages, Gemini generateContent.

An API gives the whole answer of a call, and the chunks of a stream:
before the first token, for each token, after the last.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .plan import MODEL, Call

Json = dict[str, Any]
WORDS = ["Elbe", "Rhine", "Danube", "Volga", "Loire", "Tagus", "Ebro", "Po"]
TOOL, TOOL_ARGUMENTS = "lookup", {"river": "Elbe"}


def text(call: Call) -> str:
    """The answer: one word a token."""
    return " ".join(word(index) for index in range(call.output_tokens))


def word(index: int) -> str:
    """The word of one token."""
    return WORDS[index % len(WORDS)]


class Api(ABC):
    """One API's way of writing answers."""

    @abstractmethod
    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        """Whether the request asks for a stream."""

    @abstractmethod
    def error(self, status: int) -> Json:
        """The body of a refusal."""

    @abstractmethod
    def whole(self, call: Call, answer_id: str, asks_tool: bool) -> Json:
        """The body of an answer that is not streamed."""

    @abstractmethod
    def before(self, call: Call, answer_id: str) -> bytes:
        """What a stream sends ahead of the first token."""

    @abstractmethod
    def token(self, call: Call, answer_id: str, index: int) -> bytes:
        """The chunk of one token."""

    @abstractmethod
    def after(self, call: Call, answer_id: str, asks_tool: bool, with_usage: bool) -> bytes:
        """What a stream sends behind the last token."""

    def gives_usage(self, body: Mapping[str, Any]) -> bool:
        """Whether a stream of this request ends with its usage."""
        return True


def _event(data: Json, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


class OpenAi(Api):
    """`POST /v1/chat/completions`."""

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        return bool(body.get("stream"))

    def gives_usage(self, body: Mapping[str, Any]) -> bool:
        return not body.get("stream") or bool((body.get("stream_options") or {}).get("include_usage"))

    def error(self, status: int) -> Json:
        return {"error": {"message": f"planned {status}", "type": "planned", "code": status}}

    def whole(self, call: Call, answer_id: str, asks_tool: bool) -> Json:
        message: Json = {"role": "assistant", "content": text(call)}
        if asks_tool:
            message = {"role": "assistant", "content": None, "tool_calls": [self._tool()]}
        choice = {"index": 0, "message": message, "finish_reason": _finish(call, asks_tool), "logprobs": None}
        return {**self._head(answer_id, "chat.completion"), "choices": [choice], "usage": self._usage(call)}

    def before(self, call: Call, answer_id: str) -> bytes:
        return self._chunk(answer_id, {"role": "assistant", "content": ""})

    def token(self, call: Call, answer_id: str, index: int) -> bytes:
        return self._chunk(answer_id, {"content": word(index) + " "})

    def after(self, call: Call, answer_id: str, asks_tool: bool, with_usage: bool) -> bytes:
        tool = self._chunk(answer_id, {"tool_calls": [{"index": 0, **self._tool()}]}) if asks_tool else b""
        end = self._chunk(answer_id, {}, _finish(call, asks_tool))
        usage = {**self._head(answer_id, "chat.completion.chunk"), "choices": [], "usage": self._usage(call)}
        return tool + end + (_event(usage) if with_usage else b"") + b"data: [DONE]\n\n"

    def _chunk(self, answer_id: str, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**self._head(answer_id, "chat.completion.chunk"), "choices": [choice]})

    def _head(self, answer_id: str, kind: str) -> Json:
        return {"id": answer_id, "object": kind, "created": 1767225600, "model": MODEL}

    def _tool(self) -> Json:
        return {"id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(TOOL_ARGUMENTS)}}

    def _usage(self, call: Call) -> Json:
        return {
            "prompt_tokens": call.input_tokens,
            "completion_tokens": call.output_tokens,
            "total_tokens": call.input_tokens + call.output_tokens,
            "prompt_tokens_details": {"cached_tokens": call.cached_tokens},
        }


def _finish(call: Call, asks_tool: bool) -> str:
    return "tool_calls" if asks_tool else "length" if call.kind == "len" else "stop"


class Anthropic(Api):
    """`POST /v1/messages`: cached tokens are beside the input tokens, not within."""

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        return bool(body.get("stream"))

    def error(self, status: int) -> Json:
        return {"type": "error", "error": {"type": "api_error", "message": f"planned {status}"}}

    def whole(self, call: Call, answer_id: str, asks_tool: bool) -> Json:
        content = [self._tool(TOOL_ARGUMENTS)] if asks_tool else [{"type": "text", "text": text(call)}]
        return {**self._head(answer_id, call), "content": content, "stop_reason": self._stop(call, asks_tool)}

    def before(self, call: Call, answer_id: str) -> bytes:
        head = self._head(answer_id, call)
        message = {**head, "content": [], "stop_reason": None, "usage": {**head["usage"], "output_tokens": 1}}
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        return _event({"type": "message_start", "message": message}, "message_start") + _event(block, block["type"])

    def token(self, call: Call, answer_id: str, index: int) -> bytes:
        delta = {"type": "text_delta", "text": word(index) + " "}
        return _event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")

    def after(self, call: Call, answer_id: str, asks_tool: bool, with_usage: bool) -> bytes:
        delta = {"stop_reason": self._stop(call, asks_tool), "stop_sequence": None}
        end = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": call.output_tokens}}
        stop = _event({"type": "content_block_stop", "index": 0}, "content_block_stop")
        return stop + _event(end, "message_delta") + _event({"type": "message_stop"}, "message_stop")

    def _head(self, answer_id: str, call: Call) -> Json:
        usage = {
            "input_tokens": call.input_tokens - call.cached_tokens,
            "cache_read_input_tokens": call.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": call.output_tokens,
        }
        head = {"id": answer_id, "type": "message", "role": "assistant", "model": MODEL}
        return {**head, "stop_sequence": None, "usage": usage}

    def _tool(self, arguments: Json) -> Json:
        return {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": arguments}

    def _stop(self, call: Call, asks_tool: bool) -> str:
        return "tool_use" if asks_tool else "max_tokens" if call.kind == "len" else "end_turn"


class Gemini(Api):
    """`POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent?alt=sse`."""

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        return ":streamGenerateContent" in path

    def error(self, status: int) -> Json:
        return {"error": {"code": status, "message": f"planned {status}", "status": "PLANNED"}}

    def whole(self, call: Call, answer_id: str, asks_tool: bool) -> Json:
        part = {"functionCall": {"name": TOOL, "args": TOOL_ARGUMENTS}} if asks_tool else {"text": text(call)}
        return {**self._body(answer_id, part, self._stop(call)), "usageMetadata": self._usage(call)}

    def before(self, call: Call, answer_id: str) -> bytes:
        return b""

    def token(self, call: Call, answer_id: str, index: int) -> bytes:
        return _event(self._body(answer_id, {"text": word(index) + " "}, None))

    def after(self, call: Call, answer_id: str, asks_tool: bool, with_usage: bool) -> bytes:
        end = self._body(answer_id, {"text": ""}, self._stop(call))
        return _event({**end, "usageMetadata": self._usage(call)})

    def _body(self, answer_id: str, part: Json, finish: str | None) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], "modelVersion": MODEL, "responseId": answer_id}

    def _stop(self, call: Call) -> str:
        return "MAX_TOKENS" if call.kind == "len" else "STOP"

    def _usage(self, call: Call) -> Json:
        return {
            "promptTokenCount": call.input_tokens,
            "candidatesTokenCount": call.output_tokens,
            "cachedContentTokenCount": call.cached_tokens,
            "totalTokenCount": call.input_tokens + call.output_tokens,
        }


def api_of(path: str) -> Api | None:
    """The API that a path belongs to."""
    if path.endswith("/chat/completions"):
        return OpenAi()
    if path.endswith("/messages"):
        return Anthropic()
    return Gemini() if "enerateContent" in path else None
