"""Reading goodput.toml: every mistake at once with its key and what would be right; defaults, paths and overrides."""

from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.gates import LATENCY_GATES
from goodput.settings.load import load_settings
from goodput.settings.model import Settings

WRONG = """
landing = []
lakes = "lake"
windows_s = [300, 7]
latency_origin = "user"
label_lateness_s = -1
base = "/elsewhere"

[workloads.match]
ttft = 1.0

[workloads.unassigned]
tpot_s = true

[workloads.qa]
e2e_s = "1 s"
retry_budget = -1
on_missing = { ttft = "drop", tftt = "pass" }
quality = { unlabeled = "fail" }

[limits]
max_line_bytes = 0

[sources.bench]
format = "xml"
path_pattern = '(?P<route>.+'
constants = { pool = ["a"] }
columns = { started_at = 3 }

[sources.runs]
format = "csv"
path = "*.csv"
constants = { poool = "demo" }
[sources.runs.columns]
ttft_s = { column = "ttft", unit = "minutes" }
model = { column = "m", unit = "s" }
ended_at = { column = "t", unit = "iso8601", tz = "Mars/Olympus" }

[sources.judge]
format = "jsonl"
path = "*.jsonl"
table = "quality_labels"
[sources.judge.columns]
evaluator = "metric"
labelled_at = { column = "at", unit = "today" }
"""

# Spelled out: what a person who wrote all of this wrong reads.
TOLD = """\
goodput.toml: 27 mistakes
  line 2, landing: is empty
      right would be: at least one; without this key the default holds
  line 3, lakes: no such key
      right would be: lake, rates
  line 4, windows_s: 7 s fits neither an hour nor a day
      right would be: seconds that divide an hour, or whole hours that divide a day
  line 5, latency_origin: 'user' is not usable
      right would be: 'request' or 'attempt'
  line 6, label_lateness_s: -1 is not usable
      right would be: greater than 0
  line 7, base: no such key
      right would be: alarms, attributes, cache_hit_min_ratio, channels, cluster, costs, dialects, disruptions, \
events, export, label_lateness_s, lake, lake_cache, landing, latency_origin, leave_out, limits, long_context_tokens, \
match_within, max_exact_requests, max_request_lifetime_s, max_session_s, metric_labels, notify, openslo, prices, \
privacy, rates, receive, replicas, report, retention, schedule, serve, served_models, slices, slo, sources, \
staleness_s, telemetry, windows_s, work, workloads
  line 10, workloads.match.ttft: no such key
      right would be: ttft_s
  line 12, workloads.unassigned: this name means requests that no workload selects
      right would be: another name
  line 13, workloads.unassigned.tpot_s: true is not usable
      right would be: a number
  line 16, workloads.qa.e2e_s: '1 s' is not usable
      right would be: a number
  line 17, workloads.qa.retry_budget: -1 is not usable
      right would be: greater than or equal to 0
  line 18, workloads.qa.on_missing.ttft: 'drop' is not usable
      right would be: 'fail' or 'pass'
  line 18, workloads.qa.on_missing.tftt: 'tftt' is not usable
      right would be: EACH_GATE
  line 19, workloads.qa.quality.unlabeled: no such key
      right would be: unlabelled
  line 22, limits.max_line_bytes: 0 is not usable
      right would be: greater than 0
  line 24, sources.bench.path: is missing
      right would be: give it a value; `goodput init` shows an example
  line 25, sources.bench.format: 'xml' is not usable
      right would be: 'csv', 'jsonl' or 'parquet'
  line 26, sources.bench.path_pattern: '(?P<route>.+' is no regular expression: missing ), \
unterminated subpattern at position 0
      right would be: a regular expression of Python; each (?P<name>...) gives the column `name`
  line 27, sources.bench.constants.pool: ['a'] is not usable
      right would be: text, a number, true or false
  line 28, sources.bench.columns.started_at: 3 is not usable
      right would be: a table of keys and values
  line 33, sources.runs.constants.poool: attempts has no such column
      right would be: pool
  line 34, sources.runs.columns: started_at is not mapped
      right would be: started_at = { column = "...", unit = "..." }
  line 35, sources.runs.columns.ttft_s.unit: 'minutes' is no unit of a duration
      right would be: s, ms, us, ns
  line 36, sources.runs.columns.model.unit: 's': this column has no unit
      right would be: leave `unit` out
  line 37, sources.runs.columns.ended_at.tz: 'Mars/Olympus' is no time zone
      right would be: an IANA name such as UTC or Europe/Berlin
  line 43, sources.judge.columns: no column identifies what a label judges
      right would be: one of request_key, response_id, trace_id, span_id, session_id
  line 45, sources.judge.columns.labelled_at.unit: 'today' is no time format
      right would be: epoch_s, epoch_ms, epoch_us, epoch_ns, iso8601, or a strptime format such as %Y-%m-%d %H:%M:%S"""


def write(folder: Path, text: str) -> Path:
    path = folder / "goodput.toml"
    path.write_text(text)
    return path


def mistakes(path: Path) -> dict[str, tuple[str, str]]:
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    return {mistake.key: (mistake.wrong, mistake.right) for mistake in caught.value.mistakes}


# Spelled out as the template has it: unit, what a unit is called, gates.
CLASSES = {
    "conversational": ("session", "resolution", {"ttft_s": 1.0, "tpot_s": 0.05, "retry_budget": 1}, True),
    "agentic": ("session", "task", {"e2e_s": 60.0, "retry_budget": 2}, True),
    "rag": ("request", "grounded answer", {"ttft_s": 2.0, "e2e_s": 20.0, "retry_budget": 1}, True),
    "extraction": ("request", "validated record", {"e2e_s": 10.0, "retry_budget": 1}, True),
    "voice": ("request", "interaction", {"ttft_s": 0.3, "tpot_s": 0.05, "retry_budget": 0}, False),
    "batch": ("request", "item", {"completion_window_s": 86400.0, "retry_budget": 3}, False),
}
GATE_KEYS = ("retry_budget", "ttft_s", "tpot_s", "e2e_s", "itl_p95_s", "jitter_s", "completion_window_s")


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_a_preset(tmp_path: Path, name: str) -> None:
    workload = load_settings(write(tmp_path, f'[workloads.w]\nclass = "{name}"')).workloads["w"]
    unit, label, gates, has_quality = CLASSES[name]
    assert (workload.unit, workload.unit_label, workload.quality is not None) == (unit, label, has_quality)
    assert {key: getattr(workload, key) for key in GATE_KEYS} == dict.fromkeys(GATE_KEYS) | gates


def test_a_session_is_not_called_a_request(tmp_path: Path) -> None:
    given = '[workloads.a]\nunit = "session"\n[workloads.b]\nunit = "session"\nunit_label = "case"'
    found = load_settings(write(tmp_path, given)).workloads
    assert (found["a"].unit_label, found["b"].unit_label) == ("session", "case")


def test_what_is_given_beside_a_class_overrides_it(tmp_path: Path) -> None:
    given = '[workloads.w]\nclass = "conversational"\nunit = "request"\nttft_s = 2.5\nquality.evaluators = "solved"'
    workload = load_settings(write(tmp_path, given)).workloads["w"]
    assert (workload.unit, workload.ttft_s, workload.tpot_s) == ("request", 2.5, 0.05)
    assert workload.quality is not None
    assert workload.quality.evaluators == ("solved",)


def test_every_mistake_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, WRONG)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    *gates, last = LATENCY_GATES
    each_gate = ", ".join(map(repr, gates)) + f" or {last!r}"
    assert str(caught.value) == TOLD.replace("EACH_GATE", each_gate)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "key", "right"),
    [
        ('[cluster]\nworkers = 2\nray = "auto"', "cluster", "one of the two"),
        ('[cluster]\nray = "ray://head:10001"', "cluster.ray", '"auto", or host and port such as "head:6379"'),
        ("[cluster]\nworkers = 0", "cluster.workers", "greater than or equal to 1"),
        ("windows_s = [0]", "windows_s", "seconds that divide an hour, or whole hours that divide a day"),
        ("windows_s = [5400]", "windows_s", "seconds that divide an hour, or whole hours that divide a day"),
        ("windows_s = [25200]", "windows_s", "seconds that divide an hour, or whole hours that divide a day"),
        ("windows_s = [172800]", "windows_s", "seconds that divide an hour, or whole hours that divide a day"),
        ("windows_s = []", "windows_s", "at least one; without this key the default holds"),
        ("windows_s = [60, 3600]", "costs", "costs.step_s = 60, or windows_s of whole steps"),
        ("[costs]\nstep_s = 3600", "costs", "costs.step_s = 300, or windows_s of whole steps"),
        ("[costs]\nstep_s = 7", "costs.step_s", "seconds that divide an hour"),
        ("windows_s = [300.0]", "windows_s.0", "a whole number"),
        ("windows_s = 300", "windows_s", "a list in square brackets"),
        ("lake = 3", "lake", "text in quotes"),
        ("landing = [3]", "landing.0", "text in quotes"),
        ("max_request_lifetime_s = inf", "max_request_lifetime_s", "a finite number"),
        ("max_request_lifetime_s = nan", "max_request_lifetime_s", "a finite number"),
        ("max_request_lifetime_s = 1e300", "max_request_lifetime_s", "less than or equal to 2592000"),
        ("max_session_s = 2592001.0", "max_session_s", "less than or equal to 2592000"),
        ("label_lateness_s = 1e9", "label_lateness_s", "less than or equal to 31622400"),
        ("[disruptions]\ncap_s = 1e12", "disruptions.cap_s", "less than or equal to 2592000"),
        ("[alarms]\nsilent_telemetry_s = 1e300", "alarms.silent_telemetry_s", "less than or equal to 1000000000"),
        ("[workloads.qa]\ne2e_s = 1e12", "workloads.qa.e2e_s", "less than or equal to 1000000000"),
        ("[workloads.qa]\nretry_budget = 99999999999", "workloads.qa.retry_budget", "less than or equal to 1000000000"),
        ("[work.m]\ndecode_weight = 1e300", "work.m.decode_weight", "less than or equal to 1000000"),
        ("[costs.currencies]\nEUR = 1e300", "costs.currencies.EUR", "less than or equal to 1000000"),
        ("workloads = 3", "workloads", "a table of keys and values"),
        ("sources = [1]", "sources", "a table of keys and values"),
        ("[workloads]\nqa = 3", "workloads.qa", "a table of keys and values"),
        ("[workloads.qa]\nretry_budget = 1.5", "workloads.qa.retry_budget", "a whole number"),
        ("[workloads.qa]\nretry_budget = true", "workloads.qa.retry_budget", "a whole number"),
        ('[workloads.qa]\nttft_s = "1.0"', "workloads.qa.ttft_s", "a number"),
        ("[workloads.qa]\nttft_s = 0", "workloads.qa.ttft_s", "greater than 0"),
        (
            '[workloads.qa]\nclass = "chat"',
            "workloads.qa.class",
            "'conversational', 'agentic', 'rag', 'extraction', 'voice' or 'batch'",
        ),
        ("[workloads.qa]\nklass = 1", "workloads.qa.klass", "class"),
        ("[workloads.qa.quality]\nmin_score = nan", "workloads.qa.quality.min_score", "a finite number"),
        ("[schedule]\ngrace_s = 3600", "schedule.grace_s", "less than 3600"),
        ("[receive]\nrotate_s = 0", "receive.rotate_s", "greater than 0"),
        (
            "[limits]\nmax_line_bytes = 1000\n[receive]\nmax_body_bytes = 1001",
            "receive",
            "at most limits.max_line_bytes, which is 1000",
        ),
        (
            "[receive]\nmax_pending_bytes = 62914559",
            "receive",
            "at least three times max_body_bytes, which is 20971520",
        ),
        ("[attributes]\nsession = 's'", "attributes.session", "session_id"),
    ],
)
def test_one_mistake_with_its_key_and_what_is_right(tmp_path: Path, text: str, key: str, right: str) -> None:
    found = mistakes(write(tmp_path, text))
    assert {key: right for key, (_, right) in found.items()} == {key: right}


def test_an_unknown_key_is_answered_with_the_near_ones_of_its_own_table(tmp_path: Path) -> None:
    text = '[workloads.limits]\nttft = 1\nquality = { evaluator = "x" }\nmatch = { models = "y" }\n'
    found = mistakes(write(tmp_path, text))
    assert found == {
        "workloads.limits.ttft": ("no such key", "ttft_s"),
        "workloads.limits.quality.evaluator": ("no such key", "evaluators"),
        "workloads.limits.match.models": ("no such key", "model"),
    }


def test_a_long_value_is_cut_short(tmp_path: Path) -> None:
    ((wrong, _),) = mistakes(write(tmp_path, f"lake = {list(range(100))}")).values()
    assert wrong == f"{str(list(range(100)))[:57]}... is not usable"


def test_toml_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    found = mistakes(write(tmp_path, 'lake = "lake"\n\nlanding = [\n  "a"\n  "b"\n]\n'))
    assert list(found) == ["TOML"]
    assert "at line 5" in found["TOML"][0]
    assert found["TOML"][1] == "valid TOML in UTF-8"


def test_text_that_is_no_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "goodput.toml"
    path.write_bytes(b'# settings\nlake = "\xff"\n')
    assert mistakes(path) == {"TOML": ("no UTF-8 at line 2", "valid TOML in UTF-8")}


@pytest.mark.parametrize(
    ("text", "wrong"), [("a = " + "[" * 5000, "nest too deeply"), ("a = " + "1" * 5001, "digits")], ids=["deep", "long"]
)
def test_what_no_parser_takes_is_a_mistake(tmp_path: Path, text: str, wrong: str) -> None:
    assert wrong in mistakes(write(tmp_path, text))["TOML"][0]


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "goodput.toml"
    path.write_bytes(b"\xef\xbb\xbf" + b'lake = "there"\r\n[workloads.chat]\r\nttft_s = 1.0\r\n')
    assert load_settings(path).lake == "there"
    path.write_bytes(path.read_bytes().replace(b"ttft_s", b"ttft"))
    with pytest.raises(SettingsError, match=r"line 3, workloads\.chat\.ttft: no such key"):
        load_settings(path)


@pytest.mark.parametrize(("name", "wrong"), [("no.toml", "No such file or directory"), ("", "Is a directory")])
def test_a_file_that_is_not_there(tmp_path: Path, name: str, wrong: str) -> None:
    path = tmp_path / name
    assert mistakes(path) == {str(path): (wrong, "a readable TOML file; `goodput init` writes one")}


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings()
    assert settings.landing_paths == (tmp_path / "landing",)
    assert settings.lake_path == tmp_path / "lake"
    assert settings.windows_s == (300, 3600, 86400)
    assert (settings.latency_origin, settings.max_request_lifetime_s) == ("request", 3600.0)
    assert settings.label_lateness_s == 14 * 24 * 3600
    assert (settings.workloads, settings.sources) == ({}, {})
    assert settings.limits.max_line_bytes == 64 * 1024 * 1024
    assert settings.attributes.session_id == ("gen_ai.conversation.id", "session.id")


def test_paths_are_below_the_folder_of_the_file_not_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/goodput.toml").write_text('landing = ["../in", "/var/otlp"]\nlake = "river/lake"\n')
    monkeypatch.chdir(tmp_path)
    settings = load_settings(Path("etc/goodput.toml"))
    assert settings.landing_paths == (tmp_path / "etc/../in", Path("/var/otlp"))
    assert settings.lake_path == tmp_path / "etc/river/lake"


def test_the_command_line_overrides_relative_to_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/goodput.toml").write_text('landing = ["in"]\nlake = "lake"\n')
    monkeypatch.chdir(tmp_path)
    settings = load_settings(Path("etc/goodput.toml"), landing=[Path("a"), Path("/b")], lake=Path("out"))
    assert settings.landing_paths == (tmp_path / "a", Path("/b"))
    assert settings.lake_path == tmp_path / "out"


def test_a_single_name_stands_for_a_list_of_one(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, 'landing = "in"\n[workloads.qa.match]\nmodel = "llama-*"\n'))
    assert settings.landing == ("in",)
    assert settings.workloads["qa"].match.model == ("llama-*",)


def test_windows_are_sorted_and_each_stands_once(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path, "windows_s = [86400, 300, 300, 7200]")).windows_s == (300, 7200, 86400)


def test_workloads_keep_the_order_of_the_file(tmp_path: Path) -> None:
    text = "[workloads.z]\nttft_s = 1\n[workloads.a]\nttft_s = 2\n"
    assert list(load_settings(write(tmp_path, text)).workloads) == ["z", "a"]


def test_a_source_in_its_short_and_long_form(tmp_path: Path) -> None:
    text = """
[sources.bench]
format = "csv"
path = "*_output_*.csv"
path_pattern = '(?P<route>.+)_output_(?P<offered_rps>[0-9.]+)\\.csv'
constants = { pool = "demo", streamed = true, reported_cost_usd = 0.5 }
[sources.bench.columns]
started_at = { column = "launch_time", unit = "%d/%m/%Y %H:%M", tz = "Europe/Berlin" }
ttft_s = { column = "ttft", unit = "ms" }
session_id = "user_id"
"""
    bench = load_settings(write(tmp_path, text)).sources["bench"]
    assert (bench.table, bench.constants) == ("attempts", {"pool": "demo", "streamed": True, "reported_cost_usd": 0.5})
    assert {name: (c.column, c.unit, c.tz) for name, c in bench.columns.items()} == {
        "started_at": ("launch_time", "%d/%m/%Y %H:%M", "Europe/Berlin"),
        "ttft_s": ("ttft", "ms", "UTC"),
        "session_id": ("user_id", None, "UTC"),
    }


def test_a_period_of_a_bill_has_two_ends(tmp_path: Path) -> None:
    """Of a file with one date they are that and so much later."""
    text = """
[sources.bill]
format = "csv"
path = "*.csv"
table = "cost_records"
[sources.bill.columns]
period_start = { column = "Date", unit = "%m/%d/%Y" }
period_end = { column = "Date", unit = "%m/%d/%Y" }
amount_usd = "Cost"
pool = { column = "p", plus_s = 1 }
"""
    found = mistakes(write(tmp_path, text))
    wrong, right = found["sources.bill.columns.period_end"]
    assert wrong == "both ends of a period are 'Date', so that its whole cost falls on an instant"
    assert right == 'period_end = { column = "Date", ..., plus_s = 86400 } where a line is of a day'
    assert found["sources.bill.columns.pool.plus_s"] == ("1: this column is no time", "leave `plus_s` out")
    mended = text.replace('%Y" }\namount', '%Y", plus_s = 86400 }\namount').replace(", plus_s = 1 }", " }")
    assert load_settings(write(tmp_path, mended)).sources["bill"].columns["period_end"].plus_s == 86400


@pytest.mark.parametrize("path", ["../*.csv", "a/../../*.csv", "/etc/*.csv"])
def test_a_source_stays_below_the_landing_path(tmp_path: Path, path: str) -> None:
    text = f'[sources.bench]\nformat = "csv"\npath = "{path}"\n[sources.bench.columns]\n'
    with pytest.raises(SettingsError, match=r"sources\.bench\.path: .* leads out of the landing path\n.*a glob below"):
        load_settings(write(tmp_path, text))


@pytest.mark.parametrize("unit", ["epoch_s", "epoch_ms", "epoch_us", "epoch_ns", "iso8601", "%Y-%m-%d %H:%M:%S"])
def test_time_formats(tmp_path: Path, unit: str) -> None:
    column = f'columns = {{ started_at = {{ column = "t", unit = "{unit}" }} }}'
    text = f'[sources.s]\nformat = "csv"\npath = "*"\n{column}\n'
    assert load_settings(write(tmp_path, text)).sources["s"].columns["started_at"].unit == unit


def test_what_the_path_gives_need_not_be_mapped(tmp_path: Path) -> None:
    text = """
[sources.judge]
format = "jsonl"
path = "*.jsonl"
path_pattern = '(?P<evaluator>[a-z]+)/.*'
table = "quality_labels"
constants = { session_id = "all" }
[sources.judge.columns]
labelled_at = { column = "at", unit = "iso8601" }
"""
    assert load_settings(write(tmp_path, text)).sources["judge"].table == "quality_labels"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().lake = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('[replicas.a]\nnames = ["x"]\n[replicas.b]\nnames = ["x"]', "'x' stands for a and b"),
        ('[replicas.a]\nnames = ["b"]\n[replicas.b]\nnames = ["x"]', "'b' has names of its own and is a name of a"),
    ],
)
def test_a_declared_name_is_of_one_replica(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(SettingsError, match=wrong):
        load_settings(write(tmp_path, text))


DAILY = """
[sources.bill]
format = "csv"
path = "*.csv"
table = "cost_records"
[sources.bill.columns]
amount_usd = "Cost"
period_start = {{ column = "Date", unit = "%m/%d/%Y" }}
period_end = {{ {end} }}
{more}
"""


@pytest.mark.parametrize(
    ("end", "more"),
    [
        ('column = "Date", unit = "%m/%d/%Y", plus_s = 86400', ""),
        ('column = "Until", unit = "%m/%d/%Y"', ""),
        ('column = "Date", unit = "%m/%d/%Y"', 'request_key = "Call"'),  # that of one call needs no time
        ('column = "Date", unit = "%m/%d/%Y"', 'session_id = "Conversation"'),
    ],
)
def test_costs_have_a_time_to_be_spent_over_or_one_call(tmp_path: Path, end: str, more: str) -> None:
    (tmp_path / "goodput.toml").write_text(DAILY.format(end=end, more=more))
    assert load_settings(tmp_path / "goodput.toml").sources["bill"].columns["period_end"].column in {"Date", "Until"}


@pytest.mark.parametrize("plus_s", ["-1", "1.5", str(10**12)])  # one that nanoseconds cannot hold
def test_a_time_is_later_by_whole_seconds_that_are_believed(tmp_path: Path, plus_s: str) -> None:
    end = f'column = "Date", unit = "%m/%d/%Y", plus_s = {plus_s}'
    with pytest.raises(SettingsError, match=r"sources\.bill\.columns\.period_end\.plus_s: "):
        load_settings(write(tmp_path, DAILY.format(end=end, more="")))
