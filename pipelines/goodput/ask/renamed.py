"""Columns of published relations that have another name now, or are gone: what to ask for instead.

docs/changes.md tells why. A name that is a column of any relation again does not belong here.
"""

import re
from collections.abc import Mapping

_NONE_OPEN = "{0} of disruptions, which is known and has no interval"
RENAMED: Mapping[str, str] = {
    "slow_drift_delay_s": "drift_2pct_delay_s",
    "slow_drift_found_ratio": "drift_2pct_found_ratio",
    "fast_drift_delay_s": "drift_5pct_delay_s",
    "fast_drift_found_ratio": "drift_5pct_found_ratio",
    "usd_ci_low": "ci_low_usd",
    "usd_ci_high": "ci_high_usd",
    **{f"offered_ci_{end}": _NONE_OPEN.format("offered") for end in ("low", "high")},
    **{f"cost_ci_{end}_usd": _NONE_OPEN.format("cost_usd") for end in ("low", "high")},
    **{f"hit_ci_{end}_ratio": _NONE_OPEN.format("hit_ratio") for end in ("low", "high")},
    **{f"p95_ttft_ci_{end}_s": _NONE_OPEN.format("p95_ttft_s") for end in ("low", "high")},
}


def new_names(message: str) -> list[str]:
    """A sentence for each old name that stands in a message of the database."""
    found = dict.fromkeys(word for word in re.findall(r"\w+", message) if word in RENAMED)
    return [f"{name} is no column any more: ask for {RENAMED[name]}." for name in found]
