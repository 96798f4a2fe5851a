"""``scrapy crawl``, with faults that a user can mend told in one sentence and in the exit status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from extensions.errors import CrawlError

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler

FAULTS = frozenset({"output_error", "scheduler_error"})


class Command(crawl.Command):
    """Exit status 0 if the crawl ended as it should, 1 if it could not, 2 for wrong usage."""

    fault: CrawlError | None = None
    crawler: Crawler | None = None

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run one spider to its end."""
        try:
            super().run(args, opts)
        except CrawlError as error:
            raise UsageError(str(error), print_help=False) from None
        if self.fault is not None:
            print(f"Error: {self.fault}", file=sys.stderr)
        if self.fault is not None or self._ended_badly():
            self.exitcode = 1

    def _ended_badly(self) -> bool:
        stats: dict[str, Any] = (
            self.crawler.stats.get_stats() if self.crawler is not None and self.crawler.stats is not None else {}
        )
        return stats.get("finish_reason") in FAULTS or bool(stats.get("topic/no_seed_fetched"))

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = self.crawler = super()._create_crawler(spidercls)
        crawl_async = crawler.crawl_async

        async def told_in_a_sentence(*args: Any, **kwargs: Any) -> None:
            try:
                await crawl_async(*args, **kwargs)
            except CrawlError as error:
                self.fault = error

        crawler.crawl_async = told_in_a_sentence  # type: ignore[method-assign]
        return crawler
