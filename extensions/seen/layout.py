"""Where a URL's fingerprint lies in the exact seen-set: which bucket, and which 32-bit number in it.

The seen-set is Mercator's (Broder, Najork, Wiener, WWW 2003, section 4) brought to Redis: a hash of the URL is cut into an index and a
remainder. The index picks one of many small sets; the remainder, a signed 32-bit integer, is what it holds. As long as a set
has no more than `INTSET_LIMIT` members, Redis keeps it as an *intset* of 4 bytes a member: about 4.7 bytes a URL altogether.

The bits are not a server's: the partition comes from the fingerprint's other half, so in each partition buckets fill evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from mmh3 import hash_bytes

INTSET_LIMIT = 512
"""Redis's default for ``set-max-intset-entries``."""
MEAN_AT_MOST = 300
"""URLs a bucket at the expected size: the fullest of a million buckets then has some 390. Where servers spread unevenly over partitions, or a crawl finds more than was
expected, a full bucket spills into parts of its own (``lua/admit.lua``)."""
_INDEX_AND_REMAINDER = Struct(">Ii")
_MOST_BITS = 32


def url_half(fingerprint: bytes) -> bytes:
    """The 8 bytes of a fingerprint that tell its URL from others; those of another length than ours are hashed to them."""
    return (fingerprint if len(fingerprint) == 16 else hash_bytes(fingerprint))[8:]


@dataclass(frozen=True, slots=True)
class SeenLayout:
    """The shape of a crawl's seen-set, fixed once the crawl has begun: `partitions` times two to the power of `bits` buckets."""

    bits: int
    partitions: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.bits <= _MOST_BITS or self.partitions < 1:
            raise ValueError(f"A seen-set has 0 to {_MOST_BITS} bucket bits and at least one partition, not {self}")

    @classmethod
    def for_expected(cls, expected_urls: int, partitions: int = 1) -> SeenLayout:
        """The least layout whose buckets hold `MEAN_AT_MOST` URLs or fewer on average once `expected_urls` have been seen."""
        buckets = -(-expected_urls // (partitions * MEAN_AT_MOST))
        return cls(min(max(buckets - 1, 0).bit_length(), _MOST_BITS), partitions)

    @property
    def buckets_per_partition(self) -> int:
        """Buckets in one partition."""
        return 1 << self.bits

    def place(self, fingerprint: bytes) -> tuple[int, int]:
        """Bucket, from 0, within the partition, and remainder, a signed 32-bit integer. Any fingerprint of any length has one."""
        index, remainder = _INDEX_AND_REMAINDER.unpack(url_half(fingerprint))
        return index >> (_MOST_BITS - self.bits), remainder

    def false_seen_probability(self, seen: int) -> float:
        """How likely a URL not yet seen is taken for a seen one: ``N / 2^(b+32)``, with 2^b buckets over all partitions."""
        return seen / (self.partitions * self.buckets_per_partition * 2.0**32)
