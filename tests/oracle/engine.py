"""Random metrics of engines: gauges, counters that begin anew now and then, histograms, read with pauses.

A reading has what a scrape saw of one replica at once: `gauges`, `counters` by name and reason, `histograms` with
counts of each bucket. `began` is the start that it tells of its counters; `delta`: they are since the reading before.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from oracle.emit import Replica, Stage
from oracle.fleet import Fleet, Row, S

BOUNDS = {"ttft_s": (0.1, 0.5, 1.0, 2.5), "iteration_tokens": (1.0, 8.0, 64.0)}
COUNTERS = {
    "cache": (("prefix_cache_queried_tokens", None), ("prefix_cache_hit_tokens", None)),
    "prompts": (("input_tokens", None), ("prefix_cache_hit_tokens", None)),
    "blocks": (("prefix_cache_hit_blocks", None), ("prefix_cache_missed_blocks", None)),
    "preemptions": (("preemptions", None),),
    "recomputed": (("preemptions", None), ("recomputed_tokens", None)),
    "drafts": (("draft_tokens", None), ("accepted_draft_tokens", None)),
    "finished": (("finished_requests", "stop"), ("finished_requests", "abort")),
    "http": (("http_requests", "2xx"), ("http_requests", "5xx")),
}
GROWTH = {
    "prefix_cache_queried_tokens": (0, 700),
    "prefix_cache_hit_tokens": (0, 300),
    "input_tokens": (100, 900),
    "prefix_cache_hit_blocks": (0, 20),
    "prefix_cache_missed_blocks": (0, 30),
    "preemptions": (0, 0, 0, 1, 3),
    "recomputed_tokens": (0, 0, 0, 120),
    "draft_tokens": (40, 60),
    "accepted_draft_tokens": (0, 40),
}


@dataclass
class Engine:
    """What an engine's process has counted so far."""

    replica: Replica
    kinds: list[str]
    began: int
    tells_start: bool
    delta: bool
    counters: dict[tuple[str, str | None], int] = field(default_factory=dict)
    histograms: dict[str, Row] = field(default_factory=dict)

    def begin(self, at: int) -> None:
        """Counters at zero; of a first process they have been counting for a while."""
        self.began = at
        self.counters = {key: 0 for kind in self.kinds for key in COUNTERS.get(kind, ())}
        self.histograms = {
            name: {"counts": [0] * (len(bounds) + 1), "sum": 0.0}
            for name, bounds in BOUNDS.items()
            if "times" in self.kinds
        }

    def grow(self, chance: Random, requests: int) -> None:
        """What comes to pass until the next reading; `requests` ended on it, and some that no telemetry shows."""
        for key in self.counters:
            name, reason = key
            growth = chance.choice(GROWTH.get(name, (0,)))
            if name in {"finished_requests", "http_requests"}:
                growth = chance.choice([0, 0, 0, 1]) + (requests if reason in {"stop", "2xx"} else 0)
            self.counters[key] += growth
        for one in self.histograms.values():
            for bucket in range(len(one["counts"])):
                seen = chance.choice([0, 0, 1, 4])
                one["counts"][bucket] += seen
                one["sum"] += seen * 0.25 * (bucket + 1)

    def reading(self, chance: Random, at: int, before: int) -> Row:
        """A scrape of it."""
        gauges: dict[str, Any] = {"kv_usage_ratio": chance.choice([0.25, 0.25, chance.randrange(100) / 100])}
        if "gauges" in self.kinds:
            gauges |= {"running_requests": chance.randrange(9), "waiting_requests": chance.choice([0, 0, 3])}
            gauges |= {"kv_capacity_tokens": 4096} if chance.random() < 0.5 else {}
        if "process" in self.kinds:
            gauges["process_started_s"] = self.began // S
        began = before if self.delta else self.began if self.tells_start else None
        return {
            **{"replica": self.replica.name, "pool": self.replica.pool, "model": self.replica.model, "at": at},
            **{"gauges": gauges, "began": began, "delta": self.delta, "counters": dict(self.counters)},
            "histograms": {name: {"counts": [*of["counts"]], "sum": of["sum"]} for name, of in self.histograms.items()},
        }


def sample(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Readings of some replicas once a minute, with a pause here and there, and processes that begin anew."""
    for replica in stage.replicas:
        if replica.name and chance.random() < 0.7:
            fleet.readings += _readings(chance, stage, fleet, replica)


def _readings(chance: Random, stage: Stage, fleet: Fleet, replica: Replica) -> list[Row]:
    kinds = (
        [] if chance.random() < 0.4 else chance.sample([*COUNTERS, "gauges", "times", "process"], chance.randint(1, 6))
    )
    if "prompts" in kinds and "cache" in kinds:
        kinds.remove("prompts")
    begins = stage.begins_ns - chance.randrange(600) * S
    engine = Engine(replica, kinds, begins, chance.random() < 0.5, chance.random() < 0.15)
    engine.begin(begins - chance.choice([30, 7200]) * S)
    engine.grow(chance, 5)
    ended = sorted(r["ended_at"] for r in fleet.records if r.get("replica") == replica.name and r.get("ended_at"))
    found, before, at = [], engine.began, begins
    while at < stage.begins_ns + stage.lasts_ns:
        engine.grow(chance, sum(before < end <= at for end in ended))
        found.append(engine.reading(chance, at, before))
        if engine.delta:
            engine.begin(engine.began)
        before = at
        at += (60 if chance.random() < 0.97 else chance.choice([240, 300, 301, 900])) * S
        if chance.random() < 0.02:
            engine.begin(chance.randrange(before + S, at, S))
    return found
