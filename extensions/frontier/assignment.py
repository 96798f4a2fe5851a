"""Which agent looks after which partition: the same answer for every agent that knows who is at work, without a word between them.

UbiCrawler's three properties (Boldi, Codenotti, Santini, Vigna 2004, section 3), here by weighted rendezvous hashing (Thaler and Ravishankar 1998;
the weighting is Schindelhauer and Schomaker's, 2005): each agent draws a number u from (0, 1) for each partition, by a hash of the
two names, and the greatest ``capacity / -ln u`` has the partition.

- *Locally computable*: from the agents' names and capacities alone.
- *Balanced*: an agent's chance of a partition is its share of the capacity. With m partitions an agent expects, the standard deviation is about √m:
  few partitions are divided unevenly, whatever the hash. `tests/benchmarks/assignment.py` measures it.
- *Contravariant*: the draws of others do not change, so who joins only takes, who leaves only gives, and whose capacity changes only
  gives or takes. A restarted agent gets its partitions back.

Points on a circle, UbiCrawler's own way, have the same properties once each agent has hundreds of points; with one draw for each agent and partition
there is no number of points to choose, and no error from it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from mmh3 import hash64

if TYPE_CHECKING:
    from collections.abc import Mapping


class Assignment:
    """The partitions, numbered from 0, among agents with these capacities (any unit, above 0). Without agents nobody has any."""

    def __init__(self, capacities: Mapping[str, float], partitions: int) -> None:
        for name, capacity in capacities.items():
            if not (0 < capacity < math.inf):
                raise ValueError(f"The capacity of agent {name} is {capacity}, but must be above 0 and finite")
        names = sorted(capacities)
        rows = [[capacities[name] * draw for draw in _draws(name, partitions)] for name in names]
        self._owners = [names[bids.index(max(bids))] for bids in zip(*rows, strict=True)]

    def owner(self, partition: int) -> str | None:
        """The agent that looks after a partition."""
        return self._owners[partition] if self._owners else None

    def partitions_of(self, agent: str) -> tuple[int, ...]:
        """What an agent looks after, in ascending order."""
        return tuple(partition for partition, owner in enumerate(self._owners) if owner == agent)


@lru_cache(maxsize=256)
def _draws(name: str, partitions: int) -> tuple[float, ...]:
    """An agent's draws, before its capacity counts. Kept, because agents come and go one at a time."""
    return tuple(
        # The middle of one of 2⁵³ equal parts of (0, 1): never 0 and never 1.
        -1 / math.log(((hash64(f"{partition}\0{name}", signed=False)[0] >> 11) + 0.5) / 2**53)
        for partition in range(partitions)
    )
