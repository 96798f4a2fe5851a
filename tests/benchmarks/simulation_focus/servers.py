"""How long servers take, in milliseconds of virtual time: drawn once from their names and a seed, the same for every policy."""

from __future__ import annotations

import random
from dataclasses import dataclass

KEEP_ALIVE_MS = 5000.0
"""An idle connection is kept this long by crawlers that keep connections at all."""
DELAYS_MS = (0.0, 200.0, 1000.0)
"""What robots.txt asks for: nothing at a third of the servers, and so on."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One server. Responses vary by page around `response_ms`."""

    connection_ms: float
    response_ms: float
    delay_ms: float


class Servers:
    """The timing of all servers, and of each page.

    With a `seed`, response times are log-normal over servers (median 200 ms, a tenth above a second) and over pages (σ = 0.3). Without, every
    server is the average one and every page alike: then only the order of pages counts.
    """

    def __init__(self, names: list[str], seed: int | None) -> None:
        self.seed = seed
        self.timings = [self._draw(name) for name in names]

    def response_ms(self, server: int, page: int) -> float:
        """From request to full response."""
        timing = self.timings[server]
        if self.seed is None:
            return timing.response_ms
        return timing.response_ms * random.Random(f"{self.seed} {page}").lognormvariate(0.0, 0.3)

    def _draw(self, name: str) -> Timing:
        if self.seed is None:
            return Timing(100.0, 300.0, 0.0)
        rng = random.Random(f"{self.seed} {name}")
        response = 200.0 * rng.lognormvariate(0.0, 1.2)
        return Timing(min(1000.0, 0.5 * response), min(10_000.0, response), rng.choice(DELAYS_MS))
