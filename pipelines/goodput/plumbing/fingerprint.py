"""Fingerprints: a short name for all that a result was computed from, so that only what changed is done again."""

import hashlib
import json
from typing import Any


def fingerprint(*parts: Any) -> str:
    """Hex digest of 16 bytes over JSON-like parts; equal parts give equal fingerprints on every machine."""
    text = json.dumps(parts, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
