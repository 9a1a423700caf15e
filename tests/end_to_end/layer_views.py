"""What each combination of layers says of a fleet: a real engine, gateway and client, against the client's truth.

`python -m end_to_end.layer_views` (with tests/ on the path) writes the table into docs/telemetry.md;
`test_layer_views.py` fails where the page differs.
"""

import gzip
import json
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from published import ask, run_at

CAPTURES = Path(__file__).parents[3] / "shared/data/captures/vllm"
PAGE = Path(__file__).parents[2] / "docs/telemetry.md"
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"
COMBINATIONS = ("C", "G", "E", "CG", "CE", "GE", "CGE")
TRACES = {"C": "client_traces.pb.gz", "G": "gateway_traces.pb.gz", "E": "engine_traces.pb.gz"}
TTFT_S, TPOT_S, USD_PER_HOUR = 1.0, 0.05, 2.0
SETTINGS = f"""
landing = [{{landing}}]
lake = "lake"
[workloads.chat]
match = {{{{ model = "*tiny*" }}}}
ttft_s = {TTFT_S}
tpot_s = {TPOT_S}
retry_budget = 0
[rates.machine]
pool = "*"
usd_per_gpu_hour = {USD_PER_HOUR}
"""
HEAD = (
    "layers",
    "requests",
    "attempts",
    "outcome",
    "tokens",
    "cached",
    "ttft",
    "verdict",
    "replica",
    "cost",
    "differences",
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Compared:
    """The truth of each request beside the requests that a combination of layers has of it."""

    found: list[tuple[Row, list[Row]]]
    requests: int
    attempts: int
    replicas: list[str]
    usd: float

    @property
    def pairs(self) -> list[tuple[Row, Row | None]]:
        """The same where none became several; None where it has none."""
        assert not [row for row, found in self.found if len(found) > 1]
        return [(row, found[0] if found else None) for row, found in self.found]


def truth(part: str) -> list[Row]:
    """The requests that clients made in a part of the capture."""
    with gzip.open(CAPTURES / part / "client_truth.jsonl.gz") as file:
        return [json.loads(line) for line in file]


@cache
def compared(layers: str, part: str = "main") -> Compared:
    """One run over the traces of these layers and the engine's scrapes."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "goodput.toml"
        names = [*(TRACES[layer] for layer in layers), "prometheus"]
        config.write_text(SETTINGS.format(landing=", ".join(f'"{CAPTURES / part / name}"' for name in names)))
        workspace = run_at(config)
        attempts = ask(workspace, "SELECT request_key, trace_id, response_id, record_ids FROM attempts").to_dicts()
        requests = {row["request_key"]: row for row in ask(workspace, "SELECT * FROM requests").to_dicts()}
        replicas = ask(workspace, "SELECT DISTINCT replica FROM attempts WHERE replica IS NOT NULL ORDER BY 1")
        usd = ask(workspace, "SELECT sum(usd) FROM cost_ledger").item()
    keys: dict[str, set[str]] = defaultdict(set)
    for attempt in attempts:
        for name in (
            attempt["trace_id"],
            attempt["response_id"],
            *(i.partition(":")[0] for i in attempt["record_ids"]),
        ):
            keys[name].add(attempt["request_key"])
    both: list[tuple[Row, list[Row]]] = []
    for row in truth(part):
        names = {name for tried in row["attempts"] for name in (tried["trace_id"], tried.get("response_id")) if name}
        found = sorted(set().union(*(keys[name] for name in names)))
        both.append((row, [requests[key] for key in found]))
    return Compared(both, len(requests), len(attempts), replicas["replica"].to_list(), usd)


def true_latencies(row: Row) -> tuple[float, float | None, float | None]:
    """e2e, ttft and tpot as the client measured them; of an answer that was not streamed ttft is e2e."""
    e2e = (row["end_unix_nano"] - row["send_unix_nano"]) / 1e9
    if not row["stream"]:
        return e2e, e2e, None
    if row["first_token_unix_nano"] is None:
        return e2e, None, None
    ttft = (row["first_token_unix_nano"] - row["send_unix_nano"]) / 1e9
    more = (row["output_tokens"] or 0) - 1
    return e2e, ttft, (e2e - ttft) / more if more > 0 else None


def true_verdict(row: Row) -> str:
    """The verdict by the gates of SETTINGS."""
    if row["outcome"] != "ok":
        return "failed"
    if len(row["attempts"]) > 1:
        return "over_budget"
    _, ttft, tpot = true_latencies(row)
    return "slow" if (ttft or 0) > TTFT_S or (tpot or 0) > TPOT_S else "accepted"


def difference(row: Row, found: Row | None) -> str | None:
    """Why a verdict is not the client's; None where it is."""
    if found is None:
        return "not recorded by any of these layers"
    if found["verdict"] == true_verdict(row):
        return None
    e2e, ttft, _ = true_latencies(row)
    reasons = {
        "the client had left an answer that was then finished": row["outcome"] != "ok" and found["outcome"] == "ok",
        # to the client it has no first token; that of an inner layer may be late
        "a stream without a first token that has text": row["stream"]
        and row["first_token_unix_nano"] is None
        and (found["verdict"] == "unevaluable" or TTFT_S < found["ttft_s"] <= e2e),
        "not streamed, which no layer says: the engine's first token counts": not row["stream"]
        and found["streamed"] is None,
        "slow between this layer and the client": ttft is not None
        and found["ttft_s"] is not None
        and found["ttft_s"] <= ttft + 0.001
        and found["e2e_s"] <= e2e + 0.001,
    }
    return next((reason for reason, holds in reasons.items() if holds), "unexplained")


def line(layers: str) -> str:
    """The row of one combination."""
    c = compared(layers)
    seen = [(row, found) for row, found in c.pairs if found]
    answered = [(row, found) for row, found in seen if row["outcome"] == "ok"]
    timed = [(row, found) for row, found in answered if row["stream"] and row["first_token_unix_nano"]]
    near = sum(_near(found["ttft_s"], true_latencies(row)[1]) for row, found in timed)
    tokens = sum(
        (found["input_tokens"], found["output_tokens"]) == (row["input_tokens"], row["output_tokens"])
        for row, found in answered
    )
    told = [(row, found) for row, found in answered if found["cached_input_tokens"] is not None]
    cached = sum(found["cached_input_tokens"] == row["cached_tokens"] for row, found in told)
    reasons = Counter(reason for row, found in c.pairs if (reason := difference(row, found)))
    cells = (
        layers,
        _share(len(seen), len(c.pairs)),
        str(c.attempts),
        _share(sum(found["outcome"] == row["outcome"] for row, found in seen), len(seen)),
        _share(tokens, len(answered)),
        f"{cached} of {len(answered)}",
        _share(near, len(timed)),
        _share(sum(difference(row, found) is None for row, found in c.pairs), len(c.pairs)),
        ", ".join(c.replicas) or "not known",
        f"${c.usd:.3f}",
        "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "none",
    )
    return "| " + " | ".join(cells) + " |"


def _share(right: int, of: int) -> str:
    return "all" if right == of else f"{right} of {of}"


def _near(found: float | None, true: float | None) -> bool:
    return found is not None and true is not None and abs(found - true) <= 0.02 + 0.05 * true


def lines_of_page() -> list[str]:
    """The rows that the page has."""
    text = PAGE.read_text()
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().splitlines()[2:]


if __name__ == "__main__":
    text = PAGE.read_text()
    made = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *map(line, COMBINATIONS)]
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text("\n".join([before, *made, after]))
