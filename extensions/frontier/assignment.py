"""Which agent looks after which partitions, computed by every agent for itself from the names and capacities of those that live.

The properties are UbiCrawler's (Boldi, Codenotti, Santini, Vigna, "UbiCrawler: a scalable fully distributed web crawler", 2004):

* *locally computable*: the mapping of names to capacities decides, not its order, nor the process, nor what was before;
* *balanced*: the expected share of an agent is its capacity over the sum of all;
* *contravariant*: who joins takes partitions and no others move; who leaves gives its own away and no others move; when a capacity
  grows (shrinks), partitions move only to (from) that agent. Whoever comes back under its old name and capacity has its old partitions.

The method is weighted rendezvous hashing (Thaler and Ravishankar 1998; weights after Schindelhauer and Schomaker 2005). For each
partition all agents run a race. With h uniform in (0, 1), hashed from the agent's name and the partition, agent a arrives
after ``-ln(1 - h) / capacity(a)``; this is exponentially distributed, so a is first with probability capacity(a) / sum of
capacities. An arrival depends on nothing but its own agent, hence contravariance; it holds in floating point too, because
division is monotone and ties go to the lesser name.

Points on a circle, as UbiCrawler has them, move as few partitions, but the lengths of the arcs add to the variance: with 100 points for
each of 8 agents the largest share of 4096 partitions is 1.15 of a fair one instead of 1.04. With ever more points the circle comes
to the same as a race with independent hashes.

Balance
=======

With independent hashes the number of an agent's partitions would be binomial. Here the P hashes of one agent are a Latin hypercube
sample: each of the P intervals from r/P to (r+1)/P holds exactly one, somewhere, and which partition gets which is again for hashes to
say. That is still a matter of this agent alone, so the three properties stay, and the variance halves (with two agents it falls to
a third): with m partitions per agent, all of the same capacity, the coefficient of variation of the shares is about 1/√(2m)
instead of 1/√m. Measured by ``python -m tests.benchmarks.assignment``, largest share over fair share, mean over sets of agents:

====================  ====  ====  ====  ====  ====
partitions per agent     8    32    64   128   512
====================  ====  ====  ====  ====  ====
8 agents              1.35  1.18  1.12  1.08  1.04
32 agents             1.52  1.26  1.19  1.12
====================  ====  ====  ====  ====  ====

**64 partitions per agent are wise**, 128 for shares within about a tenth. Where capacities differ, count those of the weakest: by chance
it gets relatively more, though not much in numbers.

Perfect balance is out of reach. A contravariant assignment that knows only who lives amounts to an order of preference over all
agents for each partition; were it perfect for every set of survivors out of n agents, these orders would be a min-wise independent family, and their
number a multiple of lcm(1 … n), for 16 agents already 720,720 (Broder, Charikar, Frieze, Mitzenmacher 2000). Hashing with bounded
loads is even, but moves partitions between agents that have no part in a change. What unevenness remains is for agents with
room to make good, by helping others in their `Assignment.order`.

Cost
====

The race of one agent over 4096 partitions takes about 2 ms, and is remembered: an agent that comes back, or stays, costs
nothing. From there the owners among 100 agents take 10 ms, among 8 agents 1.5 ms. Only who meets 100 agents at once, at its own start,
spends a fifth of a second.

All agents find the same owners on every platform, unless two logarithms differ in their last bit just where two arrivals are as close
as that. Then, and while agents disagree on who lives, a lease keeps the servers of a partition from being fetched twice at once.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from math import log1p
from typing import TYPE_CHECKING

from mmh3 import mmh3_x64_128_utupledigest

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_CAPACITY, MOST_CAPACITY = 1e-100, 1e100
"""Within these no arrival, and no ratio of two, leaves the range of a double."""
MOST_PARTITIONS = 1 << 20
"""Up to here a rank and 32 bits of a hash fit together into a double, and no hash is rounded to 1."""
REMEMBERED_RACES = 512
"""Of 32 KiB each at 4096 partitions."""


class Assignment:
    """Partitions, from 0, and their owners among the agents that live. Immutable: when an agent comes or goes, make another."""

    def __init__(self, capacities: Mapping[str, float], partitions: int) -> None:
        """From each live agent's name and capacity, in any unit that all agents share.

        Raises ValueError if a capacity is not a positive, finite number, or if the number of partitions is not positive or beyond reason.
        """
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise ValueError(f"the number of partitions must lie between 1 and {MOST_PARTITIONS}, not {partitions}")
        for agent, capacity in capacities.items():
            if not LEAST_CAPACITY <= capacity <= MOST_CAPACITY:
                raise ValueError(
                    f"the capacity of agent {agent!r} must lie between {LEAST_CAPACITY} and {MOST_CAPACITY}, not {capacity}"
                )
        self.partitions = partitions
        self._races = {agent: _race(agent, float(capacities[agent]), partitions) for agent in sorted(capacities)}
        self._agents = list(self._races)
        self._first: list[float] = []
        self._owners: list[int] = []
        self._owned: dict[str, list[int]] = {agent: [] for agent in self._agents}
        # Column by column in C: with a hundred agents five times as fast as comparing one race after the other in Python.
        for partition, arrivals in enumerate(zip(*self._races.values(), strict=True)):
            first = min(arrivals)
            owner = arrivals.index(first)
            self._first.append(first)
            self._owners.append(owner)
            self._owned[self._agents[owner]].append(partition)

    def owner(self, partition: int) -> str | None:
        """The agent that looks after a partition; None if no agent lives. Raises IndexError if there is no such partition."""
        if not 0 <= partition < self.partitions:
            raise IndexError(f"partition {partition} of {self.partitions}")
        return self._agents[self._owners[partition]] if self._agents else None

    def partitions_of(self, agent: str) -> tuple[int, ...]:
        """An agent's own partitions, ascending; none if it does not live."""
        return tuple(self._owned.get(agent, ()))

    def order(self, agent: str) -> tuple[int, ...]:
        """All partitions, in the order in which an agent with room should look into them; none if it does not live.

        Its own first, then the others as they would come to it, one by one, if its capacity grew. Each agent has another order, so
        those with room spread over the partitions of those without.
        """
        race = self._races.get(agent)
        if race is None:
            return ()
        own = self._owned[agent]
        others = set(range(self.partitions)).difference(own)
        first = self._first
        return (*own, *sorted(others, key=lambda partition: (race[partition] / first[partition], partition)))


@lru_cache(maxsize=REMEMBERED_RACES)
def _race(agent: str, capacity: float, partitions: int) -> array[float]:
    """When an agent arrives at each partition. Read-only, as it is shared by all assignments."""
    name = agent.encode()
    draws = [mmh3_x64_128_utupledigest(name, partition) for partition in range(partitions)]
    # One half of a hash ranks the partitions, the other places each within its stratum. Floats sort faster than tuples.
    ranking = [float(half) for half, _ in draws]
    arrivals = array("d", bytes(8 * partitions))
    for rank, partition in enumerate(sorted(range(partitions), key=ranking.__getitem__)):
        h = ((rank << 32 | draws[partition][1] >> 32) + 0.5) / (partitions << 32)
        arrivals[partition] = -log1p(-h) / capacity
    return arrivals
