"""A real engine behind a real gateway: one replica at one cost, whichever layers are traced.

See docs/semantics.md#which-replica.
"""

from pathlib import Path

import pytest

from declared import bills, source
from published import ask, run_at

CAPTURE = Path(__file__).parent.parent.parent.parent / "shared/data/captures/vllm/main"
pytestmark = pytest.mark.skipif(not CAPTURE.is_dir(), reason="the shared captures are not beside this checkout")

TRACES = {"C": "client_traces.pb.gz", "G": "gateway_traces.pb.gz", "E": "engine_traces.pb.gz"}
USD_PER_HOUR = 2.0
ENGINE_SPANS = 563  # `llm_request` among the 570 spans of its file
SETTINGS = """
landing = [{landing}]
lake = "lake"
[workloads.chat]
match = {{ model = "tiny" }}
[rates.all]
pool = "*"
usd_per_gpu_hour = {usd}
[alarms]
enabled = false
"""


@pytest.mark.only("replica_windows", "coverage", "waste")
@pytest.mark.parametrize("layers", ["C", "G", "E", "CG", "CE", "GE", "CGE"])
def test_one_engine_is_one_replica_and_costs_once(tmp_path: Path, layers: str) -> None:
    files = [CAPTURE / TRACES[layer] for layer in layers] + [CAPTURE / "prometheus"]
    landing = ", ".join(f'"{file.resolve()}"' for file in files)
    (tmp_path / "goodput.toml").write_text(SETTINGS.format(landing=landing, usd=USD_PER_HOUR))
    workspace = run_at(tmp_path / "goodput.toml")
    # the folder of the scrapes is called as the pod is in the resource of the engine's spans
    for relation in ("replica_windows", "replica_samples", "coverage"):
        assert ask(workspace, f"SELECT DISTINCT replica FROM {relation}")["replica"].to_list() == ["vllm-tiny-0"]
    served = ask(workspace, "SELECT DISTINCT replica FROM attempts WHERE replica IS NOT NULL")["replica"].to_list()
    assert served == ([] if layers == "C" else ["vllm-tiny-0"])
    # up from the first scrape to the last, and a little longer where spans show it
    scrapes = sorted(int(file.name.partition(".")[0]) for file in (CAPTURE / "prometheus/vllm-tiny-0").iterdir())
    bill = "SELECT sum(usd) AS usd FROM waste WHERE slice = 'overall' AND window_s = 86400"
    up_s = ask(workspace, bill)["usd"].item() / USD_PER_HOUR * 3600
    assert scrapes[-1] - scrapes[0] <= up_s <= scrapes[-1] - scrapes[0] + 10
    # nothing that has a model, its own or its replica's, is left without a workload
    modelled = "SELECT count(*) AS n FROM requests WHERE workload <> 'chat' AND model IS NOT NULL"
    assert ask(workspace, modelled)["n"].item() == 0
    if layers == "E":
        found = ask(workspace, "SELECT model, model_from, count(*) AS n FROM attempts GROUP BY ALL").rows()
        assert found == [("tiny", "scrape", ENGINE_SPANS)]


BEGIN, END = "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"
BILLS = bills("invoice", "invoice.csv", 'basis = "billing"', cost_id="id", amount_usd="usd", replica="of")
EVENTS = source(
    "events", "events.csv", "ops_events", units={"occurred_at": "iso8601"}, kind="kind", replica="of", occurred_at="at"
)


@pytest.mark.only("cost_ledger", "ops_events", "warnings")
@pytest.mark.parametrize("named", ["vllm-tiny-0", "0c6f3a52-7d1e-4c88-9b51-5f0f7f2b9a10", "127.0.0.1:8000"])
def test_bills_and_operations_may_call_it_by_its_uid_or_its_address(tmp_path: Path, named: str) -> None:
    """Its pod's name and uid are in its resource; its address is what the gateway called."""
    written = tmp_path / "written"
    written.mkdir()
    (written / "invoice.csv").write_text(f"id,usd,from,until,of\n1,7.2,{BEGIN},{END},{named}\n")
    (written / "events.csv").write_text(f"kind,at,of\nrestart,2026-11-22T10:20:00Z,{named}\n")
    files = [*(CAPTURE / name for name in TRACES.values()), CAPTURE / "prometheus", written]
    landing = ", ".join(f'"{file.resolve()}"' for file in files)
    settings = SETTINGS.format(landing=landing, usd=USD_PER_HOUR) + BILLS + EVENTS
    (tmp_path / "goodput.toml").write_text(settings)
    workspace = run_at(tmp_path / "goodput.toml")
    paid = "SELECT replica, basis, sum(usd) FROM cost_ledger WHERE usd <> 0 GROUP BY ALL"
    ((replica, basis, usd),) = ask(workspace, paid).rows()
    assert (replica, basis, usd) == ("vllm-tiny-0", "billing", pytest.approx(7.2))
    assert ask(workspace, "SELECT replica FROM ops_events").rows() == [("vllm-tiny-0",)]
    assert ask(workspace, "SELECT kind FROM warnings WHERE kind IN ('cost_unattributed', 'replica_apart')").rows() == []
    shared = "SELECT subject FROM warnings WHERE kind = 'replica_name_shared'"
    assert ask(workspace, shared).rows() == []
