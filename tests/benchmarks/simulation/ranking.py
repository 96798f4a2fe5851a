"""By which formulas a simulated crawl ranks its servers: the product's own, and the same with a part switched off.

Everything here is `extensions.frontier.policies`, called as the frontier calls it. The switches show what each idea beyond the
paper brings: without *politeness* the ranking does not know of crawl delays; without *length* a connection carries as
much as the server allows, as in the paper, instead of ending where the rate is greatest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from extensions.frontier import policies
from extensions.frontier.records import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extensions.frontier.policies import Estimates
    from extensions.frontier.records import Rules


@dataclass(frozen=True, slots=True)
class Ranking:
    """One way to schedule. `informed` knows servers as they are instead of learning what they are like."""

    rules: Rules
    politeness: bool = True
    length: bool = True
    informed: bool = False

    def rank(self, server: Estimates, order: int, qualities: Sequence[float]) -> float:
        """Rank of the server; arguments as in `policies.rank`."""
        known = self._known(server)
        if self.length or self.rules.policy is not Policy.CAPABILITY:
            return policies.rank(self.rules, known, order, qualities)
        carried = policies.pages_per_connection(known.requests_per_connection, len(qualities))
        response = policies.response_seconds(known.response_ms, self.rules.pipelining)
        pause = known.delay_ms / 1000
        return sum(qualities[:carried]) / policies.connection_seconds(
            carried, known.connection_ms / 1000, response, pause
        )

    def lease_length(self, server: Estimates, qualities: Sequence[float], *, contested: bool) -> int:
        """How many URLs a lease of it takes; arguments as in `policies.lease_length`."""
        if self.length:
            return policies.lease_length(self.rules, self._known(server), qualities, contested=contested)
        return policies.pages_per_connection(server.requests_per_connection, len(qualities))

    def _known(self, server: Estimates) -> Estimates:
        return server if self.politeness else replace(server, delay_ms=0.0)
