"""A real engine behind a real gateway: one replica at one cost, whichever layers are traced.

See docs/semantics.md#which-replica.
"""

from pathlib import Path

import pytest

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
