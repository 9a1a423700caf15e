"""Every node of the plan; in which order they run follows from what their SQL reads."""

from goodput.join.nodes import NODES as JOIN
from goodput.measure.nodes import NODES as MEASURE

NODES = (*JOIN, *MEASURE)

APPENDED = frozenset(table for node in NODES for table in node.appended)  # these only ever gain parts
