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

from extensions.errors import CrawlError, FrontierUnavailable
from extensions.frontier.allotment import HEADS, Ask, PartitionView
from extensions.frontier.contract import OVERDUE_LIMIT, PROMOTE_LIMIT, TOKEN_JUMP
from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.keys import about_key, agents_key, learned_key, lessons_key, partition_key, partitions_pattern
from extensions.frontier.pipeline import Call, Pipeline
from extensions.frontier.records import (
    MAX_DEPTH,
    MAX_HOPS,
    QUALITY_STEPS,
    Admission,
    Candidate,
    Lease,
    Peek,
    Rules,
    Settlement,
    Stats,
)
from extensions.frontier.scripts import script
from extensions.frontier.wire import (
    accepted_of,
    admission_of,
    good,
    lease_of,
    packed,
    settlement_row,
    stale_of,
    unpacked,
    urls_of,
)
from extensions.urls.fingerprints import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redis.asyncio import Redis

COUNTERS = tuple(name.encode() for name in Stats.__slots__)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The replies to one `exchange`."""

    admission: Admission
    all_admitted: bool
    """Whether every candidate has reached its partition."""
    accepted: tuple[bool | None, ...]
    """For each settlement, in order; None if that is not known, so that it must be sent again."""
    stale: frozenset[str]
    """Servers whose lease could not be renewed."""
    all_renewed: bool
    leases: tuple[Lease, ...]
    views: tuple[PartitionView, ...]
    """Of the partitions that were asked for servers."""
    error: CrawlError | None
    """Why something of it was not done."""


class RedisFrontier:
    """A crawl's frontier on Redis 6.2 or newer. Raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, client: Redis, crawl: str, rules: Rules, partitions: int = 1) -> None:
        self.client = client
        self.crawl = crawl
        self.partitions = partitions
        self.orders_by_quality = rules.policy.orders_by_quality
        self._max_depth = rules.max_depth
        self.pipeline = Pipeline(client, crawl, packed(asdict(rules) | {"policy": rules.policy.value}))
        self._turn = 0

    @property
    def round_trips(self) -> int:
        """Between this process and Redis so far."""
        return self.pipeline.round_trips

    async def admit(self, now_ms: int, candidates: Sequence[Candidate]) -> Admission:
        """Seen test, bounds, URL queue and server rank for a batch. Raises ValueError for an impossible candidate."""
        return admission_of(await self.pipeline.run_all(self._admit_calls(now_ms, candidates)))

    async def lease(
        self, now_ms: int, agent: str, count: int, lease_ms: int, overdue_ms: int = 0
    ) -> tuple[list[Lease], int | None]:
        """Open up to `count` servers; also the earliest instant at which another one becomes due."""
        asks = self._shares(count, overdue_ms)
        replies = await self.pipeline.run_all([self._lease_call(now_ms, agent, ask, lease_ms) for ask in asks])
        leases, views = self._leased(asks, replies)
        return leases, min((view.next_due_ms for view in views if view.next_due_ms is not None), default=None)

    async def settle(self, now_ms: int, settlements: Sequence[Settlement]) -> list[bool]:
        """Acknowledge URLs of leases; False for each whose token is stale."""
        calls, places = self._settle_calls(now_ms, settlements)
        return [bool(one) for one in accepted_of(await self.pipeline.run_all(calls), places, len(settlements))]

    async def renew(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> set[str]:
        """Move the deadlines of leases; the servers whose token is stale."""
        return set(stale_of(await self.pipeline.run_all(self._renew_calls(now_ms, leases, lease_ms))))

    async def reclaim(
        self,
        now_ms: int,
        agent: str | None = None,
        held: Iterable[tuple[str, int]] = (),
        partitions: Iterable[int] | None = None,
    ) -> int:
        """Take back expired leases, or those of one agent that are not in `held`; how many URLs they had. In all partitions or in some."""
        parts: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for server, token in held:
            parts[self.partition_of(server)].append((server, token))
        calls = [
            Call(script("reclaim"), partition, packed([now_ms, agent or "", parts[partition], TOKEN_JUMP]))
            for partition in (range(self.partitions) if partitions is None else partitions)
        ]
        return sum(await self.pipeline.run_all(calls))

    async def exchange(
        self,
        now_ms: int,
        *,
        candidates: Sequence[Candidate] = (),
        settlements: Sequence[Settlement] = (),
        renewals: Sequence[tuple[str, int]] = (),
        agent: str,
        asks: Sequence[Ask],
        lease_ms: int,
    ) -> Exchange:
        """Admit, settle, renew and lease in one round trip. What some partitions refused does not undo what others did; `error` says so."""
        admits = self._admit_calls(now_ms, candidates)
        settles, places = self._settle_calls(now_ms, settlements)
        renews = self._renew_calls(now_ms, renewals, lease_ms)
        leases = [self._lease_call(now_ms, agent, ask, lease_ms) for ask in asks]
        calls = admits + settles + renews + leases
        replies = await self.pipeline.run(calls)
        errors = [reply for reply in replies if isinstance(reply, CrawlError)]
        sent = iter(replies)
        admitted, settled, renewed, leased = ([next(sent) for _ in part] for part in (admits, settles, renews, leases))
        found, views = self._leased(asks, leased)
        return Exchange(
            admission=admission_of(good(admitted)),
            all_admitted=len(good(admitted)) == len(admits),
            accepted=tuple(accepted_of(settled, places, len(settlements))),
            stale=frozenset(stale_of(good(renewed))),
            all_renewed=len(good(renewed)) == len(renews),
            leases=tuple(found),
            views=tuple(views),
            # What will not mend by waiting comes first.
            error=min(errors, key=lambda error: isinstance(error, FrontierUnavailable), default=None),
        )

    async def stats(self) -> Stats:
        """Counters, added over the partitions."""
        keys = [partition_key(self.crawl, partition) for partition in range(self.partitions)]
        rows = await self.pipeline.read([(key, ("HMGET", key, *COUNTERS)) for key in keys])
        return sum((Stats(*(int(value or 0) for value in row)) for row in rows), Stats())

    async def peek(self, count: int, head: int = 3) -> list[Peek]:
        """Servers as they stand, with the first URLs of each; of every partition the first `count`."""
        arguments = packed([count, head])
        replies = await self.pipeline.run_all(
            [Call(script("peek"), number, arguments) for number in range(self.partitions)]
        )
        rows = [
            Peek(name.decode(), state.decode(), float(rank), queued, urls_of(self.orders_by_quality, *urls))
            for reply in replies
            for name, state, rank, queued, *urls in unpacked(reply)
        ]
        if self.partitions > 1:
            order = {"ready": 0, "waiting": 1, "leased": 2}
            rows.sort(key=lambda row: (order[row.state], -row.rank if row.state == "ready" else row.rank))
        return rows[:count]

    async def clear(self) -> None:
        """Forget the whole crawl."""
        try:
            batches: dict[bytes, list[bytes]] = defaultdict(list)  # one call is for one slot
            async for key in self.client.scan_iter(match=partitions_pattern(self.crawl), count=1000):
                batch = batches[key.partition(b"}")[0]]
                batch.append(key)
                if len(batch) == 1000:
                    await self.client.unlink(*batch)
                    batch.clear()
            for batch in filter(None, batches.values()):
                await self.client.unlink(*batch)
            crawl_keys = (about_key, agents_key, lessons_key, learned_key)
            await self.client.delete(*(key(self.crawl) for key in crawl_keys))
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def about(self, fixed: dict[str, str]) -> dict[str, str]:
        """What was fixed when the crawl began; `fixed` if it begins now. What another version of this project did not fix then is missing."""
        key = about_key(self.crawl)
        (found,) = await self.pipeline.read([(key, ("HGETALL", key))])
        if not found:
            # Of two agents that begin at the same time, one fixes all of it.
            begin = [("HSETNX", key, name, value) for name, value in fixed.items()]
            commands = [("MULTI",), *begin, ("EXEC",), ("HGETALL", key)]
            found = (await self.pipeline.read([(key, command) for command in commands]))[-1]
        return {key.decode(): value.decode() for key, value in found.items()}

    # What each verb sends

    def partition_of(self, server: str) -> int:
        """Where everything of a server is."""
        return partition_of(server, self.partitions) if self.partitions > 1 else 0

    def _admit_calls(self, now_ms: int, candidates: Sequence[Candidate]) -> list[Call]:
        parts: dict[int, tuple[list[Any], dict[bytes, int]]] = {}
        servers: dict[str, tuple[list[Any], dict[bytes, int]]] = {}
        for server, member, bucket, remainder, quality, depth, hops, force, payload in candidates:
            if not (server and member and depth >= 0 and hops >= 0 and -math.inf < quality < math.inf):
                one = Candidate(server, member, bucket, remainder, quality, depth, hops, force, payload)
                raise ValueError(f"No URL can be queued as {one!r}")
            if server not in servers:
                arguments, payloads = parts.setdefault(self.partition_of(server), ([], {b"": 0}))
                servers[server] = [], payloads
                arguments += (server, servers[server][0])
            row, payloads = servers[server]
            too_deep = 0 < self._max_depth < depth
            row += (
                member,
                # As text: a script would write them as doubles, which takes Redis longer than this.
                str(bucket),
                str(remainder),
                int(quality * QUALITY_STEPS + 0.5) if 0.0 < quality < 1.0 else QUALITY_STEPS * (quality > 0),
                min(MAX_DEPTH, depth) << 4 | min(MAX_HOPS, hops),
                payloads.setdefault(payload, len(payloads)) << 2 | too_deep << 1 | force,
            )
        return [
            Call(script("admit"), partition, packed([now_ms, list(payloads)[1:], *arguments]))
            for partition, (arguments, payloads) in parts.items()
        ]

    def _settle_calls(self, now_ms: int, settlements: Sequence[Settlement]) -> tuple[list[Call], list[list[int]]]:
        parts: dict[int, list[int]] = defaultdict(list)
        for place, one in enumerate(settlements):
            parts[self.partition_of(one.server)].append(place)
        calls = [
            Call(
                script("settle"), partition, packed([now_ms, [settlement_row(settlements[place]) for place in places]])
            )
            for partition, places in parts.items()
        ]
        return calls, list(parts.values())

    def _renew_calls(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> list[Call]:
        parts: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for server, token in leases:
            parts[self.partition_of(server)].append((server, token))
        return [Call(script("renew"), number, packed([now_ms, lease_ms, rows])) for number, rows in parts.items()]

    def _shares(self, count: int, overdue_ms: int) -> list[Ask]:
        """A fair share for every partition; what does not divide goes round from call to call."""
        share, rest = divmod(max(count, 0), self.partitions)
        first = self._turn
        self._turn = (self._turn + rest) % self.partitions
        return [
            Ask(partition, share + ((partition - first) % self.partitions < rest), overdue_ms)
            for partition in range(self.partitions)
        ]

    @staticmethod
    def _lease_call(now_ms: int, agent: str, ask: Ask, lease_ms: int) -> Call:
        limits = [PROMOTE_LIMIT, HEADS, ask.overdue_ms, OVERDUE_LIMIT]
        return Call(script("lease"), ask.partition, packed([now_ms, agent, ask.servers, lease_ms, *limits]))

    # What comes back

    def _leased(self, asks: Sequence[Ask], replies: Sequence[Any]) -> tuple[list[Lease], list[PartitionView]]:
        """Of the partitions that have answered."""
        leases, views = [], []
        for ask, reply in zip(asks, replies, strict=True):
            if isinstance(reply, CrawlError):
                continue
            rows, due, queued, leased, ready, ranks = unpacked(reply)
            leases += [lease_of(self.orders_by_quality, row) for row in rows]
            next_due = None if due == b"" else int(float(due))
            views.append(PartitionView(ask.partition, next_due, queued, leased, ready, tuple(map(float, ranks))))
        return leases, views
