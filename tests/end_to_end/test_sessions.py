"""A session over midnight moves to the window of its new end, and only what lies near is measured again."""

from pathlib import Path

from goodput.plumbing.catalog import Part
from goodput.plumbing.workspace import Workspace
from published import RESTATED, ask, run_at, table

MIDNIGHT_S = 1_795_219_200  # 2026-11-21T00:00:00Z
SETTINGS = """
landing = ["landing"]
lake = "lake"
windows_s = [3600, 86400]
max_session_s = 7200.0
[workloads.chats]
unit = "session"
unit_label = "resolution"
ttft_s = 1.0
[sources.rows]
format = "csv"
path = "*.csv"
constants = { outcome = "ok" }
[sources.rows.columns]
attempt_id = "id"
session_id = "session"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
output_tokens = "out"
"""
COUNTED = """
SELECT strftime(window_start, '%d %H'), window_s // 3600, offered, accepted, slow, revision
FROM goodput WHERE slice = 'workload' AND offered > 0 ORDER BY 2, 1
"""


def write(folder: Path, name: str, *rows: tuple[str, str, float, float]) -> None:
    """A log of requests: id, session, seconds after midnight at which it starts, time to first token."""
    (folder / "landing").mkdir(exist_ok=True, parents=True)
    lines = [f"{key},{session},{MIDNIGHT_S + at},{MIDNIGHT_S + at + 5},{ttft},50" for key, session, at, ttft in rows]
    (folder / "landing" / f"{name}.csv").write_text("\n".join(["id,session,start,end,ttft,out", *lines]) + "\n")


def written(workspace: Workspace, partition: str) -> tuple[Part, int]:
    """The part that a partition of goodput has, and when it was written."""
    (part,) = workspace.lake.catalog["goodput"].parts[partition]
    return part, part.path.stat().st_mtime_ns


def test_a_session_over_midnight(tmp_path: Path) -> None:
    evening = [("a", "long", -1800, 0.5), ("b", "short", -1700, 0.5), ("c", "before", -5 * 3600, 0.5)]
    night = [("d", "long", 1800, 3.0)]
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    write(tmp_path, "evening", *evening)
    first = run_at(tmp_path / "goodput.toml")
    assert ask(first, COUNTED).rows() == [("20 19", 1, 1, 1, 0, 0), ("20 23", 1, 2, 2, 0, 0), ("20 00", 24, 3, 3, 0, 0)]
    far = written(first, "2026-11-20T19")

    write(tmp_path, "night", *night)
    second = run_at(tmp_path / "goodput.toml")
    assert ask(second, COUNTED).rows() == [
        ("20 19", 1, 1, 1, 0, 0),
        ("20 23", 1, 1, 1, 0, 1),
        ("21 00", 1, 1, 0, 1, 0),
        ("20 00", 24, 2, 2, 0, 1),
        ("21 00", 24, 1, 0, 1, 0),
    ]
    assert written(second, "2026-11-20T19") == far
    sessions = "SELECT session_id, requests, accepted, verdict FROM sessions ORDER BY session_id"
    assert ask(second, sessions).rows() == [
        ("before", 1, True, "accepted"),
        ("long", 2, False, "slow"),
        ("short", 1, True, "accepted"),
    ]
    units = "SELECT unit, unit_label, sum(offered) FROM accepted_units WHERE window_s = 86400 GROUP BY ALL"
    assert ask(second, units).rows() == [("session", "resolution", 3)]

    write(tmp_path / "anew", "evening", *evening)
    write(tmp_path / "anew", "night", *night)
    (tmp_path / "anew/goodput.toml").write_text(SETTINGS)
    anew = run_at(tmp_path / "anew/goodput.toml")
    assert table(anew, "goodput", RESTATED).equals(table(second, "goodput", RESTATED))
    assert table(anew, "sessions").equals(table(second, "sessions"))
