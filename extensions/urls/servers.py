"""A canonical URL taken apart into server and member, and put together again.

A *server* is scheme, host and port (``https://example.org``, ``http://127.0.0.1:8080``); a *member* is what identifies a page
within it: path and query, beginning with a slash.
"""

from __future__ import annotations

from extensions.urls.hosts import DEFAULT_PORTS

_SHORTEST_ORIGIN = len("http://h")


def split_server(canonical: str) -> tuple[str, str]:
    """Server and member of a canonical URL."""
    end = canonical.index("/", _SHORTEST_ORIGIN)
    return canonical[:end], canonical[end:]


def join_server(server: str, member: str) -> str:
    """The canonical URL of a member of a server."""
    return server + member


def host_port(server: str) -> tuple[str, int]:
    """What to connect to: the host (an IPv6 address without its brackets) and the port."""
    scheme, _, netloc = server.partition("://")
    host, colon, port = netloc.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = netloc, ""
    return host.strip("[]"), int(port) if port else DEFAULT_PORTS[scheme]
