"""The six classes of work as presets of a workload: unit, gates and what an accepted unit is called.

See docs/semantics.md#classes-of-work.

Only defaults belong here: a key that the settings give beside `class` overrides the preset's.
"""

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, dict[str, Any]] = {
    "conversational": {
        "unit": "session",
        "unit_label": "resolution",
        "ttft_s": 1.0,
        "tpot_s": 0.05,
        "retry_budget": 1,
        "quality": {},
    },
    "agentic": {"unit": "session", "unit_label": "task", "e2e_s": 60.0, "retry_budget": 2, "quality": {}},
    "rag": {"unit_label": "grounded answer", "ttft_s": 2.0, "e2e_s": 20.0, "retry_budget": 1, "quality": {}},
    "extraction": {"unit_label": "validated record", "e2e_s": 10.0, "retry_budget": 1, "quality": {}},
    "voice": {"unit_label": "interaction", "ttft_s": 0.3, "tpot_s": 0.05, "retry_budget": 0},
    "batch": {"unit_label": "item", "completion_window_s": 86400.0, "retry_budget": 3},
}
