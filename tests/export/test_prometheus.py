"""A real Prometheus scrapes what is exposed, and answers PromQL with the database's numbers."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from export.conftest import HOSTILE, asking
from export.expected import expected
from goodput.export.exposition import exposition
from ports import free_port

pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".prom": "text/plain; version=0.0.4; charset=utf-8"}  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The port of a server of the files of a folder."""
    handler = functools.partial(_Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Prometheus:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **given: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(given)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, promql: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """The samples of an instant vector, without what the scrape adds."""
        found = {}
        for series in self.get("/api/v1/query", query=promql)["result"]:
            labels = {key: value for key, value in series["metric"].items() if key not in ("job", "instance")}
            found[labels.pop("__name__", ""), frozenset(labels.items())] = float(series["value"][1])
        return found


@contextmanager
def scraping(text: str, folder: Path, rules: Path | None = None) -> Iterator[Prometheus]:
    """A Prometheus that has scraped this text."""
    (folder / "www").mkdir()
    (folder / "www/goodput.prom").write_text(text, encoding="utf-8")
    port = free_port()
    with serving(folder / "www") as served:
        jobs = [{"job_name": "goodput", "metrics_path": "/goodput.prom"}]
        jobs[0]["static_configs"] = [{"targets": [f"127.0.0.1:{served}"]}]  # type: ignore[assignment]
        settings = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs}
        settings["rule_files"] = [str(rules / "*.yml")] if rules else []  # type: ignore[assignment]
        (folder / "prometheus.yml").write_text(json.dumps(settings))
        command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            yield ready(Prometheus(port), folder)
        finally:
            running.terminate()
            running.wait()


def ready(prometheus: Prometheus, folder: Path) -> Prometheus:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if prometheus.query("up == 1"):
                return prometheus
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError((folder / "log").read_text()[-3000:])


def same(got: dict[Any, float], wanted: dict[Any, float]) -> None:
    assert got.keys() == wanted.keys()
    assert got == {key: pytest.approx(value, rel=1e-12) for key, value in wanted.items()}


def test_prometheus_answers_with_the_numbers_of_the_database(config: Path, tmp_path: Path) -> None:
    with asking(config) as connection:
        text, wanted = exposition(connection), expected(connection)
    with scraping(text, tmp_path) as prometheus:
        same(prometheus.query('{__name__=~"goodput_.+"}'), wanted)
        same(
            prometheus.query('sum by () (goodput_waste_usd{goodput_slice="overall"})'),
            {("", frozenset()): wanted["goodput_cost_usd", overall(wanted)]},
        )
        verdicts = prometheus.query('sum(goodput_verdicts{goodput_slice="workload"})')
        assert verdicts == {("", frozenset()): wanted["goodput_offered", overall(wanted)]}
    assert len(wanted) > 500


def overall(wanted: dict[Any, float]) -> frozenset[tuple[str, str]]:
    (labels,) = [of for name, of in wanted if name == "goodput_offered" and ("goodput_slice", "overall") in of]
    return labels


def test_hostile_names_arrive_as_they_are(config: Path, hostile: Path, tmp_path: Path) -> None:
    with asking(config, hostile) as connection:
        text, wanted = exposition(connection), expected(connection)
    with scraping(text, tmp_path) as prometheus:
        same(prometheus.query('{__name__=~"goodput_.+"}'), wanted)
        names = prometheus.get("/api/v1/label/goodput_pool/values")
    assert {HOSTILE + "chat", HOSTILE + "rag"} <= set(names)


@pytest.mark.parametrize("names", ["config", "hostile"])
def test_promtool_finds_nothing_to_complain_of(names: str, request: pytest.FixtureRequest, config: Path) -> None:
    given = request.getfixturevalue(names)
    with asking(config, given if names == "hostile" else None) as connection:
        text = exposition(connection)
    said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
