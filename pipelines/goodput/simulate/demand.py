"""The shapes of demand: how much of what a kind of user asks for, when, and how their answers are judged."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """A lognormal token count: its median, its spread and the range that it is clipped to."""

    median: int
    sigma: float
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Documents:
    """What retrieval puts before a question: how many of how many documents, and the share that reads a whole report.

    Popularity falls with rank (Zipf); a report is of one conversation alone.
    """

    known: int
    retrieved: int
    tokens: Tokens
    report_ratio: float
    report: Tokens


@dataclass(frozen=True, slots=True)
class ArrivalRate:
    """An arrival rate over the span: a share at all times, and a peak of `height` times it, as a Gaussian."""

    peak_at: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class SimulatedWorkload:
    """What one kind of user asks for, how long they wait, and how its answers are judged."""

    name: str
    pool: str
    routes: tuple[str, ...]
    share_ratio: float
    rate: ArrivalRate
    system_tokens: int
    session_turns: float
    context_limit_tokens: int
    first_input: Tokens
    turn_input: Tokens
    output: Tokens
    temperature: float
    timeout_s: float
    abandon_ratio: float = 0.0
    documents: Documents | None = None
    evaluator: str = ""
    pass_score: float = 0.5
    pass_ratio: float = 1.0
    labelled_ratio: float = 0.0
    long_answer_tokens: int = 1 << 30
