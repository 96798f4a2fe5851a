"""``scrapy crawl``, with faults that a user can mend told in one sentence and in the exit status."""

from __future__ import annotations

import contextlib
import logging
import resource
import sys
from typing import TYPE_CHECKING, Any

from scrapy.commands import crawl

from extensions.errors import ConfigurationError, CrawlError
from topicspider.quietlog import HeldBack

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MANY = 65_536
FAULTS = frozenset({"output_error", "scheduler_error"})


class Command(crawl.Command):
    """Exit status 0 if the crawl ended as it should, 1 if it could not, 2 for wrong usage."""

    fault: CrawlError | None = None
    crawler: Crawler | None = None

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run one spider to its end."""
        allow_many_connections()
        try:
            super().run(args, opts)
        except CrawlError as error:  # a campaign that there is not
            self.fault = error
        if self.fault is not None:
            print(f"Error: {self.fault}", file=sys.stderr)
            assert self.settings is not None
            if self.settings["LOG_FILE"]:  # scrapyd shows that, and not what a job prints
                logger.error("%s", self.fault)
        if self.fault is not None or self._ended_badly():
            self.exitcode = 2 if isinstance(self.fault, ConfigurationError) else 1

    def _ended_badly(self) -> bool:
        if self.crawler is None:
            return False
        try:
            stats = self.crawler.stats.get_stats()
        except RuntimeError:  # it never came to have any; Scrapy has logged why
            return True
        return stats.get("finish_reason") in FAULTS or bool(stats.get("topic/no_seed_fetched"))

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = self.crawler = super()._create_crawler(spidercls)
        crawl_async = crawler.crawl_async

        async def told_in_a_sentence(*args: Any, **kwargs: Any) -> None:
            stumbles = HeldBack(crawler)
            try:
                await crawl_async(*args, **kwargs)
            except Exception as error:
                self.fault = fault_behind(error)
                if self.fault is None:
                    raise
                stumbles.drop()
            finally:
                stumbles.release()

        crawler.crawl_async = told_in_a_sentence  # type: ignore[method-assign]
        return crawler


def allow_many_connections() -> None:
    """Raise the limit of open files as far as this user may: every server met lately keeps a connection open for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY if hard == resource.RLIM_INFINITY else min(hard, MANY)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def fault_behind(error: BaseException | None) -> CrawlError | None:
    """The fault that a user can mend, also if Scrapy stumbled over it while it cleaned up."""
    while error is not None and not isinstance(error, CrawlError):
        error = error.__cause__ or error.__context__
    return error
