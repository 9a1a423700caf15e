"""What attempts report of their work, and what they leave open: docs/semantics.md#attempts-that-report-too-little."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from oracle.fleet import Fleet, Row, seconds
from oracle.latency import first_token
from oracle.replicas import spans_of
from oracle.spans import Span, overlap
from oracle.work import part_of, weights_of


@dataclass(frozen=True)
class Piece:
    """The part of an attempt that lies in a step of the ledger."""

    fleet: Fleet
    attempt: Row
    span: Span

    @property
    def name(self) -> str:
        """Which attempt."""
        return str(self.attempt["attempt_id"])

    @cached_property
    def share(self) -> Fraction:
        """The part of the attempt's time."""
        return part_of(self.attempt, self.span)

    @cached_property
    def seconds(self) -> Fraction:
        """Time in flight."""
        (own,) = spans_of([self.attempt])
        return seconds(overlap(own, self.span))

    @cached_property
    def weigh(self) -> dict[str, Fraction]:
        """What tokens of its model weigh."""
        return weights_of(self.fleet, self.attempt["model"])

    @property
    def is_unreported(self) -> bool:
        """Whether tokens are missing that no assumption fills."""
        failed = self.attempt["outcome"] != "ok"
        return self.attempt["input_tokens"] is None or (self.attempt["output_tokens"] is None and failed)

    @property
    def lacks_facts(self) -> bool:
        """Whether its work has to be estimated."""
        return self.is_unreported or self.attempt["cached_input_tokens"] is None

    @cached_property
    def is_waiting(self) -> bool:
        """A failed stream without a token."""
        a = self.attempt
        gave_nothing = a["output_tokens"] is None and a["outcome"] != "ok" and first_token(a) is None
        return bool(gave_nothing and a["streamed"])

    @cached_property
    def prompt(self) -> Fraction | None:
        """Work of its prompt, where it reports all of it."""
        given, cached = self.attempt["input_tokens"], self.attempt["cached_input_tokens"]
        return None if given is None or cached is None else self._prompt(given, cached)

    def _prompt(self, given: int, cached: int) -> Fraction:
        return (given - cached) * self.weigh["prefill_weight"] + cached * self.weigh["cached_weight"]

    @cached_property
    def answer(self) -> Fraction | None:
        """Work of its answer; an answer that reports no tokens had none."""
        output = self.attempt["output_tokens"]
        if output is None and self.attempt["outcome"] != "ok":
            return None
        return (output or 0) * self.weigh["decode_weight"]

    @cached_property
    def answering_s(self) -> Fraction | None:
        """Time since its first token."""
        first, ended = first_token(self.attempt), self.attempt["ended_at"]
        if first is None or ended is None or not self.attempt["started_at"] <= first <= ended:
            return None
        return seconds(ended - first)

    @cached_property
    def wait_s(self) -> Fraction | None:
        """Time to its first token, or to its end."""
        first = first_token(self.attempt)
        over = self.attempt["ended_at"] if first is None else first
        return None if over is None else seconds(over - self.attempt["started_at"])

    @property
    def reported(self) -> Fraction | None:
        """Work by what it reports, as if nothing had been cached that it does not report."""
        if self.is_unreported:
            return Fraction(0) if self.is_waiting else None
        cached = self.attempt["cached_input_tokens"] or 0
        return self._prompt(self.attempt["input_tokens"], cached) + (self.answer or 0)

    def tokens(self, name: str) -> Fraction | None:
        """Tokens of a kind that fall in the step; None where it does not report them."""
        value = self.attempt[name]
        return None if value is None else value * self.share

    @property
    def rejected(self) -> Fraction | None:
        """Draft tokens in vain."""
        drafted, kept = self.attempt["draft_tokens"], self.attempt["accepted_draft_tokens"]
        return None if drafted is None else (drafted - (drafted if kept is None else kept)) * self.share
