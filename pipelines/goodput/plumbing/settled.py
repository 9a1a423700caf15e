"""Which nodes have nothing to do: inputs, outputs, rules and settings are as they were when the node last ended well.

A run with nothing new then compares a version for each table, and looks at no partition.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from goodput.plumbing.blocked import Blocked
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.node import Context, Node
from goodput.plumbing.plan import rules
from goodput.project_files import project_folder

# Where tables are kept, who computes them, when, and who is told: no table is another for these.
_BESIDE_NODES = {
    *("lake", "lake_cache", "cluster", "schedule", "receive", "serve"),
    *("telemetry", "export", "report", "notify", "channels"),
}


class _Remembered(TypedDict):
    texts: str
    rules: dict[str, str]
    nodes: dict[str, str]


class Settled:
    """What is remembered of the nodes of a lake, in its file plan.json; losing it costs time, never a number."""

    def __init__(self, context: Context, nodes: Sequence[Node]) -> None:
        self._context = context
        self._nodes = nodes
        self._path = context.lake.root / "plan.json"

    @cached_property
    def _remembered(self) -> "_Remembered":
        return read_cache(self._path, _Remembered) or _Remembered(texts="", rules={}, nodes={})

    @cached_property
    def rules(self) -> dict[str, str]:
        """What each node obeys, parsed anew only where a file of sql/ or schemas/ or a setting has changed."""
        known = self._remembered["rules"]
        if self._remembered["texts"] == self._texts and all(node.name in known for node in self._nodes):
            return known
        return {node.name: rules(node, self._context) for node in self._nodes}

    @cached_property
    def _settings(self) -> str:
        """Settings beside the rules, as they decide which partitions there are, too, and what is read of others."""
        return fingerprint(self._context.settings.model_dump(mode="json", exclude=_BESIDE_NODES))

    @cached_property
    def _texts(self) -> str:
        folders = (project_folder(name) for name in ("sql", "schemas"))
        files = sorted(path for folder in folders for path in folder.rglob("*.*"))
        settings = self._context.settings.model_dump(mode="json")
        return fingerprint([_text(path) for path in files], settings, version("goodput"))

    def is_settled(self, node: Node) -> bool:
        """Whether nothing that the node reads, makes or obeys has changed since it last ran to its end.

        A node with a blocked partition is not: a run for some hours only may have left it, and it is tried again.
        """
        blocked = Blocked(self._context.lake)
        is_whole = not any(blocked.of_table(table) for table in node.tables)
        return is_whole and self._remembered["nodes"].get(node.name) == self._state(node)

    def _state(self, node: Node) -> str:
        catalog = self._context.lake.catalog
        versions = [catalog[table].version for table in (*node.inputs, *node.consults, *node.tables)]
        around = {table: vars(hours) for table, hours in node.lookaround(self._context).items()}
        return fingerprint(self.rules[node.name], self._settings, versions, self._context.observed_ns, around)

    def remember(self, finished: Sequence[Node]) -> None:
        """Note the nodes that have run to their end without a blocked partition. Raises LakeUnwritable."""
        states = {node.name: self._state(node) for node in finished}
        now = _Remembered(texts=self._texts, rules=self.rules, nodes=states)
        if now != self._remembered:
            text = json.dumps(now, indent=1, sort_keys=True)
            write_atomically(self._path, lambda path: path.write_text(text))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
