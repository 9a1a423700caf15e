"""A real benchmark's knees, costs and sessions: published, computed again without Goodput, and spelled out."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, log, log10

import pytest

from end_to_end.test_known_answers import BENCH_SETTINGS, PER_ROUTE, TESTS
from goodput.plumbing.workspace import Workspace
from published import ask, run_at

AIBRIX = TESTS.parent.parent / "shared/data/aibrix-v0.3.0"
GOLDEN = TESTS / "data/benchmark_frontier.txt"
WINDOW_S = 20
GPUS, USD_PER_GPU_HOUR, STALENESS_S = 8, 2.00, 300
PRICE = f"8 GPUs at $2.00 an hour each serve the routes in turn; windows of {WINDOW_S} s by load, 100 requests or more"
LOADS = "route load_rps goodput_ratio sustained usd_per_accepted"
KNEES = "route knee_rps highest_rps clusters"
COUNTS = "route requests accepted per_s sessions accepted_sessions per_s"
SHARES = "route of_requests of_a_session of_sessions of_turns of_conversations"
SETTINGS = (
    BENCH_SETTINGS.replace('lake = "lake"', f'lake = "lake"\nwindows_s = [{WINDOW_S}, 86400]').replace(
        'pool = "demo"', 'pool = "demo", replica = "cluster"'
    )
    + f"[costs]\nstep_s = {WINDOW_S}\n"
    + f"[rates.cluster]\nusd_per_gpu_hour = {USD_PER_GPU_HOUR}\ngpus_per_replica = {GPUS}\n"
)

pytestmark = pytest.mark.skipif(not AIBRIX.is_dir(), reason="the shared data are not beside this checkout")


@dataclass(frozen=True)
class Asked:
    """One request of the benchmark as its file tells it."""

    route: str
    offered_rps: float
    session: str
    arrived_s: float
    ended_s: float
    fast_first: bool
    fast_rest: bool

    @property
    def good(self) -> bool:
        return self.fast_first and self.fast_rest


@cache
def benchmark() -> list[Asked]:
    """Every request of every file; each run numbers its users anew."""
    return list(_benchmark())


def _benchmark() -> Iterator[Asked]:
    for path in sorted(AIBRIX.glob("*_output_*.csv")):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                tokens, rest = float(row["generation_tokens"]), float(row["generation_time"])
                route, _, offered = path.stem.partition("_output_")
                yield Asked(
                    route,
                    float(offered),
                    f"{path.stem}/{row['user_id']}",
                    float(row["launch_time"]),
                    float(row["finish_time"]),
                    float(row["ttft"]) <= 1.0,
                    tokens <= 1 or rest / (tokens - 1) <= 0.05,
                )


def window_of(moment_s: float) -> int:
    return floor(moment_s / WINDOW_S) * WINDOW_S


def up() -> list[tuple[float, float]]:
    """When the cluster was up: while it served, and between, where that lies no further apart than staleness_s."""
    stretches: list[tuple[float, float]] = []
    for one in sorted(benchmark(), key=lambda r: r.arrived_s):
        if stretches and one.arrived_s - stretches[-1][1] <= STALENESS_S:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], one.ended_s))
        else:
            stretches.append((one.arrived_s, one.ended_s))
    return stretches


def spent(windows: Iterable[int]) -> float:
    """What the cluster cost in windows, idle or not, in dollars."""
    per_s = GPUS * USD_PER_GPU_HOUR / 3600
    return per_s * sum(
        max(0.0, min(end, window + WINDOW_S) - max(begin, window)) for window in windows for begin, end in up()
    )


def span(run: list[Asked]) -> float:
    return max(r.arrived_s for r in run) - min(r.arrived_s for r in run)


def rate_of(runs: list[list[Asked]]) -> float:
    """Arrivals per second from the first to the last of each window, over the windows of one declared rate."""
    return sum(len(run) - 1 for run in runs) / sum(map(span, runs))


def pooled(shares: list[tuple[int, int]]) -> list[float]:
    """Shares that never fall: of two neighbours that do, both have the share of both together."""
    blocks: list[tuple[int, int, int]] = []
    for failing, all_ in shares:
        blocks.append((failing, all_, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            (f, n, count), (before, of, many) = blocks.pop(), blocks.pop()
            blocks.append((f + before, n + of, count + many))
    return [f / n for f, n, count in blocks for _ in range(count)]


def knee_of(by_rate: list[list[list[Asked]]]) -> float | None:
    """Where the first of three shares crosses its bound, on a line in log odds between two loads; None: none holds."""
    levels: list[list[list[Asked]]] = [[]]
    for runs in by_rate:
        levels[-1] = levels[-1] + runs
        if sum(map(len, levels[-1])) >= 100:
            levels.append([])
    levels = [*levels[:-2], levels[-2] + levels[-1]]
    asked = [[r for run in runs for r in run] for runs in levels]
    good = sum(r.good for r in asked[0]) / len(asked[0])
    found = []
    for fails, bound in (
        (lambda r: not r.fast_first, 0.01),
        (lambda r: not r.fast_rest, 0.01),
        (lambda r: not r.good, 1 - 0.95 * good),
    ):
        counts = [(sum(map(fails, some)), len(some)) for some in asked]
        fitted = pooled(counts)
        beyond = [n for n, share in enumerate(fitted) if share > bound]
        if not beyond:
            continue
        if beyond[0] == 0:
            return None
        near = {n for n, share in enumerate(fitted) if bound / 8 <= share <= min(8 * bound, max(0.5, (1 + bound) / 2))}
        assert near <= {beyond[0] - 1, beyond[0]}, "more than two loads: a curve, which this does not compute"
        ends = [
            (rate_of(levels[n]), log((counts[n][0] + 0.5) / (counts[n][1] - counts[n][0] + 0.5)))
            for n in (beyond[0] - 1, beyond[0])
        ]
        (low, under), (high, over) = ends
        found.append(min(high, max(low, low + (high - low) * (log(bound / (1 - bound)) - under) / (over - under))))
    return min(found)


def frontier_of(route: str) -> tuple[list[str], str]:
    """Golden lines of a route by load, and that of its knee."""
    own = [r for r in benchmark() if r.route == route]
    first, last = min(r.arrived_s for r in benchmark()), max(r.ended_s for r in benchmark())
    windows: dict[int, list[Asked]] = defaultdict(list)
    for r in own:
        if window_of(r.arrived_s) >= first and window_of(r.arrived_s) + WINDOW_S <= last:
            windows[window_of(r.arrived_s)].append(r)
    rates = {window: {r.offered_rps for r in arrived} for window, arrived in windows.items()}
    runs: dict[float, list[list[Asked]]] = defaultdict(list)
    for window, arrived in windows.items():
        if len(rates[window]) == 1:
            runs[min(rates[window])].append(arrived)
    bins: dict[int, list[int]] = defaultdict(list)
    for window, arrived in windows.items():
        own_rate = runs[min(rates[window])] if len(rates[window]) == 1 else None
        load = rate_of(own_rate) if own_rate else len(arrived) / WINDOW_S
        bins[floor(20 * log10(load) + 1e-9)].append(window)
    arrivals = {b: [r for window in some for r in windows[window]] for b, some in bins.items()}
    lines, unloaded = [], None
    for b in sorted(b for b, arrived in arrivals.items() if len(arrived) >= 100):
        arrived = arrivals[b]
        in_runs = [windows[window] for window in bins[b] if len(rates[window]) == 1]
        beside = [windows[window] for window in bins[b] if len(rates[window]) > 1]
        while_s = sum(span(run) for run in in_runs) + WINDOW_S * len(beside)
        load = (sum(len(run) - 1 for run in in_runs) + sum(map(len, beside))) / while_s
        good = sum(r.good for r in arrived) / len(arrived)
        unloaded = good if unloaded is None else unloaded
        tails = (sum(not r.fast_first for r in arrived), sum(not r.fast_rest for r in arrived))
        sustained = max(tails) <= 0.01 * len(arrived) and good > 0 and good >= 0.95 * unloaded
        # what was accepted for the money ended in these windows, whenever it arrived
        accepted = sum(r.good and window_of(r.ended_s) in bins[b] for r in own)
        usd = f"{spent(bins[b]) / accepted:.5f}" if accepted else "none"
        lines.append(f"{route} {load:.3f} {good:.3f} {'yes' if sustained else 'no'} {usd}")
    knee = knee_of([runs[rate] for rate in sorted(runs)])
    loads = [rate_of(runs[min(r)]) if len(r) == 1 else len(windows[w]) / WINDOW_S for w, r in rates.items()]
    most = max(map(len, windows.values())) / WINDOW_S
    clusters = "none none" if knee is None else f"{knee:.3f} {ceil(most / knee * 1.2)}"
    return lines, f"{route} {clusters.split(maxsplit=1)[0]} {max(loads):.2f} {clusters.split()[1]}"


def sessions_of(route: str) -> tuple[str, str]:
    """Golden lines of what a route's requests and sessions count, and of their shares."""
    own = [r for r in benchmark() if r.route == route]
    sessions: dict[str, list[bool]] = defaultdict(list)
    for r in own:
        sessions[r.session].append(r.good)
    seconds = max(r.ended_s for r in own) - min(r.arrived_s for r in own)
    good, whole = sum(r.good for r in own), sum(map(all, sessions.values()))
    within = sum(sum(turns) / len(turns) for turns in sessions.values())
    counts = f"{len(own)} {good} {good / seconds:.3f} {len(sessions)} {whole} {whole / seconds:.3f}"
    shares = f"{good / len(own):.4f} {within / len(sessions):.4f} {whole / len(sessions):.4f}"
    several = [turns for turns in sessions.values() if len(turns) > 1]
    shares += f" {sum(map(sum, several)) / sum(map(len, several)):.4f} {sum(map(all, several)) / len(several):.4f}"
    return f"{route} {counts}", f"{route} {shares}"


def expected() -> list[str]:
    """The golden lines, from the files alone."""
    routes = sorted({r.route for r in benchmark()})
    frontiers, sessions = [frontier_of(route) for route in routes], [sessions_of(route) for route in routes]
    return [
        *(PRICE, "", LOADS, *(line for lines, _ in frontiers for line in lines)),
        *("", KNEES, *(knee for _, knee in frontiers)),
        *("", COUNTS, *(counts for counts, _ in sessions)),
        *("", SHARES, *(shares for _, shares in sessions)),
    ]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("benchmark")
    (folder / "landing").mkdir()
    for path in AIBRIX.glob("*_output_*.csv"):
        with path.open(newline="") as lines, (folder / "landing" / path.name).open("w", newline="") as copy:
            rows = list(csv.DictReader(lines))
            writer = csv.DictWriter(copy, rows[0].keys())
            writer.writeheader()
            writer.writerows(row | {"user_id": f"{path.stem}/{row['user_id']}"} for row in rows)
    (folder / "goodput.toml").write_text(SETTINGS)
    return run_at(folder / "goodput.toml")


ASKED = {
    LOADS: """
        SELECT route, printf('%.3f', load_rps), printf('%.3f', goodput_ratio), if(is_sustained, 'yes', 'no'),
            coalesce(printf('%.5f', cost_per_accepted_usd), 'none')
        FROM frontier WHERE slice = 'route' AND NOT low_n ORDER BY route, load_bin
    """,
    KNEES: """
        SELECT DISTINCT
            route, coalesce(printf('%.3f', knee_rps), 'none'), printf('%.2f', observed_max_rps),
            coalesce(recommended_replicas::VARCHAR, 'none')
        FROM frontier WHERE slice = 'route' ORDER BY route
    """,
    COUNTS: """
        SELECT
            route, sum(requests)::VARCHAR, sum(accepted_requests)::VARCHAR,
            printf('%.3f', sum(accepted_requests) / (epoch(max(ended_at)) - epoch(min(started_at)))),
            count(*)::VARCHAR, count(*) FILTER (WHERE accepted)::VARCHAR,
            printf('%.3f', count(*) FILTER (WHERE accepted) / (epoch(max(ended_at)) - epoch(min(started_at))))
        FROM sessions GROUP BY route ORDER BY route
    """,
    SHARES: """
        SELECT
            route, printf('%.4f', sum(accepted_requests) / sum(requests)),
            printf('%.4f', avg(accepted_requests / requests)), printf('%.4f', avg(accepted::INTEGER)),
            printf('%.4f', sum(accepted_requests) FILTER (WHERE several) / sum(requests) FILTER (WHERE several)),
            printf('%.4f', avg(accepted::INTEGER) FILTER (WHERE several))
        FROM (SELECT *, requests > 1 AS several FROM sessions) GROUP BY route ORDER BY route
    """,
}


def test_the_frontier_and_the_sessions_of_a_real_benchmark(published: Workspace) -> None:
    told = [PRICE]
    for heading, sql in ASKED.items():
        told += ["", heading, *(" ".join(row) for row in ask(published, sql).rows())]
    assert told == expected()
    assert told == GOLDEN.read_text().splitlines()


def test_real_benchmark_by_settings_alone(published: Workspace) -> None:
    # Measured by an independent script over the same files: requests, those within the SLO, their output tokens.
    assert ask(published, PER_ROUTE.format(grain=86400)).rows() == [
        ("aibrix_kvcache_dram", 2558, 1945, 128078),
        ("aibrix_kvcache_external", 2558, 2236, 130142),
        ("aibrix_naive", 2494, 53, 5300),
        ("aibrix_naive_prefix_routing", 2462, 572, 57200),
        ("naive", 2490, 64, 6400),
        ("ps_stack", 2558, 1857, 185700),
    ]


def golden(heading: str) -> list[list[str]]:
    _, _, after = GOLDEN.read_text().partition(f"{heading}\n")
    return [line.split() for line in after.partition("\n\n")[0].splitlines()]


def test_what_the_golden_loads_show() -> None:
    good = {(route, load): float(ratio) for route, load, ratio, *_ in golden(LOADS)}
    usd = {(route, load): float(cost) for route, load, *_, cost in golden(LOADS) if cost != "none"}
    # the best route holds up to its knee, then collapses, and what is accepted costs nearly three times as much
    assert good["aibrix_kvcache_external", "4.102"] == 1.0
    assert good["aibrix_kvcache_external", "4.564"] < 0.3
    assert usd["aibrix_kvcache_external", "4.564"] > 2.5 * usd["aibrix_kvcache_external", "4.102"]
    # of two routes the one that is better at low load is the worse at high load
    assert good["ps_stack", "2.331"] > good["aibrix_kvcache_dram", "2.321"]
    assert good["ps_stack", "2.768"] < good["aibrix_kvcache_dram", "2.772"]
    # three routes never kept their promises at any load of which there is enough to judge
    assert [route for route, knee, *_ in golden(KNEES) if knee != "none"] == ["aibrix_kvcache_external", "ps_stack"]


def test_what_the_golden_sessions_show() -> None:
    assert len(golden(COUNTS)) == len(golden(SHARES)) == 6
    # a session has at least one request, so there are fewer accepted sessions each second than accepted requests
    for _, _, good, good_per_s, _, whole, whole_per_s in golden(COUNTS):
        assert int(whole) < int(good)
        assert float(whole_per_s) <= float(good_per_s)
    # all of a session is never more than a part of it, nor are sessions of several turns worth what their turns are ...
    for _, _, of_a_session, of_sessions, of_turns, of_conversations in golden(SHARES):
        assert float(of_sessions) <= float(of_a_session)
        assert float(of_conversations) < float(of_turns)
    # ... but among requests long sessions weigh more: where those fare worse the share of sessions is the higher one
    higher = {route for route, of_requests, _, of_sessions, *_ in golden(SHARES) if of_sessions > of_requests}
    assert higher == {"aibrix_kvcache_external", "aibrix_naive", "ps_stack"}
