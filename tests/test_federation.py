"""One database over several lakes: what each published, and windows that add up to those of one lake with all."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

from goodput.cli.main import app
from goodput.errors import (
    FederatedIntoLake,
    FederatedLakeUnreadable,
    FederationApart,
    FederationUnlike,
    GoodputError,
    LakesUnnamed,
    NotPublished,
    SeveralLakes,
)
from goodput.federation import federate
from goodput.plumbing.several_lakes import TOTALS
from goodput.plumbing.sql_files import sql_file
from goodput.plumbing.workspace import Workspace
from goodput.run import run

SETTINGS = """
landing = ["landing"]
lake = "lake"
windows_s = [300, 3600]
[alarms]
enabled = false
[rates.all]
pool = ["*"]
usd_per_gpu_hour = 2.0
[workloads.qa]
ttft_s = 1.0
[workloads.qa.quality]
evaluators = ["judge"]
min_score = 0.5
sampling = "random"
unlabelled = "estimate"
[sources.rows]
format = "csv"
path = "*.csv"
[sources.rows.columns]
attempt_id = "id"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
pool = "pool"
replica = "replica"
model = "model"
outcome = "outcome"
[sources.labels]
format = "jsonl"
path = "*.jsonl"
table = "quality_labels"
[sources.labels.columns]
request_key = "id"
evaluator = "by"
score = "score"
labelled_at = { column = "at", unit = "epoch_s" }
"""
BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z
COUNTS = ("offered", "arrivals", "succeeded", "slow", "rejected", "unlabelled", "accepted", "need_label", "labelled")


def csv(pool: str, ttfts: list[float], hour: int = 0) -> str:
    """A request every ten seconds, each of two."""
    begun = [BEGIN_S + 3600 * hour + 10 * n for n in range(len(ttfts))]
    lines = [
        f"{pool}-{hour}-{n},{at},{at + 2},{ttft},{pool},{pool}-0,m,ok"
        for n, (at, ttft) in enumerate(zip(begun, ttfts, strict=True))
    ]
    return "\n".join(["id,start,end,ttft,pool,replica,model,outcome", *lines, ""])


def labels(pool: str, passed: Mapping[int, bool]) -> str:
    lines = (
        f'{{"id": "{pool}-0-{n}", "by": "judge", "score": {float(good)}, "at": {BEGIN_S + 3000}}}'
        for n, good in passed.items()
    )
    return "\n".join([*lines, ""])


EU = {"eu.csv": csv("eu", [0.5] * 20 + [1.5] * 5), "eu.jsonl": labels("eu", {0: True, 1: True, 2: False, 5: True})}
US = {"us.csv": csv("us", [0.5] * 12 + [1.5] * 8), "us.jsonl": labels("us", {0: True, 3: False, 4: True})}


def lake(folder: Path, files: Mapping[str, str], settings: str = SETTINGS) -> str:
    (folder / "landing").mkdir(parents=True)
    (folder / "goodput.toml").write_text(settings)
    for name, text in files.items():
        (folder / "landing" / name).write_text(text)
    run(Workspace(folder / "goodput.toml"))
    return str(folder / "lake")


def asked(database: Path, sql: str) -> pl.DataFrame:
    with duckdb.connect(str(database), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return pl.DataFrame(connection.sql(sql).to_arrow_table())


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("lakes")
    return {"eu": lake(folder / "eu", EU), "us": lake(folder / "us", US), "whole": lake(folder / "whole", EU | US)}


def of_two(lakes: Mapping[str, str]) -> dict[str, str]:
    return {name: lakes[name] for name in ("eu", "us")}


def test_windows_of_all_add_up_to_those_of_one_lake_with_all(lakes: dict[str, str], tmp_path: Path) -> None:
    found = federate(of_two(lakes), tmp_path)
    names = ", ".join(("window_start", "window_s", "slice", "workload", "model", "pool", *COUNTS, "round(cost_usd, 9)"))
    all_of = f"SELECT {names} FROM {{}} WHERE slice <> 'finest' ORDER BY ALL"
    wanted = asked(Path(lakes["whole"]) / "goodput.duckdb", all_of.format("goodput"))
    assert wanted["offered"].max() == 45
    assert wanted["round(cost_usd, 9)"].null_count() == 0
    assert asked(found.database, all_of.format(TOTALS)).equals(wanted)
    # by hand: 20 of 25 and 12 of 20 are in time, of which 3/4 and 2/3 of those judged pass; accepted 15 and 8 of 45
    (ratio,) = asked(
        found.database, f"SELECT goodput_ratio FROM {TOTALS} WHERE slice = 'overall' AND window_s = 3600"
    ).row(0)
    assert ratio == pytest.approx((20 * 3 / 4 + 12 * 2 / 3) / 45)
    assert found.warnings == []


def test_of_one_lake_each_window_is_its_own_with_its_interval(lakes: dict[str, str], tmp_path: Path) -> None:
    names = ", ".join(
        (
            *("window_start", "window_s", "slice", "workload", "model", "pool", "goodput_rps", "goodput_ci_low_rps"),
            *("goodput_ci_high_rps", "cost_usd", "cost_error_usd", "partial", *COUNTS),
        )
    )
    all_of = f"SELECT {names} FROM {{}} WHERE slice <> 'finest' ORDER BY ALL"
    found = federate({"eu": lakes["eu"]}, tmp_path)
    wanted = asked(Path(lakes["eu"]) / "goodput.duckdb", all_of.format("goodput"))
    assert wanted.height > 10
    assert asked(found.database, all_of.format(TOTALS)).equals(wanted)


def test_the_interval_of_independent_lakes_is_narrower_than_their_sum_and_holds_each(
    lakes: dict[str, str], tmp_path: Path
) -> None:
    found = federate(of_two(lakes), tmp_path)
    where = "WHERE slice = 'overall' AND window_s = 3600"
    ends = "goodput_ci_low_rps, goodput_rps, goodput_ci_high_rps"
    low, point, high = asked(found.database, f"SELECT {ends} FROM {TOTALS} {where}").row(0)
    parts = asked(found.database, f"SELECT {ends} FROM goodput {where}")
    lows, points, highs = (parts[:, n].sum() for n in range(3))
    assert point == pytest.approx(points)
    assert lows < low < point < high < highs


def test_each_row_says_of_which_lake_it_is_and_commands_answer(lakes: dict[str, str], tmp_path: Path) -> None:
    given = [f"{name}={path}" for name, path in of_two(lakes).items()]
    runner = CliRunner()
    told = runner.invoke(app, ["federate", *given, "--into", str(tmp_path / "fleet")])
    assert told.exit_code == 0, told.output
    sql = "select lake, offered from goodput where slice = 'overall' and window_s = 3600 order by lake"
    answer = runner.invoke(app, ["query", "--lake", str(tmp_path / "fleet"), "--format", "csv", sql])
    assert answer.output.splitlines() == ["lake,offered", "eu,25", "us,20"]
    assert "federated_goodput" in runner.invoke(app, ["tables", "--lake", str(tmp_path / "fleet")]).output


@pytest.mark.parametrize(
    ("here", "given", "names"),
    [
        ("eu/lake", [".", "../../us/lake"], ["eu", "us"]),
        ("eu", ["lake", "../us/lake"], ["eu", "us"]),
        (".", ["first/lake", "us=us/lake"], ["first", "us"]),  # a symbolic link
    ],
)
def test_a_lake_without_a_name_has_that_of_its_folder_wherever_one_stands(  # noqa: PLR0917
    here: str,
    given: list[str],
    names: list[str],
    lakes: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(lakes["eu"]).parents[1]
    if not (folder / "first").exists():
        (folder / "first").symlink_to("eu")
    monkeypatch.chdir(folder / here)
    ended = CliRunner().invoke(app, ["federate", *given, "--into", str(tmp_path / "all")])
    assert ended.exit_code == 0, ended.output
    found = asked(tmp_path / "all" / "goodput.duckdb", "SELECT DISTINCT lake FROM goodput ORDER BY 1")
    assert found["lake"].to_list() == names


def behind(database: Path, window_s: int) -> dict[str, tuple[int, int, int]]:
    """Offered, lakes and lakes behind of each window with requests, by the time at which it begins."""
    found = asked(
        database,
        "SELECT strftime(window_start, '%H:%M'), offered::INTEGER, lakes::INTEGER, lakes_behind::INTEGER "
        f"FROM {TOTALS} WHERE slice = 'overall' AND window_s = {window_s} AND offered > 0 ORDER BY window_start",
    )
    return {at: (offered, lakes, lakes_behind) for at, offered, lakes, lakes_behind in found.rows()}


def test_a_lake_is_behind_in_each_window_that_ends_after_its_telemetry(lakes: dict[str, str], tmp_path: Path) -> None:
    """Of eu and us the last record lies in 09:00 to 09:05, of ap in 10:00 to 10:05."""
    later = lake(tmp_path / "ap", {"one.csv": csv("ap", [0.5]), "two.csv": csv("ap", [0.5, 0.5], hour=1)})
    found = federate({"ap": later, **of_two(lakes)}, tmp_path / "all")
    assert behind(found.database, 300) == {"09:00": (46, 3, 0), "10:00": (2, 1, 2)}
    assert behind(found.database, 3600) == {"09:00": (46, 3, 2), "10:00": (2, 1, 2)}


def test_a_window_that_is_over_for_no_lake_is_held_against_none(lakes: dict[str, str], tmp_path: Path) -> None:
    """The hour goes on after the five minutes in which eu and us have their last records, and both have come as far."""
    found = federate(of_two(lakes), tmp_path / "all")
    assert behind(found.database, 3600) == {"09:00": (45, 2, 0)}


def test_a_lake_that_has_published_nothing_is_behind_everywhere(lakes: dict[str, str], tmp_path: Path) -> None:
    empty = lake(tmp_path / "ap", {})
    found = federate({"ap": empty, **of_two(lakes)}, tmp_path / "all")
    assert behind(found.database, 300) == {"09:00": (45, 2, 1)}


def test_telemetry_ends_where_records_do_and_not_where_a_bill_does() -> None:
    """Bills give `a` windows until midnight; `c` is of a version without watermark, `d` has published nothing."""
    day = datetime(2026, 11, 22, tzinfo=UTC)
    goodput = [
        *(("a", day + timedelta(minutes=5 * n), 300) for n in range(288)),
        ("a", day, 3600),
        ("b", day + timedelta(hours=10, minutes=55), 300),
        ("c", day + timedelta(hours=10, minutes=25), 300),
    ]
    marks = {"a": "2026-11-22 10:16:25.557Z", "b": "2026-11-22 10:55:00Z"}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        tables = {
            "goodput": pl.DataFrame(goodput, ["lake", "window_start", "window_s"], orient="row"),
            "watermark": pl.DataFrame([*marks.items()], ["lake", "observed_until_at"], orient="row"),
            "lakes": pl.DataFrame({"lake": ["a", "b", "c", "d"]}),
        }
        for name, rows in tables.items():
            connection.register(f"given_{name}", rows.to_arrow())
            connection.execute(f"CREATE TABLE {name} AS FROM given_{name}")
        connection.execute("ALTER TABLE watermark ALTER observed_until_at TYPE TIMESTAMPTZ")
        rows = connection.sql(f"SELECT lake, strftime(until_at, '%H:%M') FROM ({sql_file('published_until').text})")
        assert dict(rows.fetchall()) == {"a": "10:20", "b": "11:00", "c": "10:30", "d": None}


def test_a_lake_keeps_its_own_database(lakes: dict[str, str]) -> None:
    own = Path(lakes["eu"]) / "goodput.duckdb"
    before = own.read_bytes()
    with pytest.raises(FederatedIntoLake, match="is a lake"):
        federate(of_two(lakes), Path(lakes["eu"]))
    assert own.read_bytes() == before


def test_a_name_is_only_ever_text(lakes: dict[str, str], tmp_path: Path) -> None:
    name = """o'x" --"""
    found = federate({name: lakes["eu"]}, tmp_path)
    assert asked(found.database, "SELECT DISTINCT lake FROM goodput").rows() == [(name,)]


def test_what_was_accepted_by_other_gates_is_not_added_up(lakes: dict[str, str], tmp_path: Path) -> None:
    other = lake(tmp_path / "other", {"one.csv": csv("x", [0.5])}, SETTINGS.replace("ttft_s = 1.0", "ttft_s = 2.0"))
    with pytest.raises(FederationUnlike, match=r"qa: ttft is 1\.0 in eu; 2\.0 in other"):
        federate({"eu": lakes["eu"], "other": other}, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    fewer = SETTINGS.replace("ttft_s = 1.0\n", "").replace("min_score = 0.5", "min_score = 0.75")
    third = lake(tmp_path / "third", {"one.csv": csv("x", [0.5])}, fewer)
    with pytest.raises(FederationUnlike) as refused:
        federate({**of_two(lakes), "third": third}, tmp_path / "all")
    assert [line.strip() for line in str(refused.value).splitlines()[1:-1]] == [
        "qa: quality is 0.5, unlabelled: estimate, sampling: random in eu, us; "
        "0.75, unlabelled: estimate, sampling: random in third",
        "qa: ttft is 1.0 in eu, us; not set in third",
    ]
    # another workload of another lake is no contradiction
    apart = lake(tmp_path / "apart", {"one.csv": csv("x", [0.5])}, SETTINGS.replace("workloads.qa", "workloads.chat"))
    federate({"eu": lakes["eu"], "apart": apart}, tmp_path / "all")


def test_a_file_that_two_lakes_have_read_is_warned_of(lakes: dict[str, str], tmp_path: Path) -> None:
    found = federate({"eu": lakes["eu"], "whole": lakes["whole"]}, tmp_path)
    of_files, of_replicas = found.warnings
    assert of_files.startswith("2 file(s) were read by several of the lakes, such as eu.csv: ")
    assert of_replicas.startswith(
        "1 replica(s) lived in several of the lakes at the same time, such as eu-0 in eu and whole. "
    )
    kinds = asked(found.database, "SELECT kind, affected, total FROM warnings WHERE lake IS NULL ORDER BY ALL")
    assert kinds.select("kind", "affected").rows() == [("replica_in_several_lakes", 1), ("source_in_several_lakes", 2)]
    assert kinds["total"][0] == 2  # eu-0 and us-0


def test_halves_of_the_same_machines_traffic_are_warned_of(tmp_path: Path) -> None:
    whole = csv("eu", [0.5] * 24)
    head, *lines = whole.splitlines()
    halves = {name: lake(tmp_path / name, {"half.csv": "\n".join([head, *some, ""])}) for name, some in
              (("one", lines[::2]), ("two", lines[1::2]))}  # fmt: skip
    found = federate(halves, tmp_path / "all")
    (warning,) = found.warnings
    assert "such as eu-0 in one and two" in warning
    # the time of one machine is paid in both lakes, which is what the warning is about
    cost = "SELECT sum(cost_usd) AS usd FROM federated_goodput WHERE slice = 'overall' AND window_s = 3600"
    once = asked(Path(lake(tmp_path / "once", {"all.csv": whole})) / "goodput.duckdb", cost.replace("federated_", ""))
    assert asked(found.database, cost)["usd"][0] > 1.9 * once["usd"][0] > 0


def kinds(database: Path) -> list[tuple[str, str]]:
    return asked(database, "SELECT kind, subject FROM warnings WHERE lake IS NULL ORDER BY ALL").rows()


def test_windows_and_slices_that_not_all_lakes_compute_are_left_out_and_named(
    lakes: dict[str, str], tmp_path: Path
) -> None:
    """Where `us` alone has windows of ten minutes, their sums would be of `us` alone and look complete."""
    settings = SETTINGS.replace("windows_s = [300, 3600]", "windows_s = [600, 3600]") + '[slices]\nby = ["tenant"]\n'
    us = lake(tmp_path / "us", US, settings)
    found = federate({"eu": lakes["eu"], "us": us}, tmp_path / "all")
    own = asked(found.database, "SELECT DISTINCT lake, window_s FROM goodput ORDER BY ALL")
    assert own.rows() == [("eu", 300), ("eu", 3600), ("us", 600), ("us", 3600)]
    assert asked(
        found.database, f"SELECT DISTINCT window_s, slice FROM {TOTALS} WHERE slice_value IS NOT NULL"
    ).is_empty()
    assert behind(found.database, 3600) == {"09:00": (45, 2, 0)}
    assert asked(found.database, f"SELECT DISTINCT window_s FROM {TOTALS}").rows() == [(3600,)]
    assert [message.partition(". ")[0] for message in found.warnings] == [
        "windows of 300 s are computed by eu and not by us",
        "windows of 600 s are computed by us and not by eu",
        "slice tenant is computed by us and not by eu",
    ]
    assert kinds(found.database) == [
        ("slice_in_some_lakes", "tenant"),
        ("window_in_some_lakes", "300"),
        ("window_in_some_lakes", "600"),
    ]


def test_a_slice_that_all_lakes_compute_is_added_up(tmp_path: Path) -> None:
    settings = SETTINGS.replace('model = "model"', 'model = "model"\ntenant = "pool"')
    both = settings + '[slices]\nby = ["workload_tenant", "tenant"]\n'
    one = settings + '[slices]\nby = ["tenant"]\n'
    of_both = {"eu": lake(tmp_path / "eu", EU, both), "us": lake(tmp_path / "us", US, one)}
    found = federate(of_both, tmp_path / "all")
    sql = (
        f"SELECT slice, slice_value, offered FROM {TOTALS} WHERE slice_value IS NOT NULL AND window_s = 3600 ORDER BY 2"
    )
    assert asked(found.database, sql).rows() == [("tenant", "eu", 25), ("tenant", "us", 20)]
    assert kinds(found.database) == [("slice_in_some_lakes", "workload_tenant")]


def test_an_idle_lake_takes_no_slice_from_the_others(lakes: dict[str, str], tmp_path: Path) -> None:
    """It computes the same as they do and has no traffic: what it has no rows of is not what it does not compute."""
    found = federate({"idle": lake(tmp_path / "idle", {}), **of_two(lakes)}, tmp_path / "all")
    assert asked(found.database, f"SELECT DISTINCT window_s FROM {TOTALS} ORDER BY 1").rows() == [(300,), (3600,)]
    assert found.warnings == []


def test_lakes_without_a_length_of_windows_in_common_are_refused(lakes: dict[str, str], tmp_path: Path) -> None:
    us = lake(tmp_path / "us", US, SETTINGS.replace("windows_s = [300, 3600]", "windows_s = [600, 86400]"))
    with pytest.raises(FederationApart) as refused:
        federate({"eu": lakes["eu"], "us": us}, tmp_path / "all")
    assert [line.strip() for line in str(refused.value).splitlines()[1:-1]] == ["eu: 300, 3600 s", "us: 600, 86400 s"]


OTHER = """
[costs.currencies]
EUR = 1.2
[work.all]
decode_weight = 7.0
"""


def test_settings_that_change_what_numbers_mean_are_named(lakes: dict[str, str], tmp_path: Path) -> None:
    eu = lake(tmp_path / "eu", EU, SETTINGS + "[costs.currencies]\nEUR = 1.08\nGBP = 1.3\n")
    changed = SETTINGS.replace("ttft_s = 1.0", 'ttft_s = 1.0\nmatch = { model = ["m*", "n"] }').replace(
        'evaluators = ["judge"]', 'evaluators = ["judge", "other"]'
    )
    us = lake(tmp_path / "us", US, f"max_request_lifetime_s = 1800.0\n{changed}{OTHER}")
    found = federate({"eu": eu, "us": us}, tmp_path / "all")
    begins = [message.partition(". ")[0] for message in found.warnings]
    weights = '"prefill_weight": 1.0, "cached_weight": 0.1, "decode_weight": 7.0, "draft_weight": 0.5'
    assert begins == [
        "costs.currencies.EUR is 1.08 in eu; 1.2 in us",
        "max_request_lifetime_s is 3600 in eu; 1800 in us",
        f'work is [] in eu; [{{"model": [], {weights}}}] in us',
        'workloads.qa.match is {} in eu; {"model": ["m*", "n"]} in us',
        "workloads.qa.quality.evaluators is judge in eu; judge, other in us",
    ]
    assert "A dollar of a line in that currency is worth something else in each" in found.warnings[0]
    assert {kind for kind, _ in kinds(found.database)} == {"setting_unlike"}


def test_times_that_are_measured_from_elsewhere_are_not_judged_by_the_same_gates(
    lakes: dict[str, str], tmp_path: Path
) -> None:
    us = lake(tmp_path / "us", US, f'latency_origin = "attempt"\n{SETTINGS}')
    with pytest.raises(FederationUnlike, match="qa: latency_origin is request in eu; attempt in us"):
        federate({"eu": lakes["eu"], "us": us}, tmp_path / "all")


def test_a_damaged_database_is_named_by_its_lake(lakes: dict[str, str], tmp_path: Path) -> None:
    """Its first blocks are whole, so that it opens: it is found damaged where its rows are read."""
    whole = (Path(lakes["us"]) / "goodput.duckdb").read_bytes()
    size = len(whole)
    damaged = bytearray(whole)
    damaged[3 * 4096 :] = bytes(byte ^ 255 for byte in damaged[3 * 4096 :])
    for name, content in {"bent": bytes(damaged), "torn": whole[: size // 2], "none": b"text"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "goodput.duckdb").write_bytes(content)
        with pytest.raises(FederatedLakeUnreadable) as refused:
            federate({"eu": lakes["eu"], name: str(tmp_path / name)}, tmp_path / "all")
        assert str(refused.value).startswith(f"{name} ({tmp_path / name}): its goodput.duckdb cannot be read: ")
        assert not (tmp_path / "all").exists()


def test_a_lake_of_an_older_version_has_null_where_a_column_came_since(lakes: dict[str, str], tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.mkdir()
    with duckdb.connect(str(older / "goodput.duckdb")) as connection:
        connection.execute(f"ATTACH '{lakes['us']}/goodput.duckdb' AS us (READ_ONLY)")
        connection.execute("CREATE SCHEMA stored; CREATE TABLE stored.source_ledger AS FROM us.stored.source_ledger")
        connection.execute("CREATE TABLE goodput AS SELECT * EXCLUDE (arrivals) FROM us.main.goodput")
        connection.execute("CREATE TABLE workloads AS FROM us.main.workloads")
    found = federate({"eu": lakes["eu"], "older": str(older)}, tmp_path / "all")
    sql = f"SELECT offered, arrivals, lakes FROM {TOTALS} WHERE slice = 'overall' AND window_s = 3600"
    assert asked(found.database, sql).rows() == [(45, None, 2)]
    (warning,) = found.warnings
    assert warning.startswith(
        "the settings of older are not known, as an older version of Goodput published its database"
    )


EMPTY_CONFIG = 'landing = ["landing"]\n[alarms]\nenabled = false\n'
OF_ONE_LAKE = [
    *(["reconcile"], ["sources"], ["explain", "eu-0-0"], ["report"], ["export", "prometheus"], ["alarms"], ["run"]),
    *(["compare", "--by", "pool", "eu", "us"], ["labels", "plan", "--width", "0.1"], ["verify"], ["erase", "someone"]),
    *(["alarms", "silence", "--match", "pool=eu", "--for", "4h", "--reason", "x"], ["serve", "--port", "0"]),
    *(["mcp"], ["federate", "fleet={lake}", "--into", "other"]),
]


@pytest.mark.parametrize("command", OF_ONE_LAKE, ids=lambda command: " ".join(command[:2]))
def test_what_works_on_one_lake_refuses_several(
    command: list[str], of_both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "goodput.toml").write_text(EMPTY_CONFIG)
    (tmp_path / "landing").mkdir()
    before = (of_both / "goodput.duckdb").read_bytes()
    named = [] if command[0] == "federate" else ["--lake", str(of_both)]
    failed = CliRunner().invoke(app, [*(word.format(lake=of_both) for word in command), *named])
    assert isinstance(failed.exception, SeveralLakes), failed.output
    assert "Name a lake that it was made from instead ('eu', 'us')" in str(failed.exception)
    assert [path.name for path in of_both.iterdir()] == ["goodput.duckdb"]
    assert (of_both / "goodput.duckdb").read_bytes() == before


@pytest.fixture(scope="module")
def of_both(lakes: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return federate(of_two(lakes), tmp_path_factory.mktemp("both")).database.parent


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["{eu}", "eu={us}"], LakesUnnamed),
        (["=lake"], LakesUnnamed),
        (["/"], LakesUnnamed),
        (["a-name-that-is-far-too-long={eu}"], LakesUnnamed),
        (["nowhere=/nowhere/at/all"], NotPublished),
    ],
)
def test_what_cannot_be_put_together_is_refused(
    given: list[str], error: type[GoodputError], lakes: dict[str, str], tmp_path: Path
) -> None:
    named = [one.format(**lakes) for one in given]
    failed = CliRunner().invoke(app, ["federate", *named, "--into", str(tmp_path / "all")])
    assert isinstance(failed.exception, error)
