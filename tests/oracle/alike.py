"""What attempts that report too little asked of their replica: docs/semantics.md#attempts-that-report-too-little."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from oracle.facts import Piece
from oracle.quantiles import Z

LEAST = 3
ROUNDING = Fraction(1, 10**9)  # what is less of a sum of squares is nothing


@dataclass(frozen=True)
class Guess:
    """Estimated work of a whole attempt: 95 % of such ones lie within `error`, `common` of it the same for all."""

    work: float
    error: float
    common: float


class Alike:
    """Attempts of one workload, replica and step that report everything, weighed by the part of them in the step."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.pieces = [p for p in pieces if not p.lacks_facts and p.wait_s is not None]
        self.n = self._sum(lambda p: 1)
        answering = [p for p in self.pieces if p.answering_s]
        self.m = sum((p.share for p in answering), Fraction(0))
        if self.n < LEAST:
            return
        self.prompt, self.wait = self._sum(lambda p: p.prompt) / self.n, self._sum(lambda p: p.wait_s) / self.n
        squares = self._sum(lambda p: p.prompt**2)
        spread = _beyond(self._sum(lambda p: (p.prompt - self.prompt) ** 2), squares)
        waits = _beyond(self._sum(lambda p: (p.wait_s - self.wait) ** 2), self._sum(lambda p: p.wait_s**2))
        both = self._sum(lambda p: (p.wait_s - self.wait) * (p.prompt - self.prompt))
        self.per_s = max(Fraction(0), both / waits) if waits else Fraction(0)
        self.variance = spread / self.n * (self.n + 1) / (self.n - 1)
        by_wait = (spread - 2 * self.per_s * both + self.per_s**2 * waits) / self.n
        given = self._sum(lambda p: p.attempt["input_tokens"] ** 2)
        self.per_token = self._sum(lambda p: p.attempt["input_tokens"] * p.prompt) / given if given else None
        self.tokens_tell = self.per_token is not None and (
            self._sum(lambda p: (p.prompt - self.per_token * p.attempt["input_tokens"]) ** 2) / self.n
            <= by_wait + ROUNDING * squares / self.n
        )
        self._answers(answering)

    def _answers(self, answering: list[Piece]) -> None:
        time = sum((p.share * p.answering_s**2 for p in answering), Fraction(0))  # type: ignore[operator]
        self.answer_per_s = self.answer_variance = None
        if time and self.m > 1:
            work = [(p.share, p.answer or Fraction(0), p.answering_s or Fraction(0)) for p in answering]
            per_s = sum(share * w * t for share, w, t in work) / time
            left = _beyond(sum(s * (w - per_s * t) ** 2 for s, w, t in work), sum(s * w * w for s, w, _ in work))
            self.answer_per_s = per_s
            self.answer_variance = left / time * (self.m + 1) / (self.m - 1)

    def _sum(self, of: Callable[[Piece], Any]) -> Fraction:
        return sum((piece.share * of(piece) for piece in self.pieces), Fraction(0))

    def prompt_of(self, piece: Piece) -> Fraction | None:
        """Work of a prompt that is not reported; None of one that was given up."""
        if piece.prompt is not None or piece.is_waiting:
            return piece.prompt
        if self.n < LEAST:
            return None
        given = piece.attempt["input_tokens"]
        if given is not None and self.tokens_tell:
            return self.per_token * given  # type: ignore[operator]
        return None if piece.wait_s is None else max(Fraction(0), self.prompt + self.per_s * (piece.wait_s - self.wait))

    def guess(self, piece: Piece) -> Guess | None:
        """The work of an attempt that was not given up while it waited."""
        prompt, answer = self.prompt_of(piece), piece.answer
        variance = Fraction(0)
        if self.n < LEAST or prompt is None:
            return None
        if piece.prompt is None:
            variance += self.variance
        if answer is None:
            if self.answer_per_s is None or piece.answering_s is None:
                return None
            answer = self.answer_per_s * piece.answering_s
            variance += self.answer_variance * piece.answering_s**2  # type: ignore[operator]
        return Guess(float(prompt + answer), Z * sqrt(variance), 0.0)

    def given_up(self, piece: Piece, per_s: Fraction | None) -> Guess | None:
        """The work of a stream that was given up before its first token: half a prompt, be it its own, its part of
        what counters saw begin (`per_s` for each second of waiting), or one like the others.
        """
        if piece.prompt is not None:
            half = float(piece.prompt) / 2
            return Guess(half, half, half)
        is_known = self.n >= LEAST
        reached = Fraction(1)
        if is_known and self.wait and piece.wait_s is not None:
            reached = min(reached, piece.wait_s / self.wait)
        spread = float(reached) * Z * sqrt(self.variance) if is_known else None
        if per_s is not None and piece.wait_s is not None:
            half = float(per_s * piece.wait_s) / 2
            return Guess(half, half + (half if spread is None else spread), half)
        if spread is None:
            return None
        half = float(reached * self.prompt) / 2
        return Guess(half, half + spread, half + spread)


def _beyond(value: Fraction, squares: Fraction) -> Fraction:
    """A sum of squared distances, nothing where rounding alone may leave as much."""
    return value if value > ROUNDING * squares else Fraction(0)


def guesses(steps: dict[int, list[Piece]], begun: tuple[Fraction, Fraction] | None) -> dict[tuple[int, str], Guess]:
    """By step and attempt the estimates of a replica's hour; `begun`: tokens, and cached ones, that counters saw."""
    known = {step: _by_workload(pieces) for step, pieces in steps.items()}
    per_s = _given_up_per_s(steps, known, begun)
    found = {}
    for step, pieces in steps.items():
        for piece in pieces:
            alike = known[step][piece.attempt["workload"]]
            if piece.lacks_facts:
                guess = alike.given_up(piece, per_s) if piece.is_waiting else alike.guess(piece)
                if guess is not None:
                    found[step, piece.name] = guess
    return found


def _by_workload(pieces: list[Piece]) -> dict[str, Alike]:
    of: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        of[piece.attempt["workload"]].append(piece)
    return {workload: Alike(own) for workload, own in of.items()}


def _given_up_per_s(
    steps: dict[int, list[Piece]], known: dict[int, dict[str, Alike]], begun: tuple[Fraction, Fraction] | None
) -> Fraction | None:
    """Work of prompts that counters saw begin beyond those of other attempts, for each second that streams waited."""
    pieces = [(known[step][p.attempt["workload"]], p) for step, of in steps.items() for p in of]
    waited = sum((p.share * (p.wait_s or 0) for _, p in pieces if p.is_waiting and p.prompt is None), Fraction(0))
    if begun is None or not waited:
        return None
    others = sum((p.share * (alike.prompt_of(p) or 0) for alike, p in pieces), Fraction(0))
    weights = [p.weigh for _, p in pieces]
    prefill, cached = (max(of[name] for of in weights) for name in ("prefill_weight", "cached_weight"))
    seen = (begun[0] - begun[1]) * prefill + begun[1] * cached
    return max(Fraction(0), seen - others) / waited
