"""Fingerprints: a short name for all that a result was computed from, so that only what changed is done again."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_JSON = json.JSONEncoder(sort_keys=True, default=str, separators=(",", ":"))  # json.dumps would make one for each call


def fingerprint(*parts: Any) -> str:
    """Hex digest of 16 bytes over JSON-like parts; equal parts give equal fingerprints on every machine."""
    return hashlib.blake2b(_JSON.encode(parts).encode(), digest_size=16).hexdigest()


def fingerprint_of_frame(frame: "pl.DataFrame") -> str:
    """The same of all rows of a frame in their order. Another version of Polars may give another one."""
    # not of its bytes: equal rows differ in what lies under a NULL, and in how texts lie
    rows = hashlib.blake2b(frame.hash_rows().to_numpy().tobytes(), digest_size=16).hexdigest()
    return fingerprint(str(frame.schema), rows)
