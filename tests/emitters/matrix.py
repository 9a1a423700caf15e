"""How well each emitter is read: its own bytes through the whole pipeline, compared with the truth beside them.

`python -m emitters.matrix` (with tests/ on the path) writes the table into docs/telemetry.md; `test_matrix.py` fails
where the page differs.
"""

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from emitters.evidence import COLUMNS, Evidence
from emitters.truth_lines import Line, call_of, lines
from published import ask, run_at

DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[2] / "docs/telemetry.md"
BEGIN, END = "<!-- emitters: begin -->", "<!-- emitters: end -->"
HEAD = (
    *("emitter", "version", "requests", "attempts", "outcome", "tokens", "cached", "ttft", "tpot"),
    *("session", "replica", "not reported"),
)
SETTINGS = """
landing = [{landing}]
lake = "lake"
[workloads.chat]
ttft_s = 0.6
"""
TTFT_TOLERANCE_S, TPOT_TOLERANCE_S = 0.05, 0.002
_UNSAID = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "@opentelemetry/")
_ROWS = """
SELECT *, epoch_ns(arrived_at) AS start_ns, coalesce(epoch_ns(ended_at), epoch_ns(arrived_at)) AS end_ns FROM requests
"""
Row = dict[str, Any]
Verdict = Literal["right", "wrong", "unknown", "nothing"] | None  # None: there is no truth to compare with
Judge = Callable[[Row, Line], Verdict]


def emitters() -> list[str]:
    """The names of all captures."""
    return sorted(folder.name for folder in DATA.iterdir() if (folder / "truth.jsonl").exists())


def row(name: str) -> str:
    """The row of one emitter, as its bytes give it now."""
    folder = DATA / name
    calls = lines(folder)
    evidence = Evidence(folder, calls)
    found: dict[str, list[Row]] = defaultdict(list)
    extra = 0
    for request in _requests(folder):
        call = call_of(calls, request["start_ns"], request["end_ns"])
        if call:
            found[call.rid].append(request)
        else:
            extra += 1
    pairs = [(_nearest(call, found[call.rid]), call) for call in calls if found[call.rid]]
    cells = [name, _version(folder), _requests_cell(calls, found, extra, evidence)]
    cells += [_cell(pairs, column, judge, evidence) for column, judge in _JUDGES.items()]
    cells += [", ".join(_not_reported(evidence, calls)) or "-"]
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """The whole table."""
    return "\n".join([f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *map(row, emitters())])


def committed() -> list[str]:
    """The rows that the page has."""
    text = PAGE.read_text()
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().splitlines()[2:]


def _requests(folder: Path) -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        landing = ", ".join(f'"{path}"' for path in sorted(folder.glob("telemetry.*")))
        config = Path(place) / "goodput.toml"
        config.write_text(SETTINGS.format(landing=landing))
        return ask(run_at(config), _ROWS).to_dicts()


def _nearest(call: Line, rows: list[Row]) -> Row:
    return min(rows, key=lambda row: abs(row["start_ns"] - call.start_ns) + abs(row["end_ns"] - call.end_ns))


def _version(folder: Path) -> str:
    about = json.loads((folder / "emitter.json").read_text())
    packages = [f"{name} {version}" for name, version in about["versions"].items() if not name.startswith(_UNSAID)]
    return ", ".join(packages) + (f"; {about['settings']}" if about["settings"] else "")


def _requests_cell(calls: list[Line], found: dict[str, list[Row]], extra: int, evidence: Evidence) -> str:
    parts = Counter({"extra": extra} if extra else {})
    for call in calls:
        none = "not read" if evidence.knows(call) else "absent"
        parts[{0: none, 1: "right"}.get(len(found[call.rid]), "twice or more")] += 1
    return _said(parts)


def _cell(pairs: list[tuple[Row, Line]], columns: tuple[str, ...], judge: Judge, evidence: Evidence) -> str:
    parts: Counter[str] = Counter()
    for found, call in pairs:
        verdict = judge(found, call)
        if verdict == "nothing":
            is_reported = bool(columns) and all(evidence.has(column, call) for column in columns)
            parts["not read" if is_reported else "absent"] += 1
        elif verdict:
            parts[verdict] += 1
    return _said(parts)


def _said(parts: Counter[str]) -> str:
    order = ("right", "wrong", "twice or more", "extra", "not read", "absent", "unknown")
    if len(parts) == 1:
        return next(iter(parts))
    return ", ".join(f"{parts[name]} {name}" for name in order if parts[name]) or "-"


def _attempts(found: Row, call: Line) -> Verdict:
    counted = found["retry_count"] + 1
    if counted == call.attempts:
        return "right"
    return "nothing" if counted == 1 else "wrong"


def _outcome(found: Row, call: Line) -> Verdict:
    if found["outcome"] == "unknown":
        return "unknown"
    return "right" if found["outcome"] == call.outcome else "wrong"


def _tokens(found: Row, call: Line) -> Verdict:
    return _compared((found["input_tokens"], found["output_tokens"]), (call.input_tokens, call.output_tokens))


def _cached(found: Row, call: Line) -> Verdict:
    return _compared((found["cached_input_tokens"],), (call.cached_input_tokens,))


def _session(found: Row, call: Line) -> Verdict:
    return _compared((found["session_id"],), (call.session,))


def _replica(found: Row, call: Line) -> Verdict:
    if call.replica is None:
        return "nothing" if found["replica"] is None else "wrong"
    return _compared((found["replica"],), (call.replica,))


def _compared(published: tuple[Any, ...], true: tuple[Any, ...]) -> Verdict:
    if None in true:
        return None
    if published == true:
        return "right"
    return "nothing" if None in published else "wrong"


def _ttft(found: Row, call: Line) -> Verdict:
    """The instant of the first token, which does not depend on when a framework began its own work."""
    if call.ttft_s is None:
        return None
    if found["ttft_s"] is None:
        return "nothing"
    off_s = (found["start_ns"] - call.first_ns) / 1e9 + found["ttft_s"]
    return "right" if abs(off_s) <= TTFT_TOLERANCE_S else "wrong"


def _tpot(found: Row, call: Line) -> Verdict:
    if call.tpot_s is None:
        return None
    if found["tpot_s"] is None:
        return "nothing"
    return "right" if abs(found["tpot_s"] - call.tpot_s) <= TPOT_TOLERANCE_S else "wrong"


# In the order of the table's columns: what a cell needs to be in the bytes, and how a call is judged.
_JUDGES: dict[tuple[str, ...], Judge] = {
    ("attempts",): _attempts,
    (): _outcome,
    ("input_tokens", "output_tokens"): _tokens,
    ("cached_input_tokens",): _cached,
    ("ttft_s",): _ttft,
    ("ttft_s", "output_tokens"): _tpot,
    ("session",): _session,
    ("replica",): _replica,
}
_NAMES = {
    "cached_input_tokens": "cached tokens",
    "ttft_s": "ttft",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
}


def _not_reported(evidence: Evidence, calls: list[Line]) -> Iterator[str]:
    yield from (
        _NAMES.get(column, column) for column in COLUMNS if not evidence.keys(column) and _has_truth(calls, column)
    )
    silent = [call.kind for call in calls if call.outcome != "ok" and not evidence.shows_failure(call)]
    if silent:
        yield f"failure of {', '.join(dict.fromkeys(silent))}"


def _has_truth(calls: list[Line], column: str) -> bool:
    return any(getattr(call, column) is not None for call in calls)


def main() -> None:
    """Write the table into the page."""
    made = table()
    text = PAGE.read_text()
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text(f"{before}\n{made}\n{after}")


if __name__ == "__main__":
    sys.exit(main())
