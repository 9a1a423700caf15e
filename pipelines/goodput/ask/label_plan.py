"""A sampling plan: what is asked, what is known of each stratum, and which requests or sessions are drawn.

The arithmetic is sql/ask/labels/; how many labels keep a width is `label_search`'s to find. See
docs/semantics.md#a-sampling-plan.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb

from goodput.ask.database import Row, rows
from goodput.ask.label_search import Drawn, draw
from goodput.plumbing.sql_files import compute

_HOUR_S = 3600
_DAY = timedelta(days=1)
_KNOWN = ("plan_rules", "plan_requests", "plan_units", "plan_cells", "plan_draws", "plan_pairs", "plan_provenance")


@dataclass(frozen=True)
class PlanTarget:
    """What a plan is asked for: the width from end to end, the period in UTC, the seed, and a workload or all."""

    width: float
    since: datetime
    until: datetime
    seed: int
    workload: str | None

    @property
    def part_s(self) -> int:
        """Length of the parts that are judged separately: hours, longer ones where there would be more than 24."""
        days = -((self.since - self.until) // _DAY)
        return days * _HOUR_S

    @property
    def plan_id(self) -> str:
        """The same for the same question."""
        text = f"{self.seed}/{self.width!r}/{self.since.isoformat()}/{self.until.isoformat()}/{self.workload or ''}"
        return f"plan-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Plan:
    """Rows of `planned_strata` and `plan_provenance`, and how each workload's labels are drawn."""

    asked: PlanTarget
    strata: list[Row]
    provenance: list[Row]
    drawn: Mapping[str, Drawn]


def default_period(since: datetime | None, until: datetime | None, last_ended: datetime) -> tuple[datetime, datetime]:
    """The period of a plan: where it is not given the UTC day of the last request, which is a window of `goodput`."""
    if until is None:
        until = last_ended.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
    return since or until - _DAY, until


def plan(connection: duckdb.DuckDBPyConnection, asked: PlanTarget) -> Plan | None:
    """Plan the labels of every workload with a quality gate; relation `drawn_keys` of the connection has what to judge.

    None where no request of the period needs a label. `asked.until` lies after `asked.since`.
    """
    variables = {
        "plan_since": asked.since,
        "plan_until": asked.until,
        "plan_part_s": asked.part_s,
        "plan_seed": str(asked.seed),
        "plan_workload": asked.workload,
        "plan_id": asked.plan_id,
    }
    for name, value in variables.items():
        connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
    for relation in _KNOWN:
        compute(connection, relation)
    provenance = rows(connection, "FROM plan_provenance")
    if not provenance:
        return None
    drawn = draw(connection, asked.width)
    for relation in ("planned_strata", "drawn_keys"):
        compute(connection, relation)
    return Plan(asked, rows(connection, "FROM planned_strata"), provenance, drawn)
