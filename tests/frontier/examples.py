"""Short spellings for the tests of the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgpack

from extensions.frontier.records import QUALITY_STEPS, Candidate, Settlement

if TYPE_CHECKING:
    from extensions.frontier.contract import Partition
    from extensions.frontier.records import Lease, Peek


def url(server: str = "a", member: str = "/", quality: float = 0.5, **fields: Any) -> Candidate:
    """A candidate with a fingerprint of its own, unless `bucket` and `remainder` are given."""
    fingerprint = crc32(repr((server, member)).encode())
    return Candidate(
        **{
            "server": server,
            "member": member,
            "quality": quality,
            "bucket": fingerprint % 16,
            "remainder": fingerprint // 16,
            **fields,
        }
    )


def kept(quality: float) -> float:
    """The quality in the queue's resolution."""
    return int(quality * QUALITY_STEPS + 0.5) / QUALITY_STEPS


def lease_one(frontier: Partition, now_ms: int = 0, agent: str = "agent", lease_ms: int = 1000) -> Lease:
    """The best server's lease."""
    (lease,), _ = frontier.lease(now_ms, agent, 1, lease_ms)
    return lease


def lease_all(frontier: Partition, now_ms: int = 0, agent: str = "agent", lease_ms: int = 1000) -> list[Lease]:
    """All that is due."""
    return frontier.lease(now_ms, agent, 1000, lease_ms)[0]


def members(lease: Lease) -> list[str]:
    return [one.member for one in lease.urls]


def servers(frontier: Partition, state: str) -> list[str]:
    return [row.server for row in frontier.peek(2000) if row.state == state]


def row_of(frontier: Partition, server: str) -> Peek:
    (row,) = [row for row in frontier.peek(2000, head=1000) if row.server == server]
    return row


def done(lease: Lease, *, release: bool = True, **fields: Any) -> Settlement:
    """All of a lease's URLs are done, as pages, and the server is free again unless told otherwise."""
    return Settlement(
        **{
            "server": lease.server,
            "token": lease.token,
            "done": tuple(members(lease)),
            "pages": len(lease.urls),
            "release": release,
            **fields,
        }
    )


def given_back(lease: Lease, **fields: Any) -> Settlement:
    """None of a lease's URLs is done, and the server is free again."""
    return Settlement(lease.server, lease.token, release=True, **fields)


SEQUENCE = 2
"""Where the number of insertions is in what Redis knows of a server (`record` in ``lua/common.lua``)."""


def counted_to(stored: bytes, sequence: int) -> bytes:
    """What Redis knows of a server, as if it had already got so many URLs: millions, which no test can offer."""
    unpacker = msgpack.Unpacker(raw=True)
    unpacker.feed(stored)
    fields = list(unpacker)
    fields[SEQUENCE] = sequence
    return b"".join(msgpack.packb(one, use_bin_type=False) for one in fields)
