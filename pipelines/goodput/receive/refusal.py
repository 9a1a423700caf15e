"""How OTLP/HTTP refuses a request: a status code, and a google.rpc.Status in the encoding of the request."""

from google.protobuf import json_format
from google.rpc import code_pb2
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status

from goodput.receive.encoding import Encoding

_CODES = {
    400: code_pb2.INVALID_ARGUMENT,
    401: code_pb2.UNAUTHENTICATED,
    404: code_pb2.NOT_FOUND,
    405: code_pb2.UNIMPLEMENTED,
    413: code_pb2.INVALID_ARGUMENT,
    415: code_pb2.INVALID_ARGUMENT,
    429: code_pb2.RESOURCE_EXHAUSTED,
    500: code_pb2.INTERNAL,
    503: code_pb2.UNAVAILABLE,
}
_WORTH_A_RETRY = (429, 503)
_LATER_S = 1


class RequestRefused(Exception):
    """A request that is answered with an error; only 429 and 503, which carry `retry_after_s`, are worth a retry."""

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        self.status = status
        self.message = message
        self.retry_after_s = _LATER_S if retry_after_s is None and status in _WORTH_A_RETRY else retry_after_s
        super().__init__(message)

    def body(self, encoding: Encoding) -> bytes:
        """The google.rpc.Status in the encoding of the request."""
        status = self.as_status()
        if encoding is Encoding.JSON:
            return json_format.MessageToJson(status, indent=None).encode()
        content: bytes = status.SerializeToString()
        return content

    def as_status(self) -> Status:
        """The google.rpc.Status; of bad data with the BadRequest that the protocol asks for."""
        status = Status(code=_CODES[self.status], message=self.message)
        if self.status == 400:
            violation = BadRequest.FieldViolation(description=self.message)
            status.details.add().Pack(BadRequest(field_violations=[violation]))
        return status
