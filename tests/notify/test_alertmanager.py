"""Against a real Alertmanager: what is posted to its API comes out of its own webhook, once firing, once resolved."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from goodput.notify.deliver import deliver
from goodput.plumbing.lake import Lake
from notify.alarms import event, settings_of, write_events
from notify.receiver import Script, receiving
from ports import free_port

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Alertmanager (prometheus-alertmanager) is not installed")
ROUTES = """
route: {{receiver: hook, group_by: [alertname, pool], group_wait: 100ms, group_interval: 200ms, repeat_interval: 1h}}
receivers: [{{name: hook, webhook_configs: [{{url: "http://127.0.0.1:{port}/", send_resolved: true}}]}}]
"""


def eventually(holds: Callable[[], bool], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=1) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def hook() -> Iterator[tuple[Script, int]]:
    script = Script()
    with receiving(script) as port:
        yield script, port


@pytest.fixture
def alertmanager(tmp_path: Path, hook: tuple[Script, int]) -> Iterator[int]:
    (tmp_path / "am.yml").write_text(ROUTES.format(port=hook[1]))
    port = free_port()
    command = [str(PROGRAM), f"--config.file={tmp_path / 'am.yml'}", f"--storage.path={tmp_path / 'am'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: is_ready(port), 10)
            yield port
        finally:
            process.kill()


def test_alarms_arrive_stay_and_resolve(tmp_path: Path, hook: tuple[Script, int], alertmanager: int) -> None:
    script, _ = hook
    lake = Lake(tmp_path / "lake")
    # Posted again every 0.75 s, over after 3 s in silence: an hourly run with its three hours, made short.
    url = f'kind = "alertmanager"\nurl = "http://127.0.0.1:{alertmanager}"\nallow_private = true'
    settings = settings_of(tmp_path, f"[channels.am]\n{url}\nresolve_after_s = 3.0\n")
    began = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
    times = {"occurred_at": began, "starts_at": began, "recorded_at": began}
    write_events(lake, [event("f", **times)])
    until = time.monotonic() + 3.6  # longer than Alertmanager waits for the next post
    posts = 0
    while time.monotonic() < until:
        posts += deliver(lake, settings, 5).drained.delivered
        time.sleep(0.1)
    assert posts >= 4
    statuses = [json.loads(got.body)["status"] for got in script.got]
    assert statuses == ["firing"], "it arrived once and did not flap"
    over = datetime.now(UTC)
    resolved = event("r", "resolved", **{**times, "occurred_at": over, "recorded_at": over, "ends_at": over})
    write_events(lake, [event("f", **times), resolved])
    assert deliver(lake, settings, 5).drained.delivered == 1
    assert eventually(lambda: len(script.got) == 2)
    arrived, gone = (json.loads(got.body)["alerts"][0] for got in script.got)
    assert (arrived["status"], gone["status"]) == ("firing", "resolved")
    assert arrived["labels"] == gone["labels"]
    assert arrived["labels"] | {"alertname": "ttft-p99-trend", "pool": "chat"} == arrived["labels"]
    assert arrived["startsAt"] == began.isoformat().replace("+00:00", "Z")
