"""The spider of every campaign: ``scrapy crawl topic -a topic="…" -a seeds="…"``."""

from __future__ import annotations

import asyncio
import importlib
import logging
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider

from extensions.config import Config
from extensions.courier import project_path
from extensions.errors import ConfigurationError
from extensions.frontier.connection import check, client_of
from extensions.frontier.embedded import server_binary
from extensions.parsed import FollowLinks, page_of
from extensions.scoring import Topic
from extensions.topicmeta import TopicMeta
from extensions.urls import Canonicaliser
from topicspider.items import PageItem
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

CAMPAIGNS = "settings.campaigns"
NOT_THE_OPEN_WEB = (".test", ".localhost", ".example", ".invalid", ".local", ".internal")
LIMITS = {
    "depth": ("DEPTH_LIMIT", 1),
    "pages": ("CLOSESPIDER_PAGECOUNT", 1),
    "relevant": ("CRAWL_MAX_RELEVANT", 1),
    "minutes": ("CLOSESPIDER_TIMEOUT", 60),
}
"""Arguments that are short for a setting, and what a unit of each is there."""


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

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        """The page as an item, and its links."""
        self.parsed += 1
        page = page_of(response)
        yield page_item(response)
        if page is not None:
            yield FollowLinks(page)

    def seed_failed(self, failure: Failure) -> None:
        """Remember why, for the sentence at the end if none could be fetched."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        self.failed_seeds[request.url] = failure.getErrorMessage() or type(failure.value).__name__

    def closed(self, reason: str) -> None:  # noqa: ARG002 - Scrapy's signature
        """Say so if the crawl had no beginning."""
        if self.failed_seeds and not self.parsed and len(self.failed_seeds) >= len(self.seeds):
            reasons = "; ".join(f"{url}: {why}" for url, why in list(self.failed_seeds.items())[:5])
            logger.error(
                "None of the %d seeds could be fetched (%s). Check the addresses and the network.",
                len(self.seeds),
                reasons,
            )
            if self.crawler.stats is not None:
                self.crawler.stats.set_value("topic/no_seed_fetched", value=True)


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


def limit(argument: str, value: Any, unit: int) -> int:
    """A limit given as a spider argument, in the units of its setting. Raises `ConfigurationError`."""
    try:
        amount = float(value)
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 <= amount <= 10**9 or (unit == 1 and amount != int(amount)):
        kind = "a whole number" if unit == 1 else "a number"
        raise ConfigurationError(f"-a {argument}={value} is not {kind} of 0 or more.")
    return int(amount * unit)


def check_limits(settings: BaseSettings) -> None:
    """Scrapy's own limits are ours to check too: Scrapy takes a negative one without a word."""
    for name in (
        "DEPTH_LIMIT",
        "CONCURRENT_REQUESTS",
        "CLOSESPIDER_PAGECOUNT",
        "CLOSESPIDER_ITEMCOUNT",
        "CLOSESPIDER_TIMEOUT",
        "DOWNLOAD_DELAY",
        "DOWNLOAD_TIMEOUT",
    ):
        value = settings.get(name)
        try:
            fits = value is None or float(value) >= 0
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ConfigurationError(f"{name} is {value!r}, but must be a number of 0 or more.")


def read_seeds(given: tuple[str, ...], canonicalise: Canonicaliser) -> list[str]:
    """The seeds' canonical URLs, each once. Raises `ConfigurationError`."""
    entries: list[str] = []
    for entry in given:
        if entry.startswith("@"):
            path = Path(entry[1:])
            try:
                lines = path.read_text("utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The file of seeds {path} cannot be read: {error}.") from error
            entries += [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        else:
            entries.append(entry)
    seeds: dict[str, None] = {}
    for entry in entries:
        url = canonicalise(entry) if "://" in entry else None
        if url is None:
            hint = f"; is https://{entry} meant?" if "://" not in entry and "." in entry else ""
            raise ConfigurationError(f"The seed {entry!r} is not a URL that begins with http:// or https://{hint}")
        seeds[url] = None
    if not seeds:
        raise ConfigurationError(
            'There are no seeds: give -a seeds="https://…,https://…" or -a seeds=@file, or a campaign that has TOPIC_SEEDS.'
        )
    return list(seeds)


def announce(settings: BaseSettings, config: Config, seeds: list[str]) -> None:
    """Put the operator's contact into the user agent, or say that there is none."""
    agent = str(settings.get("USER_AGENT") or "")
    if config.contact:
        if config.contact not in agent:
            settings.set("USER_AGENT", f"{agent.partition(' (')[0]} (+{config.contact})", priority="cmdline")
        return
    hosts = {urlsplit(seed).hostname or "" for seed in seeds}
    if any(
        "." in host and not host.endswith(NOT_THE_OPEN_WEB) and not host.startswith(("127.", "10.", "192.168."))
        for host in hosts
    ):
        logger.warning(
            "No CRAWL_CONTACT is set: give a mail address or a page, so that whoever runs a server can reach you."
        )


def check_redis(config: Config) -> None:
    """Raise `FrontierUnavailable` unless there is, or can be, a Redis."""
    if not config.redis_url:
        server_binary()
        folder = project_path(config.embedded_dir)
        if folder.exists() and not folder.is_dir():
            raise ConfigurationError(f"FRONTIER_EMBEDDED_DIR {folder} is not a folder.")
        return

    async def look() -> None:
        client = client_of(config.redis_url, config.redis_params)
        try:
            await check(client, config.redis_url)
        finally:
            await client.aclose()

    # In a loop of its own: the crawl's is running already, and nothing in it has begun.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, look()).result()
