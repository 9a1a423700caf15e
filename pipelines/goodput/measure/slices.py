"""The slices in which windows are published: by which dimensions each is cut, and those that the settings list.

Each tenant or attribute that slices ask for is a *cut* of its own, counted within the workload alone: it costs what it
asks for, and the finest dimensions stay as few as they are. The slice by its value and the one by workload and value
are both sums of it. Cut 0 is that of the finest dimensions, whose sums are all other slices.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from goodput.plumbing.node import SettingsTable
from goodput.plumbing.parameters import as_rows
from goodput.settings.columns import ATTRIBUTE
from goodput.settings.model import Settings
from goodput.settings.slice_names import WITHIN_WORKLOAD, cut_by

DIMENSIONS = ("workload", "model", "pool", "route")
Cuts = tuple[bool, ...]  # of each of the dimensions, whether it cuts
Slice = tuple[str, int, bool, bool, bool, bool]
SLICES = (
    # slice, cut, by_workload, by_model, by_pool, by_route
    ("overall", 0, False, False, False, False),
    ("model", 0, False, True, False, False),
    ("pool", 0, False, False, True, False),
    ("workload", 0, True, False, False, False),
    ("workload_model", 0, True, True, False, False),
    ("workload_pool", 0, True, False, True, False),
    ("workload_route", 0, True, False, False, True),
    ("finest", 0, True, True, True, True),
)


def all_slices(settings: Settings) -> tuple[Slice, ...]:
    """Every slice: those of the dimensions, then those by tenant or attribute that the settings list."""
    cuts = _cuts(settings)
    listed = ((name, cuts[cut_by(name)], name.startswith(WITHIN_WORKLOAD)) for name in settings.slices.by)
    return (*SLICES, *((name, cut, is_within, False, False, False) for name, cut, is_within in listed))


def slices(settings: Settings) -> pa.Table:
    """Slices as rows: slice, cut, by_workload, by_model, by_pool, by_route."""
    names = ("slice", "cut", *(f"by_{word}" for word in DIMENSIONS))
    return as_rows("slices", *(dict(zip(names, row, strict=True)) for row in all_slices(settings)))


def slice_cuts(settings: Settings) -> pa.Table:
    """The tenant and attributes that slices are cut by as rows: cut, path ($ stands for the tenant), max_values."""
    return as_rows(
        "slice_cuts",
        *(
            {"cut": cut, "path": cut_path(name), "max_values": settings.slices.max_values}
            for name, cut in _cuts(settings).items()
        ),
    )


def _cuts(settings: Settings) -> Mapping[str, int]:
    """Numbers of the cuts by the tenant or attribute, in the order in which slices name them first."""
    return {name: cut for cut, name in enumerate(dict.fromkeys(map(cut_by, settings.slices.by)), 1)}


def slice_options(settings: Settings) -> pa.Table:
    """How many models, pools and routes count apart: one row with max_names."""
    return as_rows("slice_options", {"max_names": settings.slices.max_names})


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "slices": slices,
    "slice_cuts": slice_cuts,
    "slice_options": slice_options,
}


def flags(kind: str, rows: Sequence[Cuts]) -> pa.Table:
    """Boolean columns `<kind>_<dimension>`, a row each."""
    names = [f"{kind}_{word}" for word in DIMENSIONS]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def cut_path(name: str) -> str:
    """Where the value of a slice by tenant or attribute stands: `$` for the tenant, else a path in `attributes`."""
    return "$" if name == "tenant" else f'$."{name.removeprefix(ATTRIBUTE)}"'
