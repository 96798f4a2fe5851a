"""The product's own crawl: its relevance, its link quality, its two levels, its tunnel, its raises; without Scrapy and Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from extensions.config import Config
from extensions.frontier import score
from extensions.frontier.records import Rules
from extensions.scoring import LinkJudge, LinkModel, LinkWords
from extensions.seen import SeenCache, make_cache
from extensions.seen.filter import SeenFilter
from tests.benchmarks.simulation_focus.crawl import Policy
from tests.benchmarks.simulation_focus.queues import Capability, Lease, Queues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.benchmarks.simulation_focus.task import Task

SEED_QUALITY = 1.0
LEASE = 3
"""URLs of a lease at most: what is learned meanwhile does not change it."""


class Learning(NamedTuple):
    """What link quality is made of, to tell what each part brings: whether the crawl learns at all, whether also of the words of links, and
    whether a server's rank follows what is learned of it; otherwise that is part of each URL's quality, once for all."""

    learned: bool = True
    words: bool = True
    ranked_anew: bool = True


LEARNED = Learning()
PLACES = Learning(words=False)
"""Only folders and servers have records."""
PLAIN = Learning(learned=False, words=False, ranked_anew=False)
"""The hand-made quality."""


class Ours(Policy):
    """What `extensions.relevance` and `extensions.scheduler` do with a page, call for call."""

    # One agent alone: nobody else could take a server, so its connection stays open after a lease.
    keeps_connections = True

    def __init__(self, task: Task, learning: Learning = LEARNED) -> None:
        self.task = task
        self.web = task.store.web
        self.learning = learning
        self.tunnel = Config().tunnel
        self.model = LinkModel() if learning.learned else None
        self.judge = LinkJudge(task.matcher, self.model, LinkWords() if learning.words else None)
        rules = Rules(requests_per_connection=LEASE, explore=Config().explore if learning.ranked_anew else 0.0)
        self.ranking = Capability(rules, lambda page: self.web.pages[page].name.count("/") - 1, Config().partitions)
        self.queues = Queues(self.ranking, len(self.web.server_names))
        cache: SeenCache = make_cache("clock", 1 << 20)
        self.news = SeenFilter(cache)
        self.seen: set[int] = set()
        self._of: dict[int, tuple[int, int]] = {}
        """Depth and hops of pages on their way."""

    def start(self, seeds: Iterable[int]) -> None:
        """Seeds are of the best quality, depth 0."""
        for seed in seeds:
            self.admit(seed, SEED_QUALITY, 0, 0)

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """As ever; what is worth clearly less by now goes back. What the requests carry is remembered."""
        leases: list[Lease] = []
        while found := self.queues.lease(now_ms, count - len(leases)):
            leases += filter(self._look, found)
            if len(leases) == count:
                break
        for lease in leases:
            for key, page in lease.urls:
                fields = score.unpack(True, -key)
                self._of[page] = fields.depth, fields.hops
        return leases

    def _look(self, lease: Lease) -> bool:
        """Give back what has fallen; whether anything is left."""
        for key, page in list(lease.urls):
            fields = score.unpack(True, -key)
            now = self.judge.fallen(self.web.url(page), fields.quality)
            if now is not None and score.steps(now) < score.steps(fields.quality):
                lease.urls.remove((key, page))
                again = -score.pack(True, now, fields.sequence, fields.depth, fields.hops)
                self.queues.put(lease.server, page, again)
        if not lease.urls:
            self.queues.release(lease.server, self.queues.queues[lease.server].due_ms)
        return bool(lease.urls)

    def fetched(self, page: int) -> None:
        """Score the page; its links go on unless too many off-topic pages lie behind them."""
        depth, hops = self._of.pop(page)
        verdict = self.task.verdict(page)
        if depth:
            self.judge.learn(self.web.url(page), verdict.words)
            self._rank_anew(self.web.server[page])
        hops = 0 if verdict.ends_tunnel else hops + 1
        if hops > self.tunnel:
            return
        facts = self.task.facts(page)
        promised = self.judge.links_of(verdict.probability, hops, depth + 1, with_server=not self.learning.ranked_anew)
        for link, target in zip(facts.links, facts.targets, strict=True):
            quality = promised(self.web.url(target), link.anchor, link.context)
            # The page's name stands for the URL: http and https are one here.
            if self.news.is_news(self.web.pages[target].name, quality):
                self.admit(target, quality, depth + 1, hops)

    def _rank_anew(self, server: int) -> None:
        """What a settlement tells the frontier beside its measurements."""
        if self.model is not None and self.learning.ranked_anew:
            self.ranking.odds[server] = self.model.odds(f"https://{self.web.server_names[server]}")
            self.queues.rank_anew(server)

    def admit(self, page: int, quality: float, depth: int, hops: int) -> None:
        """The contract's verb for one candidate: admitted, raised, or a duplicate."""
        server = self.web.server[page]
        queue = self.queues.queues[server]
        old = queue.keys.get(page)
        if old is not None:
            before = score.unpack(True, -old)
            if score.steps(quality) > score.steps(before.quality):
                depth, hops = min(depth, before.depth), min(hops, before.hops)
                self.queues.put(server, page, -score.pack(True, quality, before.sequence, depth, hops))
        elif page not in self.seen:
            self.seen.add(page)
            if not queue.sequence:
                self.ranking.entered(server)
            self.queues.put(server, page, -score.pack(True, quality, queue.sequence, depth, hops))
            queue.sequence += 1
