"""What an agent holds between Scrapy and Redis: candidates on their way out, open servers with their URLs, and who has which request.

Candidates travel in numbered batches. A page is acknowledged only when every batch that its links may be in has arrived, so that a crash between
the two never hides its children: `finished` notes the batch, `settlements` waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extensions.openserver import HandedOut, OpenServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request

    from extensions.frontier.records import Candidate, Lease, Settlement


class Holdings:
    """Shared by the scheduler, which fills and uses it, and the courier, which carries it to Redis and back."""

    def __init__(
        self,
        odds_of: Callable[[str], float | None] | None = None,
        look: Callable[[Lease], Iterable[tuple[str, float]]] | None = None,
    ) -> None:
        """`odds_of` goes into the settlements: see `OpenServer.settlement`.

        `look` sees each lease as it arrives and names what is to be given back unfetched: members, with what they are worth now. A server of which that leaves nothing is
        released with the next settlements.
        """
        self._odds_of = odds_of
        self._look = look
        self.candidates: list[Candidate] = []
        self.open_servers: dict[str, OpenServer] = {}
        self.handed: dict[Request, HandedOut] = {}
        """Requests that the engine has, or that wait for their server after they were put back."""
        self.through = 0
        """Requests finished since the last exchange with Redis."""
        self.batch = 1
        """Number of the batch of candidates that is being filled."""
        self._departed_whole = False
        self._late: dict[str, OpenServer] = {}
        """Servers whose lease was lost with a request under way."""

    @property
    def undrained(self) -> int:
        """Servers that are open: leased, with something left to download."""
        return sum(not server.drained for server in self.open_servers.values())

    @property
    def empty(self) -> bool:
        """Whether nothing is held that a frontier would have to know of."""
        return not (self.candidates or self.open_servers or self.handed)

    @property
    def unsettled(self) -> bool:
        """Whether something waits to be acknowledged or released."""
        return any(server.through or server.over for server in self.open_servers.values())

    def opened(self, lease: Lease) -> OpenServer:
        """A lease has arrived. Its server stays busy while a request of an earlier, lost lease is still under way there."""
        self.lost(lease.server, None)  # if Redis has forgotten what we had
        server = self.open_servers[lease.server] = OpenServer.of(lease)
        server.busy = lease.server in self._late
        if self._look is not None:
            for member, quality in self._look(lease):
                server.give_back(member, quality)
        return server

    def left_late(self, late: OpenServer) -> OpenServer | None:
        """The request that was under way when its lease was lost has ended; the present lease of that server, if there is one."""
        name = late.lease.server
        if self._late.get(name) is not late:
            return None
        del self._late[name]
        server = self.open_servers.get(name)
        if server is not None:
            server.busy = False
        return server

    def renewed(self, leases: list[tuple[str, int]], deadline_ms: int) -> None:
        """These leases, (server, token) each, last until then."""
        for name, token in leases:
            server = self.open_servers.get(name)
            if server is not None and server.lease.token == token:
                server.held_until_ms = deadline_ms

    def lost(self, name: str, token: int | None) -> bool:
        """Another agent has the server now: nothing more of it is fetched here. False if that is known already."""
        server = self.open_servers.get(name)
        if server is None or token not in (None, server.lease.token):
            return False
        server.stale = True
        if server.busy and name not in self._late:
            self._late[name] = server
        server.waiting.clear()
        for request, _ in server.put_back:  # nobody will hand it out again, so nobody must wait for it
            del self.handed[request]
        server.put_back.clear()
        del self.open_servers[name]
        return True

    def finished(self, request: Request) -> HandedOut:
        """The engine is through with a request: its links are among the candidates, its items have passed the pipelines."""
        handed = self.handed.pop(request)
        handed.server.unfinished -= 1
        handed.batch = self.batch if self.candidates else self.batch - 1
        handed.server.through.append(handed)
        self.through += 1
        return handed

    def settlements(self, *, give_back: bool = False) -> list[Settlement]:
        """What may be said of the leases now. Servers that are released with it are open no more; with `give_back`, all are."""
        found = []
        confirmed = self.batch if give_back else self.batch - 1
        for name, server in list(self.open_servers.items()):
            settlement = server.settlement(confirmed, give_back=give_back, odds_of=self._odds_of)
            if settlement is not None:
                found.append(settlement)
                if settlement.release:
                    del self.open_servers[name]
        return found

    def leases(self) -> list[tuple[str, int]]:
        """The leases to renew: (server, token) each."""
        return [(server.lease.server, server.lease.token) for server in self.open_servers.values()]

    def depart(self, most: int) -> list[Candidate]:
        """The first `most` candidates; they stay here until they have `arrived`. What is found from now on is another batch."""
        self._departed_whole = len(self.candidates) <= most
        if self._departed_whole:
            self.batch += 1
        return self.candidates[:most]

    def arrived(self, sent: list[Candidate]) -> None:
        """Redis has them."""
        del self.candidates[: len(sent)]

    def came_back(self) -> None:
        """Whether Redis has what departed is not known: it goes again, and the pages that wait for it wait on."""
        if self._departed_whole:
            self.batch -= 1
            for server in self.open_servers.values():
                for one in server.through:
                    one.batch = min(one.batch, self.batch)
