"""The frontier's records as what its scripts take and reply: msgpack, several times faster for Redis than lists of its own protocol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgpack

from extensions.errors import CrawlError
from extensions.frontier.policies import bounded_odds
from extensions.frontier.records import (
    MAX_DEPTH,
    MAX_HOPS,
    QUALITY_STEPS,
    Admission,
    Lease,
    LeasedUrl,
    Settlement,
)
from extensions.frontier.score import HOPS_BITS, QUALITY_BELOW, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CARRIED = 1000
"""No lease is longer than this, however many requests a connection is known to carry."""


def packed(arguments: Any) -> bytes:
    """Arguments for a script."""
    found: bytes = msgpack.packb(arguments, use_bin_type=False)
    return found


def unpacked(reply: bytes) -> Any:
    """What a script has replied, strings as bytes."""
    return msgpack.unpackb(reply, raw=True)


def settlement_row(one: Settlement) -> list[Any]:
    """As ``lua/settle.lua`` takes it. Raises ValueError for an impossible one."""
    times = (*one.connection_ms, *one.response_ms, one.delay_ms or 0.0, one.due_ms)
    sound = one.odds is None or 0.0 < one.odds < math.inf
    if one.lowered:
        sound = sound and all(0.0 <= quality <= 1.0 for _, quality in one.lowered)
    if not (
        sound and one.pages >= 0 and one.failures >= 0 and all(math.isfinite(time) and time >= 0 for time in times)
    ):
        raise ValueError(f"No lease can be settled as {one!r}")
    row = [
        one.server,
        one.token,
        # With lengths as Redis writes them, so that a script can compare it with what it has written.
        [msgpack.packb(one.done), len(one.done)] if one.done else [],
        one.pages,
        one.failures,
        one.connection_ms,
        one.response_ms,
        -1 if one.carried is None else min(max(1, one.carried), MAX_CARRIED),
        -1 if one.delay_ms is None else one.delay_ms,
        one.due_ms,
        int(one.release),
        0 if one.odds is None else bounded_odds(one.odds),
    ]
    if one.lowered or one.again:
        row += (_least(one.lowered), int(one.again))
    return row


def _least(lowered: Sequence[tuple[str, float]]) -> dict[str, int]:
    """Of each member the least quality that is told of it, in steps."""
    found: dict[str, int] = {}
    for member, quality in lowered:
        found[member] = min(steps(quality), found.get(member, QUALITY_STEPS))
    return found


def admission_of(replies: Sequence[Any]) -> Admission:
    """Of all partitions together."""
    rows = [unpacked(reply) for reply in replies]
    return Admission(*(sum(column) for column in zip(*rows, strict=True))) if rows else Admission()


def good(replies: Sequence[Any]) -> list[Any]:
    """Those that are no errors."""
    return [reply for reply in replies if not isinstance(reply, CrawlError)]


def accepted_of(replies: Sequence[Any], places: Sequence[Sequence[int]], size: int) -> list[bool | None]:
    """For each of `size` settlements, by the places that each partition's are at; None where no reply came."""
    accepted: list[bool | None] = [None] * size
    for row, where in zip(replies, places, strict=True):
        if not isinstance(row, CrawlError):
            for place, reply in zip(where, unpacked(row), strict=True):
                accepted[place] = bool(reply)
    return accepted


def stale_of(replies: Sequence[Any]) -> list[str]:
    """The servers that `renew` names."""
    return [server.decode() for reply in replies for server in unpacked(reply)]


def lease_of(by_quality: bool, row: Sequence[Any]) -> Lease:
    """One lease of a reply of ``lua/lease.lua``; `by_quality` is the policy's `orders_by_quality`."""
    server, token, deadline_ms, due_ms, delay_ms, connection_ms, response_ms, held = row
    members, scores, places, payloads = unpacked(held)
    payload_at = [b"", *payloads]
    return Lease(
        server=server.decode(),
        token=token,
        deadline_ms=deadline_ms,
        due_ms=due_ms,
        delay_ms=float(delay_ms),
        connection_ms=float(connection_ms),
        response_ms=float(response_ms),
        urls=urls_of(by_quality, members, scores, [payload_at[place] for place in places]),
    )


def urls_of(
    by_quality: bool, members: Sequence[bytes], scores: Sequence[int], payloads: Sequence[bytes]
) -> tuple[LeasedUrl, ...]:
    """What `score.unpack` says of each, at less cost."""
    above = QUALITY_BELOW[by_quality]
    return tuple(
        [
            LeasedUrl(
                member.decode(),
                (score >> above & QUALITY_STEPS) / QUALITY_STEPS,
                score >> HOPS_BITS & MAX_DEPTH,
                score & MAX_HOPS,
                payload,
            )
            for member, score, payload in zip(members, scores, payloads, strict=True)
        ]
    )
