"""One partition of the frontier on plain dicts: the contract as a program that can be read, and the oracle of the tests.

It does what `contract` says, sentence by sentence, and nothing to be fast: a queue is sorted when it is asked for. `check`
asserts what holds after every verb. Crawls use `redis.RedisFrontier`; this one forgets everything with its process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from extensions.frontier import exploring, policies, score
from extensions.frontier.contract import OVERDUE_LIMIT, PROMOTE_LIMIT, TOKEN_JUMP
from extensions.frontier.records import Admission, Lease, LeasedUrl, Peek, Rules, Stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from extensions.frontier.records import Candidate, Settlement


@dataclass(slots=True)
class _Server:
    """All that is known of one server. Both queues map a member to its score; `held` is what the lease holds."""

    name: str
    state: Literal["idle", "waiting", "ready", "leased"] = "idle"
    queue: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    payloads: dict[str, bytes] = field(default_factory=dict)
    sequence: int = 0
    order: int = 0
    rank: float = 0.0
    due_ms: int = 0
    pages: int = 0
    failures: int = 0
    requests_per_connection: int | None = None
    connection_ms: float | None = None
    response_ms: float | None = None
    delay_ms: float | None = None
    odds: float = 1.0
    agent: str = ""
    token: int = 0
    deadline_ms: int = 0

    def estimates(self, rules: Rules) -> policies.Estimates:
        """What was measured, or the prior where nothing was."""
        requests = self.requests_per_connection
        return policies.Estimates(
            rules.requests_per_connection if requests is None else requests,
            rules.connection_ms if self.connection_ms is None else self.connection_ms,
            rules.response_ms if self.response_ms is None else self.response_ms,
            rules.delay_ms if self.delay_ms is None else self.delay_ms,
            self.odds,
        )

    def closed(self, rules: Rules) -> bool:
        """Whether a bound says that nothing more is to be fetched here."""
        return self.pages >= rules.max_pages > 0 or self.failures >= rules.max_failures > 0

    def in_order(self) -> list[str]:
        """The queue's members, the next one first."""
        return sorted(self.queue, key=lambda member: (self.queue[member], member.encode()), reverse=True)


@dataclass(slots=True)
class _Counts:
    """What has happened. The contract's *dropped* is the sum of two, told apart here so that `check` can balance the books."""

    admitted: int = 0
    raised: int = 0
    duplicates: int = 0
    turned_away: int = 0
    """Dropped instead of being queued."""
    given_up: int = 0
    """Dropped after having been queued, because the server was closed."""
    evicted: int = 0
    settled: int = 0
    reclaimed: int = 0
    refused: int = 0
    expired: int = 0


class DictFrontier:
    """A `contract.Partition` in memory."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._servers: dict[str, _Server] = {}
        self._seen: set[tuple[int, int]] = set()
        self._counts = _Counts()
        self._orders = 0
        self._tokens = 0
        self._vain = 0

    # The verbs

    def admit(self, now_ms: int, candidates: Sequence[Candidate]) -> Admission:
        """Seen test, bounds, URL queue, server rank."""
        before = self.stats()
        touched: dict[str, _Server] = {}
        named = {name: place for place, name in enumerate(dict.fromkeys(one.server for one in candidates))}
        for candidate in sorted(candidates, key=lambda one: named[one.server]):
            server = self._servers.get(candidate.server) or _Server(candidate.server)
            if self._admit_one(server, candidate):
                self._vain = self._vain if server.name in self._servers else 0
                self._servers[server.name] = touched[server.name] = server
        for server in touched.values():
            if server.state != "leased":
                self._place(now_ms, server, took_turn=server.state != "idle")
        after = self.stats()
        return Admission(
            admitted=after.admitted - before.admitted,
            raised=after.raised - before.raised,
            duplicates=after.duplicates - before.duplicates,
            dropped=after.dropped - before.dropped,
            evicted=after.evicted - before.evicted,
        )

    def lease(
        self, now_ms: int, agent: str, count: int, lease_ms: int, overdue_ms: int = 0
    ) -> tuple[list[Lease], int | None]:
        """Open the best due servers; also the earliest instant another becomes due."""
        due = [server for server in self._waiting() if server.due_ms <= now_ms]
        for server in due[:PROMOTE_LIMIT]:
            self._make_ready(server)
        ready = self._ready()
        contested = overdue_ms > 0 or len(ready) > count
        if overdue_ms > 0:
            ready = [server for server in ready[:OVERDUE_LIMIT] if server.due_ms <= now_ms - overdue_ms]
        best = ready[: max(count, 0)]
        leases = [self._open(server, agent, now_ms + lease_ms, contested=contested) for server in best]
        return leases, min((server.due_ms for server in self._waiting()), default=None)

    def settle(self, now_ms: int, settlement: Settlement) -> bool:
        """Acknowledge URLs of a lease; False if the token is stale."""
        server = self._leased(settlement.server, settlement.token)
        if server is None:
            self._counts.refused += 1
            if settlement.again:
                self._settle_again(now_ms, settlement)
            return False
        for member in settlement.done:
            if server.held.pop(member, None) is not None:
                server.payloads.pop(member, None)
                self._counts.settled += 1
        server.pages += settlement.pages
        server.failures = settlement.failures + (0 if settlement.pages > 0 else server.failures)
        self._learn(server, settlement)
        server.due_ms = max(server.due_ms, settlement.due_ms)
        if server.closed(self.rules):
            self._give_up(server, server.queue)
        if settlement.release:
            self._lower(server, settlement)
            self._release(now_ms, server)
        return True

    def renew(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> set[str]:
        """Move deadlines; the servers whose token is stale."""
        stale = set()
        for name, token in leases:
            server = self._leased(name, token)
            if server is None:
                self._counts.refused += 1
                stale.add(name)
            else:
                server.deadline_ms = now_ms + lease_ms
        return stale

    def reclaim(self, now_ms: int, agent: str | None = None, held: Iterable[tuple[str, int]] = ()) -> int:
        """Take back expired leases, or those of one agent that it does not know of; how many URLs."""
        before = self._counts.reclaimed
        spared = dict(held)
        for server in self._open_servers():
            if agent is None:
                ends = server.deadline_ms <= now_ms
                self._counts.expired += ends
            else:
                ends = server.agent == agent and spared.get(server.name) != server.token
            if ends:
                self._leave_alone(now_ms, server)
                self._counts.reclaimed += len(server.held)
                self._release(now_ms, server)
        if agent is not None:
            self._tokens += TOKEN_JUMP
            for name in sorted(spared):
                self._forgotten(now_ms, name)
        return self._counts.reclaimed - before

    def stats(self) -> Stats:
        """Counters."""
        counts = self._counts
        return Stats(
            queued=sum(len(server.queue) for server in self._servers.values()),
            leased=sum(len(server.held) for server in self._servers.values()),
            open_servers=len(self._open_servers()),
            servers=len(self._servers),
            seen=len(self._seen),
            admitted=counts.admitted,
            raised=counts.raised,
            duplicates=counts.duplicates,
            dropped=counts.turned_away + counts.given_up,
            evicted=counts.evicted,
            settled=counts.settled,
            reclaimed=counts.reclaimed,
            refused=counts.refused,
            expired=counts.expired,
        )

    def peek(self, count: int, head: int = 3) -> list[Peek]:
        """Servers as they stand."""
        rows = [(server, server.rank) for server in self._ready()]
        rows += [(server, float(server.due_ms)) for server in self._waiting()]
        rows += [(server, float(server.deadline_ms)) for server in self._open_servers()]
        return [
            Peek(
                server=server.name,
                state=server.state,
                rank=rank,
                queued=len(server.queue),
                head=tuple(self._url(server, member, server.queue) for member in server.in_order()[:head]),
            )
            for server, rank in rows[:count]
        ]

    # The four states of a server

    def _ready(self) -> list[_Server]:
        ready = (server for server in self._servers.values() if server.state == "ready")
        return sorted(ready, key=lambda server: (server.rank, server.name.encode()), reverse=True)

    def _waiting(self) -> list[_Server]:
        waiting = (server for server in self._servers.values() if server.state == "waiting")
        return sorted(waiting, key=lambda server: (server.due_ms, server.name.encode()))

    def _open_servers(self) -> list[_Server]:
        leased = (server for server in self._servers.values() if server.state == "leased")
        return sorted(leased, key=lambda server: (server.deadline_ms, server.name.encode()))

    def _leased(self, name: str, token: int) -> _Server | None:
        """The server, if this is the token of its present lease."""
        server = self._servers.get(name)
        return server if server is not None and server.state == "leased" and server.token == token else None

    def _place(self, now_ms: int, server: _Server, *, took_turn: bool) -> None:
        """Where a server belongs whose queue has changed, or whose lease has ended."""
        if server.state == "waiting":
            return
        if not server.queue:
            server.state = "idle"
            return
        if not took_turn:
            self._orders = max(self._orders + 1, now_ms)
            server.order = self._orders
        # Once ready it stays so, even if the clock is set back.
        if server.state == "ready" or server.due_ms <= now_ms:
            self._make_ready(server)
        else:
            server.state = "waiting"

    def _make_ready(self, server: _Server) -> None:
        server.state = "ready"
        server.rank = policies.rank(self.rules, server.estimates(self.rules), server.order, self._qualities(server))

    def _leave_alone(self, now_ms: int, server: _Server) -> None:
        """Nobody knows when an agent's last request was: it may have been now."""
        server.due_ms = max(server.due_ms, now_ms + math.ceil(server.estimates(self.rules).delay_ms))

    def _forgotten(self, now_ms: int, name: str) -> None:
        """An agent believes that it holds this server."""
        server = self._servers.get(name)
        if server is None or not server.sequence or server.state == "leased":
            return
        self._leave_alone(now_ms, server)
        if server.state == "ready" and server.due_ms > now_ms:
            server.state = "waiting"

    def _open(self, server: _Server, agent: str, deadline_ms: int, *, contested: bool) -> Lease:
        self._tokens += 1
        server.state, server.agent, server.token, server.deadline_ms = "leased", agent, self._tokens, deadline_ms
        estimates = server.estimates(self.rules)
        length = policies.lease_length(self.rules, estimates, self._qualities(server), contested=contested)
        chosen = server.in_order()[:length]
        if exploring.explores(self.rules, server.odds, server.token, vain=self._vain, contested=contested):
            chosen = self._explored(server, length)
            self._vain += 1
        server.held = {member: server.queue.pop(member) for member in chosen}
        return Lease(
            server=server.name,
            token=server.token,
            deadline_ms=deadline_ms,
            due_ms=server.due_ms,
            delay_ms=estimates.delay_ms,
            connection_ms=estimates.connection_ms,
            response_ms=estimates.response_ms,
            urls=tuple(self._url(server, member, server.held) for member in server.held),
        )

    def _explored(self, server: _Server, length: int) -> list[str]:
        """The members of an exploring lease."""
        members = server.in_order()
        qualities = self._qualities(server)
        promises = [
            exploring.promise(quality, exploring.segments(member))
            for member, quality in zip(members, qualities, strict=True)
        ]
        return [members[place] for place in exploring.explored(promises, length)]

    def _learn(self, server: _Server, settlement: Settlement) -> None:
        """Take over what was measured of the server and learned of it."""
        for measured in settlement.connection_ms:
            server.connection_ms = policies.ewma(server.connection_ms, measured, self.rules.alpha)
        for measured in settlement.response_ms:
            server.response_ms = policies.ewma(server.response_ms, measured, self.rules.alpha)
        if settlement.carried is not None:
            server.requests_per_connection = max(settlement.carried, 1)
        if settlement.delay_ms is not None:
            server.delay_ms = settlement.delay_ms
        if settlement.odds is not None:
            server.odds = policies.bounded_odds(settlement.odds)

    def _settle_again(self, now_ms: int, settlement: Settlement) -> None:
        """The lease is forgotten: what it has done is queued once more."""
        server = self._servers.get(settlement.server)
        if server is None:
            return
        for member in settlement.done:
            if server.queue.pop(member, None) is not None:
                server.payloads.pop(member, None)
                self._counts.settled += 1
        server.due_ms = max(server.due_ms, settlement.due_ms)
        if server.state == "leased":
            return
        if not server.queue:
            server.state = "idle"
        elif server.due_ms > now_ms:
            server.state = "waiting"
        elif server.state == "ready":
            self._make_ready(server)

    def _lower(self, server: _Server, settlement: Settlement) -> None:
        """Of what is held, some is worth less now."""
        for member, quality in settlement.lowered:
            if member in server.held:
                old = self._unpack(server.held[member])
                if score.steps(quality) < score.steps(old.quality):
                    server.held[member] = self._pack(quality, old.sequence, old.depth, old.hops)

    def _release(self, now_ms: int, server: _Server) -> None:
        """End a lease: what it still holds is queued again at its old place, or dropped if the server is closed."""
        if server.closed(self.rules):
            self._give_up(server, server.held)
        server.queue |= server.held
        server.held = {}
        server.agent, server.token, server.deadline_ms = "", 0, 0
        server.state = "idle"
        self._place(now_ms, server, took_turn=False)

    # The URLs of a server

    def _admit_one(self, server: _Server, candidate: Candidate) -> bool:
        """Decide on one candidate and count it; whether the server's queue has changed."""
        fingerprint = (candidate.bucket, candidate.remainder)
        seen = fingerprint in self._seen and not candidate.force
        self._seen.add(fingerprint)
        if seen or candidate.member in server.queue or candidate.member in server.held:
            return self._raise_or_count(server, candidate)
        if server.closed(self.rules) or candidate.depth > self.rules.max_depth > 0:
            self._counts.turned_away += 1
            return False
        place = self._pack(candidate.quality, server.sequence, candidate.depth, candidate.hops)
        if len(server.queue) >= self.rules.max_pending > 0:
            least = server.in_order()[-1]
            if place <= server.queue[least]:
                self._counts.turned_away += 1
                return False
            del server.queue[least]
            server.payloads.pop(least, None)
            self._counts.evicted += 1
        server.sequence += 1
        server.queue[candidate.member] = place
        if candidate.payload:
            server.payloads[candidate.member] = candidate.payload
        self._counts.admitted += 1
        return True

    def _raise_or_count(self, server: _Server, candidate: Candidate) -> bool:
        """A URL that is known already: better evidence raises it if it is queued, anything else is a duplicate."""
        if candidate.member in server.queue:
            old = self._unpack(server.queue[candidate.member])
            if score.steps(candidate.quality) > score.steps(old.quality):
                server.queue[candidate.member] = self._pack(
                    candidate.quality, old.sequence, min(candidate.depth, old.depth), min(candidate.hops, old.hops)
                )
                self._counts.raised += 1
                return True
        self._counts.duplicates += 1
        return False

    def _give_up(self, server: _Server, urls: dict[str, int]) -> None:
        """Drop them all, payloads too."""
        self._counts.given_up += len(urls)
        for member in urls:
            server.payloads.pop(member, None)
        urls.clear()

    def _url(self, server: _Server, member: str, place: dict[str, int]) -> LeasedUrl:
        fields = self._unpack(place[member])
        return LeasedUrl(member, fields.quality, fields.depth, fields.hops, server.payloads.get(member, b""))

    def _qualities(self, server: _Server) -> list[float]:
        return [self._unpack(server.queue[member]).quality for member in server.in_order()]

    def _pack(self, quality: float, sequence: int, depth: int, hops: int) -> int:
        return score.pack(self.rules.policy.orders_by_quality, quality, sequence, depth, hops)

    def _unpack(self, place: int) -> score.Fields:
        return score.unpack(self.rules.policy.orders_by_quality, place)

    # What always holds

    def check(self) -> None:
        """Assert what holds after every verb: the states of servers, the place of every URL, the books."""
        tokens = [server.token for server in self._open_servers()]
        assert len(set(tokens)) == len(tokens), "two leases with one token"
        assert all(0 < token <= self._tokens for token in tokens), "a token that was never given"
        for server in self._servers.values():
            self._check_server(server)
        stats, counts = self.stats(), self._counts
        placed = stats.queued + stats.leased
        ended = stats.settled + stats.evicted + counts.given_up
        assert counts.admitted == placed + ended, "a URL is queued, leased or done"
        assert stats.servers >= stats.open_servers

    def _check_server(self, server: _Server) -> None:
        open_ = server.state == "leased"
        assert (server.state == "idle") == (not open_ and not server.queue), "idle: no URL queued, not leased"
        assert open_ or not server.held, "only a leased server's URLs are held"
        assert open_ == (server.token > 0), "a token belongs to a lease"
        assert not server.queue.keys() & server.held.keys(), "a URL is queued or leased, never both"
        assert server.payloads.keys() <= server.queue.keys() | server.held.keys(), "a payload outlived its URL"
        assert len(server.queue) + len(server.held) <= server.sequence, "more URLs than were ever inserted"
        assert not (server.queue and server.closed(self.rules)), "a closed server has nothing queued"
        if server.state in ("waiting", "ready"):
            assert 0 < server.order <= self._orders, "who has URLs queued has a turn"
        if server.state == "ready":
            estimates = server.estimates(self.rules)
            now = policies.rank(self.rules, estimates, server.order, self._qualities(server))
            assert server.rank == now, "a ready server's rank is up to date"
