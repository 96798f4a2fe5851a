"""The spider of every campaign: ``scrapy crawl topic -a topic="…" -a seeds="…"``."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.spidermiddlewares.httperror import HttpError

from extensions.config import Config
from extensions.connections import Interrupted
from extensions.errors import ConfigurationError
from extensions.parsed import FollowLinks, page_of, parse_aside
from extensions.scoring import Topic
from extensions.topicmeta import TopicMeta
from extensions.urls import Canonicaliser
from topicspider.checks import LIMITS, announce, check_limits, check_redis, limit, read_seeds
from topicspider.items import PageItem
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

CAMPAIGNS = "settings.campaigns"


class TopicSpider(Spider):
    """Fetches pages, best first, from the seeds on, as far as the topic leads.

    Arguments: `topic` and `seeds` (words and URLs with commas between them, or ``@file``), which a campaign may give instead; `depth`, `pages`,
    `relevant` and `minutes` limit the crawl.
    """

    name = "topic"

    def __init__(self, seeds: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seeds = seeds
        self.failed_seeds: dict[str, str] = {}
        self.parsed = 0

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Load the campaign that CAMPAIGN names, with the spider's priority: ``-s`` on the command line still wins."""
        super().update_settings(settings)
        name = str(settings.get("CAMPAIGN") or "")
        if name:
            for key, value in campaign(name).items():
                settings.set(key, value, priority="spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> TopicSpider:
        """Check everything that can be checked before anything is created. Raises `CrawlError`."""
        settings = crawler.settings
        for argument, (name, unit) in LIMITS.items():
            if argument in kwargs:
                settings.set(name, limit(argument, kwargs.pop(argument), unit), priority="spider")
        for argument, name in (("topic", "TOPIC"), ("seeds", "TOPIC_SEEDS")):
            if argument in kwargs:
                settings.set(name, kwargs.pop(argument), priority="cmdline")
        unknown = set(kwargs) - {"_job", "name"}
        if unknown:
            raise ConfigurationError(
                f"The topic spider has no argument {', '.join(sorted(unknown))}; it has topic, seeds, {', '.join(LIMITS)}."
            )
        check_limits(settings)
        config = Config.from_settings(settings)
        if not config.topic:
            raise ConfigurationError(
                'There is no topic: give -a topic="words, more words", or a campaign that has a TOPIC.'
            )
        Topic.load(config.topic)
        seeds = read_seeds(config.seeds, Canonicaliser(config.drop_parameters))
        announce(settings, config, seeds)
        OutputFolder(Path(config.output_of(cls.name))).check()
        check_redis(config)
        kwargs.pop("name", None)
        return super().from_crawler(crawler, *args, seeds=seeds, **kwargs)

    async def start(self) -> AsyncIterator[Request]:
        """The seeds; those that were fetched by an earlier run of the crawl are known and not fetched again."""
        for url in self.seeds:
            request = Request(url, errback=self.seed_failed)
            TopicMeta(quality=1.0).put(request.meta)
            yield request

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: ARG002 - Scrapy's signature
        """The page as an item, and its links."""
        await parse_aside(response)
        self.parsed += 1
        if self.parsed == 1 and self.failed_seeds:
            self._note_beginning(found=True)
        page = page_of(response)
        if page is not None:  # neither an image nor an archive, which no topic can be told of
            yield page_item(response)
            yield FollowLinks(page)

    def seed_failed(self, failure: Failure) -> None:
        """Remember why, for the sentence at the end if none could be fetched."""
        if isinstance(failure.value, Interrupted):
            return  # it is queued again
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        fault = failure.value
        self.failed_seeds[request.url] = (
            f"status {fault.response.status}" if isinstance(fault, HttpError) else str(fault) or type(fault).__name__
        )
        if not self.parsed:
            self._note_beginning(found=False)

    def closed(self, reason: str) -> None:
        """Say so if the crawl had no beginning, or had come to its end before."""
        if self.parsed or reason != "finished":
            return
        if self.failed_seeds:
            reasons = "; ".join(f"{url}: {why}" for url, why in list(self.failed_seeds.items())[:5])
            logger.error(
                "No seed could be fetched (%s): check their addresses, their robots.txt and the network, or give other seeds.",
                reasons,
            )
        elif self._stats.get_value("frontier/resumed"):
            logger.warning(
                "Earlier runs of this crawl have fetched all there was: give other seeds, begin another crawl with "
                "-s FRONTIER_CRAWL=<name>, or forget this one with -s SCHEDULER_FLUSH_ON_START=True."
            )

    def _note_beginning(self, *, found: bool) -> None:
        # Also for the frontier: it forgets a crawl that had none, so that the seeds are tried anew when it is started again.
        self._stats.set_value("topic/no_seed_fetched", not found)

    @property
    def _stats(self) -> StatsCollector:
        assert self.crawler.stats is not None
        return self.crawler.stats


def page_item(response: Response) -> PageItem:
    """What the response itself says of a page; its relevance is the middleware's to add."""
    page = page_of(response)
    topic = TopicMeta.of(response.request)
    parts = urlsplit(response.url)
    return PageItem(
        url=response.url,
        title=page.title if page else "",
        quality=round(topic.quality, 6),
        depth=response.meta.get("depth", 0),
        host=parts.hostname or "",
        port=parts.port or (443 if parts.scheme == "https" else 80),
        content_type=(response.headers.get("Content-Type") or b"").decode("latin-1").split(";")[0].strip().lower(),
        content_length=len(response.body),
        downloaded_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        language=page.language if page else "",
        referrer=topic.referrer,
        text=page.text if page else "",
        canonical=page.canonical if page else "",
    )


def campaign(name: str) -> dict[str, Any]:
    """The settings of a campaign. Raises `ConfigurationError`, naming those there are."""
    known = sorted(
        module.name
        for module in pkgutil.iter_modules(importlib.import_module(CAMPAIGNS).__path__)
        if not module.name.startswith("_")
    )
    if name not in known:
        raise ConfigurationError(f"There is no campaign {name!r} in settings/campaigns; there are: {', '.join(known)}.")
    try:
        module = importlib.import_module(f"{CAMPAIGNS}.{name}")
    except Exception as error:
        raise ConfigurationError(
            f"The campaign {name!r} cannot be read ({type(error).__name__}: {error}): correct settings/campaigns/{name}.py."
        ) from error
    return {key: getattr(module, key) for key in dir(module) if key.isupper()}
