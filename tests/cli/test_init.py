"""`goodput init`: a settings file that loads as it is, and with every example in it switched on."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from goodput.cli.init import template
from goodput.settings.alarms import Alarms, BurnRate, Slo, rules_of, threshold_of
from goodput.settings.channels import Channel, Notify, Templates
from goodput.settings.cluster import Cluster
from goodput.settings.listening import Serve
from goodput.settings.load import load_settings
from goodput.settings.model import (
    Attributes,
    Costs,
    Disruptions,
    Events,
    FileLimits,
    Prices,
    Rate,
    Receive,
    ReplicaNames,
    Report,
    Schedule,
    ServedModel,
    Settings,
    Workload,
)
from goodput.settings.privacy import Privacy
from goodput.settings.retention import Retention
from goodput.settings.rule import Rule
from goodput.settings.secret import Secret
from goodput.settings.telemetry import Export, OwnTelemetry

Run = Callable[..., Any]


def everything() -> str:
    return re.sub(r"^#(?=[^\s#])", "", template(), flags=re.MULTILINE)


def test_it_writes_a_file_that_loads(goodput: Run, tmp_path: Path) -> None:
    assert goodput("init", ask=False).returncode == 0
    settings = load_settings(tmp_path / "goodput.toml")
    assert settings.landing_paths == (tmp_path / "landing",)
    assert settings.lake_path == tmp_path / "lake"
    assert settings.workloads == {"qa": Workload(ttft_s=1.0, tpot_s=0.05, retry_budget=1)}
    assert settings.sources == {}


def test_every_setting_switched_on_loads_too(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(everything())
    settings = load_settings(tmp_path / "all.toml")
    assert set(settings.sources) == {"bench", "judge", "salt", "review"}
    assert settings.sources["bench"].columns["ttft_s"].unit == "ms"
    assert settings.workloads["qa"].quality is not None
    assert set(settings.leave_out) == {"synthetic"}
    assert settings.dialects["acme"].fields["ttft_s"].unit == "ms"
    assert {name: channel.kind for name, channel in settings.channels.items()} == {
        "ops": "webhook",
        "on-call": "pagerduty",
        "chat": "slack",
        "alertmanager": "alertmanager",
        "log": "file",
    }
    assert settings.workloads["assistant"].unit == "session"


def test_settings_that_are_shown_as_defaults_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(everything())
    shown, default = load_settings(tmp_path / "all.toml"), Settings()
    examples = {
        "workloads",
        "sources",
        "dialects",
        "leave_out",
        "events",
        "rates",
        "work",
        "prices",
        "channels",
        "base",
        "file_digest",
    }
    examples |= {"alarms", "slo", "replicas", "served_models"}
    for name in Settings.model_fields.keys() - examples:
        expected = getattr(default, name)
        if name == "costs":  # an example of a rate: without one a currency stays out
            expected = expected.model_copy(update={"currencies": {"EUR": 1.08}})
        if name in {"receive", "serve"}:  # examples: without them there is no TLS, and only localhost has a name
            examples_of = {"tls_certificate": Path("cert.pem"), "tls_key": Path("key.pem")}
            named = {"serve": {"hosts": ("goodput.example.com",)}}.get(name, {})
            expected = expected.model_copy(update=examples_of | named)
        if name == "privacy":  # an example: clear identities need no key
            key = Secret(file=Path("/run/secrets/goodput-identities"))
            expected = expected.model_copy(update={"identity_key": key})
        if name == "retention":  # an example: without days all is kept
            days = {"records_days": 90, "samples_days": 90, "requests_days": 400, "tables": {"replica_windows": 180}}
            expected = expected.model_copy(update=days)
        # examples: without a file a run writes no page; without others all is computed here, and no hour is cut
        cluster = Cluster(ray="auto", shard_records=1_000_000)
        expected = {"report": Report(file=Path("report.html")), "cluster": cluster}.get(name, expected)
        if name in ("telemetry", "export"):  # examples: without an endpoint nothing is told
            given = {"endpoint": "http://collector:4318", "bearer_token": {"env": "COLLECTOR_TOKEN"}}
            expected = type(expected).model_validate(given)
        assert getattr(shown, name) == expected, name
    for name in Alarms.model_fields.keys() - {"rules", "days_off", "excluded"}:
        assert getattr(shown.alarms, name) == getattr(default.alarms, name), name
    page = rules_of(default.alarms)["p99_ttft_s_page"]
    assert shown.alarms.rules["p99_ttft_s_page"].threshold == threshold_of(page, 3600)
    assert rules_of(shown.alarms)["p99_ttft_s_page"] == page.model_copy(update={"threshold": 3.0})
    assert shown.slo["qa"].burn_rates == Slo(objective=0.95).burn_rates
    ops, plain = shown.channels["ops"], Channel(kind="stdout")
    for name in Channel.model_fields.keys() - {"kind", "url", "signing_secrets", "ca_file", "fallback"}:
        assert getattr(ops, name) == getattr(plain, name), name


def test_every_setting_there_is_stands_in_the_template() -> None:
    text = everything()
    parts: tuple[type[BaseModel], ...] = (Settings, Attributes, Costs, Disruptions, Events, FileLimits, Prices, Rate)
    parts += (
        ReplicaNames,
        ServedModel,
        Receive,
        Serve,
        OwnTelemetry,
        Export,
        Privacy,
        Retention,
        Schedule,
        Alarms,
        Rule,
        Slo,
        BurnRate,
        Notify,
        Channel,
        Templates,
    )
    named = {name for model in parts for name in model.model_fields}
    for name in (named | set(_fields(Workload))) - {"base", "file_digest"}:
        assert re.search(rf"^(\[+)?([\w.]+\.)?{name}[ .\]]", text, re.MULTILINE), name


def test_it_overwrites_nothing_unless_told_to(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("mine")
    failed = goodput("init", ask=False)
    assert failed.returncode == 2
    assert "goodput.toml exists already." in failed.stderr
    assert (tmp_path / "goodput.toml").read_text() == "mine"
    assert goodput("init", "--force", ask=False).returncode == 0
    assert (tmp_path / "goodput.toml").read_text() == template()


def test_a_folder_gets_the_file_inside(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    assert goodput("init", "fleet", ask=False).returncode == 0
    assert (tmp_path / "fleet" / "goodput.toml").exists()


def test_a_missing_folder_is_said(goodput: Run) -> None:
    failed = goodput("init", "nowhere/goodput.toml", ask=False)
    assert failed.returncode == 1
    assert "cannot write" in failed.stderr


def _fields(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _fields(part)
