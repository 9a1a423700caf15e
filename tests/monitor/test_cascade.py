"""Cascades of the KV cache: three signs together, each by hand, and what the alarm names."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goodput.errors import SettingsError
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.load import load_settings
from goodput.settings.model import Settings
from monitor.rows import MONDAY

HOURS = 10 * 24
USUAL = {"kv": 0.7, "preemptions": 2, "running": 30.0, "long": 0.2}
CASCADE = {"kv": 0.96, "preemptions": 240, "running": 12.0, "long": 0.65}


def alarm(*last: dict[str, float]) -> Any:
    """The alarm of one replica that ran as usual for ten days and then hour by hour like this."""
    hours = [USUAL] * HOURS + [USUAL | hour for hour in last]
    starts = [MONDAY + timedelta(hours=n) for n in range(len(hours))]
    rows = pl.DataFrame(
        {
            "window_start": pl.Series(starts, dtype=pl.Datetime("us", "UTC")),
            "window_s": pl.Series([3600] * len(hours), dtype=pl.Int32),
            "pool": "chat",
            "replica": "chat-0",
            "up_s": 3600.0,
            "mean_kv_usage_ratio": [hour["kv"] for hour in hours],
            "preemptions": pl.Series([int(hour["preemptions"]) for hour in hours], dtype=pl.Int64),
            "mean_running_requests": [hour["running"] for hour in hours],
            "input_tokens": 100_000,
            "long_context_ratio": [hour["long"] for hour in hours],
        }
    )
    evaluation = Evaluation(Evidence({"replica_windows": rows}, Settings()), MONDAY + timedelta(hours=len(hours)))
    return next(row for row in evaluation.alarms() if row["rule"] == "kv_cascade")


def test_three_signs_together_fire_and_the_long_contexts_are_named() -> None:
    found = alarm(CASCADE)
    assert (found["state"], found["severity"], found["replica"], found["score"]) == ("firing", "ticket", "chat-0", 3.0)
    facts = json.loads(found["explanation"])
    names = ("preemptions_an_hour", "usual_preemptions_an_hour", "running", "usual_running", "long_context_ratio")
    assert [facts[name] for name in names] == [240, 2, 12, 30, 0.65]
    assert "is 0.96: 240 preemptions an hour and 12.0 requests running instead of 30.0" in found["summary"]
    assert "long contexts are 65 % of its input instead of 20 %" in found["summary"]


@pytest.mark.parametrize("missing", ["kv", "preemptions", "running"])
def test_two_of_the_signs_are_a_busy_replica(missing: str) -> None:
    found = alarm(CASCADE | {missing: USUAL[missing]})
    assert (found["state"], found["score"]) == ("inactive", 2.0)


def test_a_replica_that_always_preempts_as_much_is_in_no_cascade() -> None:
    """From 40 an hour all day to 79 is less than twice as many; to 80 it is twice."""
    day = [USUAL | {"preemptions": 40}] * 24
    assert alarm(*day, CASCADE | {"preemptions": 79})["state"] == "inactive"
    assert alarm(*day, CASCADE | {"preemptions": 80})["state"] == "firing"


def test_it_is_over_once_there_is_room_again() -> None:
    assert alarm(CASCADE, CASCADE | {"running": 12.0})["state"] == "firing"
    assert alarm(CASCADE, USUAL, USUAL, USUAL)["state"] == "resolved"


def test_a_cascade_is_of_the_kv_cache(tmp_path: Path) -> None:
    file = tmp_path / "goodput.toml"
    file.write_text('[alarms.rules.mine]\nkind = "cascade"\nmetric = "p99_ttft_s"\nabove = 1.5\n')
    (tmp_path / "landing").mkdir()
    with pytest.raises(SettingsError) as refused:
        load_settings(file)
    assert {"alarms.rules.mine.metric", "alarms.rules.mine.above"} <= {m.key for m in refused.value.mistakes}
