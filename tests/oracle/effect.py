"""How soon answers began by how much of their prompt was cached: docs/semantics.md#cache-effect."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import Any

from oracle.fleet import Row
from oracle.quantiles import quantile
from oracle.slices import UNKNOWN, window_of

BANDS = ("none", "to 25 %", "to 50 %", "to 75 %", "to 100 %")


def cache_effect(attempts: Iterable[Row], windows_s: list[int]) -> dict[Any, Row]:
    """Rows of relation cache_effect by window, its length, pool, model and upper end of the band."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for attempt in attempts:
        given, cached = attempt["input_tokens"], attempt["cached_input_tokens"]
        if attempt["outcome"] != "ok" or not given or cached is None or attempt["ended_at"] is None:
            continue
        band = ceil(Fraction(4 * cached, given))
        for window_s in windows_s:
            named = (attempt["pool"] or UNKNOWN, attempt["model"] or UNKNOWN)
            found[window_of(attempt["ended_at"], window_s), window_s, *named, band / 4].append(attempt)
    return {key: _row(key[4], of) for key, of in found.items()}


def _row(up_to: float, attempts: list[Row]) -> Row:
    ttft = [attempt["ttft_s"] for attempt in attempts if attempt["ttft_s"] is not None]
    return {
        "band": BANDS[int(up_to * 4)],
        "cached_above_ratio": max(0.0, up_to - 0.25),
        "attempts": len(attempts),
        **{name: sum(attempt[name] for attempt in attempts) for name in ("input_tokens", "cached_input_tokens")},
        **{f"p{n}_ttft_s": quantile(ttft, Fraction(n, 100)) for n in (50, 95, 99)},
        "n_ttft": len(ttft),
    }
