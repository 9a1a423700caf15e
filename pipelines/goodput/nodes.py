"""Every node of the plan, in the order of what they read."""

from goodput.join.nodes import NODES as JOIN
from goodput.measure.nodes import NODES as MEASURE
from goodput.plumbing.plan import in_order

NODES = tuple(in_order((*JOIN, *MEASURE)))
