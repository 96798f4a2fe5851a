"""Every key the frontier has in Redis, named in one place. A crawl's keys begin with ``frontier:{<crawl>``.

The braces are a Redis Cluster hash tag: all keys of one partition live in one slot, so a script may touch them together. The
keys within a partition are listed in ``lua/common.lua``, which derives them from the partition's first.
"""

from __future__ import annotations

LAYOUT = "2"
"""Of all that a crawl keeps in Redis. Whoever changes what the scripts read back gives it the next number: then crawls that were begun with another one are refused, not misread."""


def partition_key(crawl: str, partition: int) -> str:
    """The counters of a partition: the one key that is passed to every script."""
    return f"frontier:{{{crawl}:{partition}}}:m"


def partitions_pattern(crawl: str) -> str:
    """A pattern (SCAN MATCH) for the keys of all partitions."""
    return f"frontier:{{{crawl}:*}}:*"


def about_key(crawl: str) -> str:
    """What was fixed when the crawl began: a hash."""
    return f"frontier:{{{crawl}}}:about"


def agents_key(crawl: str) -> str:
    """The agents of the crawl's present run: a hash."""
    return f"frontier:{{{crawl}}}:agents"


def lessons_key(crawl: str) -> str:
    """What agents have told each other of links: a stream."""
    return f"frontier:{{{crawl}}}:lessons"


def learned_key(crawl: str) -> str:
    """The sum of it: a hash."""
    return f"frontier:{{{crawl}}}:learned"
