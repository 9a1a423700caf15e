"""What runs Goodput elsewhere: image, compose file, units and manifests name commands, ports and folders that exist."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from goodput.cli.main import app
from goodput.settings.load import load_settings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
USER = 10001
PIN = re.compile(r"^(?P<name>[\w.-]+)(\[[\w,-]+\])?==(?P<version>[^ ;\\]+)(?P<where>[^\\]*)", re.MULTILINE)


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


MANIFESTS = {
    f"{one['kind']} {one['metadata']['name']}": one
    for one in yaml.safe_load_all((DEPLOY / "kubernetes/goodput.yaml").read_text())
}
COMPOSE = read("compose/compose.yaml")
COLLECTOR = read("compose/collector.yaml")


def unit(name: str) -> dict[str, dict[str, str]]:
    parsed = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(DEPLOY / "systemd" / name)
    return {section: dict(parsed[section]) for section in parsed.sections()}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "receive", MANIFESTS["Deployment goodput-receive"]["spec"]["template"]["spec"]
    yield "run", MANIFESTS["CronJob goodput-run"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]


# --- commands


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for name in ("goodput-run.service", "goodput-receive.service"):
        program, *words = shlex.split(unit(name)["Service"]["ExecStart"])
        assert program == "/opt/goodput/bin/goodput"
        yield name, words
    for name, pod in pods():
        yield f"pod {name}", pod["containers"][0]["args"]
    service = COMPOSE["services"]["goodput"]
    for text in (*service["command"], " ".join(service["healthcheck"]["test"][1:])):
        for words in re.findall(r"goodput ([^;]+)", text):
            yield "compose", words.split()


@pytest.mark.parametrize(("where", "words"), list(command_lines()), ids=lambda of: of if isinstance(of, str) else "")
def test_commands_and_options_exist(where: str, words: list[str]) -> None:
    command = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
    known = {name for option in command.params for name in option.opts}
    assert {word for word in words[1:] if word.startswith("--")} <= known, where


def default_ports() -> dict[str, int]:
    command = typer.main.get_command(app).commands["receive"]  # type: ignore[attr-defined]
    return {option.name: option.default for option in command.params if option.name in ("port", "grpc_port")}


def test_ports_are_those_of_otlp_and_of_the_receiver() -> None:
    assert default_ports() == {"port": 4318, "grpc_port": 4317}
    (_, receive), _ = pods()
    named = {port["name"]: port["containerPort"] for port in receive["containers"][0]["ports"]}
    assert named == {"otlp-http": 4318, "otlp-grpc": 4317}
    service = {port["name"]: port["port"] for port in MANIFESTS["Service goodput"]["spec"]["ports"]}
    assert service == named
    assert {port["targetPort"] for port in MANIFESTS["Service goodput"]["spec"]["ports"]} == set(named)
    probes = {receive["containers"][0][f"{kind}Probe"]["tcpSocket"]["port"] for kind in ("startup", "readiness")}
    assert probes <= set(named)
    assert COMPOSE["services"]["collector"]["ports"] == ["4317:4317", "4318:4318"]
    protocols = COLLECTOR["receivers"]["otlp"]["protocols"]
    assert {name: of["endpoint"] for name, of in protocols.items()} == {"grpc": "0.0.0.0:4317", "http": "0.0.0.0:4318"}


# --- settings and folders


def test_settings_can_be_read_and_lie_where_volumes_are(tmp_path: Path) -> None:
    inside = MANIFESTS["ConfigMap goodput"]["data"]["goodput.toml"]
    for text, folders in (
        (inside, {"data/landing", "data/lake"}),
        ((DEPLOY / "compose/goodput.toml").read_text(), {"landing", "lake"}),
    ):
        (tmp_path / "goodput.toml").write_text(text)
        load_settings(tmp_path / "goodput.toml")
        given = tomllib.loads(text)
        assert {*given["landing"], given["lake"]} == folders
    for _, pod in pods():
        mounted = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted["settings"] == "/srv/goodput/goodput.toml"
        assert mounted["data"] == "/srv/goodput/data"
        assert {volume["name"] for volume in pod["volumes"]} == set(mounted)
    mounts = COMPOSE["services"]["goodput"]["volumes"]
    assert mounts[1:] == ["landing:/srv/goodput/landing:ro", "lake:/srv/goodput/lake"]


def test_what_the_collector_writes_is_what_goodput_reads() -> None:
    assert "landing:/var/lib/otel" in COMPOSE["services"]["collector"]["volumes"]
    files = {name: of["path"] for name, of in COLLECTOR["exporters"].items() if name.startswith("file/")}
    assert all(path.startswith("/var/lib/otel/") for path in files.values())
    written = {name for of in COLLECTOR["service"]["pipelines"].values() for name in of["exporters"]}
    assert set(files) <= written <= set(COLLECTOR["exporters"])
    for of in COLLECTOR["service"]["pipelines"].values():
        assert set(of["receivers"]) <= set(COLLECTOR["receivers"])
        assert set(of.get("processors", ())) <= set(COLLECTOR["processors"])


def test_what_runs_tell_of_themselves_never_lands() -> None:
    """Else each run would have something new to read."""
    own = tomllib.loads((DEPLOY / "compose/goodput.toml").read_text())["telemetry"]["endpoint"]
    assert own == f"http://collector:{COLLECTOR['receivers']['otlp/own']['protocols']['http']['endpoint'][-5:]}"
    taken = [of for of in COLLECTOR["service"]["pipelines"].values() if "otlp/own" in of["receivers"]]
    assert len(taken) == 3  # each signal is taken, or the exporter would be refused
    assert {name for of in taken for name in of["exporters"]} == {"prometheus/own", "nop"}
    (job,) = read("compose/prometheus.yaml")["scrape_configs"]
    port = COLLECTOR["exporters"]["prometheus/own"]["endpoint"].rpartition(":")[2]
    assert job["static_configs"] == [{"targets": [f"collector:{port}"]}]


# --- what it may do


def test_nothing_runs_as_root_or_writes_beside_its_volumes() -> None:
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == USER
        assert pod["automountServiceAccountToken"] is False
        confined = pod["containers"][0]["securityContext"]
        assert confined["readOnlyRootFilesystem"] is True
        assert confined["capabilities"] == {"drop": ["ALL"]}
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        for port in service.get("ports", ()):
            assert name == "collector" or port.startswith("127.0.0.1:"), name
    assert f"USER {USER}:{USER}" in (DEPLOY / "Dockerfile").read_text()
    assert COMPOSE["services"]["collector"]["user"] == f"{USER}:{USER}"
    for name in ("goodput-run.service", "goodput-receive.service"):
        service = unit(name)["Service"]
        assert (service["User"], service["ProtectSystem"], service["NoNewPrivileges"]) == ("goodput", "strict", "true")


def test_one_writer_holds_a_lake() -> None:
    run = MANIFESTS["CronJob goodput-run"]["spec"]
    assert run["concurrencyPolicy"] == "Forbid"
    assert MANIFESTS["PersistentVolumeClaim goodput"]["spec"]["accessModes"] == ["ReadWriteOnce"]
    _, (_, pod) = pods()
    (near,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    receive = MANIFESTS["Deployment goodput-receive"]["spec"]
    assert near["labelSelector"]["matchLabels"] == receive["template"]["metadata"]["labels"]
    assert receive["selector"]["matchLabels"] == MANIFESTS["Service goodput"]["spec"]["selector"]
    assert (receive["replicas"], receive["strategy"]["type"]) == (1, "Recreate")
    assert unit("goodput-run.service")["Service"]["Type"] == "oneshot"  # a timer starts no second one
    assert unit("goodput-run.timer")["Timer"]["OnCalendar"] == "*-*-* *:10:00"
    assert run["schedule"] == "10 * * * *"


def test_no_manifest_names_a_registry() -> None:
    images = [service["image"] for service in COMPOSE["services"].values()]
    images += [pod["containers"][0]["image"] for _, pod in pods()]
    assert all(re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)?(:[\w.]+)?", image) for image in images), images


# --- what is installed


def test_the_image_has_what_was_tested() -> None:
    """Each pin of the image is one of the lock, with the same hashes; `make lock` writes both."""
    locked, installed = (
        {found["name"]: found["version"] for found in PIN.finditer(path.read_text())}
        for path in (ROOT / "requirements.lock", DEPLOY / "requirements.txt")
    )
    assert installed.items() <= locked.items()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {re.split(r"[<>=;\[ ]", one)[0].lower() for one in wanted["project"]["dependencies"]}
    assert names <= {name.lower() for name in installed}
    assert not {"pytest", "mypy", "playwright", "hatchling"} & set(installed)
    hashes = re.findall(r"sha256:[0-9a-f]{64}", (DEPLOY / "requirements.txt").read_text())
    assert set(hashes) <= set(re.findall(r"sha256:[0-9a-f]{64}", (ROOT / "requirements.lock").read_text()))
