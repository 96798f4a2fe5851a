"""What the servers saw: pages fetched, pages fetched again, and every request that broke politeness.

The records are those of the local web's access log (`tests.localweb.server`). Politeness towards a server (scheme, host and port) is
broken by a request that begins before the former one's answer has ended (*overlap*), or less than the server's crawl delay after
that (*early*); requests for robots.txt are requests. The crawl delay is the campaign's, or what the server's robots.txt asks for if that is
longer and has been handed out before.

`TOLERANCE_MS` is for the clocks: instants are noted by a process that may lose the processor between sending and noting.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOLERANCE_MS = 5.0
ROBOTS = "/robots.txt"
OK = 200

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that came too early."""

    kind: str
    """"overlap" or "early"."""
    server: str
    paths: tuple[str, str]
    """Of the former request, and of the one that came too early."""
    gap_ms: float
    """From the end of the former answer; negative for an overlap."""
    wanted_ms: float
    start_ms: float

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.server} got {self.paths[1]} {self.gap_ms:.1f} ms after {self.paths[0]} had ended, "
            f"not {self.wanted_ms:.0f} ms, at {self.start_ms:.0f}"
        )


def violations(
    records: Iterable[Record],
    *,
    crawl_delay_ms: float,
    crawl_delays_ms: Mapping[str, float] | None = None,
    tolerance_ms: float = TOLERANCE_MS,
) -> list[Violation]:
    """All of them, in the order in which they happened. `crawl_delays_ms` is what the hosts' robots.txt ask for."""
    servers: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        servers[server_of(record)].append(record)
    found: list[Violation] = []
    for server, requests in servers.items():
        requests.sort(key=lambda record: record["start_ms"])
        found += _of_server(server, requests, crawl_delay_ms, crawl_delays_ms or {}, tolerance_ms)
    return sorted(found, key=lambda violation: violation.start_ms)


def requests_per_page(records: Iterable[Record]) -> Counter[str]:
    """How often each URL was asked for, however that ended; robots.txt apart."""
    return Counter(url_of(record) for record in records if record["path"] != ROBOTS)


def fetched(records: Iterable[Record]) -> set[str]:
    """URLs that were answered with 200, robots.txt apart."""
    return {url_of(record) for record in records if record["status"] == OK and record["path"] != ROBOTS}


def repeated(records: Iterable[Record]) -> int:
    """Requests for pages beyond the first of each."""
    return sum(times - 1 for times in requests_per_page(records).values())


def server_of(record: Record) -> str:
    """Scheme, host and port, as a URL spells them."""
    default = {"http": 80, "https": 443}[record["scheme"]]
    port = "" if record["port"] == default else f":{record['port']}"
    return f"{record['scheme']}://{record['host']}{port}"


def url_of(record: Record) -> str:
    """The URL that was asked for."""
    return f"{server_of(record)}{record['path']}"


def _of_server(
    server: str, requests: list[Record], least_ms: float, asked_ms: Mapping[str, float], tolerance_ms: float
) -> list[Violation]:
    found = []
    delay_ms = least_ms
    former = None
    for record in requests:
        if former is not None:
            gap_ms = record["start_ms"] - former["end_ms"]
            if gap_ms < delay_ms - tolerance_ms:
                kind = "overlap" if gap_ms < -tolerance_ms else "early"
                paths = (former["path"], record["path"])
                found.append(Violation(kind, server, paths, gap_ms, delay_ms, record["start_ms"]))
        if record["path"] == ROBOTS and record["status"] == OK:
            delay_ms = max(least_ms, asked_ms.get(record["host"], 0.0))
        if former is None or record["end_ms"] > former["end_ms"]:
            former = record
    return found
