"""Runs a capture whose emitter is a program of Node: installs its packages, gives it the plan, reads what it saw."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from . import truth
from .drive import name_of, write
from .mock_model import MockModel
from .plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, planned
from .receiver import Receiver
from .truth import Seen

_HERE = Path(__file__).parent


def capture(
    script: str, program: str, packages: Mapping[str, str], *, without: Iterable[str], settings: str = ""
) -> None:
    """Install the packages from npm, run the program over the plan and write its capture.

    The program lies beside the script. `plan.json` tells it the calls and where to send; it prints a JSON line for each
    call: rid, start_ns, first_ns, end_ns, outcome, error.
    """
    name = name_of(script)
    calls = planned(name, frozenset(without))
    mock, receiver = MockModel(calls), Receiver()
    with tempfile.TemporaryDirectory() as place:
        _install(Path(place), Path(script).parent / program, packages)
        asked = [{**asdict(call), "prompt": call.prompt} for call in calls]
        where = {"model_url": f"{mock.url}/v1", "otlp_url": receiver.url}
        how = {"model": MODEL, "retries": RETRIES, "timeout_ms": int(CLIENT_TIMEOUT_S * 1000)}
        plan = {**where, **how, "calls": asked}
        (Path(place) / "plan.json").write_text(json.dumps(plan))
        done = subprocess.run(["node", program], cwd=place, stdout=subprocess.PIPE, text=True, check=True)
    time.sleep(1)
    by_rid = {call.rid: call for call in calls}
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    seen = [Seen(by_rid[line.pop("rid")], **line) for line in told]
    bodies = {"traces": receiver.bodies["traces"]}
    write(name, bodies, truth.of_client(seen, mock.served), dict(packages), settings)


def _install(place: Path, program: Path, packages: Mapping[str, str]) -> None:
    for source in (program, _HERE / "client.mjs"):
        shutil.copy(source, place)
    (place / "package.json").write_text(json.dumps({"type": "module", "dependencies": dict(packages)}))
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=place, check=True)
