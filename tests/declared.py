"""Settings of declared sources: the TOML that says which column of a file is which."""

from collections.abc import Mapping
from pathlib import PurePath


def source(
    name: str, path: str, table: str, *, units: Mapping[str, str] | None = None, constants: str = "", **columns: str
) -> str:
    """Settings of a source: our columns by the file's; `units`: of those that have one; `constants`: in TOML."""
    mapped = [f'{ours} = "{theirs}"' for ours, theirs in columns.items()]
    for ours, unit in (units or {}).items():
        column = f'{ours} = "{columns[ours]}"'
        mapped[mapped.index(column)] = f'{ours} = {{ column = "{columns[ours]}", unit = "{unit}" }}'
    kind = PurePath(path).suffix.removeprefix(".")
    head = [f"[sources.{name}]", f'format = "{kind}"', f'path = "{path}"', f'table = "{table}"']
    constant = [f"constants = {{ {constants} }}"] if constants else []
    return "\n".join([*head, *constant, f"[sources.{name}.columns]", *mapped, ""])


def bills(name: str, path: str, constants: str = "", **columns: str) -> str:
    """Settings of bills whose periods are their columns `from` and `until`, in ISO 8601."""
    period = {"period_start": "from", "period_end": "until"}
    units = dict.fromkeys(period, "iso8601")
    return source(name, path, "cost_records", units=units, constants=constants, **period, **columns)
