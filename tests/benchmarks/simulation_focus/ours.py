"""The product's own crawl: its relevance, its link quality, its two levels, its tunnel, its raises; without Scrapy and Redis."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from extensions.config import Config
from extensions.frontier import score
from extensions.frontier.records import Rules
from extensions.scoring import link_quality
from extensions.scoring.linkmodel import LinkFeatures, LinkModel
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
EXPLORATION = 0.0
"""A tenth costs 0.05 of the headroom from near seeds and brings nothing from far ones: unknown servers stand at an optimistic estimate anyway."""
WARM_UP = 20
"""Pages before the first one that is fetched to explore."""


class Learning(NamedTuple):
    """What link quality is made of, to tell what each part brings. `explore` is the share of leases that go to a server of which little is known;
    with `ranked_anew` a server's rank follows what is learned of it, otherwise that is part of each URL's quality, once for all."""

    learned: bool = True
    explore: float = EXPLORATION
    ranked_anew: bool = True


LEARNED = Learning()
QUEUED = Learning(explore=0.0, ranked_anew=False)
"""What was learned until a URL was queued counts, and no more."""
PLAIN = Learning(learned=False, explore=0.0, ranked_anew=False)
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
        self._rng = random.Random(len(task.distance))
        self._fetched = 0
        self.ranking = Capability(Rules(requests_per_connection=LEASE))
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
        """As ever, remembering what the requests carry."""
        leases: list[Lease] = []
        while len(leases) < count:
            explore = self._fetched >= WARM_UP and self._rng.random() < self.learning.explore
            lucky = self.queues.lease_little_known(now_ms, self._rng) if explore else None
            found = [lucky] if lucky else self.queues.lease(now_ms, 1)
            if not found:
                break
            leases += found
        for lease in leases:
            for key, page in lease.urls:
                fields = score.unpack(True, -key)
                self._of[page] = fields.depth, fields.hops
        return leases

    def fetched(self, page: int) -> None:
        """Score the page; its links go on unless too many off-topic pages lie behind them."""
        depth, hops = self._of.pop(page)
        verdict = self.task.verdict(page)
        self._fetched += 1
        if self.model is not None and depth:
            self.model.learn(LinkFeatures(0.0, self.web.url(page)), verdict.words)
            self._rank_anew(self.web.server[page])
        hops = 0 if verdict.ends_tunnel else hops + 1
        if hops > self.tunnel:
            return
        facts = self.task.facts(page)
        matcher = self.task.matcher
        for link, target in zip(facts.links, facts.targets, strict=True):
            quality = link_quality(
                matcher,
                parent=verdict.probability,
                anchor=link.anchor,
                context=link.context,
                url=link.url,
                hops=hops,
            )
            if self.model is not None:
                features = LinkFeatures(quality, self.web.url(target), depth + 1)
                quality = self.model.within(features) if self.learning.ranked_anew else self.model.quality(features)
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
            self.queues.put(server, page, -score.pack(True, quality, queue.sequence, depth, hops))
            queue.sequence += 1
