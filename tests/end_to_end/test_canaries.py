"""Hundreds of canaries, planted where prompts, identities and secrets are: none is in anything that Goodput makes."""

import base64
import csv
import io
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, START_NS, attributes, log, logs_line, span
from notify.receiver import Script, receiving
from notify.test_senders import echoing
from telemetry.collector import Collector, collecting

ROOT = Path(__file__).parents[2]
START_S = START_NS // 10**9
_numbers = itertools.count()
PLANTED: list[str] = []


def canary() -> str:
    """A new text that is nowhere else; its letters alone give it away."""
    number = next(_numbers)
    letters = "".join("ghjkmnpqrstvwxyz"[(number >> shift) & 15] for shift in (8, 4, 0))
    PLANTED.append(f"qzx{letters}canary{letters}qzx")
    return PLANTED[-1]


CONTENT = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.prompt"),
    *("gen_ai.completion", "gen_ai.prompt.0.content", "gen_ai.completion.0.content", "gen_ai.tool.definitions"),
    *("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "input.value", "output.value", "llm.prompts"),
    *("llm.input_messages.0.message.content", "llm.output_messages.0.message.content", "traceloop.entity.input"),
    *("traceloop.entity.output", "ai.prompt", "ai.prompt.messages", "ai.response.text", "mlflow.spanInputs"),
    *("mlflow.spanOutputs", "langfuse.observation.input", "langfuse.observation.output", "logfire.msg"),
    *("lk.user_input", "lk.response.text", "url.full", "url.query", "http.url", "http.target", "db.statement"),
    *("http.request.header.authorization", "http.request.header.cookie", "http.request.header.x-api-key"),
    *("http.response.header.set-cookie", "exception.message", "exception.stacktrace", "enduser.credentials"),
    *("process.command_line", "process.environment_variable.OPENAI_API_KEY", "rpc.grpc.request.metadata.auth"),
)
IDENTITY = ("user.id", "enduser.id", "tenant.id", "session.id", "gen_ai.conversation.id")


def spans(number: int) -> dict[str, object]:
    said = {name: f"{canary()} ?token={canary()}" for name in CONTENT} | {name: canary() for name in IDENTITY}
    events = [
        {"timeUnixNano": str(START_NS), "name": name, "attributes": attributes({"content": canary(), "body": canary()})}
        for name in ("gen_ai.user.message", "gen_ai.choice", "exception", "log")
    ]
    ids = {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "parentSpanId": ""}
    done = {"gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.output_tokens": 5}
    status = {"code": 2, "message": canary()} if number % 2 else {}
    return span(said={**CHAT, **done, **said}, events=events, status=status, **ids)


def unreadable() -> list[str]:
    whole = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [spans(90)]}]}]})
    return [
        f"{canary()} is no JSON",
        '{"resourceSpans": "' + canary() + '"}',
        '{"resourceSpans": [{"scopeSpans": "' + canary() + '"}]}',
        whole[: len(whole) // 2],
        '{"prompt": "' + canary() + '", "resourceSpans": 5}',
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{**spans(91), "startTimeUnixNano": canary()}]}]}]}),
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{**spans(92), "traceId": canary()}]}]}]}),
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{**spans(93), "kind": canary()}]}]}]}),
    ]


def plant(landing: Path) -> None:
    landing.mkdir(parents=True)
    resource = {name: canary() for name in ("process.command_args", "telemetry.token", "deployment.password")}
    whole = {
        "resource": {"attributes": attributes({**resource, "service.name": "chat"})},
        "scopeSpans": [{"spans": [spans(number) for number in range(1, 7)]}],
    }
    lines = [json.dumps({"resourceSpans": [whole]}), *unreadable()]
    (landing / "traces.jsonl").write_text("\n".join(lines) + "\n")
    (landing / "latin.jsonl").write_bytes(lines[0].encode() + b"\n\xff\xfe" + canary().encode() + b"\n")
    judged = {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 1.0, "session.id": canary()}
    explained = {"gen_ai.evaluation.explanation": canary(), "gen_ai.input.messages": canary()}
    (landing / "logs.jsonl").write_text(logs_line(log({**judged, **explained}), log({"body": canary()})) + "\n")
    (landing / "broken.pb").write_bytes(b"\x0a\x10" + canary().encode() * 3)
    header = "id,start,end,ttft,model,prompt,who,in\n"
    good = f"a,{START_S},{START_S + 5},0.5,m,{canary()},{canary()},5\n"
    bad = [
        f"b,{canary()},{START_S + 5},0.5,m,{canary()},{canary()},5\n",
        f"c,{START_S},{START_S + 5},{canary()},m,{canary()},{canary()},5\n",
        f"d,{START_S},{START_S + 5},0.5,m,{canary()},{canary()},-5\n",
        f"e,{START_S},{START_S + 5},0.5,m,{canary()},{canary()},{canary()}\n",
        f"f,{canary()}\n",
        f'g,{START_S},{START_S + 5},0.5,m,"{canary()} unclosed\n',
    ]
    (landing / "log.csv").write_text(header + good + "".join(bad))
    (landing / "objects.jsonl").write_text(
        "".join(
            json.dumps({"prompt": canary(), "messages": [{"content": canary()}], n: canary()}) + "\n" for n in "abc"
        )
    )
    table = pa.table({"prompt": [canary(), canary()], "user": [canary(), canary()], "n": [1, 2]})
    pq.write_table(table, landing / "rows.parquet")
    scrape = landing / "10.0.0.1-8000"
    scrape.mkdir()
    (scrape / f"{START_S}.prom").write_text(
        "# TYPE vllm:num_requests_running gauge\n"
        f'vllm:num_requests_running{{model_name="m",end_user="{canary()}",api_key_alias="{canary()}"}} 3\n'
        f'{canary()} is no sample\nvllm:num_requests_running{{model_name="m",user="{canary()}"}} {canary()}\n'
    )
    (landing / "judge.csv").write_text(f"who,by,score,at\n{canary()},judge,1,{START_S + 60}\n{canary()},judge,x,1\n")
    (landing / "bill.csv").write_text(
        f"from,until,usd,who\n{START_S},{START_S + 3600},5,{canary()}\n1,2,{canary()},x\n"
    )


SETTINGS = """
landing = ["landing"]
windows_s = [300, 3600, 86400]
[privacy]
identities = "hashed"
identity_key = { env = "IDENTITY_KEY" }
[limits]
quarantined_ratio = 1.0
[attributes]
keep = ["user.id"]
[slices]
by = ["tenant"]
[workloads.all]
ttft_s = 1.0
[sources.log]
format = "csv"
path = "log.csv"
[sources.log.columns]
attempt_id = "id"
session_id = "who"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
input_tokens = "in"
[sources.judge]
format = "csv"
path = "judge.csv"
table = "quality_labels"
[sources.judge.columns]
session_id = "who"
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
tenant = "who"
[sources.bill.constants]
basis = "billing"
[channels.hook]
kind = "webhook"
url = { env = "HOOK_URL" }
allow_private = true
match = { severity = ["page", "ticket", "none"] }
bearer_token = { env = "HOOK_TOKEN" }
signing_secrets = [{ file = "signing" }]
[channels.duty]
kind = "pagerduty"
url = { env = "DUTY_URL" }
allow_private = true
match = { severity = ["page", "ticket", "none"] }
routing_key = { env = "DUTY_KEY" }
"""
COMMANDS = (
    *(["run"], ["run"], ["notify"], ["notify", "--status"], ["notify", "--test", "hook"], ["notify", "--test", "duty"]),
    *(["sources"], ["sources", "--problems"], ["sources", "--format", "json"], ["alarms", "list", "--all"]),
    *(["tables"], ["verify"], ["doctor"], ["notify", "--dry-run"], ["query", "select * from no_such_table"]),
)


class Made(NamedTuple):
    """A folder with all that was made, all that was printed, and what a collector was told of it."""

    folder: Path
    printed: str
    collector: Collector


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """All that was made of the canaries."""
    folder = tmp_path_factory.mktemp("canaries")
    plant(folder / "landing")
    (folder / "goodput.toml").write_text(SETTINGS)
    (folder / "dagster").mkdir()
    (folder / "dagster/dagster.yaml").write_text((ROOT / "dagster_home/dagster.yaml").read_text())
    signing, token, hook, duty, key = (canary() for _ in range(5))
    secret = f"whsec_{base64.b64encode(signing.encode()).decode()}"
    (folder / "signing").write_text(secret)
    said = f"POST /{hook}?key={hook} Bearer {token} {secret} {signing} {duty} routing_key {token[4:12]}... {token[-5:]}"
    script = Script([echoing(said)] * 50)
    with receiving(script) as port, collecting() as collector:
        environment = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")},
            **{"IDENTITY_KEY": key, "HOOK_TOKEN": token, "DUTY_KEY": duty, "DAGSTER_HOME": str(folder / "dagster")},
            **{"HOOK_URL": f"http://127.0.0.1:{port}/{hook}?key={hook}", "DUTY_URL": f"http://127.0.0.1:{port}/{hook}"},
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"{collector.url}/{canary()}",
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{canary()}",
        }
        printed = []
        for command in COMMANDS:
            program = [sys.executable, "-c", "from goodput.cli.main import main; main()", *command]
            ended = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert "Traceback" not in ended.stderr, ended.stderr
            printed.append(f"$ {command}\n{ended.stdout}{ended.stderr}")
    assert script.got, "nobody was told anything"
    return Made(folder, "\n".join(printed), collector)


def whole(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything in files that were made: as it is, and what compressed tables hold."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.startswith("landing/") or name in ("goodput.toml", "signing"):
            continue
        yield name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield name, str(pq.ParquetFile(path).read().to_pylist())
    with duckdb.connect(folder / "lake/goodput.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        names = connection.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
        names += connection.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        for schema, name in names:
            yield f"{schema}.{name}", str(connection.sql(f'FROM "{schema}"."{name}"').to_arrow_table().to_pylist())


def forms(planted: str) -> list[str]:
    return [planted, base64.b64encode(planted.encode()).decode(), planted.encode().hex()]


def test_hundreds_were_planted(made: Made) -> None:
    assert len(PLANTED) == len(set(PLANTED)) > 500
    landed = "".join(
        path.read_bytes().decode("latin-1") if path.suffix != ".parquet" else str(pq.read_table(path).to_pylist())
        for path in (made.folder / "landing").rglob("*")
        if path.is_file()
    )
    assert sum(planted in landed for planted in PLANTED) > 490, "they are where telemetry is read from"


def test_none_is_in_lake_database_outbox_or_dagster(made: Made) -> None:
    found = {}
    for name, content in whole(made.folder):
        hits = [planted for planted in PLANTED if any(form in content for form in forms(planted))]
        if hits:
            found[name] = hits[:3]
    assert not found


def test_none_is_printed(made: Made) -> None:
    assert not [planted for planted in PLANTED if any(form in made.printed for form in forms(planted))]


def test_none_is_in_what_runs_tell_of_themselves(made: Made) -> None:
    told = made.collector.bodies.decode("latin-1")
    assert not [planted for planted in PLANTED if any(form in told for form in forms(planted))]
    rows = [point.value for point in made.collector.points if point.name == "goodput.ingested.rows"]
    assert max(rows) > 20, "they were told of"
    assert [record for record in made.collector.records if record.event == "goodput.source.failed"]


def test_none_is_exported(made: Made) -> None:
    folder = made.folder
    with duckdb.connect(folder / "lake/goodput.duckdb", read_only=True) as connection:
        names = [
            name for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        ]
    assert {"requests", "attempts"} <= {*names}
    for name, form in itertools.product(
        ("requests", "attempts", "quarantine", "sources", "deliveries"), ("csv", "json")
    ):
        program = [sys.executable, "-c", "from goodput.cli.main import main; main()"]
        asked = ["query", f"from {name}", "--format", form]
        ended = subprocess.run([*program, *asked], cwd=folder, capture_output=True, text=True, check=True)
        assert ended.stdout
        assert not [planted for planted in PLANTED if planted in ended.stdout], name


def test_what_was_read_was_read_all_the_same(made: Made) -> None:
    """The lake is not empty of canaries because it is empty."""
    folder = made.folder
    program = [sys.executable, "-c", "from goodput.cli.main import main; main()", "query", "--format", "csv"]
    counted = (
        "select (select count(*) from requests), (select count(*) from quarantine), (select count(*) from deliveries)"
    )
    ended = subprocess.run([*program, counted], cwd=folder, capture_output=True, text=True, check=True)
    requests, quarantined, deliveries = map(int, list(csv.reader(io.StringIO(ended.stdout)))[1])
    assert requests >= 7
    assert quarantined >= 10
    assert deliveries >= 1
