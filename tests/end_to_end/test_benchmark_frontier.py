"""A real benchmark's knees, collapses and sessions: published, computed again without Goodput, and spelled out."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path

import pytest

from end_to_end.test_known_answers import AIBRIX, BENCH_SETTINGS
from end_to_end.whole import ask, run_without_checks
from goodput.plumbing.workspace import Workspace

GOLDEN = Path(__file__).parent.parent / "data/benchmark_frontier.txt"
ROUTES = ("aibrix_kvcache_dram", "aibrix_kvcache_external", "ps_stack")
FILES = [path for route in ROUTES for path in sorted(AIBRIX.glob(f"{route}_output_*.csv"))]
WINDOW_S = 20
TURNS = "route knee observed_max good_requests good_sessions turns_ratio sessions_ratio"
SETTINGS = BENCH_SETTINGS.replace('lake = "lake"', f'lake = "lake"\nwindows_s = [{WINDOW_S}]')

pytestmark = pytest.mark.skipif(not AIBRIX.is_dir(), reason="the shared data are not beside this checkout")


@dataclass(frozen=True)
class Asked:
    """One request of the benchmark as its file tells it."""

    route: str
    session: str
    arrived_s: float
    ended_s: float
    fast_first: bool
    fast_rest: bool

    @property
    def good(self) -> bool:
        return self.fast_first and self.fast_rest


def benchmark() -> Iterator[Asked]:
    """Every request of every file; each run numbers its users anew."""
    for path in FILES:
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                tokens, rest = float(row["generation_tokens"]), float(row["generation_time"])
                yield Asked(
                    path.name.partition("_output_")[0],
                    f"{path.stem}/{row['user_id']}",
                    float(row["launch_time"]),
                    float(row["finish_time"]),
                    float(row["ttft"]) <= 1.0,
                    tokens <= 1 or rest / (tokens - 1) <= 0.05,
                )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("benchmark")
    (folder / "landing").mkdir()
    for path in FILES:
        with path.open(newline="") as lines, (folder / "landing" / path.name).open("w", newline="") as copy:
            rows = list(csv.DictReader(lines))
            writer = csv.DictWriter(copy, rows[0].keys())
            writer.writeheader()
            writer.writerows(row | {"user_id": f"{path.stem}/{row['user_id']}"} for row in rows)
    (folder / "goodput.toml").write_text(SETTINGS)
    return run_without_checks(folder / "goodput.toml")


def expected() -> list[str]:
    """The golden lines, from the files alone."""
    requests = list(benchmark())
    first, last = min(r.arrived_s for r in requests), max(r.ended_s for r in requests)
    lines = ["route load goodput_ratio sustained"]
    knees = [TURNS]
    for route in sorted({r.route for r in requests}):
        own = [r for r in requests if r.route == route]
        windows: dict[int, list[Asked]] = defaultdict(list)
        for r in own:
            start = floor(r.arrived_s / WINDOW_S) * WINDOW_S
            if start >= first and start + WINDOW_S <= last:
                windows[start].append(r)
        bins: dict[int, list[list[Asked]]] = defaultdict(list)
        for arrived in windows.values():
            bins[floor(20 * log10(len(arrived) / WINDOW_S) + 1e-9)].append(arrived)
        enough = {b: some for b, some in bins.items() if sum(map(len, some)) >= 100}
        ratios = {b: sum(r.good for w in some for r in w) / sum(map(len, some)) for b, some in enough.items()}
        unloaded, knee = ratios[min(ratios)], None
        for b in sorted(enough):
            arrived = [r for window in enough[b] for r in window]
            load = len(arrived) / WINDOW_S / len(enough[b])
            tails = (sum(not r.fast_first for r in arrived), sum(not r.fast_rest for r in arrived))
            sustained = max(tails) <= 0.01 * len(arrived) and ratios[b] > 0 and ratios[b] >= 0.95 * unloaded
            knee = load if sustained else knee
            lines.append(f"{route} {load:.3f} {ratios[b]:.3f} {'yes' if sustained else 'no'}")
        sessions: dict[str, list[bool]] = defaultdict(list)
        for r in own:
            sessions[r.session].append(r.good)
        several = [turns for turns in sessions.values() if len(turns) > 1]
        by_turn = sum(map(sum, several)) / sum(map(len, several))
        by_session = sum(map(all, several)) / len(several)
        most = max(map(len, windows.values())) / WINDOW_S
        shares = f"{sum(r.good for r in own)} {sum(map(all, sessions.values()))} {by_turn:.3f} {by_session:.3f}"
        knees.append(f"{route} {'none' if knee is None else f'{knee:.3f}'} {most:.2f} {shares}")
    return lines + knees


LOADS = """
SELECT route, printf('%.3f', load_rps), printf('%.3f', goodput_ratio), if(is_sustained, 'yes', 'no')
FROM frontier WHERE slice = 'route' AND NOT low_n ORDER BY route, load_bin
"""
KNEES = """
SELECT f.route, coalesce(printf('%.3f', knee_rps), 'none'), printf('%.2f', observed_max_rps),
    s.good_requests::VARCHAR, s.good_sessions::VARCHAR, printf('%.3f', s.by_turn), printf('%.3f', s.by_session)
FROM (SELECT DISTINCT route, knee_rps, observed_max_rps FROM frontier WHERE slice = 'route') AS f
JOIN (
    SELECT
        route,
        sum(accepted_requests) AS good_requests,
        count(*) FILTER (WHERE accepted) AS good_sessions,
        sum(accepted_requests) FILTER (WHERE requests > 1) / sum(requests) FILTER (WHERE requests > 1) AS by_turn,
        count(*) FILTER (WHERE accepted AND requests > 1) / count(*) FILTER (WHERE requests > 1) AS by_session
    FROM sessions
    GROUP BY route
) AS s USING (route)
ORDER BY f.route
"""


def test_the_frontier_and_the_sessions_of_a_real_benchmark(published: Workspace) -> None:
    told = ["route load goodput_ratio sustained"]
    told += [" ".join(row) for row in ask(published, LOADS).rows()]
    told += [TURNS]
    told += [" ".join(row) for row in ask(published, KNEES).rows()]
    assert told == expected()
    assert told == GOLDEN.read_text().splitlines()


def test_what_the_golden_lines_show() -> None:
    lines = [line.split() for line in GOLDEN.read_text().splitlines()]
    ratio = {(route, load): float(good) for route, load, good, *rest in lines if rest in (["yes"], ["no"])}
    # the best route holds up to its knee, then collapses
    assert ratio["aibrix_kvcache_external", "3.625"] == 1.0
    assert ratio["aibrix_kvcache_external", "4.537"] < 0.3
    # of two routes the one that is better at low load is the worse at high load
    assert ratio["ps_stack", "2.337"] > ratio["aibrix_kvcache_dram", "2.317"]
    assert ratio["ps_stack", "2.750"] < ratio["aibrix_kvcache_dram", "2.775"]
    # what a conversation of several turns is worth is less than what its turns are
    sessions = [line for line in lines if len(line) == 7 and line[0] != "route"]
    assert len(sessions) == len(ROUTES)
    for *_, good_requests, good_sessions, by_turn, by_session in sessions:
        assert int(good_sessions) < int(good_requests)
        assert float(by_session) < float(by_turn)
