"""How the servers of the local web behave: their speed, their limits and their faults, read from JSON.

A behaviour is ``{"default": {…}, "hosts": {"name": {…}}}``. A host has the default's values where it gives none of its own:

| key          | meaning                                                                               |
|--------------|---------------------------------------------------------------------------------------|
| latency_ms   | wait before each answer                                                               |
| max_requests | requests after which a connection is closed (``Connection: close``); 0: no bound      |
| robots       | text of robots.txt, instead of the file                                               |
| charset      | charset named in Content-Type of text, right or wrong; null: none is named            |
| gzip         | compress text for clients that accept it                                              |
| faults       | list of faults; the first that fits a request, and is not used up, happens            |

A fault is ``{"path", "kind", "times"}`` and what its kind needs. ``path`` is exact, or ends in ``*``; ``times`` null: always.

| kind     | what happens                                                                     |
|----------|----------------------------------------------------------------------------------|
| status   | ``status`` (default 503) with ``body``                                           |
| redirect | ``status`` (default 302) to ``location``; without one to itself, which is a loop |
| reset    | the connection is reset instead of an answer                                     |
| hang     | no answer for ``seconds`` (default: until the client leaves), then it is closed   |
| slow     | the body dribbles out over ``seconds`` (default 5)                               |
| truncate | half of the promised body, then the connection is closed                         |
| charset  | the page with ``charset`` in Content-Type                                        |
| gzip     | the page compressed, asked for or not                                            |

All kinds that answer send ``headers`` as well. An unknown key or kind is a `ValueError` that lists the known ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("status", "redirect", "reset", "hang", "slow", "truncate", "charset", "gzip")


@dataclass(slots=True)
class Fault:
    """One thing that goes wrong, and how often it still will (`times`, counted down)."""

    path: str
    kind: str
    times: int | None = None
    status: int | None = None
    body: str = ""
    location: str | None = None
    seconds: float | None = None
    charset: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"A fault's kind is one of {', '.join(KINDS)}, not {self.kind!r}.")

    def fits(self, path: str) -> bool:
        """Whether it would happen to a request for this path now."""
        if self.times is not None and self.times <= 0:
            return False
        return path.startswith(self.path[:-1]) if self.path.endswith("*") else path == self.path


@dataclass(slots=True)
class ServerBehaviour:
    """One server's speed, limits and faults."""

    latency_ms: float = 0
    max_requests: int = 0
    robots: str | None = None
    charset: str | None = None
    gzip: bool = False
    faults: list[Fault] = field(default_factory=list)

    def fault_for(self, path: str) -> Fault | None:
        """The fault that happens to this request, now counted as used; None if all is well."""
        for fault in self.faults:
            if fault.fits(path):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


class Behaviour:
    """The behaviour of every host; each has its own count of faults, the default's included."""

    def __init__(self, plan: Mapping[str, Any] | None = None, latency_ms: float = 0) -> None:
        plan = plan or {}
        _known(plan, ("default", "hosts"), "A behaviour")
        self._default: dict[str, Any] = {"latency_ms": latency_ms, **plan.get("default", {})}
        self._hosts: dict[str, Mapping[str, Any]] = {name.lower(): own for name, own in plan.get("hosts", {}).items()}
        self._servers: dict[str, ServerBehaviour] = {}
        for host in ("", *self._hosts):  # so that a mistake shows at the start, not at the first request
            self.of(host)

    def of(self, host: str) -> ServerBehaviour:
        """How this host behaves; the same object each time."""
        if host not in self._servers:
            values = {**self._default, **self._hosts.get(host, {})}
            _known(values, [item.name for item in fields(ServerBehaviour)], "A server's behaviour")
            faults = [_fault(each) for each in values.pop("faults", [])]
            self._servers[host] = ServerBehaviour(**values, faults=faults)
        return self._servers[host]


def _fault(values: Mapping[str, Any]) -> Fault:
    _known(values, [item.name for item in fields(Fault)], "A fault")
    return Fault(**values)


def _known(values: Mapping[str, Any], names: tuple[str, ...] | list[str], what: str) -> None:
    for name in values:
        if name not in names:
            raise ValueError(f"{what} has {', '.join(names)}, but not {name!r}.")
