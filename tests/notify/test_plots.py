"""Which channels show a picture, which pictures are drawn, and that no alarm waits for or fails with its picture."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goodput.notify.chart import AlarmChart
from goodput.notify.deliver import deliver
from goodput.notify.enqueue import due, scene_of
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.plots import draw_due
from goodput.plumbing.lake import Lake
from goodput.settings.model import Settings
from notify.alarms import NOON, Clock, event, settings_of, windows, write_events, write_series

LOG = '[channels.log]\nkind = "file"\npath = "log.jsonl"\n'
SERVED = '[notify]\nplots_url = "https://plots.example/goodput/"\n'
HOOK = '[channels.ops]\nkind = "webhook"\nurl = "https://a.example/"\n'


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake in which one alarm fired at noon of a series that goes on until three, and another one has no series."""
    lake = Lake(tmp_path / "lake")
    write_events(lake, [event("f"), event("w", alarm_id="clock", rule="telemetry_silent", pool=None)])
    write_series(lake, windows("trend-ttft-chat", NOON + timedelta(hours=3), 100))
    return lake


def bodies(lake: Lake, settings: Settings) -> dict[str, Any]:
    """Bodies that would be sent, by channel: of the alarm that has a series."""
    clock = Clock()
    with Outbox(Path(":memory:"), clock) as outbox:
        drafts = due(scene_of(lake, settings, clock.ns), settings.channels, outbox).drafts
    return {draft.channel: json.loads(draft.body) for draft in drafts if "trend-ttft-chat" in draft.alarm_ids}


def plot_of(body: Mapping[str, Any]) -> str | None:
    (alert,) = body["alerts"]
    plot: str | None = alert["annotations"].get("plot")
    return plot


EVERY = f"""{LOG}{HOOK}
[channels.am]
kind = "alertmanager"
url = "https://am.example"
[channels.pager]
kind = "pagerduty"
routing_key = {{ env = "KEY" }}
[channels.chat]
kind = "slack"
url = {{ env = "URL" }}
"""


def test_only_files_name_a_picture_where_nothing_serves_it(lake: Lake, tmp_path: Path) -> None:
    sent = bodies(lake, settings_of(tmp_path, EVERY))
    assert plot_of(sent["log"]) == str(tmp_path / "lake/plots/f.png")
    assert plot_of(sent["ops"]) is None
    assert "plot" not in sent["am"][0]["annotations"]
    assert "images" not in sent["pager"]
    assert "image" not in [block["type"] for block in sent["chat"]["blocks"]]


def test_every_channel_shows_a_picture_that_is_served(lake: Lake, tmp_path: Path) -> None:
    """Fields by the documentation of PagerDuty's Events v2 and of Slack's image block."""
    sent, url = bodies(lake, settings_of(tmp_path, SERVED + EVERY)), "https://plots.example/goodput/f.png"
    assert plot_of(sent["log"]) == plot_of(sent["ops"]) == sent["am"][0]["annotations"]["plot"] == url
    title = "[page] p99 of ttft of chat is 49 % above its usual 0.6 s"
    assert sent["pager"]["images"] == [{"src": url, "href": url, "alt": title}]
    (image,) = (block for block in sent["chat"]["blocks"] if block["type"] == "image")
    assert image == {"type": "image", "image_url": url, "alt_text": title}
    plain = bodies(lake, settings_of(tmp_path, SERVED.replace("https", "http") + EVERY))
    assert "images" not in plain["pager"], "it shows pictures of https alone"


def test_slack_takes_at_most_50_blocks(lake: Lake, tmp_path: Path) -> None:
    names = [f"a{n}" for n in range(30)]
    write_events(lake, [event(f"f-{name}", alarm_id=name, replica=name) for name in names])
    write_series(lake, [row for name in names for row in windows(name, NOON, 3)])
    text = SERVED + '[channels.chat]\nkind = "slack"\nurl = { env = "URL" }\n'
    clock = Clock()
    with Outbox(Path(":memory:"), clock) as outbox:
        settings = settings_of(tmp_path, text)
        (draft,) = due(scene_of(lake, settings, clock.ns), settings.channels, outbox).drafts
    blocks = [block["type"] for block in json.loads(draft.body)["blocks"]]
    assert (len(blocks), blocks.count("image")) == (46, 5)


def test_a_picture_shows_what_was_known_when_it_happened_and_is_drawn_once(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charts: list[AlarmChart] = []

    def drawn(asked: list[AlarmChart], within_s: float) -> tuple[list[bytes | None], str]:
        if within_s < 1:
            return [None for _ in asked], "no time"
        charts.extend(asked)
        return [b"png" for _ in asked], ""

    monkeypatch.setattr("goodput.notify.plots.draw", drawn)
    settings, clock = settings_of(tmp_path, LOG), Clock()
    with Outbox(outbox_file(lake), clock) as outbox:
        with outbox.writing():
            outbox.add(due(scene_of(lake, settings, clock.ns), settings.channels, outbox).drafts)
        assert draw_due(lake, settings, outbox, 0.5) == (0, "no time")
        assert [draw_due(lake, settings, outbox, 9) for _ in range(2)] == [(1, ""), (0, "")]
        (tmp_path / "lake/plots/f.png").unlink()
        clock.forward(86400)
        assert draw_due(lake, settings, outbox, 9) == (0, ""), "a day later nobody looks for it"
    (chart,) = charts
    assert chart.starts[-1] == NOON - timedelta(hours=1)
    assert len(chart.starts) == 97


def test_an_alarm_does_not_wait_for_a_picture_that_takes_too_long(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent, and the picture is drawn by a later round."""
    fired_now(lake)
    monkeypatch.setattr("goodput.notify.deliver._PLOTS_S", 0.1)
    settings = settings_of(tmp_path, f'[notify]\nplots = "pictures"\n{LOG}')
    late = deliver(lake, settings, 400)
    assert late.drained.delivered == 1
    assert late.undrawn == "pictures are not drawn within 0.1 s"
    monkeypatch.setattr("goodput.notify.deliver._PLOTS_S", 100.0)
    assert deliver(lake, settings, 400).undrawn == ""
    assert (tmp_path / "pictures/f.png").is_file()


def fired_now(lake: Lake) -> None:
    now = datetime.now(UTC)
    write_events(lake, [event("f", occurred_at=now, starts_at=now, recorded_at=now)])
    write_series(lake, windows("trend-ttft-chat", now, 30))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> float:
    """The budget of a round that waits for its pictures however busy the machine is."""
    monkeypatch.setattr("goodput.notify.deliver._PLOTS_S", 100.0)
    return 400.0


def test_a_file_channel_has_its_picture_beside_the_line(lake: Lake, tmp_path: Path, patient: float) -> None:
    fired_now(lake)
    assert deliver(lake, settings_of(tmp_path, f'[notify]\nplots = "pictures"\n{LOG}'), patient).undrawn == ""
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    picture = Path(plot_of(json.loads(line)) or "")
    assert picture == tmp_path / "pictures/f.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("broken", ["pictures", "alarm_series"])
def test_an_alarm_is_sent_without_a_picture_that_cannot_be_drawn(
    lake: Lake, tmp_path: Path, broken: str, patient: float
) -> None:
    fired_now(lake)
    (series,) = lake.catalog["alarm_series"].all_files()
    damaged = tmp_path / broken if broken == "pictures" else Path(series)
    damaged.write_text("neither a folder nor Parquet")
    done = deliver(lake, settings_of(tmp_path, f'[notify]\nplots = "pictures"\n{LOG}'), patient)
    assert done.drained.delivered == 1
    assert str(damaged) in done.undrawn
