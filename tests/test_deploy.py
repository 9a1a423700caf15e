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
REQUIREMENTS = ("deploy/requirements.txt", "deploy/requirements-cluster.txt")
PIN = re.compile(r"^(?P<name>[\w.-]+)(\[[\w,-]+\])?==(?P<version>[^ ;\\]+)(?P<where>[^\\]*)", re.MULTILINE)


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def manifests(name: str) -> dict[str, Any]:
    every = yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())
    return {f"{one['kind']} {one['metadata']['name']}": one for one in every}


MANIFESTS = manifests("goodput.yaml")
ON_RAY = manifests("rayjob.yaml")
RAY_JOB = ON_RAY["RayCronJob goodput-run"]["spec"]["jobTemplate"]
RAY_CLUSTER = RAY_JOB["rayClusterSpec"]
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


def ray_pods() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "submit", RAY_JOB["submitterPodTemplate"]["spec"]
    yield "head", RAY_CLUSTER["headGroupSpec"]["template"]["spec"]
    for group in RAY_CLUSTER["workerGroupSpecs"]:
        yield group["groupName"], group["template"]["spec"]


# --- commands


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for name in ("goodput-run.service", "goodput-receive.service"):
        program, *words = shlex.split(unit(name)["Service"]["ExecStart"])
        assert program == "/opt/goodput/bin/goodput"
        yield name, words
    for name, pod in pods():
        yield f"pod {name}", pod["containers"][0]["args"]
    program, *words = shlex.split(RAY_JOB["entrypoint"])
    assert program == "goodput"
    yield "Ray job", words
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


def test_the_receiver_is_deployed_alone_by_its_label() -> None:
    name = "app.kubernetes.io/component"
    labelled = {key for key, one in MANIFESTS.items() if one["metadata"]["labels"].get(name) == "receive"}
    assert labelled == {"Deployment goodput-receive", "Service goodput"}


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
    inside, on_ray = (given["ConfigMap goodput"]["data"]["goodput.toml"] for given in (MANIFESTS, ON_RAY))
    for text, folders in (
        (inside, {"data/landing", "data/lake"}),
        (on_ray, {"data/landing", "data/lake"}),
        ((DEPLOY / "compose/goodput.toml").read_text(), {"landing", "lake"}),
    ):
        (tmp_path / "goodput.toml").write_text(text)
        load_settings(tmp_path / "goodput.toml")
        given = tomllib.loads(text)
        assert {*given["landing"], given["lake"]} == folders
    for name, pod in (*pods(), *ray_pods()):
        mounted = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted["tmp"] == "/tmp"
        assert {volume["name"] for volume in pod["volumes"]} == set(mounted)
        if name != "submit":
            assert mounted["settings"] == "/srv/goodput/goodput.toml"
            assert mounted["data"] == "/srv/goodput/data"
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
    for name, pod in (*pods(), *ray_pods()):
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == USER
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["automountServiceAccountToken"] is False, name
        (container,) = pod["containers"]
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"] is True
        assert confined["allowPrivilegeEscalation"] is False
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


def test_a_ray_job_takes_the_place_of_the_hourly_run() -> None:
    """The receiver of the other manifest finds settings and volume under the same names, as does every node."""
    volumes = MANIFESTS["Deployment goodput-receive"]["spec"]["template"]["spec"]["volumes"]
    wanted = {
        *(f"ConfigMap {volume['configMap']['name']}" for volume in volumes if "configMap" in volume),
        *(
            f"PersistentVolumeClaim {of['claimName']}"
            for volume in volumes
            if (of := volume.get("persistentVolumeClaim"))
        ),
    }
    assert wanted == {one for one in MANIFESTS if one.startswith(("ConfigMap", "Persistent"))} == set(ON_RAY) & wanted
    for name, pod in ray_pods():
        if name != "submit":
            assert {"configMap": {"name": "goodput"}, "name": "settings"} in pod["volumes"], name
            assert {"persistentVolumeClaim": {"claimName": "goodput"}, "name": "data"} in pod["volumes"], name
    assert ON_RAY["PersistentVolumeClaim goodput"]["spec"]["accessModes"] == ["ReadWriteMany"]
    scheduled, cron = (given["spec"] for given in (ON_RAY["RayCronJob goodput-run"], MANIFESTS["CronJob goodput-run"]))
    assert [scheduled[name] for name in ("schedule", "timeZone")] == [cron[name] for name in ("schedule", "timeZone")]
    for name in ("backoffLimit", "activeDeadlineSeconds"):
        assert RAY_JOB[name] == cron["jobTemplate"]["spec"][name]


def test_a_ray_cluster_ends_with_its_job_however_that_ends() -> None:
    """KubeRay refuses these rules beside `shutdownAfterJobFinishes`; a failed job has the deployment status too."""
    assert not {"shutdownAfterJobFinishes", "ttlSecondsAfterFinished"} & set(RAY_JOB)
    rules: dict[str, dict[str, int]] = {}
    for rule in RAY_JOB["deletionStrategy"]["deletionRules"]:
        condition = dict(rule["condition"])
        after = condition.pop("ttlSeconds")
        (ended,) = condition.items()
        rules.setdefault("=".join(ended), {})[rule["policy"]] = after
    assert set(rules) == {"jobStatus=SUCCEEDED", "jobDeploymentStatus=Failed"}
    assert all(of["DeleteCluster"] == 0 < of["DeleteSelf"] for of in rules.values())
    assert RAY_JOB["submissionMode"] == "K8sJobMode"  # the only one with a pod template, so that it may be confined
    assert RAY_JOB["submitterPodTemplate"]["spec"]["restartPolicy"] == "Never"


def test_what_ray_is_asked_is_there_in_the_image() -> None:
    """Probes that run a command need one that the image has; the agent of the dashboard answers these to anyone."""
    for name, pod in ray_pods():
        container = pod["containers"][0]
        assert not {"command", "args"} & set(container), name  # the operator's own
        for kind in ("readiness", "liveness"):
            probe = container.get(f"{kind}Probe")
            assert (probe is None) == (name == "submit"), name
            if probe is not None:
                assert probe["httpGet"] == {"path": "/api/healthz", "port": 52365}, name
                assert not {"exec", "tcpSocket", "grpc"} & set(probe), name
    ports = {
        of["name"]: of["containerPort"]
        for of in RAY_CLUSTER["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"]
    }
    assert ports == {"gcs-server": 6379, "dashboard": 8265}  # of the head's service: none that is left out is reached
    assert RAY_CLUSTER["authOptions"] == {"mode": "token"}
    assert RAY_CLUSTER["rayVersion"] == pins("deploy/requirements-cluster.txt")["ray"]


def test_a_shard_fits_the_memory_of_a_ray_task(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(ON_RAY["ConfigMap goodput"]["data"]["goodput.toml"])
    cluster = load_settings(tmp_path / "goodput.toml").cluster
    assert cluster.ray == "auto"
    assert cluster.shard_records is not None
    assert RAY_CLUSTER["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"  # the run has the head for itself
    for group in RAY_CLUSTER["workerGroupSpecs"]:
        resources = group["template"]["spec"]["containers"][0]["resources"]
        assert group["rayStartParams"]["num-cpus"] == resources["requests"]["cpu"]
        assert resources["requests"]["memory"] == resources["limits"]["memory"]
        of_node = int(resources["limits"]["memory"].removesuffix("Gi")) << 30
        share = 0.8 * of_node / int(resources["requests"]["cpu"])
        assert cluster.shard_records / 2 * 11_000 <= share  # docs/scale.md: 11 KB a request, of two records
        assert group["minReplicas"] == group["replicas"] == group["maxReplicas"]


def test_no_manifest_names_a_registry() -> None:
    images = [service["image"] for service in COMPOSE["services"].values()]
    images += [pod["containers"][0]["image"] for _, pod in (*pods(), *ray_pods())]
    assert all(re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)?(:[\w.]+)?", image) for image in images), images


# --- what is installed


def pins(name: str) -> dict[str, str]:
    return {found["name"]: found["version"] for found in PIN.finditer((ROOT / name).read_text())}


def hashes(name: str) -> dict[str, set[str]]:
    requirements = re.split(r"\n(?=\S)", (ROOT / name).read_text())
    return {PIN.match(one)["name"]: set(re.findall(r"sha256:[0-9a-f]{64}", one)) for one in requirements}  # type: ignore[index]


def test_the_image_has_what_was_tested() -> None:
    """Each pin of the image is one of the lock, with the same hashes; `make lock` writes both."""
    locked, installed = pins("requirements.lock"), pins("deploy/requirements.txt")
    assert installed.items() <= locked.items()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {re.split(r"[<>=;\[ ]", one)[0].lower() for one in wanted["project"]["dependencies"]}
    assert names <= {name.lower() for name in installed}
    assert not {"pytest", "mypy", "playwright", "hatchling"} & set(installed)
    assert hashes("deploy/requirements.txt").items() <= hashes("requirements.lock").items()


def test_the_image_with_ray_has_the_same_and_the_server_of_jobs() -> None:
    plain, with_ray = REQUIREMENTS
    for of in (pins, hashes):
        assert of(plain).items() <= of(with_ray).items() <= of("requirements.lock").items()
        assert all(of(with_ray).values())
    installed = pins(with_ray)
    assert {"ray", "obstore", "dagster-ray"} <= set(installed)
    assert {"aiohttp", "aiohttp-cors", "virtualenv"} <= set(installed)  # of `default`: without them no job is taken
    assert not {"pytest", "mypy", "playwright", "hatchling"} & set(installed)


def test_the_image_can_be_built_with_either() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    build = dockerfile.partition(" AS build\n")[2]
    assert f"ARG REQUIREMENTS={REQUIREMENTS[0]}\nCOPY ${{REQUIREMENTS}} /tmp/requirements.txt\n" in build
    assert f"--build-arg REQUIREMENTS={REQUIREMENTS[1]}" in dockerfile
    seen = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    lock = (ROOT / "Makefile").read_text()
    for name in REQUIREMENTS:
        assert f"!{name}" in seen
        assert f"--output-file {name}\n" in lock
        assert not re.search(r"^-|://|--(index|extra|find|trusted)|@", (ROOT / name).read_text(), re.MULTILINE)
