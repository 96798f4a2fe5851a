"""The frontier's one clock: the time of one Redis server, carried on by this machine's own clock between two readings.

It never goes back and never stands still. A reading says that the server's clock was somewhere between what it told and what it told
plus the round trip: as long as the clock here agrees with that, it stays as it is, so that a slow network does not shake it. If the server
is ahead, the clock here is put forward. If the server is behind, as when a replica with another clock has taken over, the clock here runs
at half speed until it is caught up with.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from redis.asyncio import RedisCluster

from extensions.frontier.faults import REDIS_FAULTS, fault_of

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import ClusterNode

CLOCK_KEY = "frontier:clock"
"""Never written. The master of its slot tells a Cluster's time, to all crawls."""
MACHINE_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""One that goes on while the machine sleeps: CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS."""


class RedisClock:
    """Call it for now, in milliseconds since 1970, once `set_by` has been awaited."""

    def __init__(self) -> None:
        self._offset_ms: float | None = None
        self._ahead_ms = 0.0
        self._read_ms = 0.0

    async def set_by(self, client: Redis) -> None:
        """Read the server's time. Raises `FrontierUnavailable`."""
        before = _machine_ms()
        try:
            seconds, micros = await _time_of(client)
        except REDIS_FAULTS as error:
            raise fault_of(error) from error
        self.set(seconds * 1000 + micros / 1000, before, _machine_ms())

    def set(self, server_ms: float, before_ms: float, after_ms: float) -> None:
        """The server told `server_ms` at some instant between two of the machine's."""
        earliest, latest = server_ms - after_ms, server_ms - before_ms
        if self._offset_ms is None:
            self._offset_ms = (earliest + latest) / 2
            return
        now = self._at(after_ms)
        self._offset_ms = min(max(self._offset_ms, earliest), latest)
        self._read_ms = after_ms
        self._ahead_ms = max(0.0, now - after_ms - self._offset_ms)

    def __call__(self) -> int:
        """Now."""
        return int(self._at(_machine_ms()))

    def _at(self, machine_ms: float) -> float:
        ahead = max(0.0, self._ahead_ms - (machine_ms - self._read_ms) / 2)
        return machine_ms + (self._offset_ms or 0.0) + ahead


def _machine_ms() -> float:
    return time.clock_gettime_ns(MACHINE_CLOCK) / 1e6


async def _time_of(client: Any) -> tuple[int, int]:
    if not isinstance(client, RedisCluster):
        told: tuple[int, int] = await client.time()
        return told
    await client.initialize()
    first = client.get_node_from_key(CLOCK_KEY)
    others = sorted((node for node in client.get_primaries() if node != first), key=lambda node: node.name)
    return await _first_told(client, [*([first] if first else []), *others])


async def _first_told(client: RedisCluster, nodes: list[ClusterNode]) -> tuple[int, int]:
    """By the first of the nodes that answers."""
    for node in nodes[:-1]:
        try:
            told: tuple[int, int] = await client.time(target_nodes=node)
        except REDIS_FAULTS:
            continue
        return told
    return await client.time(target_nodes=nodes[-1])
