"""The seen-set of a crawl, filled with as many URLs as wanted and without their queues: what it takes in Redis, and whom it mistakes.

The keys and the numbers in them are those of `admit` (a test compares them). Filling goes bucket by bucket, thousands of times faster than a crawl.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from extensions.frontier.keys import partition_key
from extensions.urls import fingerprint, partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from extensions.seen import SeenLayout
    from tests.benchmarks.privateredis import PrivateRedis

CHUNK = 500_000
"""URLs that go to Redis together, so that each bucket gets many at once."""
COMMANDS = 2_000


@dataclass(frozen=True)
class SetFigures:
    """Of one seen-set."""

    urls: int
    bytes_per_url: float
    intset_share: float
    """Of the buckets."""
    largest_bucket: int
    false_seen: int
    """New URLs that were taken for seen ones: among those that filled the set, and among fresh ones tested afterwards."""
    tested: int
    expected_rate: float
    """Of a fresh URL, by the formula."""
    fill_seconds: float

    @property
    def false_seen_rate(self) -> float:
        return self.false_seen / self.tested


def fill_and_test(
    redis: PrivateRedis, urls: int, *, layout: SeenLayout, share_of_first: float = 0.0, fresh: int | None = None
) -> SetFigures:
    """Fill a set, test fresh URLs against it (as many as it holds, or `fresh`), forget it."""
    crawl = "seenset"
    before = redis.bytes_of_data()
    began = time.perf_counter()
    added = sum(_send(redis, "SADD", crawl, layout, made_urls(urls, share_of_first=share_of_first)))
    took = time.perf_counter() - began
    size = redis.bytes_of_data() - before
    intsets, largest, buckets = _buckets(redis, crawl)
    tested = urls if fresh is None else fresh
    mistaken = sum(
        sum(reply)
        for reply in _send(
            redis,
            "SMISMEMBER",
            crawl,
            layout,
            made_urls(tested, first=urls, servers=max(1, urls // 100), share_of_first=share_of_first),
        )
    )
    redis.forget(f"frontier:{{{crawl}:*}}:*")
    return SetFigures(
        urls=urls,
        bytes_per_url=size / urls,
        intset_share=intsets / buckets,
        largest_bucket=largest,
        false_seen=urls - added + mistaken,
        tested=urls + tested,
        expected_rate=layout.false_seen_probability(urls),
        fill_seconds=took,
    )


def made_urls(
    count: int, *, first: int = 0, servers: int | None = None, share_of_first: float = 0.0
) -> Iterator[tuple[str, str]]:
    """Different (server, member), a hundred a server unless told otherwise, small and large ones; the first gets that share besides."""
    servers = servers or max(1, count // 100)
    every = 1 << 16
    threshold = int(share_of_first * every)
    for number in range(first, first + count):
        # Multiplication by an odd number spreads numbers over 32 bits: cheaper than a generator of random ones.
        mixed = number * 2654435761 & 0xFFFFFFFF
        if mixed >> 16 < threshold:
            server = 0
        else:
            place = (mixed & 0xFFFF) / every
            server = int(place * place * servers) + (mixed >> 16) % 97
        yield f"https://www.site{server}.example", f"/archive/{mixed & 1023}/article-{number}.html"


def _send(
    redis: PrivateRedis, command: str, crawl: str, layout: SeenLayout, urls: Iterable[tuple[str, str]]
) -> Iterator[int | Sequence[int]]:
    """The replies to the command for each bucket concerned, with the numbers of its URLs."""
    buckets: dict[tuple[int, int], list[int]] = defaultdict(list)
    partitions: dict[str, int] = {}
    waiting = 0
    for server, member in urls:
        partition = partitions.get(server)
        if partition is None:
            partition = partitions[server] = partition_of(server, layout.partitions) if layout.partitions > 1 else 0
        bucket, remainder = layout.place(fingerprint(server, member))
        buckets[partition, bucket].append(remainder)
        waiting += 1
        if waiting == CHUNK:
            yield from _flush(redis, command, crawl, buckets)
            waiting = 0
    yield from _flush(redis, command, crawl, buckets)


def _flush(
    redis: PrivateRedis, command: str, crawl: str, buckets: dict[tuple[int, int], list[int]]
) -> Iterator[int | Sequence[int]]:
    rows = list(buckets.items())
    buckets.clear()
    for start in range(0, len(rows), COMMANDS):
        pipeline = redis.client.pipeline(transaction=False)
        for (partition, bucket), remainders in rows[start : start + COMMANDS]:
            pipeline.execute_command(command, bucket_key(crawl, partition, bucket), *remainders)
        yield from pipeline.execute()


def bucket_key(crawl: str, partition: int, bucket: int) -> str:
    """As `lua/common.lua` derives it."""
    return f"{partition_key(crawl, partition)[:-1]}u:{bucket}"


def _buckets(redis: PrivateRedis, crawl: str) -> tuple[int, int, int]:
    """How many are intsets, how large the largest is, how many there are."""
    intsets = largest = total = 0
    keys = list(redis.client.scan_iter(match=f"frontier:{{{crawl}:*}}:u:*", count=5000))
    for start in range(0, len(keys), COMMANDS):
        pipeline = redis.client.pipeline(transaction=False)
        for key in keys[start : start + COMMANDS]:
            pipeline.execute_command("OBJECT", "ENCODING", key)
            pipeline.execute_command("SCARD", key)
        replies = pipeline.execute()
        total += len(replies) // 2
        intsets += sum(encoding == b"intset" for encoding in replies[::2])
        largest = max(largest, *replies[1::2])
    return intsets, largest, total
