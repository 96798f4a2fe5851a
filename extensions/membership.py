"""This process among the agents of its crawl: who is at work, and which partitions each of them looks after.

Agents are identical and there is no coordinator. Each tells the others every few seconds that it lives (`beat`); who has not been heard of for
as long as a lease holds counts as dead. From the names and capacities of the living every agent computes the same assignment of
partitions (`frontier.assignment`), so when one dies or joins, its partitions move and no others. For moments, two agents may think differently of who
lives; leases keep them apart all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from extensions.errors import ConfigurationError
from extensions.frontier.assignment import Assignment
from extensions.frontier.records import AgentRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extensions.frontier.registry import Registry


class Membership:
    """`mine` and `others` are the partitions that this agent leases from first, and those it may help out with."""

    def __init__(
        self, registry: Registry, *, name: str, place: str, capacity: int, lease_ms: int, partitions: int
    ) -> None:
        self.name = name
        self.mine: tuple[int, ...] = tuple(range(partitions))
        self.others: tuple[int, ...] = ()
        self._registry = registry
        self._place = place
        self._capacity = capacity
        self._lease_ms = lease_ms
        self._partitions = partitions
        self._joined_ms = 0
        self._records: dict[str, AgentRecord] = {}
        self._living: dict[str, int] = {}

    async def look(self, now_ms: int) -> None:
        """Read who is there. Raises `ConfigurationError` if another process goes by this name."""
        self._take(now_ms, await self._registry.read())
        namesake = self._records.get(self.name)
        if namesake is not None and namesake.place != self._place and self._lives(namesake, now_ms):
            raise ConfigurationError(
                f"Another process runs as agent {self.name} in this crawl: give each a FRONTIER_AGENT of its own "
                f"(if that one was killed, wait {self._lease_ms / 1000:g} s)."
            )

    async def join(self, now_ms: int) -> None:
        """Be one of them. Who finds nobody at work begins a new run, and the entries of the last one go."""
        earlier = self._records.get(self.name)
        if not self.company:
            await self._registry.forget(self._records)
        elif earlier is not None:  # what it did before it died belongs to the run as well
            await self._registry.write(replace(earlier, name=f"{self.name}~{earlier.joined_ms}", left=True))
        self._joined_ms = now_ms
        await self.beat(now_ms, {})

    async def beat(self, now_ms: int, stats: Mapping[str, float]) -> None:
        """Tell the others, hear of them, and see what is whose."""
        self._take(now_ms, await self._registry.write(self._record(now_ms, stats)))

    async def leave(self, now_ms: int, stats: Mapping[str, float]) -> None:
        """Tell the others that this one has ended; `company` then says whether anybody goes on."""
        self._take(now_ms, await self._registry.write(self._record(now_ms, stats, left=True)))

    @property
    def company(self) -> tuple[str, ...]:
        """The other agents at work, by name."""
        return tuple(name for name in self._living if name != self.name)

    def records(self, now_ms: int, stats: Mapping[str, float]) -> tuple[AgentRecord, ...]:
        """All agents of the run, this one first and as of now."""
        others = (self._records[name] for name in sorted(self._records) if name != self.name)
        return (self._record(now_ms, stats), *others)

    def _record(self, now_ms: int, stats: Mapping[str, float], *, left: bool = False) -> AgentRecord:
        return AgentRecord(self.name, self._place, self._capacity, self._joined_ms, now_ms, left, stats)

    def _lives(self, record: AgentRecord, now_ms: int) -> bool:
        return not record.left and now_ms - record.beat_ms < self._lease_ms

    def _take(self, now_ms: int, records: dict[str, AgentRecord]) -> None:
        self._records = records
        living = {name: record.capacity for name, record in records.items() if self._lives(record, now_ms)}
        if living == self._living:
            return
        self._living = living
        # One partition cannot be divided: then all agents lease from it, each as much as it has room for.
        if self._partitions > 1 and self.name in living:
            assignment = Assignment(living, self._partitions)
            self.mine = assignment.partitions_of(self.name)
            self.others = assignment.order(self.name)[len(self.mine) :]
        else:
            self.mine, self.others = tuple(range(self._partitions)), ()
