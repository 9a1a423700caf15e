"""How long what belongs to a window may be outstanding, by the settings."""

import pyarrow as pa

from goodput.plumbing.parameters import as_rows
from goodput.settings.model import Settings


def watermark_options(settings: Settings) -> pa.Table:
    """How long requests, sessions and labels may be outstanding; docs/semantics.md#late-and-revised."""
    seconds = {
        name: getattr(settings, f"{name}_s") for name in ("max_request_lifetime", "max_session", "label_lateness")
    }
    return as_rows("watermark_options", {f"{name}_ns": round(length * 1e9) for name, length in seconds.items()})
