"""What each verb does on one partition, to the letter: the Lua scripts and the oracle in dicts both keep to this page.

**Score.** A queued URL has one number, exact in a double (53 bits), greater is fetched first. With q = quality in 14 bits
(`int(quality * QUALITY_STEPS + 0.5)`), s = `MAX_SEQUENCE - sequence` (25 bits; `sequence` counts the insertions into this
server's queue from 0 and stays at MAX_SEQUENCE once there), depth (10 bits, capped) and hops (4 bits, capped):
quality order is ``q·2³⁹ + s·2¹⁴ + depth·2⁴ + hops``; first in, first out is ``s·2²⁸ + q·2¹⁴ + depth·2⁴ + hops``.
Equal scores: the lexicographically greatest member (as bytes) first.

**Rank** of a server with queue length n > 0, P = min(RequestsPerConnection, n), c = connection_ms/1000, r = response_ms/p/1000 and
d = delay_ms/1000, in the units quality per second or pages per second (`policies`):
breadth_first ``-order``; performance ``P / T(P)``; quality: the worth of the first URL; capability: the greatest of
``(w₁+…+wₖ) / T(k)`` for k = 1…P over the k first URLs; with ``T(k) = max(2c + k·r + (k−1)·d, 0.001)``.
The *worth* of a URL of quality q is ``w = o·q / (1 + (o − 1)·q)`` (`policies.adjusted`), o being the odds of its server, 1 as long as none were told: then w = q.
Equal ranks: the lexicographically greatest server (as bytes) first.

**Length** of a lease: for capability the k of that maximum, the greatest of equals, as it was when the server was ranked; otherwise P; 1 where
``keep_open_ms > 0`` and the server's delay reaches it. A capability lease that is *not contested* (see lease) may be longer: the k of the maximum with d = 0 in T, among the
first ``1 + ⌊keep_open_ms / max(delay_ms, 1)⌋`` if ``keep_open_ms > 0``.

**Exploring.** A capability lease that is not contested, of a server whose odds are less than EXPLORED_ODDS, *explores* under a token t with ``⌊t·explore⌋ > ⌊(t − 1)·explore⌋``, unless
PATIENCE leases of the partition have explored in vain: so many since the last admit that queued the first URL ever of a server, or since the beginning. It
carries, of the first EXPLORED_URLS of the queue, the min(length, EXPLORED_LENGTH) of the greatest *promise*, in that order; of equal promises the one earlier in the queue. With
s = q, but at least 1 and at most QUALITY_STEPS − 1, the promise is ``s / (QUALITY_STEPS − s)``, times STEEPNESS again for every "/" that the member has after its first character; an opaque
member, which begins with a NUL, counts as if it had none. (`exploring` has the constants.)

**Estimates** of a server start as None and read as the prior of `Rules`; the first measurement replaces the prior, each
later one m gives ``alpha * estimate + (1 - alpha) * m``.

**admit**, server by server in the order in which the batch first names them, and for each candidate of a server in turn:

1. If it was seen and is not forced, or its member is queued or leased already: if it is queued and the new q is greater than its q, the
   score gets the new q, the lesser depth and the lesser hops, and keeps its sequence: *raised*; otherwise *duplicate*.
   (A forced one is remembered as seen here too.)
2. Otherwise it is remembered as seen. If the server is closed (pages ≥ max_pages > 0, or failures ≥ max_failures > 0) or
   depth > max_depth > 0: *dropped*.
3. If the queue holds max_pending > 0 or more URLs: with a score not greater than the least one's it is *dropped*, otherwise the least one
   is *evicted* with its payload.
4. It is queued with the server's next sequence: *admitted*.

Then every server that got or raised a URL and is not leased is placed, in that order. *Placing* a server: no URL queued:
idle. Was it idle (or released just now), it takes the next `order` of the partition: one
more than the last, but at least now, so that turns compare between partitions. Due at or before now: ready, with its rank; otherwise waiting.
A server that is waiting stays so until `lease` promotes it.

**lease**: the waiting servers due at or before now become ready, at most PROMOTE_LIMIT of them, earliest first (then by server name). Then, up to
`count` times, the first ready server due at or before now - overdue_ms becomes leased by `agent` until now + lease_ms under the partition's next token (1, 2, 3, …),
with its `length` first URLs, or those of an exploring lease. The leases are contested if more than `count` servers were ready, or overdue_ms > 0. With overdue_ms > 0 only the OVERDUE_LIMIT first ready servers are looked at.
The reply also tells the earliest due instant among the servers still waiting (None if there is none).

**settle**: refused (False, counted, nothing changes) unless the server is leased under that token. Members of `done` that are held are settled,
payload and all; unknown ones are passed over. `pages` adds to the server's; failures become `failures` if pages > 0, otherwise grow by it;
estimates take the measurements; `carried`, at least 1, becomes RequestsPerConnection; delay_ms and odds, if given, replace the server's (odds
within LEAST_ODDS and MOST_ODDS, as all that is queued there is ranked from now on); due becomes the later of the two.
If the server is closed now, its whole queue is *dropped*. With `release` the URLs still held go back with their old scores (payloads kept, max_pending not applied), but each pair of
`lowered` sets the q of its member to that of its quality first, where that is less; or they are *dropped* if the server is closed; the lease ends and the server is placed.
With `again`, what is refused still counts for what Redis has forgotten: members of `done` that are queued are settled, due becomes the later of the two, and the server, if it is ready, is
ranked anew, or waits if it is not due any more; without URLs queued it is idle.

**renew**: deadline = now + lease_ms for each (server, token) that holds; the others are refused (counted) and named in the reply.

**reclaim**: leases whose deadline is at or before now, each counted as *expired*; or, if `agent` is named, all of its leases but those in `held`; in the order
(deadline, server). Each is released as above after its server's due became the later of its own and now + its delay. Their held URLs, dropped ones included, count as
*reclaimed*. The reply is that number. Naming an agent is how that agent makes sure of what it holds, when it begins and after Redis was away; Redis may have lost its last
writes meanwhile. Therefore the next token also grows by TOKEN_JUMP, so that none is given twice; and each server of `held` that is leased by nobody now is left alone until the later of its due and
now + its delay, because the agent may just have sent a request there.

**stats**, **peek** read only; peek lists ready servers by rank, then waiting ones by (due, server), then leased ones by (deadline, server), each with the `head` first URLs of its queue (for a leased
server: of its queue, not of its lease). **clear** forgets everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from extensions.frontier.records import Admission, Candidate, Lease, Peek, Settlement, Stats

PROMOTE_LIMIT = 1000
OVERDUE_LIMIT = 100
TOKEN_JUMP = 2**20
"""More leases than a partition grants in the seconds of writes that a Redis may lose."""


class Partition(Protocol):
    """One partition's verbs, as the oracle and the contract tests speak them (synchronously)."""

    def admit(self, now_ms: int, candidates: Sequence[Candidate]) -> Admission:
        """Seen test, bounds, URL queue, server rank."""
        ...

    def lease(
        self, now_ms: int, agent: str, count: int, lease_ms: int, overdue_ms: int = 0
    ) -> tuple[list[Lease], int | None]:
        """Open the best due servers; also the earliest instant another becomes due."""
        ...

    def settle(self, now_ms: int, settlement: Settlement) -> bool:
        """Acknowledge URLs of a lease; False if the token is stale."""
        ...

    def renew(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> set[str]:
        """Move deadlines; the servers whose token is stale."""
        ...

    def reclaim(self, now_ms: int, agent: str | None = None, held: Iterable[tuple[str, int]] = ()) -> int:
        """Take back expired leases, or those of one agent that it does not know of; how many URLs."""
        ...

    def stats(self) -> Stats:
        """Counters."""
        ...

    def peek(self, count: int, head: int = 3) -> list[Peek]:
        """Servers as they stand."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...
