"""How many requests come to a pool in its base windows, and what windows cost and accept at such loads."""

from dataclasses import dataclass

import numpy as np

A_DAY = 288  # base windows of 300 s
Array = np.ndarray


@dataclass(frozen=True)
class Loads:
    """A daily cycle with its lowest at midnight; cost is what replicas cost that idle, and a part for each request."""

    name: str
    peak: float = 200
    lowest: float = 0.2
    idle_usd: float = 1.0
    request_usd: float = 0.0
    saturates_at: float | None = None  # the load at which half of what passes elsewhere is too late
    vary: float = 0.05

    def arrivals(self, random: np.random.Generator, hours: Array) -> Array:
        """Requests of windows at these hours of the day."""
        usual = self.lowest + (1 - self.lowest) / 2 * (1 - np.cos(2 * np.pi * hours / 24))
        return np.maximum(1, random.poisson(self.peak * usual * np.exp(random.normal(0, self.vary, hours.shape))))

    def cost_usd(self, load: Array) -> Array:
        """What a window costs at a load."""
        return self.idle_usd + self.request_usd * load

    def passes(self, load: Array, pass_rate: float) -> Array:
        """The share that is accepted at a load."""
        if self.saturates_at is None:
            return np.full(load.shape, pass_rate)
        return pass_rate / (1 + (load / self.saturates_at) ** 6)


FLAT = Loads("", lowest=1, vary=0)
LOADS: tuple[Loads, ...] = (
    Loads("idle cost"),
    Loads("cost idle and by request", request_usd=0.005),
    Loads("saturating", saturates_at=200),
    Loads("few requests", peak=15),
)
