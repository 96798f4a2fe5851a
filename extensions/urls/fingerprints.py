"""The 16 bytes by which a page is known: its server's hash, then its URL's.

Both halves are 64 bits of MurmurHash3. The first is the same for all pages of a server and decides the partition, so that a
server and everything of it live together. The second is the seen-set's, see `extensions.seen.layout`.
"""

from __future__ import annotations

from mmh3 import hash_bytes

HALF = 8
LENGTH = 2 * HALF


def fingerprint(server: str, member: str) -> bytes:
    """The fingerprint of a page, from what `split_server` gave."""
    return hash_bytes(server)[:HALF] + hash_bytes(server + member)[:HALF]


def partition_of(server_or_fingerprint: str | bytes, partitions: int) -> int:
    """Which of the partitions, from 0, a server belongs to; from its name, or from the fingerprint of any of its pages."""
    half = hash_bytes(server_or_fingerprint) if isinstance(server_or_fingerprint, str) else server_or_fingerprint
    return int.from_bytes(half[:HALF], "big") * partitions >> 64
