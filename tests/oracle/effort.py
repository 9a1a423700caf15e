"""How attempts share their replica's busy time, and how sure that is: docs/semantics.md#busy-time, #stated-errors."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import sqrt
from typing import Any

from oracle.alike import Guess, guesses
from oracle.counters import Samples
from oracle.facts import Piece
from oracle.fleet import HOUR, Fleet, Row, S
from oracle.quantiles import Z
from oracle.spans import Span, overlap

COUNTED = ("recomputed_tokens", "preemptions", "draft_tokens", "accepted_draft_tokens")
BEGUN = ("prefix_cache_queried_tokens", "prefix_cache_hit_tokens")
Number = float | Fraction


@dataclass(frozen=True)
class Part:
    """A part of an attempt's share of a step: of what its replica costs, in tokens, and how far off it may be."""

    share: float
    tokens: float
    estimated: bool
    error: float  # relative to its cost; 95 % of such parts lie within
    common: float  # the part of it that is the same wherever the same is assumed


class Efforts:
    """Work of the attempts on each replica."""

    def __init__(self, fleet: Fleet, samples: Samples, attempts: dict[str, list[Row]], step_ns: int) -> None:
        self.fleet, self.samples, self.attempts, self.step_ns = fleet, samples, attempts, step_ns

    @cache  # noqa: B019 - as long as its fleet
    def _hour(self, replica: str, hour: int) -> dict[int, list[Piece]]:
        steps = range(hour * HOUR, hour * HOUR + HOUR, self.step_ns)
        pieces = {
            step: [Piece(self.fleet, a, (step, step + self.step_ns)) for a in self.attempts.get(replica, [])]
            for step in steps
        }
        return {step: [piece for piece in of if piece.share > 0] for step, of in pieces.items()}

    @cache  # noqa: B019 - as long as its fleet
    def _guesses(self, replica: str, hour: int) -> dict[tuple[int, str], Guess]:
        steps = self._hour(replica, hour)
        begun = [self._counts(replica, (step, step + self.step_ns)) for step in steps]
        told = [of["prefix_cache_queried_tokens"] for of in begun if "prefix_cache_queried_tokens" in of]
        found = sum((of.get("prefix_cache_hit_tokens", Fraction(0)) for of in begun), Fraction(0))
        return guesses(steps, (sum(told, Fraction(0)), found) if told else None)

    @cache  # noqa: B019 - as long as its fleet
    def _counts(self, replica: str, span: Span) -> dict[str, Fraction]:
        """What counters rose by in a step, each increase spread evenly over its interval; the longest of these."""
        found: dict[str, Fraction] = defaultdict(Fraction)
        for point in self.samples.by_replica.get(replica, []):
            if point.metric not in COUNTED + BEGUN or not point.increase or not point.interval_ns:
                continue
            inside = overlap((point.at - point.interval_ns, point.at), span)
            if inside:
                found[point.metric] += Fraction(point.increase) * Fraction(inside, point.interval_ns)
                found["interval_s"] = max(found["interval_s"], Fraction(point.interval_ns, S))
        return found

    @cache  # noqa: B019 - as long as its fleet
    def parts(self, replica: str, step_at: int) -> dict[str, dict[str, Part]]:
        """By attempt its own part (""), and what was computed again or drafted in vain."""
        hour = step_at // HOUR
        pieces = self._hour(replica, hour)[step_at]
        known = {p.name: guess for p in pieces if (guess := self._guesses(replica, hour).get((step_at, p.name)))}
        counts = self._counts(replica, (step_at, step_at + self.step_ns))
        recounts = any(p.at // HOUR == hour for p in self.samples.of(replica, "recomputed_tokens"))
        return Effort(pieces, known, counts, Fraction(self.step_ns, S), recounts=recounts).parts()


class Effort:
    """Work on one replica in one step."""

    def __init__(
        self,
        pieces: list[Piece],
        known: dict[str, Guess],
        counts: dict[str, Fraction],
        step_s: Fraction,
        *,
        recounts: bool,
    ) -> None:
        self.pieces, self.known = pieces, known
        self.reported = sum(self._told(p) or 0.0 for p in pieces)
        silent = [p for p in pieces if self._told(p) is None]
        timed = sum(float(p.seconds) for p in pieces if p not in silent)
        of_timed = sum(self._told(p) or 0.0 for p in pieces if p.seconds > 0)
        self.per_s = (of_timed / timed if timed else 0.0) or (0.0 if self.reported else 1.0)
        self.silent_work = sum(float(p.seconds) for p in silent) * self.per_s
        self._count(counts, step_s, recounts=recounts)
        self.total = sum(self._work(p) for p in pieces)

    def _told(self, piece: Piece) -> float | None:
        """Work by report or estimate; None where time alone decides."""
        guess, reported = self.known.get(piece.name), piece.reported
        if guess is not None:
            return guess.work * float(piece.share)
        return None if reported is None else float(reported * piece.share)

    def _count(self, counts: dict[str, Fraction], step_s: Fraction, *, recounts: bool) -> None:
        """What counters show beyond reports, for each second of the attempts that do not report it."""
        prompt, answer = self._mean("input_tokens"), self._mean("output_tokens")
        is_cached = any(p.attempt["cached_input_tokens"] for p in self.pieces)
        lost = answer / 2 + (0 if is_cached else prompt)
        preempted = Fraction(0) if recounts else counts.get("preemptions", Fraction(0))
        drafted = counts.get("draft_tokens", Fraction(0))
        kept = counts.get("accepted_draft_tokens", Fraction(0))
        again = counts.get("recomputed_tokens", Fraction(0)) + preempted * lost
        self.again_per_s = self._beyond(again, "recomputed_tokens", lambda p: p.tokens("recomputed_tokens"))
        self.draft_per_s = self._beyond(drafted, "draft_tokens", lambda p: p.tokens("draft_tokens"))
        vain_per_s = self._beyond(max(Fraction(0), drafted - kept), "draft_tokens", lambda p: p.rejected)
        self.vain_per_s = min(self.draft_per_s, vain_per_s)
        edges = Z * sqrt(2 / 12) * float(counts.get("interval_s", Fraction(0)) / step_s)
        self.edge = min(1.0, edges)
        self.context = 0.0
        if preempted:
            self.context = max(1.0, float((prompt + answer) / lost) - 1) if lost else 1.0

    def _mean(self, name: str) -> Fraction:
        told = [p for p in self.pieces if p.attempt[name] is not None]
        shares = sum((p.share for p in told), Fraction(0))
        return sum((p.attempt[name] * p.share for p in told), Fraction(0)) / shares if shares else Fraction(0)

    def _beyond(self, counted: Fraction, name: str, of: Callable[[Piece], Fraction | None]) -> Fraction:
        reported = sum((of(p) or Fraction(0) for p in self.pieces), Fraction(0))
        time = sum((p.seconds for p in self.pieces if p.attempt[name] is None), Fraction(0))
        return max(Fraction(0), counted - reported) / time if time else Fraction(0)

    def _tokens(self, piece: Piece) -> tuple[Fraction, Fraction, Fraction]:
        """Tokens computed again, drafted, and drafted in vain."""
        again, drafted, vain = piece.tokens("recomputed_tokens"), piece.tokens("draft_tokens"), piece.rejected
        return (
            self.again_per_s * piece.seconds if again is None else again,
            self.draft_per_s * piece.seconds if drafted is None else drafted,
            self.vain_per_s * piece.seconds if vain is None else vain,
        )

    def _work(self, piece: Piece) -> float:
        again, drafted, _ = self._tokens(piece)
        told = self._told(piece)
        base = float(piece.seconds) * self.per_s if told is None else told
        return base + float(again * piece.weigh["prefill_weight"] + drafted * piece.weigh["draft_weight"])

    def parts(self) -> dict[str, dict[str, Part]]:
        """The parts of every attempt."""
        in_flight = sum(float(p.seconds) for p in self.pieces)
        found = {}
        for piece in self.pieces:
            work = self._work(piece)
            whole = work / self.total if self.total else float(piece.seconds) / in_flight if in_flight else 0.0
            found[piece.name] = self._split(piece, work, whole)
        return found

    def _split(self, piece: Piece, work: float, whole: float) -> dict[str, Part]:
        again, _, vain = (float(tokens) for tokens in self._tokens(piece))
        redoing = again * float(piece.weigh["prefill_weight"]) / work if work else 0.0
        guessing = vain * float(piece.weigh["draft_weight"]) / work if work else 0.0
        error, common = self._error(piece, work)
        of_all, common_of_all = self._errors()
        spread: Any = {
            "estimated": True,
            "error": self.edge + self.context + of_all,
            "common": self.context + common_of_all,
        }
        own: Any = {"estimated": False, "error": error, "common": common}
        tokens = float(((piece.attempt["input_tokens"] or 0) + (piece.attempt["output_tokens"] or 0)) * piece.share)
        is_guessed = piece.is_unreported or piece.name in self.known
        parts = {"": Part(whole * (1 - redoing - guessing), tokens, is_guessed, error, common)}
        if again:
            marks = spread if piece.attempt["recomputed_tokens"] is None else own
            parts["preemption"] = Part(whole * redoing, again, **marks)
        if vain:
            counted = {"estimated": True, "error": self.edge + of_all, "common": common_of_all}
            marks = counted if piece.attempt["draft_tokens"] is None else own
            parts["speculation"] = Part(whole * guessing, vain, **marks)
        return parts

    def _error(self, piece: Piece, work: float) -> tuple[float, float]:
        """Of an attempt's own part: that of its estimate, all of it where time alone decides, else that of all."""
        guess = self.known.get(piece.name)
        if guess is not None:
            share = float(piece.share)
            return (guess.error * share / work, guess.common * share / work) if work else (0.0, 0.0)
        return (1.0, 1.0) if piece.is_unreported and not piece.is_waiting else self._errors()

    def _errors(self) -> tuple[float, float]:
        """Of all the work together."""
        if not self.total:
            return 0.0, 0.0
        shares = {p.name: float(p.share) for p in self.pieces}
        guessed = sum(guess.error * shares[name] for name, guess in self.known.items())
        common = sum(guess.common * shares[name] for name, guess in self.known.items())
        again, drafts = (
            sum(float(per_s * p.seconds * p.weigh[weight]) for p in self.pieces if p.attempt[name] is None)
            for per_s, weight, name in (
                (self.again_per_s, "prefill_weight", "recomputed_tokens"),
                (self.draft_per_s, "draft_weight", "draft_tokens"),
            )
        )
        error = guessed + self.silent_work + drafts * self.edge + again * (self.edge + self.context)
        return error / self.total, (common + self.silent_work + again * self.context) / self.total
