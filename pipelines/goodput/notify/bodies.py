"""A notice in the format of each kind of channel. What is rendered here is stored and sent as it is: no secrets.

Sources: the webhook body of Alertmanager (version 4), its API v2, PagerDuty Events v2, Slack's incoming webhooks.
"""

import hashlib
import json
from typing import Any

from goodput.notify.notice import MAX_ALERTS, Alert, Notice, cut, instant, texts
from goodput.settings.channels import Channel

_NEVER = "0001-01-01T00:00:00Z"
_SEVERITIES = {"page": "critical", "ticket": "warning"}  # of PagerDuty; else info
_SLACK_PLOTS = 5  # of one message: beyond 50 blocks Slack refuses it
_SLACK_TITLE, _SLACK_TEXT, _SUMMARY, _DEDUP_KEY = 150, 2900, 1024, 255


def render(channel: Channel, notice: Notice, external_url: str) -> bytes:
    """The body of a delivery."""
    written = {"alertmanager": _alerts, "pagerduty": _pagerduty, "slack": _slack, "webhook": _webhook}
    if channel.kind in ("file", "stdout"):
        return _json({"delivery_id": notice.delivery_id, **_webhook(channel, notice, external_url)}) + b"\n"
    return _json(written[channel.kind](channel, notice, external_url))


def _json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _webhook(channel: Channel, notice: Notice, external_url: str) -> dict[str, Any]:
    shown = [_alert(channel, alert, external_url) for alert in notice.alerts[:MAX_ALERTS]]
    return {
        "version": "4",
        "groupKey": group_key(notice.group_labels),
        "truncatedAlerts": max(len(notice.alerts) - MAX_ALERTS, 0),
        "status": notice.status,
        "receiver": notice.channel,
        "groupLabels": dict(notice.group_labels),
        "commonLabels": _common([alert["labels"] for alert in shown]),
        "commonAnnotations": _common([alert["annotations"] for alert in shown]),
        "externalURL": external_url,
        "notification_reason": notice.reason,
        "alerts": shown,
    }


def _alert(channel: Channel, alert: Alert, external_url: str) -> dict[str, Any]:
    return {
        "status": alert.status,
        "labels": alert.labels,
        "annotations": _annotations(channel, alert),
        "startsAt": instant(alert.transition.starts_at),
        "endsAt": _NEVER if alert.firing else instant(alert.ended_at),
        "generatorURL": external_url,
        "fingerprint": hashlib.blake2b(_json(alert.labels), digest_size=8).hexdigest(),
    }


def _annotations(channel: Channel, alert: Alert) -> dict[str, str]:
    title, text = texts(alert, channel.templates)
    alarm = alert.transition
    named = {
        "summary": title,
        "description": text,
        **{name: f"{value:.6g}" for name, value in alarm.figures.items()},
        "explained_by": alert.explained_by,
        "corrected": "late data changed what was reported before" if alarm.transition == "corrected" else "",
        "alarm_id": alarm.alarm_id,
        "plot": alert.plot,
    }
    return {name: value for name, value in named.items() if value}


def _alerts(channel: Channel, notice: Notice, external_url: str) -> list[dict[str, Any]]:
    return [
        {
            "labels": alert.labels,
            "annotations": _annotations(channel, alert),
            "startsAt": instant(alert.transition.starts_at),
            "endsAt": instant(max(notice.until, alert.transition.starts_at) if alert.firing else alert.ended_at),
            "generatorURL": external_url,
        }
        for alert in notice.alerts
    ]


def _pagerduty(channel: Channel, notice: Notice, external_url: str) -> dict[str, Any]:
    (alert,) = notice.alerts  # an incident is one alarm's
    alarm = alert.transition
    event: dict[str, Any] = {
        "event_action": "trigger" if alert.firing else "resolve",
        "dedup_key": f"goodput-{hashlib.sha256(alarm.alarm_id.encode()).hexdigest()}"[:_DEDUP_KEY],
    }
    if alert.firing:
        title, _ = texts(alert, channel.templates)
        event["payload"] = {
            "summary": cut(title, _SUMMARY),
            "source": "/".join(alarm.labels[name] for name in ("pool", "replica") if name in alarm.labels) or "fleet",
            "severity": _SEVERITIES.get(alarm.severity, "info"),
            "timestamp": instant(alarm.starts_at),
            "component": alarm.labels.get("pool", ""),
            "group": alarm.rule,
            "class": alarm.labels.get("metric", ""),
            "custom_details": {**alert.labels, **_annotations(channel, alert)},
        }
        event["client"] = "Goodput"
        if alert.plot.startswith("https://"):  # it shows no others
            event["images"] = [{"src": alert.plot, "href": alert.plot, "alt": cut(title, _SUMMARY)}]
        if external_url:
            event["client_url"] = external_url
    return event


def _slack(channel: Channel, notice: Notice, external_url: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    titles: list[str] = []
    for number, alert in enumerate(notice.alerts[:MAX_ALERTS]):
        title, text = texts(alert, channel.templates)
        titles.append(title if alert.firing else f"Resolved: {title}")
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": cut(titles[-1], _SLACK_TITLE)}})
        section = "\n".join(part for part in (text, alert.explained_by and f"After {alert.explained_by}") if part)
        if section:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": cut(_escaped(section), _SLACK_TEXT)}})
        if alert.firing and alert.plot and number < _SLACK_PLOTS:
            blocks.append({"type": "image", "image_url": alert.plot, "alt_text": cut(titles[-1])})
    left_out = len(notice.alerts) - MAX_ALERTS
    context = f"{notice.reason}, since {instant(notice.alerts[0].transition.starts_at)}"
    more = f"; {left_out} more alarms" if left_out > 0 else ""
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": _escaped(context + more)}]})
    return {"text": cut(_escaped("; ".join(titles)), _SLACK_TEXT), "blocks": blocks}


def without_pictures(body: bytes) -> bytes | None:
    """A message of Slack without its pictures; None where it shows none."""
    message = json.loads(body)
    blocks = [block for block in message["blocks"] if block["type"] != "image"]
    return None if len(blocks) == len(message["blocks"]) else _json({**message, "blocks": blocks})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def group_key(labels: Any) -> str:
    """Name of a group of alerts as Alertmanager writes it."""
    return "{}:{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in sorted(labels.items())) + "}"


def _common(maps: list[dict[str, str]]) -> dict[str, str]:
    first, *others = maps or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
