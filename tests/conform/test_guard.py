"""Identities that are hashed or dropped before rows reach the lake: joins hold, and nobody is found without the key."""

import hashlib
import hmac
import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

from collect.telemetry import START_NS, settings
from goodput.conform.guard import Guard
from goodput.errors import SecretUnusable, SettingsError
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.settings.load import load_settings
from goodput.settings.model import Settings
from published import ask, run_at

pytestmark = pytest.mark.only("goodput", "quality", "session_labels")

KEY = "correct horse battery staple"
START_S = START_NS // 10**9


def hashing(**more: object) -> Settings:
    return settings(privacy={"identities": "hashed", "identity_key": {"clear": KEY}, **more})


def pseudonym(identity: str, key: str = KEY) -> str:
    return "id:" + hmac.new(key.encode(), identity.encode(), hashlib.sha256).hexdigest()[:32]


def test_a_pseudonym_is_what_openssl_makes_of_it() -> None:
    command = ["openssl", "dgst", "-sha256", "-hmac", KEY]
    made = subprocess.run(command, input=b"alice@example.com", capture_output=True, check=True).stdout.decode()
    assert Pseudonyms(hashing()).of("alice@example.com") == f"id:{made.split()[-1][:32]}"


def test_a_pseudonym_stays_what_it_is() -> None:
    called = Pseudonyms(hashing())
    assert called.of(str(called.of("alice"))) == called.of("alice")
    assert called.of("id:alice") == pseudonym("id:alice")


def test_each_table_is_guarded() -> None:
    guard = Guard(hashing())
    record = pl.DataFrame({"tenant": ["acme", None, "acme"], "session_id": ["s", "t", None], "route": ["acme"] * 3})
    guarded = guard.rows("serving_records", record)
    assert guarded["tenant"].to_list() == [pseudonym("acme"), None, pseudonym("acme")]
    assert guarded["session_id"].to_list() == [pseudonym("s"), pseudonym("t"), None]
    assert guarded["route"].to_list() == ["acme"] * 3
    label = pl.DataFrame({"subject_kind": ["session", "trace"], "subject_id": ["s", "s"]})
    assert guard.rows("label_records", label)["subject_id"].to_list() == [pseudonym("s"), "s"]
    kept = pl.DataFrame({"attributes": ['{"user.id":"alice","tier":"gold"}', '{"tier":"gold"}', None]})
    assert guard.rows("serving_records", kept)["attributes"].to_list() == [
        json.dumps({"user.id": pseudonym("alice"), "tier": "gold"}, separators=(",", ":")),
        '{"tier":"gold"}',
        None,
    ]
    bill = pl.DataFrame({"tags": ['{"customer":"acme","app":"chat"}'], "tenant": ["acme"], "session_id": [None]})
    (tags,) = guard.rows("cost_lines", bill)["tags"]
    assert json.loads(tags) == {"customer": pseudonym("acme"), "app": "chat"}


def test_a_series_is_not_found_by_the_hash_of_its_labels() -> None:
    """Whoever knows all labels but the user could try all users, were it a hash without a key."""
    rows = pl.DataFrame(
        {
            "series_id": ["aa", "aa", "bb"],
            "record_id": ["aa:1", "aa:2", "bb:1"],
            "sampled_ns": [1, 2, 1],
            "labels": ['{"end_user":"alice"}', '{"end_user":"alice"}', '{"pod":"vllm-0"}'],
        }
    )
    guarded = Guard(hashing()).rows("sample_records", rows)
    series = hmac.new(KEY.encode(), b"aa", hashlib.sha256).hexdigest()[:32]
    assert guarded["series_id"].to_list() == [series, series, "bb"]
    assert guarded["record_id"].to_list() == [f"{series}:1", f"{series}:2", "bb:1"]
    assert "alice" not in str(guarded.to_dicts())


def test_dropped_identities_are_gone() -> None:
    guard = Guard(settings(privacy={"identities": "dropped"}))
    record = pl.DataFrame(
        {"tenant": ["acme"], "session_id": ["s"], "attributes": ['{"user.id":"alice","tier":"gold"}']}
    )
    assert guard.rows("serving_records", record).row(0) == (None, None, '{"tier":"gold"}')
    label = pl.DataFrame({"subject_kind": ["session"], "subject_id": ["s"]})
    assert guard.rows("label_records", label)["subject_id"].to_list() == ["(dropped)"]


def test_clear_identities_are_left_alone() -> None:
    record = pl.DataFrame({"tenant": ["acme"], "attributes": ['{"user.id":"alice"}']})
    assert Guard(settings()).rows("serving_records", record).equals(record)


SETTINGS = """
landing = ["landing"]
windows_s = [3600, 86400]
[alarms]
enabled = false
[attributes]
keep = ["user.id", "tier"]
[slices]
by = ["tenant", "attributes.user.id", "workload_tenant", "workload_attributes.user.id"]
[costs]
tenant_tags = ["customer"]
[workloads.gold]
ttft_s = 1.0
unit = "session"
[workloads.gold.match]
tenant = ["tenant-1", "tenant-2"]
[workloads.gold.quality]
evaluators = ["judge"]
min_score = 0.5
[workloads.rest]
ttft_s = 1.0
[sources.log]
format = "csv"
path = "log.csv"
[sources.log.columns]
attempt_id = "id"
tenant = "tenant"
session_id = "session"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
output_tokens = "out"
"attributes.user.id" = "user"
"attributes.tier" = "tier"
[sources.log.constants]
outcome = "ok"
replica = "vllm-0"
pool = "chat"
[sources.judge]
format = "csv"
path = "judge.csv"
table = "quality_labels"
[sources.judge.columns]
session_id = "session"
evaluator = "by"
score = "score"
labelled_at = { column = "at", unit = "epoch_s" }
[sources.bill]
format = "csv"
path = "bill.csv"
table = "cost_records"
[sources.bill.columns]
period_start = { column = "from", unit = "epoch_s" }
period_end = { column = "until", unit = "epoch_s" }
amount_usd = "usd"
tenant = "customer"
[sources.bill.constants]
basis = "billing"
"""
HASHED = f'\n[privacy]\nidentities = "hashed"\nidentity_key = {{ clear = "{KEY}" }}\n'


def landing(folder: Path) -> None:
    """Forty requests of four tenants and ten sessions, labels of sessions, a bill by tenant."""
    (folder / "landing").mkdir(parents=True)
    requests = [
        f"r{n},tenant-{n % 4},session-{n % 10},{START_S + n * 30},{START_S + n * 30 + 5},{n % 3 * 0.6},50,user-{n % 7},"
        for n in range(40)
    ]
    written = {
        "log.csv": ["id,tenant,session,start,end,ttft,out,user,tier", *requests],
        "judge.csv": ["session,by,score,at", *(f"session-{n},judge,{n % 2},{START_S + 4000}" for n in range(10))],
        "bill.csv": ["from,until,usd,customer", *(f"{START_S},{START_S + 3600},{n + 1},tenant-{n}" for n in range(4))],
    }
    for name, lines in written.items():
        (folder / "landing" / name).write_text("\n".join(lines) + "\n")


def lake_of(folder: Path, privacy: str = "") -> Workspace:
    landing(folder)
    (folder / "goodput.toml").write_text(SETTINGS + privacy)
    return run_at(folder / "goodput.toml")


def rows_of(workspace: Workspace, sql: str) -> list[str]:
    return sorted(str(sorted(row.items(), key=str)) for row in ask(workspace, sql).to_dicts())


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return lake_of(tmp_path_factory.mktemp("clear"))


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return lake_of(tmp_path_factory.mktemp("hashed"), HASHED)


NAMES = [f"{kind}-{n}" for kind, many in (("tenant", 4), ("session", 10), ("user", 7)) for n in range(many)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * EXCLUDE (computed_at, revision) FROM goodput",
        "FROM cost_ledger",
        "FROM sessions",
        "FROM requests",
        "SELECT * EXCLUDE (source) FROM quality_labels",
    ],
)
def test_every_number_is_the_same_under_pseudonyms(clear: Workspace, hashed: Workspace, sql: str) -> None:
    """What joins, joins: rows are equal once each identity of the clear lake is replaced by its pseudonym."""
    expected = rows_of(clear, sql)
    assert any(name in row for row in expected for name in NAMES), "nothing is compared"
    called = list(expected)
    for name in sorted(NAMES, key=len, reverse=True):
        for quote in "'\"":
            called = [row.replace(f"{quote}{name}{quote}", f"{quote}{pseudonym(name)}{quote}") for row in called]
    assert sorted(called) == rows_of(hashed, sql)


def test_no_identity_is_in_the_hashed_lake(hashed: Workspace) -> None:
    for name in ("attempts", "requests", "sessions", "goodput", "cost_records", "cost_ledger", "quality_labels"):
        text = str(ask(hashed, f"FROM {name}").to_dicts())
        assert not [identity for identity in NAMES if f"{identity}'" in text or f'{identity}"' in text], name


def test_without_the_key_nothing_runs_and_with_another_one_everybody_has_another_name(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    workspace = lake_of(tmp_path, HASHED.replace(f'clear = "{KEY}"', 'file = "key"'))
    tenants = "SELECT DISTINCT tenant FROM requests ORDER BY 1"
    assert set(ask(workspace, tenants)["tenant"]) == {pseudonym(f"tenant-{n}") for n in range(4)}
    (tmp_path / "key").unlink()
    with pytest.raises(SecretUnusable, match=r"privacy\.identity_key"):
        run(Workspace(tmp_path / "goodput.toml"))
    (tmp_path / "key").write_text("another key that is long enough\n")
    again = run_at(tmp_path / "goodput.toml")
    other = {pseudonym(f"tenant-{n}", "another key that is long enough") for n in range(4)}
    assert set(ask(again, tenants)["tenant"]) == other


def test_what_was_kept_in_clear_is_read_anew_once_it_is_to_be_hashed(tmp_path: Path) -> None:
    workspace = lake_of(tmp_path)
    assert set(ask(workspace, "SELECT DISTINCT tenant FROM requests")["tenant"]) == {f"tenant-{n}" for n in range(4)}
    (tmp_path / "goodput.toml").write_text(SETTINGS + HASHED)
    again = run_at(tmp_path / "goodput.toml")
    assert set(ask(again, "SELECT DISTINCT tenant FROM requests")["tenant"]) == {
        pseudonym(f"tenant-{n}") for n in range(4)
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('[privacy]\nidentities = "hashed"\n', 'identities = "hashed" needs identity_key'),
        (HASHED + "quarantine_text = true\n", "quarantine_text keeps identities as they were received"),
        (
            HASHED + '[workloads.a.match]\ntenant = "acme-*"\n',
            "workloads.a.match.tenant: 'acme-*' matches no pseudonym",
        ),
        ('[privacy]\nidentities = "dropped"\n[workloads.a.match]\ntenant = "acme"\n', "no identity is kept"),
        (
            HASHED + '[workloads.a.match.attributes]\n"user.id" = "a?"\n',
            "workloads.a.match.user.id: 'a?' matches no pseudonym",
        ),
        ('[privacy]\nidentity_key = "in clear"\n', "a secret stands in the settings in clear"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, given: str, expected: str) -> None:
    (tmp_path / "goodput.toml").write_text(given)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "goodput.toml")
    assert expected in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_short_key_is_none(tmp_path: Path) -> None:
    with pytest.raises(SecretUnusable, match="shorter than 16 characters") as caught:
        Pseudonyms(settings(privacy={"identities": "hashed", "identity_key": {"clear": "hunter2"}})).of("alice")
    assert "hunter2" not in str(caught.value)
