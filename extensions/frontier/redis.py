"""The frontier that crawls use: the verbs as atomic Lua on Redis, batched so that many of them cost one round trip.

Every method sends one pipeline: a script call for each partition concerned. `exchange` sends several verbs at once, in the
order admit, settle, renew, lease. What a call did when its reply was lost is unknown, and harmless to repeat: a URL admitted
twice is a duplicate, a settlement sent twice is stale, a lease whose reply was lost expires.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgpack
from redis.exceptions import RedisError

from extensions.frontier.contract import PROMOTE_LIMIT
from extensions.frontier.keys import about_key, partition_key, partition_pattern
from extensions.frontier.pipeline import Call, Pipeline, unavailable
from extensions.frontier.records import (
    MAX_HOPS,
    QUALITY_STEPS,
    Admission,
    Candidate,
    Lease,
    LeasedUrl,
    Peek,
    Rules,
    Settlement,
    Stats,
)
from extensions.frontier.scripts import script
from extensions.urls.fingerprints import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redis.asyncio import Redis

COUNTERS = tuple(name.encode() for name in Stats.__slots__)
MAX_CARRIED = 1000
"""No lease is longer than this, however many requests a connection is known to carry."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The replies to one `exchange`. `queued` and `leased` are what is left in all partitions after it."""

    admission: Admission
    accepted: tuple[bool, ...]
    """For each settlement, in order."""
    stale: frozenset[str]
    """Servers whose lease could not be renewed."""
    leases: tuple[Lease, ...]
    next_due_ms: int | None
    queued: int
    leased: int


class RedisFrontier:
    """A crawl's frontier on Redis 6.2 or newer. Raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, client: Redis, crawl: str, rules: Rules, partitions: int = 1) -> None:
        self.client = client
        self.crawl = crawl
        self.partitions = partitions
        self.orders_by_quality = rules.policy.orders_by_quality
        self.pipeline = Pipeline(client, crawl, _packed(asdict(rules) | {"policy": rules.policy.value}))
        self._turn = 0

    @property
    def round_trips(self) -> int:
        """Between this process and Redis so far."""
        return self.pipeline.round_trips

    async def admit(self, now_ms: int, candidates: Sequence[Candidate]) -> Admission:
        """Seen test, bounds, URL queue and server rank for a batch. Raises ValueError for an impossible candidate."""
        return _admission(await self.pipeline.run(self._admit_calls(now_ms, candidates)))

    async def lease(self, now_ms: int, agent: str, count: int, lease_ms: int) -> tuple[list[Lease], int | None]:
        """Open up to `count` servers; also the earliest instant at which another one becomes due."""
        leases, due, _, _ = _leases(await self.pipeline.run(self._lease_calls(now_ms, agent, count, lease_ms)))
        return leases, due

    async def settle(self, now_ms: int, settlements: Sequence[Settlement]) -> list[bool]:
        """Acknowledge URLs of leases; False for each whose token is stale."""
        calls, places = self._settle_calls(now_ms, settlements)
        return _accepted(await self.pipeline.run(calls), places, len(settlements))

    async def renew(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> set[str]:
        """Move the deadlines of leases; the servers whose token is stale."""
        return set(_stale(await self.pipeline.run(self._renew_calls(now_ms, leases, lease_ms))))

    async def reclaim(self, now_ms: int, agent: str | None = None) -> int:
        """Take back expired leases, or all of one agent's; how many URLs they held."""
        arguments = _packed([now_ms, agent or ""])
        calls = [Call(script("reclaim"), partition, arguments) for partition in range(self.partitions)]
        return sum(await self.pipeline.run(calls))

    async def exchange(
        self,
        now_ms: int,
        *,
        candidates: Sequence[Candidate] = (),
        settlements: Sequence[Settlement] = (),
        renewals: Sequence[tuple[str, int]] = (),
        agent: str,
        servers: int,
        lease_ms: int,
    ) -> Exchange:
        """Admit, settle, renew and lease in one round trip."""
        admits = self._admit_calls(now_ms, candidates)
        settles, places = self._settle_calls(now_ms, settlements)
        renews = self._renew_calls(now_ms, renewals, lease_ms)
        replies = await self.pipeline.run(
            admits + settles + renews + self._lease_calls(now_ms, agent, servers, lease_ms)
        )
        one, two, three = len(admits), len(admits) + len(settles), len(admits) + len(settles) + len(renews)
        leases, due, queued, leased = _leases(replies[three:])
        return Exchange(
            admission=_admission(replies[:one]),
            accepted=tuple(_accepted(replies[one:two], places, len(settlements))),
            stale=frozenset(_stale(replies[two:three])),
            leases=tuple(leases),
            next_due_ms=due,
            queued=queued,
            leased=leased,
        )

    async def stats(self) -> Stats:
        """Counters, added over the partitions."""
        try:
            pipe = self.client.pipeline(transaction=False)
            for partition in range(self.partitions):
                pipe.hmget(partition_key(self.crawl, partition), COUNTERS)
            self.pipeline.round_trips += 1
            rows = await pipe.execute()
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        return sum((Stats(*(int(value or 0) for value in row)) for row in rows), Stats())

    async def peek(self, count: int, head: int = 3) -> list[Peek]:
        """Servers as they stand, with the first URLs of each; of every partition the first `count`."""
        arguments = _packed([count, head])
        replies = await self.pipeline.run(
            [Call(script("peek"), number, arguments) for number in range(self.partitions)]
        )
        rows = [
            Peek(name.decode(), state.decode(), float(rank), queued, tuple(_url(url) for url in urls))
            for reply in replies
            for name, state, rank, queued, urls in msgpack.unpackb(reply, raw=True)
        ]
        if self.partitions > 1:
            order = {"ready": 0, "waiting": 1, "leased": 2}
            rows.sort(key=lambda row: (order[row.state], -row.rank if row.state == "ready" else row.rank))
        return rows[:count]

    async def clear(self) -> None:
        """Forget the whole crawl."""
        try:
            for partition in range(self.partitions):
                batch = []
                async for key in self.client.scan_iter(match=partition_pattern(self.crawl, partition), count=1000):
                    batch.append(key)
                    if len(batch) == 1000:
                        await self.client.unlink(*batch)
                        batch.clear()
                if batch:
                    await self.client.unlink(*batch)
            await self.client.delete(about_key(self.crawl))
        except (RedisError, OSError) as error:
            raise unavailable(error) from error

    async def about(self, fixed: dict[str, str]) -> dict[str, str]:
        """What was fixed when the crawl began; `fixed` if it begins now."""
        try:
            pipe = self.client.pipeline(transaction=True)
            for name, value in fixed.items():
                pipe.hsetnx(about_key(self.crawl), name, value)
            pipe.hgetall(about_key(self.crawl))
            self.pipeline.round_trips += 1
            found = (await pipe.execute())[-1]
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        return {key.decode(): value.decode() for key, value in found.items()}

    # What each verb sends

    def _of(self, server: str) -> int:
        return partition_of(server, self.partitions) if self.partitions > 1 else 0

    def _admit_calls(self, now_ms: int, candidates: Sequence[Candidate]) -> list[Call]:
        parts: dict[int, list[Any]] = defaultdict(list)
        for one in candidates:
            if not (one.server and one.member and one.depth >= 0 and one.hops >= 0 and math.isfinite(one.quality)):
                raise ValueError(f"No URL can be queued as {one!r}")
            parts[self._of(one.server)].append(
                [
                    one.server,
                    one.member,
                    one.bucket,
                    one.remainder,
                    int(min(1.0, max(0.0, one.quality)) * QUALITY_STEPS + 0.5),
                    one.depth,
                    min(one.hops, MAX_HOPS),
                    int(one.force),
                    one.payload,
                ]
            )
        return [Call(script("admit"), partition, _packed([now_ms, rows])) for partition, rows in parts.items()]

    def _settle_calls(self, now_ms: int, settlements: Sequence[Settlement]) -> tuple[list[Call], list[list[int]]]:
        parts: dict[int, list[int]] = defaultdict(list)
        for place, one in enumerate(settlements):
            parts[self._of(one.server)].append(place)
        calls = [
            Call(script("settle"), partition, _packed([now_ms, [_settlement(settlements[place]) for place in places]]))
            for partition, places in parts.items()
        ]
        return calls, list(parts.values())

    def _renew_calls(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> list[Call]:
        parts: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for server, token in leases:
            parts[self._of(server)].append((server, token))
        return [Call(script("renew"), number, _packed([now_ms, lease_ms, rows])) for number, rows in parts.items()]

    def _lease_calls(self, now_ms: int, agent: str, count: int, lease_ms: int) -> list[Call]:
        """A fair share for every partition; what does not divide goes round from call to call."""
        share, rest = divmod(count, self.partitions)
        first = self._turn
        self._turn = (self._turn + rest) % self.partitions
        return [
            Call(
                script("lease"),
                partition,
                _packed(
                    [now_ms, agent, share + ((partition - first) % self.partitions < rest), lease_ms, PROMOTE_LIMIT]
                ),
            )
            for partition in range(self.partitions)
        ]


def _packed(arguments: Any) -> bytes:
    packed: bytes = msgpack.packb(arguments, use_bin_type=False)
    return packed


def _settlement(one: Settlement) -> list[Any]:
    times = (*one.connection_ms, *one.response_ms, one.delay_ms or 0.0, one.due_ms)
    if not (one.pages >= 0 and one.failures >= 0 and all(math.isfinite(time) and time >= 0 for time in times)):
        raise ValueError(f"No lease can be settled as {one!r}")
    return [
        one.server,
        one.token,
        one.done,
        one.pages,
        one.failures,
        one.connection_ms,
        one.response_ms,
        -1 if one.carried is None else min(max(1, one.carried), MAX_CARRIED),
        -1 if one.delay_ms is None else one.delay_ms,
        one.due_ms,
        int(one.release),
    ]


def _admission(replies: Sequence[Any]) -> Admission:
    return Admission(*(sum(column) for column in zip(*replies, strict=True))) if replies else Admission()


def _accepted(replies: Sequence[Any], places: Sequence[Sequence[int]], size: int) -> list[bool]:
    accepted = [False] * size
    for row, where in zip(replies, places, strict=True):
        for place, reply in zip(where, row, strict=True):
            accepted[place] = bool(reply)
    return accepted


def _stale(replies: Sequence[Any]) -> list[str]:
    return [server.decode() for reply in replies for server in reply]


def _leases(replies: Sequence[Any]) -> tuple[list[Lease], int | None, int, int]:
    leases = [
        Lease(
            server=row[0].decode(),
            token=row[1],
            deadline_ms=row[2],
            due_ms=row[3],
            delay_ms=float(row[4]),
            connection_ms=float(row[5]),
            response_ms=float(row[6]),
            urls=tuple(_url(url) for url in row[7]),
        )
        for reply in replies
        for row in msgpack.unpackb(reply[0], raw=True)
    ]
    dues = [int(float(reply[1])) for reply in replies if reply[1] != b""]
    return leases, min(dues, default=None), sum(reply[2] for reply in replies), sum(reply[3] for reply in replies)


def _url(row: Sequence[Any]) -> LeasedUrl:
    member, q, depth, hops, payload = row
    return LeasedUrl(member.decode(), q / QUALITY_STEPS, depth, hops, payload)
