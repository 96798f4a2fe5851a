"""Oracles: they know every label and every link, one also every latency. Nobody crawls like that; they tell what there is to gain."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.benchmarks.simulation_focus.baselines import GlobalQueue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.benchmarks.simulation_focus.bound import Arrivals
    from tests.benchmarks.simulation_focus.queues import Lease
    from tests.benchmarks.simulation_focus.task import Task

NEAR, ON_THE_WAY = 1e6, 1e5
RELEVANT = 1e9
ELSEWHERE, HERE = 2e9, 5e8
"""A page on the way to relevant ones of other servers, and of its own."""


class NearestFirst(GlobalQueue):
    """The plainest oracle: fewest links to any relevant page first, found or not, so it wastes pages on hubs that are used up."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        sources: dict[int, list[int]] = defaultdict(list)
        for page in task.distance:
            for target in task.store.targets(page):
                sources[target].append(page)
        self._distance = dict.fromkeys(task.labels, 0)
        level = list(task.labels)
        while level:
            following = []
            for page in level:
                for source in sources[page]:
                    if source not in self._distance:
                        self._distance[source] = self._distance[page] + 1
                        following.append(source)
            level = following

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """The negated distance."""
        return [(target, -self._distance.get(target, 1e6)) for target in self.task.store.targets(page)]


class Punctual(NearestFirst):
    """The oracle for crawls in time: it also knows every latency, and walks the quickest ways to all servers that have something at once.

    What waits is a server, not the crawl. So first come the pages on a quickest way to relevant pages of *other* servers, those with most of them before
    the others; then relevant pages, which their servers give one after the other anyway; then what leads to more on the same server.
    """

    def __init__(self, task: Task, arrivals: Arrivals) -> None:
        super().__init__(task)
        server = task.store.web.server
        here: dict[int, int] = defaultdict(int)
        elsewhere: dict[int, int] = defaultdict(int)
        for relevant in task.labels:
            page = arrivals.by.get(relevant)
            while page is not None:
                (here if server[page] == server[relevant] else elsewhere)[page] += 1
                page = arrivals.by.get(page)
        self._worths: dict[int, float] = {page: HERE + count for page, count in here.items()}
        self._worths |= {page: RELEVANT + here[page] for page in task.labels}
        self._worths |= {page: ELSEWHERE + count + (page in task.labels) for page, count in elsewhere.items()}

    def start(self, seeds: Iterable[int]) -> None:
        """Seeds that lead nowhere come last."""
        for seed in seeds:
            self.offer(seed, self._worths.get(seed, 0.0))

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """Off the quickest ways, the nearest to anything relevant."""
        nearest = dict(super().priorities(page))
        return [(target, self._worths.get(target, worth)) for target, worth in nearest.items()]


class Clairvoyant(GlobalQueue):
    """Relevant pages first; then the page with most links to relevant ones that nobody has found yet; then the shortest way to one."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._unfound = set(task.labels)
        self._sources: dict[int, list[int]] = defaultdict(list)
        """The pages that link to a page."""
        for page in task.distance:
            for target in set(task.store.targets(page)):
                self._sources[target].append(page)
        self._leads_to: dict[int, int] = defaultdict(int)
        """How many unfound relevant pages a page links to."""
        for relevant in self._unfound:
            for source in self._sources[relevant]:
                self._leads_to[source] += 1
        self._promising: set[int] = set()

    def start(self, seeds: Iterable[int]) -> None:
        """Seeds are found; those that lead nowhere come last here as well."""
        for seed in seeds:
            self._found(seed)
            self.offer(seed, self._worth(seed))

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """What each target is worth now; pages that lead to what is found by this page are worth less from now on."""
        targets = dict.fromkeys(self.task.store.targets(page))
        for target in targets:
            if target not in self.known:
                self._found(target)
        return [(target, self._worth(target)) for target in targets if target not in self.known]

    def offer(self, page: int, priority: float, *, lower: bool = False) -> bool:
        """As ever, and remember what promises something."""
        changed = super().offer(page, priority, lower=lower)
        if changed:
            (self._promising.add if priority > 0 else self._promising.discard)(page)
        return changed

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """As ever; if nothing that is queued promises anything, the way to the nearest unfound page does."""
        if not self._promising:
            first = self._way()
            if first is not None:
                self.offer(first, ON_THE_WAY)
        leases = super().lease(now_ms, count)
        for lease in leases:
            self._promising.difference_update(page for _, page in lease.urls)
        return leases

    def _worth(self, page: int) -> float:
        if page in self.task.labels:
            return RELEVANT + self._leads_to[page]
        leads_to = self._leads_to[page]
        return NEAR + leads_to if leads_to else 0.0

    def _found(self, page: int) -> None:
        if page not in self._unfound:
            return
        self._unfound.discard(page)
        for source in self._sources[page]:
            self._leads_to[source] -= 1
            if source in self._queued:
                self.offer(source, self._worth(source), lower=True)

    def _way(self) -> int | None:
        """The queued page from which the fewest links lead to an unfound relevant one; None if nothing queued leads to any."""
        level, met = list(self._unfound), set(self._unfound)
        while level:
            following = []
            for page in level:
                for source in self._sources[page]:
                    if source not in met:
                        met.add(source)
                        following.append(source)
            queued = [page for page in following if page in self._queued]
            if queued:
                return min(queued)
            level = following
        return None
