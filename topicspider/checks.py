"""What can be checked before a crawl creates anything: limits, seeds, the Redis it will need. Each fault is one sentence.

All raise `CrawlError`, whose message says what to do.
"""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from extensions.errors import ConfigurationError
from extensions.frontier.checks import check
from extensions.frontier.connection import client_of
from extensions.frontier.embedded import server_binary
from extensions.session import project_path

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from extensions.config import Config
    from extensions.urls import Canonicaliser

logger = logging.getLogger(__name__)

NOT_THE_OPEN_WEB = (".test", ".localhost", ".example", ".invalid", ".local", ".internal")
LIMITS = {
    "depth": ("DEPTH_LIMIT", 1),
    "pages": ("CRAWL_MAX_PAGES", 1),
    "relevant": ("CRAWL_MAX_RELEVANT", 1),
    "minutes": ("CLOSESPIDER_TIMEOUT", 60),
}
"""Arguments that are short for a setting, and what a unit of each is there."""
WHOLE_NUMBERS = (
    "DEPTH_LIMIT",
    "CONCURRENT_REQUESTS",
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "CONCURRENT_ITEMS",
    "CLOSESPIDER_PAGECOUNT",
    "CLOSESPIDER_ITEMCOUNT",
    "CLOSESPIDER_ERRORCOUNT",
    "CLOSESPIDER_TIMEOUT_NO_ITEM",
    "DOWNLOAD_MAXSIZE",
    "DOWNLOAD_WARNSIZE",
    "REDIRECT_MAX_TIMES",
    "RETRY_TIMES",
    "URLLENGTH_LIMIT",
)
NUMBERS = ("CLOSESPIDER_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT", "DNS_TIMEOUT")
AT_LEAST_ONE = ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_ITEMS")
"""With 0 of them the crawl would wait for ever."""


def limit(argument: str, value: Any, unit: int) -> int:
    """A limit given as a spider argument, in the units of its setting. Raises `ConfigurationError`."""
    try:
        amount = float(value)
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 <= amount <= 10**9 or (unit == 1 and amount != int(amount)):
        kind = "a whole number" if unit == 1 else "a number"
        raise ConfigurationError(f"-a {argument} is {value!r}, but must be {kind} of 0 or more.")
    return int(amount * unit)


def check_limits(settings: BaseSettings) -> None:
    """Scrapy's own limits are ours to check too: it takes a negative one without a word, and a word with a traceback."""
    for read, kind, names in (
        (settings.getint, "a whole number", WHOLE_NUMBERS),
        (settings.getfloat, "a number", NUMBERS),
    ):
        for name in names:
            least = 1 if name in AT_LEAST_ONE else 0
            try:
                fits = least <= read(name, least) < math.inf
            except (TypeError, ValueError, OverflowError):
                fits = False
            if not fits:
                raise ConfigurationError(f"{name} is {settings.get(name)!r}, but must be {kind} of {least} or more.")


def read_seeds(given: tuple[str, ...], canonicalise: Canonicaliser) -> list[str]:
    """The seeds' canonical URLs, each once. Raises `ConfigurationError`."""
    entries: list[str] = []
    for entry in given:
        if entry.startswith("@"):
            path = Path(entry[1:])
            try:
                lines = path.read_text("utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
                raise ConfigurationError(
                    f"The file of seeds {str(path)!r} cannot be read ({why}): give -a seeds=@file the path of a list of URLs, one a line."
                ) from error
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
            raise ConfigurationError(
                f"FRONTIER_EMBEDDED_DIR is {str(folder)!r}, which is not a folder: choose another, or set REDIS_URL."
            )
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
