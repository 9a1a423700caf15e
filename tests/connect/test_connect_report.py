"""What `goodput connect` finds, against bytes whose content is known, and against what ingest makes of the same."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading
from collect.telemetry import CHAT, START_NS, log, logs_line, settings
from connect.bytes import ACME, EMITTERS, call, scoped, write
from goodput.collect.declared import object_dialects
from goodput.collect.otlp import gather
from goodput.conform.ingest import ingest
from goodput.connect.look import Bounds, look
from goodput.connect.report import ConnectReport, report
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace

USAGE = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 4, "gen_ai.request.model": "llama-8b"}
FOUR = [  # half with a session, a quarter failed, three of four with an id
    call(0, {**CHAT, **USAGE, "gen_ai.response.id": "r0", "session.id": "s", "my.thread_id": "t"}),
    call(1, {**CHAT, **USAGE, "gen_ai.response.id": "r1", "session.id": "s"}),
    call(2, {**CHAT, **USAGE, "gen_ai.response.id": "r2"}),
    call(3, {**CHAT, "error.type": "TimeoutError", "gen_ai.request.model": "llama-70b"}),
]


def looked_at(target: Path, **given: Any) -> ConnectReport:
    return report(settings(**given), target)


def test_shares_are_of_the_records_of_each_emitter(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", scoped("acme.openai", "1.2.3", *FOUR))
    (one,) = looked_at(tmp_path).emitters
    assert (one.dialect, one.scope, one.version, one.layer, one.records) == (
        "genai",
        "acme.openai",
        "1.2.3",
        "client",
        4,
    )
    assert one.models == ("llama-8b", "llama-70b")
    assert one.shares == {
        "outcome": 1.0,
        "model": 1.0,
        "input_tokens": 0.75,
        "output_tokens": 0.75,
        "cached_input_tokens": 0.0,
        "ttft_s": 0.0,
        "session_id": 0.5,
        "tenant": 0.0,
        "replica": 0.0,
        "ids": 0.75,
    }


def test_what_is_missing_has_its_reason(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", scoped("acme.openai", "1.2.3", *FOUR))
    (one,) = looked_at(tmp_path).emitters
    missing = {item.fact: item for item in one.missing}
    assert set(missing) == {fact for fact, share in one.shares.items() if share < 1}
    assert missing["input_tokens"].why == "only calls that failed lack it"
    assert missing["session_id"].candidates == ("my.thread_id",)
    assert "prompt_tokens_details" in missing["cached_input_tokens"].why


def test_what_lies_beside_is_listed_or_its_absence_explained(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", scoped("x", "1", *FOUR))
    columns: dict[str, object] = {"gen_ai.evaluation.name": "e", "gen_ai.evaluation.score.value": 1.0}
    write(tmp_path / "b.jsonl", logs_line(log({**columns, "gen_ai.response.id": "r0"}), log({}, eventName="other")))
    write(tmp_path / "vllm-0/1795165200.prom", "vllm:num_requests_running 3", "acme_depth 1", 'acme_s_bucket{le="1"} 2',
          "acme_s_count 2", "acme_s_sum 1")  # fmt: skip
    found = looked_at(tmp_path)
    assert {name: count for name, (count, _) in found.beside.items()} == {
        "engine metrics": 1,
        "quality labels": 1,
        "operations": 0,
        "bills and prices": 0,
    }
    assert found.beside["quality labels"][1] == "gen_ai.evaluation.result"
    assert found.layers["client"] == (4, "")
    assert found.looked.unread.events == {"other": 1}
    assert found.looked.unread.unknown_metrics == ["acme_depth", "acme_s"]


@pytest.mark.parametrize(
    ("second", "sign", "calls"),
    [
        ({"gen_ai.response.id": "r{}"}, "same response id", 3),
        ({}, "same times and tokens", 3),
        ({"gen_ai.usage.output_tokens": 5}, None, 0),  # other tokens are another call
    ],
)
def test_calls_that_two_emitters_of_a_layer_report_are_probable_doubles(
    tmp_path: Path, second: dict[str, object], sign: str | None, calls: int
) -> None:
    first = [call(n, {**CHAT, **USAGE, "gen_ai.response.id": f"r{n}"}) for n in range(4)]
    other = [
        call(
            n,
            {**CHAT, **USAGE, **{k: str(v).format(n) if isinstance(v, str) else v for k, v in second.items()}},
            spanId=f"{n + 100:016x}",
            traceId=f"{n + 100:032x}",
        )
        for n in range(3)
    ]
    write(tmp_path / "a.jsonl", scoped("one", "1", *first), scoped("two", "1", *other))
    found = looked_at(tmp_path).doubles
    assert [(d.first, d.second, d.calls, d.sign) for d in found] == (
        [("genai one", "genai two", calls, sign)] if sign else []
    )
    assert all(d.share == 1.0 for d in found)  # all three of the smaller


def test_a_span_inside_another_of_its_layer_is_a_probable_double(tmp_path: Path) -> None:
    outer = [call(n, {**CHAT, **USAGE}) for n in range(2)]
    inner = [
        call(
            n,
            {**CHAT, **USAGE, "gen_ai.usage.output_tokens": 3},
            spanId=f"{n + 100:016x}",
            parentSpanId=f"{n + 1:016x}",
        )
        for n in range(2)
    ]
    write(tmp_path / "a.jsonl", scoped("outer", "1", *outer), scoped("inner", "1", *inner))
    (double,) = looked_at(tmp_path).doubles
    assert (double.calls, double.sign) == (2, "one span inside the other")


def test_views_of_several_layers_are_no_doubles(tmp_path: Path) -> None:
    client = [call(n, {**CHAT, **USAGE, "gen_ai.response.id": f"r{n}"}) for n in range(2)]
    server = [
        call(n, {**CHAT, **USAGE, "gen_ai.response.id": f"r{n}"}, kind="server", spanId=f"{n + 100:016x}")
        for n in range(2)
    ]
    write(tmp_path / "a.jsonl", scoped("one", "1", *client), scoped("two", "1", *server))
    assert looked_at(tmp_path).doubles == []


def test_unread_spans_that_look_like_calls_show_names_and_never_values(tmp_path: Path) -> None:
    spans = [call(n, {**ACME, "acme.conversation_id": f"c{n}"}, name=f"acme call {n}{n}") for n in range(3)]
    other = call(9, {"db.system": "redis"}, name="GET")
    write(tmp_path / "a.jsonl", scoped("acme-sdk", "2", *spans, other))
    found = looked_at(tmp_path)
    ((group, beside),) = found.calls
    assert (group.scope, group.name, group.kind, group.spans, beside) == ("acme-sdk", "acme call *", "client", 3, "")
    assert {name: (one.rows, len(one.values)) for name, one in group.attributes.items()} == {
        "acme.usage.prompt_tokens": (3, 1),
        "acme.usage.completion_tokens": (3, 1),
        "llm.vendor": (3, 1),
        "acme.conversation_id": (3, 3),
    }
    assert found.looked.unread.others == 1
    assert "secret-vendor" not in json.dumps(found.data())


def test_spans_that_count_as_tries_are_proposed_as_no_calls(tmp_path: Path) -> None:
    routes = [call(n, {"gen_ai.request.model": "m", "gen_ai.provider.name": "p"}, name="route m") for n in range(3)]
    write(tmp_path / "a.jsonl", scoped("litellm", "1", *routes))
    assert not looked_at(tmp_path).calls


def test_agents_and_spans_around_calls_that_are_read_are_separated(tmp_path: Path) -> None:
    read_ = call(0, {**CHAT, **USAGE}, parentSpanId="f" * 16)
    around = call(0, {"ai.prompt": "x"}, name="ai.wrap", spanId="f" * 16)
    agent = call(5, {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}, name="invoke_agent x")
    write(tmp_path / "a.jsonl", scoped("s", "1", read_, around, agent))
    found = looked_at(tmp_path)
    assert [(group.name, beside) for group, beside in found.calls] == [("ai.wrap", "around calls that are read")]


def test_pasted_settings_make_unread_calls_read(tmp_path: Path) -> None:
    spans = [call(n, {**ACME, "acme.model": "m-1"}, name=f"acme call {n}") for n in range(3)]
    write(tmp_path / "landing/a.jsonl", scoped("acme-sdk", "2", *spans))
    proposal = tomllib.loads(looked_at(tmp_path / "landing").settings)
    assert proposal["dialects"]["acme-sdk"]["fields"] == {
        "model": "acme.model",
        "input_tokens": "acme.usage.prompt_tokens",
        "output_tokens": "acme.usage.completion_tokens",
    }
    proposal.pop("lake")
    (one,) = looked_at(tmp_path / "landing", **proposal).emitters
    assert (one.dialect, one.records, one.models) == ("dialects.acme-sdk", 3, ("m-1",))
    assert one.shares["input_tokens"] == one.shares["output_tokens"] == 1.0


def test_pasted_settings_have_a_workload_per_model_and_name_sessions(tmp_path: Path) -> None:
    odd = call(7, {**CHAT, "gen_ai.request.model": 'org/llama "8b"\u009b[1]'})
    write(tmp_path / "a.jsonl", scoped("x", "1", *FOUR, odd))
    proposal = tomllib.loads(looked_at(tmp_path).settings)
    assert proposal["landing"] == [str(tmp_path)]
    assert proposal["attributes"]["session_id"][-1] == "my.thread_id"
    assert {name: item["match"]["model"] for name, item in proposal["workloads"].items()} == {
        "llama-8b": "llama-8b",
        "llama-70b": "llama-70b",
        "llama-8b-1": 'org/llama "8b"\u009b[1]',
    }
    assert settings(**proposal).workloads.keys() == proposal["workloads"].keys()


def test_a_workload_of_the_only_model_matches_what_names_none(tmp_path: Path) -> None:
    """A call that failed before anything named a model is a request like the others."""
    nameless = call(8, CHAT)
    write(tmp_path / "one/a.jsonl", scoped("x", "1", FOUR[0], nameless))
    (only,) = tomllib.loads(looked_at(tmp_path / "one").settings)["workloads"].values()
    assert "match" not in only
    write(tmp_path / "two/a.jsonl", scoped("x", "1", *FOUR, nameless))
    *named, other = tomllib.loads(looked_at(tmp_path / "two").settings)["workloads"].items()
    assert all("match" in workload for _, workload in named)
    assert other == ("other", {})


def test_keys_of_json_that_nothing_reads_are_listed(tmp_path: Path) -> None:
    write(
        tmp_path / "calls.log", json.dumps({"usage": {"in": 3}, "who": "secret"}), "no json", json.dumps({"who": "x"})
    )
    found = looked_at(tmp_path)
    assert not found.looked.is_readable
    assert {name: one.rows for name, one in found.looked.unread.object_keys.items()} == {"usage.in": 1, "who": 2}


def test_keys_are_listed_as_a_dialect_of_the_settings_takes_them(tmp_path: Path) -> None:
    """What is listed, mapped as it stands, finds the value: a key may have dots in it, or begin as a path does."""
    said = {"llm": {"token_count.prompt": 7, "model": "m"}, "when": 1, "$id": "c", "a b": {"c-d": 1, "e.f": {"g": 2}}}
    write(tmp_path / "calls.jsonl", json.dumps(said))
    names = looked_at(tmp_path).looked.unread.object_keys
    assert {*names} == {'$.llm."token_count.prompt"', "llm.model", "when", '$."$id"', "a b.c-d", '$."a b"."e.f".g'}
    for name in names:
        started = {"attribute": "when", "unit": "epoch_s"}
        fields = {"started_at": started, "model": name}
        mapped = {"reads": "json_lines", "layer": "client", "match": {"attributes": {"when": "1"}}, "fields": fields}
        dialects = object_dialects(settings(dialects={"own": mapped}))
        (record,) = Reading(tmp_path / "calls.jsonl", dialects).records
        assert record["model"] in {"7", "m", "1", "c", "2"}


def test_large_files_and_many_are_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_ROWS_AT_ONCE", 100)
    for number in range(5):
        write(tmp_path / f"many/{number}.jsonl", scoped("x", "1", call(number, CHAT)))
    write(tmp_path / "single/a.jsonl", scoped("y", "1", call(77, CHAT)))
    given = settings(landing=str(tmp_path))
    found = look(given, Bounds(files=3))
    assert (found.files_there, found.is_sample) == (6, True)
    assert [file.path for file in found.files] == ["many/0.jsonl", "many/1.jsonl", "single/a.jsonl"]  # each folder
    assert look(given, Bounds(total_s=0.0)).files == []
    assert not look(given).is_sample
    big = write(tmp_path / "big.jsonl", *(scoped("x", "1", call(n, {**CHAT, "a": "x" * 4000})) for n in range(4000)))
    (file,) = look(settings(landing=str(big)), Bounds(rows_of_a_file=100)).files
    assert file.is_sample
    assert 100 <= file.rows < 4000


def test_metrics_of_every_block_are_named(tmp_path: Path) -> None:
    def metric(name: str, pad: str) -> str:
        point = {"asDouble": 1.0, "timeUnixNano": str(START_NS)}
        one = {"name": name, "description": pad, "gauge": {"dataPoints": [point]}}
        return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [one]}]}]})

    write(tmp_path / "m.jsonl", *(metric(f"mine_{n % 3}", "p" * 9000) for n in range(2000)))  # two blocks
    assert looked_at(tmp_path).looked.unread.unknown_metrics == ["mine_0", "mine_1", "mine_2"]


def test_a_copy_of_a_record_is_no_second_record(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, scoped("x", "1", *FOUR))
    found = looked_at(tmp_path)
    assert (found.looked.records.height, found.looked.copies) == (4, 4)
    assert found.doubles == []


CAPTURED = sorted(path.name for path in EMITTERS.iterdir() if path.is_dir()) if EMITTERS.is_dir() else []


def agrees_with_ingest(landing: Path, folder: Path) -> None:
    """Every file is accounted for as the source ledger accounts for it."""
    config = folder / "goodput.toml"
    config.write_text(f'landing = ["{landing}"]\nlake = "lake"\n')
    workspace = Workspace(config)
    ingest(workspace)
    ledger = {row["path"]: row for row in read(workspace.lake).to_pylist()}
    found = {file.path: file for file in look(workspace.settings).files}
    assert found.keys() == ledger.keys()
    for path, row in ledger.items():
        file = found[path]
        if row["status"] == "refused":
            assert file.remark == row["reason"]
            continue
        assert (file.reader, file.rows) == (row["reader"], row["rows_read"]), path
        assert dict(file.ignored) == json.loads(row["ignored"]), path
        assert sum(file.refused.values()) == row["rows_quarantined"], path
        kept = row["rows_read"] - row["rows_quarantined"] - sum(file.ignored.values())
        assert sum(file.kept.values()) == kept, path


def test_it_agrees_with_ingest(tmp_path: Path) -> None:
    backwards = call(20, {**CHAT, **USAGE}, endTimeUnixNano="1795165200000000000")
    unreadable = call(21, {**CHAT, "gen_ai.usage.input_tokens": "many"})
    landing = tmp_path / "landing"
    write(landing / "a.jsonl", scoped("x", "1", *FOUR, backwards, unreadable, call(22, ACME)), "no json {")
    write(landing / "b.jsonl", logs_line(log({})))
    write(landing / "c.txt", "nothing")
    write(landing / "vllm-0/1795165200.prom", "vllm:num_requests_running 3", "acme 1", "half a line {")
    agrees_with_ingest(landing, tmp_path)


@pytest.mark.skipif(not CAPTURED, reason="the shared captures are not here")
@pytest.mark.parametrize("emitter", CAPTURED)
def test_it_agrees_with_ingest_on_what_emitters_write(tmp_path: Path, emitter: str) -> None:
    agrees_with_ingest(EMITTERS / emitter, tmp_path)


@pytest.mark.skipif(not CAPTURED, reason="the shared captures are not here")
@pytest.mark.parametrize("emitter", CAPTURED)
def test_settings_to_paste_load_for_every_emitter(emitter: str) -> None:
    found = looked_at(EMITTERS / emitter)
    pasted = settings(**tomllib.loads(found.settings))
    assert pasted.landing == (str(EMITTERS / emitter),)
    assert json.loads(json.dumps(found.data()))["settings"] == found.settings


@pytest.mark.skipif(not CAPTURED, reason="the shared captures are not here")
def test_instrumentations_that_both_report_a_call_are_found() -> None:
    found = looked_at(EMITTERS / "langchain+openai-openinference")
    assert len(found.doubles) == 1
    assert found.doubles[0].calls > 40  # of 48 calls of the model
    assert found.doubles[0].first.endswith("langchain")
    assert found.doubles[0].second.endswith("openai")
    assert not looked_at(EMITTERS / "langchain-openinference").doubles
