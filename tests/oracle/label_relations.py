"""Labels of sessions beside their computation: docs/semantics.md#labels."""

from goodput.plumbing.workspace import Workspace
from oracle.compare import Comparison, epoch_us, keyed, microseconds, rows
from oracle.fleet import Row
from oracle.truth import Truth

SAID = ("evaluator", "score", "label", "passed", "withdrawn")


def session_labels(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Rows of quality_labels that judge a session: the last revision of each, and which counts of an evaluator."""
    last: dict[str, Row] = {}
    for label in sorted(filter(_judges_session, truth.fleet.labels), key=_said_at):
        last[label["label_id"]] = label
    counting: dict[tuple[str, str], str] = {}
    for label in sorted(last.values(), key=_said_at):
        if not label["withdrawn"]:
            counting[label["session_id"], label["evaluator"]] = label["label_id"]
    published = keyed(rows(workspace, "SELECT * FROM quality_labels WHERE subject_kind = 'session'"), "label_id")
    for row in published.values():
        row["labelled_at"] = epoch_us(row["labelled_at"])
    computed = {
        name: {column: label.get(column) for column in SAID}
        | {"subject_id": label["session_id"], "labelled_at": microseconds(label["labelled_at"])}
        | {"current": name in counting.values(), "request_key": None, "workload": None, "request_at": None}
        for name, label in last.items()
    }
    found.rows("quality_labels", published, computed)


def _judges_session(label: Row) -> bool:
    return "session_id" in label


def _said_at(label: Row) -> int:
    return int(label.get("revised_at") or label["labelled_at"])
