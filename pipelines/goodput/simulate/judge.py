"""The judge of the demo: whether each answer is good, and which of them it ever labels.

A judgement belongs here; the log record that carries it does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.random import Generator

from goodput.simulate.demand import SimulatedWorkload
from goodput.simulate.fleet.gateway import Attempt, Exchange
from goodput.simulate.story import (
    BY_NAME,
    CUT_OFF_PASS_FACTOR,
    JUDGED_AFTER_S,
    QUANTISED,
    QUANTISED_PASS_FACTOR,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is true of one answer, and whether, when and how its label is published.

    `judged_s` is in seconds of simulated time; `names_span`: the label carries the ids of the span
    beside the response id.
    """

    passed: bool
    score: float
    labelled: bool
    judged_s: float
    names_span: bool


def judge(exchanges: Sequence[Exchange], rng: Generator) -> list[Judgement | None]:
    """Return one judgement per exchange, in the same order; None where no complete answer was delivered."""
    return [
        _judge_answer(BY_NAME[exchange.arrival.workload], exchange, last, rng)
        if (last := exchange.attempts[-1]).outcome == "ok"
        else None
        for exchange in exchanges
    ]


def pass_ratio(workload: SimulatedWorkload, exchange: Exchange, attempt: Attempt) -> float:
    """Return the chance that an answer is good: worse when cut off, or when long and by quantised weights."""
    ratio = workload.pass_ratio
    if exchange.arrival.finish_reason == "length":
        ratio *= CUT_OFF_PASS_FACTOR
    quantised = attempt.incarnation.engine.spec.weights == QUANTISED
    if quantised and exchange.arrival.output_tokens > workload.long_answer_tokens:
        ratio *= QUANTISED_PASS_FACTOR
    return ratio


def _judge_answer(workload: SimulatedWorkload, exchange: Exchange, attempt: Attempt, rng: Generator) -> Judgement:
    passed = bool(rng.random() < pass_ratio(workload, exchange, attempt))
    low, high = (workload.pass_score, 1.0) if passed else (0.05, workload.pass_score - 0.01)
    return Judgement(
        passed=passed,
        score=round(float(rng.uniform(low, high)), 3),
        labelled=bool(rng.random() < workload.labelled_ratio),
        judged_s=attempt.ended_s + float(rng.uniform(*JUDGED_AFTER_S)),
        names_span=bool(rng.random() < 0.5),
    )
