"""What one delivery says, before any channel's format: alerts with their texts. How it is written is `bodies`' work."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Template

from goodput.notify.transition import Transition
from goodput.settings.channels import TEMPLATE_FIELDS, Templates

_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_LONGEST = 1000  # characters of one text: a body stays below what every receiver takes
MAX_ALERTS = 20


@dataclass(frozen=True)
class Alert:
    """One alarm as a message shows it."""

    transition: Transition
    firing: bool
    explained_by: str = ""
    plot: str = ""  # where its picture is found

    @property
    def status(self) -> str:
        """Firing or resolved."""
        return "firing" if self.firing else "resolved"

    @property
    def labels(self) -> dict[str, str]:
        """Labels that identify the alarm, named as Prometheus names them; none is empty."""
        alarm = self.transition
        named = {"alertname": alarm.rule, "severity": alarm.severity, **alarm.labels}
        return {_LABEL.sub("_", name): cut(value) for name, value in sorted(named.items()) if value}

    @property
    def ended_at(self) -> datetime:
        """When a resolved alarm was over."""
        return max(self.transition.ends_at or self.transition.occurred_at, self.transition.starts_at)


@dataclass(frozen=True)
class Notice:
    """One message: its alerts, why it is sent, and until when it is to hold."""

    delivery_id: str
    channel: str
    reason: str
    alerts: Sequence[Alert]
    group_labels: Mapping[str, str]
    until: datetime  # when a receiver that hears nothing more may take its firing alerts as over

    @property
    def status(self) -> str:
        """Firing while any of its alerts is."""
        return "firing" if any(alert.firing for alert in self.alerts) else "resolved"


def texts(alert: Alert, templates: Templates) -> tuple[str, str]:
    """Title and text of an alert by a channel's templates."""
    alarm = alert.transition
    fields = dict.fromkeys(TEMPLATE_FIELDS, "") | {
        **alarm.labels,
        **{name: f"{value:.4g}" for name, value in alarm.figures.items()},
        "status": alert.status,
        "rule": alarm.rule,
        "severity": alarm.severity,
        "summary": alarm.summary,
        "explanation": readable(alarm.explanation),
        "explained_by": alert.explained_by,
        "starts_at": instant(alarm.starts_at),
        "ends_at": "" if alert.firing else instant(alert.ended_at),
    }
    return tuple(cut(Template(text).safe_substitute(fields).strip()) for text in (templates.title, templates.text))  # type: ignore[return-value]


def readable(explanation: str) -> str:
    """A JSON explanation as a line per fact, lists last: those are what may be cut. Text that is no object stays."""
    try:
        facts = json.loads(explanation) if explanation else {}
    except ValueError:
        return explanation
    if not isinstance(facts, dict):
        return explanation
    known = sorted(((name, value) for name, value in facts.items() if value is not None), key=_is_list)
    return "\n".join(f"{name.replace('_', ' ')}: {_fact(value)}" for name, value in known)


def _is_list(fact: tuple[str, object]) -> bool:
    return isinstance(fact[1], list)


def _fact(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(_fact(part) for part in value.values() if part is not None)
    if isinstance(value, list):
        return "; ".join(map(_fact, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def instant(at: datetime) -> str:
    """RFC 3339 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def cut(text: str, longest: int = _LONGEST) -> str:
    """Text of at most `longest` characters; what is left out is seen."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
