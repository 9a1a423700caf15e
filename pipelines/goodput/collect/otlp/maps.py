"""Maps in the bodies of log records as JSON: few records have one, so each is looked at on its own."""

import json
import math
from typing import Any

import pyarrow as pa

from goodput.collect.otlp.values import MEMBERS


def json_of_maps(maps: pa.StructArray) -> pa.Array:
    """Each map as the text of a JSON object: texts, numbers, truth values and maps in it; null for all else."""
    if maps.null_count == len(maps):
        return pa.nulls(len(maps), pa.string())
    texts = [None if found is None else json.dumps(_object(found), separators=(",", ":")) for found in maps.to_pylist()]
    return pa.array(texts, pa.string())


def _object(found: dict[str, Any]) -> dict[str, Any]:
    entries = [entry for entry in found.get("values") or [] if entry is not None]
    return {entry["key"] or "": _plain(entry["value"]) for entry in entries}


def _plain(value: dict[str, Any] | None) -> Any:
    member = next((name for name in MEMBERS if value and value[name] is not None), None)
    if value is None or member is None:
        return None
    held = value[member]
    match member:
        case "kvlistValue":
            return _object(held) if "values" in held else None  # deeper than what is read
        case "intValue":
            return _integer(held)
        case "doubleValue":
            return held if math.isfinite(held) else None
        case "stringValue" | "boolValue":
            return held
    return None


def _integer(held: int | str) -> int | None:
    try:
        return int(held)
    except ValueError:
        return None
