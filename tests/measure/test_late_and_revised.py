"""Until when windows are final, and which file changed one that was published.

See docs/semantics.md#late-and-revised.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from declared import bills, source
from goodput.plumbing.workspace import Workspace
from published import ask, run_at

UNITS = {"started_at": "iso8601", "ended_at": "iso8601"}
CALLS = source(
    *("calls", "calls*.csv", "attempts"),
    units=UNITS,
    constants='outcome = "ok"',
    **{"attempt_id": "id", "started_at": "start", "ended_at": "end", "model": "model", "pool": "pool"},
    replica="replica",
)
BILLS = bills("gpu", "gpu*.csv", constants='basis = "billing"', cost_id="id", amount_usd="usd", pool="pool")
OPTIONS = "max_request_lifetime_s = 1800.0\nmax_session_s = 7200.0\nlabel_lateness_s = 86400.0\n"
QUIET = "[alarms]\nenabled = false\n"
CHAT = "[workloads.chat]\nmatch = { model = 'm' }\n"


def lake(folder: Path, workload: str = CHAT, **files: str) -> Workspace:
    (folder / "landing").mkdir(parents=True, exist_ok=True)
    (folder / "goodput.toml").write_text(OPTIONS + QUIET + workload + CALLS + BILLS)
    for name, text in files.items():
        (folder / "landing" / f"{name}.csv").write_text(text)
    return run_at(folder / "goodput.toml")


def calls(*numbered: tuple[int, str]) -> str:
    rows = [f"{n},2026-11-20T{at}:00Z,2026-11-20T{at}:30Z,m,chat,a" for n, at in numbered]
    return "\n".join(["id,start,end,model,pool,replica", *rows, ""])


def bill(usd: float) -> str:
    return f"id,from,until,usd,pool\nb,2026-11-20T10:00:00Z,2026-11-20T13:00:00Z,{usd},chat\n"


def test_windows_are_final_when_nothing_of_them_can_be_outstanding(tmp_path: Path) -> None:
    telemetry = calls((1, "10:00"), (2, "12:39"))  # which ends at 12:39:30
    last = datetime(2026, 11, 20, 12, 39, 30, tzinfo=UTC)
    requests = last - timedelta(minutes=30)
    asked = "SELECT * FROM watermark"
    plain = ask(lake(tmp_path / "plain", calls=telemetry, gpu=bill(3)), asked).row(0, named=True)
    assert plain == {
        "observed_until_at": last,
        "requests_final_until_at": requests,
        "sessions_final_until_at": None,
        "labels_final_until_at": None,
        "final_until_at": requests,
        "billed_until_at": datetime(2026, 11, 20, 13, tzinfo=UTC),
    }
    sessions = CHAT + "unit = 'session'\n"
    found = ask(lake(tmp_path / "sessions", sessions, calls=telemetry), asked).row(0, named=True)
    assert found["sessions_final_until_at"] == found["final_until_at"] == requests - timedelta(hours=2)
    judged = CHAT + "[workloads.chat.quality]\nevaluators = ['judge']\n"
    found = ask(lake(tmp_path / "judged", judged, calls=telemetry), asked).row(0, named=True)
    assert found["labels_final_until_at"] == found["final_until_at"] == last - timedelta(days=1)
    assert found["billed_until_at"] is None


def test_a_restatement_says_what_it_was_what_it_is_and_which_file_did_it(tmp_path: Path) -> None:
    """3 USD for three hours are 1 USD an hour; 6 are 2. A late call at 10:30 is the second of its hour."""
    lake(tmp_path, calls=calls((1, "10:00"), (2, "12:39")), gpu=bill(3))
    asked = """SELECT hour(window_start), offered_before, offered_after,
            round(cost_usd_before, 9), round(cost_usd_after, 9), sources
        FROM restatements WHERE slice = 'overall' AND window_s = 3600 ORDER BY restated_at, window_start"""
    late = lake(tmp_path, **{"calls-late": calls((3, "10:30"))})
    assert ask(late, asked).rows() == [(10, 1, 2, 1.0, 1.0, ["calls-late.csv"])]
    billed = lake(tmp_path, gpu=bill(6))
    found = ask(billed, asked).rows()[1:]
    near = ["calls-late.csv", "gpu.csv"]  # 11 h did not change then, but lies within max_request_lifetime_s
    expected = ((10, 2, ["gpu.csv"]), (11, 0, near), (12, 1, ["gpu.csv"]))
    assert found == [(hour, offered, offered, 1.0, 2.0, by) for hour, offered, by in expected]
    stricter = lake(tmp_path, CHAT + "e2e_s = 1.0\n")
    assert {(*row[1:3], *row[5]) for row in ask(stricter, asked).rows()[4:]} == {(2, 2), (1, 1)}
