"""The embedded Redis that a crawl without REDIS_URL starts, in a folder that goes with it; and what it tells of itself."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from extensions.frontier.embedded import EmbeddedRedis

if TYPE_CHECKING:
    from collections.abc import Iterator


class PrivateRedis:
    """One that is up."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = redis.Redis.from_url(url)

    def bytes_of_data(self) -> int:
        """What its data takes: used_memory without buffers, once it stands still."""
        last = self._bytes_now()
        for _ in range(50):
            time.sleep(0.05)
            last, before = self._bytes_now(), last
            if abs(last - before) < 1024:
                break
        return last

    def _bytes_now(self) -> int:
        while int((found := self.client.info("memory"))["lazyfree_pending_objects"]):
            time.sleep(0.01)  # what was cleared is still being freed
        # Of the clients INFO knows only what they took a while ago.
        clients = sum(int(one["tot-mem"]) for one in self.client.client_list())
        return int(found["used_memory"]) - int(found["mem_aof_buffer"]) - clients

    def resident_bytes(self) -> int:
        return int(self.client.info("memory")["used_memory_rss"])

    def cpu_seconds(self) -> float:
        """Of this process and of Redis, user and system."""
        found = self.client.info("cpu")
        return time.process_time() + float(found["used_cpu_user"]) + float(found["used_cpu_sys"])

    def forget(self, pattern: str) -> int:
        """Delete the keys that match, at once; the bytes that frees."""
        before = self.bytes_of_data()
        batch = []
        for key in self.client.scan_iter(match=pattern, count=1000):
            batch.append(key)
            if len(batch) == 1000:
                self.client.delete(*batch)
                batch.clear()
        if batch:
            self.client.delete(*batch)
        return before - self.bytes_of_data()


@contextmanager
def private_redis() -> Iterator[PrivateRedis]:
    """With its append-only file as ever, except that the file is not rewritten while something is measured."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        embedded = EmbeddedRedis(Path(folder))
        embedded.start()
        try:
            server = PrivateRedis(embedded.url)
            server.client.config_set("auto-aof-rewrite-percentage", 0)
            yield server
            server.client.close()
        finally:
            embedded.stop()
