"""Traces for the study of caches: raw URLs in the order in which a crawl finds them, from a file or from a made web."""

from __future__ import annotations

import gzip
import random
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAVIGATION = 25
"""Links that all pages of a server share."""
BODY = 30
"""Links of a page besides, on average."""
POPULAR = 400
"""URLs that the whole web links to."""


def read_trace(file: Path, most: int | None = None) -> list[str]:
    """The URLs of a file, one a line; a name that ends in .gz is unpacked."""
    opened = partial(gzip.open, file, "rt") if file.suffix == ".gz" else file.open
    with opened(encoding="utf-8") as lines:
        return [url for line in islice(lines, most) if (url := line.strip())]


def made_trace(requests: int, seed: int = 0) -> list[str]:
    """What a crawl of a made web finds that goes round 200 servers: navigation, near neighbours, popular URLs, and news."""
    return list(islice(_links(seed), requests))


def _links(seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    servers = 200
    found = [0] * servers
    while True:
        # Sites differ in size: some are fetched from far more often than others.
        server = int(servers * rng.random() ** 2)
        base = f"https://site{server}.example"
        for link in range(NAVIGATION):
            yield f"{base}/section/{link}"
        for _ in range(rng.randint(0, 2 * BODY)):
            kind = rng.random()
            if kind < 0.45:
                found[server] += 1
                yield f"{base}/article/{found[server]}"
            elif kind < 0.75:
                yield f"{base}/article/{max(1, found[server] - int(rng.expovariate(1 / 40)))}"
            elif kind < 0.9:
                yield f"{base}/article/{1 + int(found[server] * rng.random())}"
            else:
                yield f"https://popular{int(POPULAR * rng.random() ** 3)}.example/"
