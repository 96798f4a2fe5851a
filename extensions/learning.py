"""What a crawl learns of its links: one model for each crawler, which the relevance middleware teaches and asks and the agent's upkeep shares with the others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from extensions.frontier.lessons import Lessons
from extensions.scoring import LinkModel

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_models: WeakKeyDictionary[Crawler, LinkModel] = WeakKeyDictionary()
# Scrapy builds scheduler and middlewares apart from each other; what they share hangs on the crawler, and goes with it.


def link_model_of(crawler: Crawler) -> LinkModel:
    """The crawler's model, the same for all who ask."""
    if (model := _models.get(crawler)) is None:
        model = _models[crawler] = LinkModel()
    return model


def odds_of(crawler: Crawler, server: str) -> float | None:
    """By what the odds of all links to a server are to be multiplied, as far as the crawl has learned; None as long as nothing was learned, or nobody does."""
    model = _models.get(crawler)
    return model.odds(server) if model else None


class SharedLearning:
    """The model's way to Redis and back. Each method raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, model: LinkModel, client: Redis, crawl: str, agent: str) -> None:
        self._model = model
        self._lessons = Lessons(client, crawl, agent)

    async def recall(self) -> None:
        """What this crawl has learned before, by whomever."""
        self._hear(await self._lessons.recall())

    async def share(self) -> None:
        """Tell what is new here and hear what is new elsewhere: two round trips at most."""
        self._hear(await self._lessons.exchange(self._model.changes()))

    async def keep(self) -> None:
        """Save the whole with the crawl."""
        await self.share()
        if len(self._model):
            await self._lessons.keep(self._model.state())

    def _hear(self, lessons: list[bytes]) -> None:
        for lesson in lessons:
            try:
                self._model.merge(lesson)
            except ValueError as error:
                logger.warning("What was learned of links earlier cannot be used: %s", error)
                return
