"""Rules for Prometheus: what alerts look at, recorded so that it outlives the five minutes of a gauge, and the alerts.

What is good enough the gates, objectives and alarms of the settings say; their alarms arrive.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from goodput.export.panels import NEWEST_HOLDS, STATE_HOLDS, held, label

RECORDED: Mapping[str, str] = {
    "goodput:observed_until_timestamp_seconds:last": held("goodput.observed_until.timestamp", STATE_HOLDS),
    "goodput:alarm_firing:last": held("goodput.alarm_firing", STATE_HOLDS),
    "goodput:alarm_suppressed:last": held("goodput.alarm_suppressed", STATE_HOLDS),
    "goodput:warned_subjects:last": held("goodput.warned_subjects", STATE_HOLDS),
    "goodput:ratio:last": held("goodput.ratio", NEWEST_HOLDS),
    "goodput:cost_per_accepted_usd:last": held("goodput.cost_per_accepted.usd", NEWEST_HOLDS),
    "goodput:wasted_ratio:last": held("goodput.wasted.ratio", NEWEST_HOLDS),
    "goodput:coverage_ratio:last": held("goodput.coverage.ratio", NEWEST_HOLDS),
}


def recording_rules() -> str:
    """The file of recording rules."""
    return _file("goodput_recorded", [{"record": name, "expr": promql} for name, promql in RECORDED.items()])


def alerting_rules() -> str:
    """The file of alerting rules, which look at what the others record."""
    named = f"{{{{ $labels.{label('rule')} }}}}"
    fires = f'goodput:alarm_firing:last{{{label("severity")}!="none"}} == 1'
    return _file(
        "goodput_alerts",
        [
            _alert(
                "GoodputAlarm",
                f"{fires} unless on ({label('alarm_id')}) goodput:alarm_suppressed:last == 1",
                "0m",
                f"{{{{ $labels.{label('severity')} }}}}",
                f"Alarm {named} fires; `goodput alarms show` says why",
            ),
            _alert(
                "GoodputTelemetryOld",
                "time() - goodput:observed_until_timestamp_seconds:last > 7200",
                "10m",
                "ticket",
                "The newest telemetry is {{ $value | humanizeDuration }} old: every number is of before that",
            ),
            _alert(
                "GoodputSilent",
                "absent(goodput:observed_until_timestamp_seconds:last)",
                "30m",
                "ticket",
                "No metrics of goodput arrive: neither a run that sends them nor a scrape",
            ),
            _alert(
                "GoodputWarning",
                f'sum by ({label("kind")}) (goodput:warned_subjects:last{{{label("severity")}="high"}}) > 0',
                "10m",
                "ticket",
                f"Warning {{{{ $labels.{label('kind')} }}}}: published numbers are probably wrong or empty",
            ),
            _alert(
                "GoodputPartlyObserved",
                f'min(goodput:coverage_ratio:last{{{label("slice")}="overall"}}) < 0.95',
                "10m",
                "ticket",
                "Telemetry shows {{ $value | humanizePercentage }} of the requests that engines counted",
            ),
        ],
    )


def _alert(name: str, promql: str, pending: str, severity: str, summary: str) -> dict[str, Any]:
    labels, annotations = {"severity": severity}, {"summary": summary}
    return {"alert": name, "expr": promql, "for": pending, "labels": labels, "annotations": annotations}


def _file(group: str, rules: list[dict[str, Any]]) -> str:
    return yaml.safe_dump({"groups": [{"name": group, "rules": rules}]}, sort_keys=False, width=1000)
