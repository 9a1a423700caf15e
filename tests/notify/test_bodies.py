"""Bodies in each receiver's format, against the fields that its documentation lists."""

import json
from datetime import timedelta
from typing import Any

import pytest

from goodput.notify.bodies import render
from goodput.notify.notice import Alert, Notice
from goodput.notify.transition import Transition, histories
from goodput.settings.channels import Channel
from notify.alarms import NOON, event

HOSTILE = '<!channel> & "quoted" \x00 ✓ ' + "x" * 5000


def transition(transition_: str = "firing", **columns: Any) -> Transition:
    ((one,),) = histories([event("e1", transition_, **columns)]).values()
    return one


def body(kind: str, *alerts: Alert, **settings: Any) -> Any:
    needed = {
        "pagerduty": {"routing_key": {"env": "KEY"}},
        "file": {"path": "x"},
        "stdout": {},
        "slack": {"url": {"env": "URL"}},
    }.get(kind, {"url": "https://x.example"})
    channel = Channel.model_validate({"kind": kind, **needed, **settings})
    labels = {"alertname": alerts[0].transition.rule, "pool": "chat"}
    notice = Notice("id-1", "ops", "first notification", alerts, labels, NOON + timedelta(hours=3))
    return json.loads(render(channel, notice, "https://goodput.example/"))


FIRING = Alert(transition(), True, "deployment r2 of chat at 2026-11-21T11:30:00Z")
RESOLVED = Alert(transition("resolved", ends_at=NOON + timedelta(hours=2)), False)


def test_a_webhook_has_the_fields_of_alertmanagers_version_4() -> None:
    sent = body("webhook", FIRING, RESOLVED)
    assert {name: type(value).__name__ for name, value in sent.items()} == {
        "version": "str",
        "groupKey": "str",
        "truncatedAlerts": "int",
        "status": "str",
        "receiver": "str",
        "groupLabels": "dict",
        "commonLabels": "dict",
        "commonAnnotations": "dict",
        "externalURL": "str",
        "notification_reason": "str",
        "alerts": "list",
    }
    assert (sent["version"], sent["status"], sent["receiver"]) == ("4", "firing", "ops")
    firing, resolved = sent["alerts"]
    assert set(firing) == {
        *("status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint"),
    }
    labels = {"alertname": "ttft-p99-trend", "severity": "page", "metric": "p99_ttft_s", "pool": "chat"}
    assert firing["labels"] == labels == sent["commonLabels"]
    assert (firing["status"], firing["startsAt"], firing["endsAt"]) == (
        *("firing", "2026-11-21T12:00:00Z"),
        "0001-01-01T00:00:00Z",
    )
    assert (resolved["status"], resolved["endsAt"]) == ("resolved", "2026-11-21T14:00:00Z")
    assert firing["fingerprint"] == resolved["fingerprint"]
    assert firing["annotations"]["summary"] == "[page] p99 of ttft of chat is 49 % above its usual 0.6 s"
    assert firing["annotations"]["description"] == "shape: ramp\nslope ratio per h: 0.05"
    assert firing["annotations"]["explained_by"].startswith("deployment r2")
    assert all(isinstance(value, str) and value for value in firing["annotations"].values())


def test_alertmanagers_api_takes_a_list_of_alerts() -> None:
    (firing,) = body("alertmanager", FIRING)
    assert set(firing) == {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
    assert firing["endsAt"] == "2026-11-21T15:00:00Z"
    (resolved,) = body("alertmanager", RESOLVED)
    assert (resolved["labels"], resolved["endsAt"]) == (firing["labels"], "2026-11-21T14:00:00Z")


def test_pagerduty_opens_and_closes_one_incident_per_alarm() -> None:
    trigger, resolve = body("pagerduty", FIRING), body("pagerduty", RESOLVED)
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"]
    other = body("pagerduty", Alert(transition(alarm_id="another"), True))
    assert other["dedup_key"] != trigger["dedup_key"]
    assert len(trigger["dedup_key"]) <= 255
    assert "routing_key" not in trigger
    assert {name: trigger["payload"][name] for name in ("severity", "source", "component", "group", "class")} == {
        "severity": "critical",
        "source": "chat",
        "component": "chat",
        "group": "ttft-p99-trend",
        "class": "p99_ttft_s",
    }
    assert "payload" not in resolve


def test_slack_gets_text_and_blocks() -> None:
    sent = body("slack", FIRING, RESOLVED)
    assert set(sent) == {"text", "blocks"}
    assert [block["type"] for block in sent["blocks"]] == ["header", "section", "header", "section", "context"]
    assert sent["blocks"][0]["text"]["text"] == "[page] p99 of ttft of chat is 49 % above its usual 0.6 s"
    assert sent["blocks"][2]["text"]["text"].startswith("Resolved: ")
    assert "After deployment r2" in sent["blocks"][1]["text"]["text"]


@pytest.mark.parametrize("kind", ["webhook", "alertmanager", "pagerduty", "slack", "file", "stdout"])
def test_what_telemetry_says_can_neither_break_nor_swell_a_message(kind: str) -> None:
    """Limits: Slack 150, 3000 and 50 blocks; PagerDuty 1024 of summary and 512 KB; no label is empty."""
    bad = Alert(transition(summary=HOSTILE, explanation=HOSTILE, pool=HOSTILE, rule=HOSTILE, replica=""), True)
    sent = body(kind, *[bad] * (1 if kind == "pagerduty" else 40))
    assert len(json.dumps(sent)) < 250_000
    if kind == "slack":
        assert len(sent["blocks"]) <= 50
        texts = [block["text"]["text"] for block in sent["blocks"] if "text" in block]
        assert all(len(text) <= (150 if index % 2 == 0 else 3000) for index, text in enumerate(texts))
        assert "<!channel>" not in sent["text"] + texts[1]
    if kind == "pagerduty":
        assert len(sent["payload"]["summary"]) <= 1024
    if kind == "webhook":
        assert (len(sent["alerts"]), sent["truncatedAlerts"]) == (20, 20)
        assert "replica" not in sent["alerts"][0]["labels"]


def test_the_settings_own_texts() -> None:
    templates = {"title": "$status: ${pool} is slow, $value s", "text": "since $starts_at costs $$5"}
    sent = body("webhook", FIRING, templates=templates)["alerts"][0]["annotations"]
    assert sent["summary"] == "firing: chat is slow, 0.894 s"
    assert sent["description"] == "since 2026-11-21T12:00:00Z costs $5"


def test_an_explanation_that_is_no_json_stands_as_it_is() -> None:
    alert = Alert(transition(explanation="because"), True)
    assert body("webhook", alert)["alerts"][0]["annotations"]["description"] == "because"


def test_what_is_cut_of_a_long_explanation_is_not_its_sql() -> None:
    sql = "FROM requests WHERE pool = 'chat' ORDER BY ttft_s DESC NULLS LAST LIMIT 20"
    cause = {"kind": "salt_rotation", "occurred_at": "2026-11-21T11:30:00Z", "pool": "chat", "revision": None}
    peers = [f"p99_ttft_s workload={'w' * 200} pool=pool-{n}" for n in range(10)]
    facts = {"likely_cause": cause, "peers_firing": peers, "slope_per_hour": 0.05, "sql": sql}
    sent = body("webhook", Alert(transition(explanation=json.dumps(facts)), True))["alerts"][0]["annotations"]
    lines = sent["description"].split("\n")
    assert lines[:3] == [
        "likely cause: salt_rotation, 2026-11-21T11:30:00Z, chat",
        "slope per hour: 0.05",
        f"sql: {sql}",
    ]
    assert lines[3].startswith("peers firing: p99_ttft_s workload=w")
    assert lines[3].endswith("…")
