"""The calls that every capture makes, and what the mock model does with each.

Each call has a time to first token, a number of tokens and a number of cached tokens of its own, so that a value in an
emitter's bytes can only have come from one of them.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "ok",  # answered
    "429", "500",  # refused once, then answered
    "400", "500always",  # refused for good
    "hang",  # no answer to the first try within the client's timeout, then answered
    "hangalways",  # no answer at all within the client's timeout
    "cut",  # the connection breaks after a few chunks
    "len",  # ends at the token limit
    "tool",  # the model asks for a tool
    "leave",  # the client closes the stream after a few chunks
    "nousage",  # a stream that does not ask for usage
]  # fmt: skip

MODEL = "mock-7b"
CLIENT_TIMEOUT_S = 1.0
RETRIES = 2
CHUNKS_BEFORE_CUT = 4
CHUNKS_BEFORE_LEAVING = 3


@dataclass(frozen=True)
class Call:
    """One call of the model: what is asked of it, and how the mock answers."""

    rid: str
    kind: Kind
    stream: bool
    session: str | None
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    ttft_s: float
    tpot_s: float

    @property
    def prompt(self) -> str:
        """Synthetic words that name the call, by which the mock knows it."""
        return f"[[{self.rid}]] name some rivers"


_KINDS: tuple[tuple[Kind, bool, bool], ...] = (  # kind, streamed, in a session
    ("ok", False, True),
    ("ok", True, True),
    ("ok", True, False),
    ("500", True, False),
    ("429", False, True),
    ("400", False, False),
    ("500always", True, True),
    ("hang", False, False),
    ("hangalways", True, False),
    ("cut", True, False),
    ("len", False, True),
    ("tool", False, False),
    ("leave", True, True),
    ("nousage", True, False),
    ("ok", False, False),
    ("ok", True, True),
)


def planned(emitter: str, without: frozenset[str] = frozenset(), streams: bool = True) -> list[Call]:
    """The calls for one emitter, less the kinds that it cannot make; ids are its own."""
    calls = [
        Call(
            rid=f"{emitter}-{number:02d}",
            kind=kind,
            stream=stream,
            session=f"conv-{emitter}-{number % 2}" if in_session else None,
            input_tokens=210 + 17 * number,
            cached_tokens=(96 + 7 * number) if number % 3 else 0,
            output_tokens=21 + number,
            ttft_s=0.060 + 0.012 * number,
            tpot_s=0.006,
        )
        for number, (kind, stream, in_session) in enumerate(_KINDS, 1)
    ]
    return [call for call in calls if call.kind not in without and (streams or not call.stream)]
