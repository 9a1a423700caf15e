"""What alarms are explained with: limits, operations, and every series that rules judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from goodput.monitor.causes import OpsEvent
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries


@dataclass(frozen=True)
class AlarmContext:
    """What an alarm is explained with: limits by (workload, metric), operations by time, alarms and series.

    `panels` are by metric in the windows of alarms, `longer` the same by the length of longer windows in seconds.
    """

    limits: Mapping[tuple[str, str], float]
    operations: Sequence[OpsEvent]
    everything: Sequence[RuleSeries]
    panels: Mapping[str, Panel] = field(default_factory=dict)
    longer: Mapping[int, Mapping[str, Panel]] = field(default_factory=dict)

    @cached_property
    def fired(self) -> list[RuleSeries]:
        """Those of `everything` that ever fired."""
        return [one for one in self.everything if any(episode.firing is not None for episode in one.episodes)]
