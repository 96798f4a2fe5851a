"""A request that is written is handed to the system there and then, not in the reactor's next turn.

Between the two this process may have slept, and the lease be over. And since nothing is left to be written, the reactor need not be told that something is, and then that it is
no more: two calls of the system less for each request, about 0.05 ms.

**Private doors**, pinned by ``tests/test_connections.py``: ``doWrite``, ``startWriting`` and ``dataBuffer`` of Twisted's TCP connections, and the ``_aggregator`` of its
TLS transports, if they have one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def written_at_once(transport: Any) -> Iterator[None]:
    """What is written to the transport meanwhile goes to the system at the end; what the system does not take, as soon as it can."""
    small_writes = getattr(transport, "_aggregator", None)  # TLS
    socket = transport.transport if small_writes is not None else transport
    write = getattr(socket, "doWrite", None)
    if write is None or not getattr(socket, "connected", False):
        yield
        return
    socket.startWriting = lambda: None
    gone = False
    try:
        yield
        if small_writes is not None:
            small_writes.flush()
        gone = write() is None and not (socket.dataBuffer or socket.disconnecting)
    finally:
        del socket.startWriting
        if not gone and socket.connected:
            socket.startWriting()  # the reactor sees to the rest, or to the failure
