"""`goodput notify` as a person uses it, the deliveries relation, and that no run fails with it."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from goodput.cli.main import main
from goodput.measure.gates import gate_rows
from goodput.notify.outbox import Outbox, outbox_file
from goodput.plumbing.database import publish
from goodput.plumbing.lake import Lake
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.settings.model import Settings
from notify.alarms import event, held, write_events
from notify.receiver import Script, receiving

Notify = Callable[..., tuple[int, str, str]]
WORKLOADS = gate_rows(Settings())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    lake.open()
    write_events(lake, [event("f", replica="vllm-0\x1b[2J")])
    return lake


@pytest.fixture
def notify(tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Notify:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # a worker of the test runner may have a width of its own
    monkeypatch.setenv("OPS_URL", "http://127.0.0.1:9/T0PSECRET")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["goodput", "notify", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "T0PSECRET" not in printed.out + printed.err
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def channels(folder: Path, port: int = 9) -> None:
    (folder / "goodput.toml").write_text(
        f'[channels.ops]\nkind = "webhook"\nurl = "http://127.0.0.1:{port}/T0PSECRET"\nallow_private = true\n'
        '[channels.log]\nkind = "file"\npath = "log.jsonl"\n'
    )


@pytest.mark.parametrize("asked", [[], ["--once"], ["--watch"], ["--dry-run"], ["--status"], ["--requeue", "ops"]])
def test_a_lake_that_is_not_there_is_refused_and_not_made(notify: Notify, tmp_path: Path, asked: list[str]) -> None:
    channels(tmp_path)
    code, _, err = notify(*asked, "--lake", str(tmp_path / "mistyped"))
    assert code == 2
    assert "nothing is published yet" in err
    assert not (tmp_path / "mistyped").exists()


def test_what_would_be_sent_where_and_then_what_became_of_it(notify: Notify, lake: Lake, tmp_path: Path) -> None:
    channels(tmp_path)
    code, printed, _ = notify("--dry-run")
    assert code == 0
    assert "ops -> http://127.0.0.1:9: page, firing: p99 of ttft of chat is 49 % above its usual 0.6 s" in printed
    assert printed.rstrip().endswith("2 message(s) would be sent.")
    assert "\x1b" not in printed
    assert not outbox_file(lake).exists()
    assert notify("--once") == (
        *(0, ""),
        "2 new, 1 delivered, 1 failed; 1 pending, 0 dead: goodput notify --status shows why\n",
    )
    code, printed, _ = notify("--status")
    assert code == 0, "it has not waited for long"
    assert "ops: pending page, firing: p99 of ttft of chat is 49 % above its usual 0.6 s" in printed
    assert "why: ConnectionRefusedError: Connection refused" in printed
    assert "to do: nothing: it is tried again" in printed
    assert (tmp_path / "log.jsonl").read_text().count("\n") == 1


def test_a_dead_letter_is_a_fault_until_it_is_sent_again(notify: Notify, lake: Lake, tmp_path: Path) -> None:
    with receiving(Script([410])) as port:
        channels(tmp_path, port)
        assert notify()[2].startswith("2 new, 1 delivered, 1 failed; 0 pending, 1 dead")
        code, printed, _ = notify("--status")
        assert code == 1
        assert (
            "to do: the receiver is gone: remove the channel or give it another url, then: goodput notify --requeue ops"
            in printed
        )
        assert notify("--requeue", "ops")[2].startswith("1 dead letter(s) of ops are due again")
        assert notify()[2] == "0 new, 1 delivered, 0 failed; 0 pending, 0 dead\n"
    code, printed, _ = notify("--status")
    assert (code, "Nothing is undelivered." in printed) == (0, True)


def test_a_page_that_waits_too_long_is_a_fault(notify: Notify, lake: Lake, tmp_path: Path) -> None:
    channels(tmp_path)
    notify()
    with Outbox(outbox_file(lake)) as outbox, outbox.writing():
        outbox.rows("UPDATE deliveries SET enqueued_ns = enqueued_ns - 1000000000000")
    assert notify("--status")[0] == 1


def test_a_test_alarm_and_its_end(notify: Notify, lake: Lake, tmp_path: Path) -> None:
    script = Script()
    with receiving(script) as port:
        channels(tmp_path, port)
        code, _, printed = notify("--test", "ops")
        assert (code, printed.count("delivered, answered 200")) == (0, 2)
    assert [json.loads(got.body)["status"] for got in script.got] == ["firing", "resolved"]
    assert not outbox_file(lake).exists()
    code, _, printed = notify("--test", "ops")
    assert (code, "not delivered: ConnectionRefusedError" in printed) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--test", "opps"], "no channel is called 'opps'.\nThe settings have: log, ops."),
        (["--requeue", "opps"], "no channel is called"),
        (["--once", "--status"], "exclude each other"),
    ],
)
def test_bad_usage(notify: Notify, tmp_path: Path, arguments: list[str], expected: str) -> None:
    channels(tmp_path)
    code, _, printed = notify(*arguments)
    assert (code, expected in printed) == (2, True)


def test_without_channels_nothing_happens(notify: Notify, lake: Lake) -> None:
    assert notify()[0] == 0
    assert notify("--status")[1] == "The settings name no channel, and nothing was ever sent.\n"
    assert not outbox_file(lake).exists()


def test_deliveries_can_be_asked_as_they_are_now(notify: Notify, lake: Lake, tmp_path: Path) -> None:
    publish(lake, WORKLOADS)
    with duckdb.connect(lake.database, read_only=True) as database:
        asked = "SELECT channel, state, alarm_ids, event_ids, attempts, error FROM deliveries ORDER BY channel"
        assert database.execute(asked).fetchall() == []
        channels(tmp_path)
        notify()
        assert database.execute(asked).fetchall() == [
            ("log", "delivered", ["trend-ttft-chat"], ["f"], 1, None),
            ("ops", "pending", ["trend-ttft-chat"], ["f"], 1, "ConnectionRefusedError: Connection refused"),
        ]


@pytest.mark.parametrize("broken", [False, True])
def test_a_run_delivers_and_never_fails_with_it(lake: Lake, tmp_path: Path, broken: bool) -> None:
    channels(tmp_path)
    with (tmp_path / "goodput.toml").open("a") as settings:
        settings.write("[alarms]\nenabled = false\n")
    (tmp_path / "landing").mkdir()
    if broken:
        outbox_file(lake).mkdir()
    ran = run(Workspace(tmp_path / "goodput.toml"))
    assert ran.changed
    assert lake.database.exists()
    if broken:
        assert "cannot use the outbox" in ran.undelivered
        return
    assert ran.undelivered == ""
    assert sorted(held(lake, "channel, state")) == [("log", "delivered"), ("ops", "pending")]
    with duckdb.connect(lake.database, read_only=True) as database:
        found = database.execute("SELECT channel, state FROM deliveries ORDER BY channel").fetchall()
    assert found == [("log", "delivered"), ("ops", "pending")]
