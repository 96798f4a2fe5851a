"""What others do, each after its paper: one global queue, a priority for each page, the first of equals first.

All judge pages by the same relevance model as the product's own policy, so that they differ in what they make of it only.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

from tests.benchmarks.simulation_focus.crawl import Policy
from tests.benchmarks.simulation_focus.queues import BestPage, Lease, Queues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extensions.pages import Link
    from tests.benchmarks.simulation_focus.task import Task


class GlobalQueue(Policy):
    """Fetches the page of the greatest priority; a page's priority is the greatest that any link to it had."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.web = task.store.web
        self.queues = Queues(BestPage(), len(self.web.server_names))
        self.known: set[int] = set()
        self.done: set[int] = set()
        self._queued: dict[int, tuple[float, int]] = {}

    def start(self, seeds: Iterable[int]) -> None:
        """Seeds have the greatest priority there is."""
        for seed in seeds:
            self.offer(seed, math.inf)

    def fetched(self, page: int) -> None:
        """Offer where its links lead."""
        self.done.add(page)
        self._queued.pop(page, None)
        for target, priority in self.priorities(page):
            self.offer(target, priority)

    def offer(self, page: int, priority: float, *, lower: bool = False) -> bool:
        """Queue a page, or raise it (with `lower` also the other way); whether anything has changed."""
        if page in self.done:
            return False
        old = self._queued.get(page)
        if old is not None and (old[0] == -priority or (old[0] < -priority and not lower)):
            return False
        if old is None and page in self.known:
            return False  # it is on its way
        key = (-priority, len(self.known) if old is None else old[1])
        self.known.add(page)
        self._queued[page] = key
        self.queue(page, key)
        return True

    def queue(self, page: int, key: tuple[float, int]) -> None:
        """Where an offered page goes."""
        self.queues.put(self.web.server[page], page, key)

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """As ever; a page on its way has no priority any more."""
        leases = super().lease(now_ms, count)
        for lease in leases:
            for _, page in lease.urls:
                self._queued.pop(page, None)
        return leases

    @abstractmethod
    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """The targets of a fetched page's links, with their priorities."""


class BreadthFirst(GlobalQueue):
    """First found, first fetched."""

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """All alike."""
        return ((target, 0.0) for target in self.task.store.targets(page))


class BestFirst(GlobalQueue):
    """A link is as good as the page it is on (Cho, Garcia-Molina, Page 1998; naive best-first of Menczer, Pant, Srinivasan 2004)."""

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """The page's relevance."""
        relevance = self.task.verdict(page).probability
        return ((target, relevance) for target in self.task.store.targets(page))


class BestNFirst(BestFirst):
    """Best-first in batches: the best N are all fetched before the queue is looked at again (Menczer, Pant, Srinivasan 2004; N = 256)."""

    N = 256

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._pool: dict[int, tuple[float, int]] = {}
        self._batch = 0

    def queue(self, page: int, key: tuple[float, int]) -> None:
        """Into the pool, from which batches are taken."""
        self._pool[page] = key

    def offer(self, page: int, priority: float, *, lower: bool = False) -> bool:
        """As ever, but nothing is changed that a batch holds already."""
        return (page in self._pool or page not in self.known) and super().offer(page, priority, lower=lower)

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """From the batch; the next one when it is used up."""
        if not self._batch and self._pool:
            best = sorted(self._pool, key=self._pool.__getitem__)[: self.N]
            for page in best:
                self.queues.put(self.web.server[page], page, self._pool.pop(page))
            self._batch = len(best)
        leases = super().lease(now_ms, count)
        self._batch -= sum(len(lease.urls) for lease in leases)
        return leases


class SharkSearch(GlobalQueue):
    """Inherited relevance that decays, with the anchor and the words around it (Hershovici et al. 1998; their γ, δ and β)."""

    GAMMA, DELTA, BETA = 0.5, 0.5, 0.8

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._inherited: dict[int, float] = {}

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """γ·inherited + (1 − γ)·neighbourhood."""
        verdict = self.task.verdict(page)
        relevance = verdict.probability if verdict.on_topic else self._inherited.get(page, 0.0)
        inherited = self.DELTA * relevance
        facts = self.task.facts(page)
        similarity = self.task.matcher.text
        for link, target in zip(facts.links, facts.targets, strict=True):
            anchor = similarity(link.anchor)
            context = 1.0 if anchor > 0 else similarity(link.context)
            neighbourhood = self.BETA * anchor + (1 - self.BETA) * context
            if target not in self.done:
                self._inherited[target] = max(inherited, self._inherited.get(target, 0.0))
            yield target, self.GAMMA * inherited + (1 - self.GAMMA) * neighbourhood


class Opic(GlobalQueue):
    """The page with most cash next; a page shares its cash among its links (Abiteboul, Preda, Cobena 2003)."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._cash: Counter[int] = Counter()

    def start(self, seeds: Iterable[int]) -> None:
        """All cash is the seeds'."""
        seeds = list(seeds)
        for seed in seeds:
            self._cash[seed] = 1.0  # type: ignore[assignment]
        super().start(seeds)

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """The targets' cash, this page's share included."""
        targets = self.task.store.targets(page)
        cash = self._cash.pop(page, 0.0)
        for target in targets:
            self._cash[target] += cash / len(targets)  # type: ignore[assignment]
        return [(target, float(self._cash[target])) for target in dict.fromkeys(targets)]


class LinkClassifier(GlobalQueue):
    """An online classifier of links, as ACHE has: naive Bayes on the words of anchor, URL and surroundings.

    It learns from every fetched page by what link it was found. Until `FIRST` pages have been fetched, best-first serves.
    """

    FIRST = 100
    WORD = re.compile(r"[^\W_]+")

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._words_of: dict[int, frozenset[str]] = {}
        self._with: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._pages = [1.0, 1.0]

    def fetched(self, page: int) -> None:
        """Learn, then go on."""
        words = self._words_of.pop(page, None)
        if words is not None:
            relevant = self.task.verdict(page).probability
            for kind, share in ((0, 1 - relevant), (1, relevant)):
                self._pages[kind] += share
                for word in words:
                    self._with[kind][word] += share  # type: ignore[assignment]
        super().fetched(page)

    def priorities(self, page: int) -> Iterable[tuple[int, float]]:
        """The posterior probability that the target is relevant."""
        facts = self.task.facts(page)
        relevance = self.task.verdict(page).probability
        for link, target in zip(facts.links, facts.targets, strict=True):
            if target in self.done:
                continue
            words = self._words(link)
            self._words_of.setdefault(target, words)
            yield target, self._posterior(words) if len(self.done) >= self.FIRST else relevance

    def _words(self, link: Link) -> frozenset[str]:
        found = self.WORD.findall
        return frozenset(
            [f"a:{word}" for word in found(link.anchor.lower())]
            + [f"u:{word}" for word in found(link.url.lower())]
            + [f"c:{word}" for word in found(link.context.lower())]
        )

    def _posterior(self, words: frozenset[str]) -> float:
        no, yes = self._with
        logit = math.log(self._pages[1] / self._pages[0])
        for word in words:
            if word in no or word in yes:
                logit += math.log((yes[word] + 0.5) / (self._pages[1] + 1) * (self._pages[0] + 1) / (no[word] + 0.5))
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))
