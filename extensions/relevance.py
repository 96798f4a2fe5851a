"""The relevance of pages and the fate of what they yield.

Each page is scored once. Its items are annotated with relevance, title and body similarity; those of an off-topic page are dropped. Its links,
and any other requests it yields, get a quality and go on, unless more than TOPIC_TUNNEL off-topic pages in a row lie behind them: relevant pages are often
reached through dull ones. A page's own wishes are respected: noindex keeps it out of the results, nofollow keeps its links unfollowed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request

from extensions.config import Config
from extensions.errors import ConfigurationError
from extensions.learning import judge_in, learn_in, link_model_of
from extensions.parsed import FollowLinks, page_of
from extensions.scoring import Examples, LinkJudge, LinkMatcher, LinkWords, Relevance, Topic, make_model
from extensions.signals import page_scored
from extensions.topicmeta import TopicMeta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from extensions.pages import Page
    from extensions.scoring import Model

logger = logging.getLogger(__name__)

ANNOTATIONS = ("relevance", "probability", "title_similarity", "body_similarity")


class TopicRelevanceMiddleware:
    """Spider middleware; without a TOPIC it lets everything pass, so a spider without one runs unchanged."""

    def __init__(self, crawler: Crawler, config: Config, model: Model | None, topic: Topic | None) -> None:
        if crawler.stats is None:
            raise ConfigurationError("The relevance middleware needs a crawler that is being run by Scrapy.")
        self.crawler = crawler
        self.stats = crawler.stats
        self.model = model
        self.judge = self._judge_of(topic, learns=config.learn_links) if topic is not None else None
        if model is not None and model.memory is not None:
            learn_in(crawler, "places", model.memory)
        if model is not None and model.seeds is not None:
            learn_in(crawler, "seeds", model.seeds)
        self.tunnel = config.tunnel
        self.max_relevant = config.max_relevant
        self.max_pages = config.max_pages_fetched
        self.pages = self.relevant = 0
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TopicRelevanceMiddleware:
        """Read the settings and the topic. Raises `ConfigurationError` for a topic without usable terms."""
        config = Config.from_settings(crawler.settings)
        if not config.topic:
            return cls(crawler, config, None, None)
        topic = Topic.load(config.topic)
        examples = Examples.load(config.examples) if config.examples else None
        return cls(crawler, config, make_model(config.model, topic, config.threshold, examples), topic)

    def _judge_of(self, topic: Topic, *, learns: bool) -> LinkJudge:
        matcher = LinkMatcher(topic)
        if not learns:
            return LinkJudge(matcher)
        judge = LinkJudge(matcher, link_model_of(self.crawler), words := LinkWords())
        learn_in(self.crawler, "words", words)
        judge_in(self.crawler, judge)
        return judge

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Called by Scrapy with what the spider made of a page."""
        if self.model is None or self.judge is None:
            async for output in result:
                yield output
            return
        verdict: Relevance | None = None
        async for output in result:
            if verdict is None:
                verdict = self._score(response)
            if isinstance(output, FollowLinks):
                for request in self._follow(response, output.page, verdict):
                    yield request
            elif isinstance(output, Request):
                ranked = self._rank(response, output, verdict)
                if ranked is not None:
                    yield ranked
            elif self._keep(response, output, verdict):
                yield output

    def _score(self, response: Response) -> Relevance:
        page = page_of(response)
        assert self.model is not None
        # Depth 0 is a seed's, whoever gave it and however late, and stays that of what it redirects to.
        is_seed = not response.meta.get("depth", 0)
        if page is None:
            verdict = Relevance(0.0, 0.0, 0.0, on_topic=False)
        else:
            if is_seed:
                self.model.meet_seed(page.title, page.text)
            verdict = self.model.judge(response.url, page.title, page.text)
        assert self.judge is not None
        if not is_seed:
            # Not from seeds: they were chosen, and say nothing of what links lead to.
            asked = response.meta.get("redirect_urls") or [response.url]
            self.judge.learn(response.url, self.model.of_words(verdict), asked[0])
        self.pages += 1
        self.stats.inc_value("topic/pages")
        if verdict.on_topic:
            self.stats.inc_value("topic/relevant")
        if self.pages == self.max_pages:
            self._enough("page_limit")
        self.stats.inc_value("topic/relevance_sum", verdict.relevance)  # type: ignore[arg-type]  # Scrapy adds floats as well
        return verdict

    def _keep(self, response: Response, item: Any, verdict: Relevance) -> bool:
        """Annotate an item; whether it goes on to the pipelines."""
        if ItemAdapter.is_item(item):
            adapter = ItemAdapter(item)
            fields = ANNOTATIONS if isinstance(item, dict) else set(ANNOTATIONS) & set(adapter.field_names())
            assert self.model is not None
            probability = self.model.calibrated(verdict.relevance)
            for name in fields:
                adapter[name] = round(probability if name == "probability" else getattr(verdict, name), 6)
        self.crawler.signals.send_catch_log(page_scored, response=response, item=item, on_topic=verdict.on_topic)
        page = page_of(response)
        if page is not None and page.noindex:
            self.stats.inc_value("topic/noindex")
            return False
        if verdict.on_topic:
            self.relevant += 1
            if self.relevant == self.max_relevant:
                self._enough("relevant_limit")
        return verdict.on_topic

    def _follow(self, response: Response, page: Page, verdict: Relevance) -> Iterator[Request]:
        """Hand the links to the scheduler; where it is not ours, as requests."""
        if page.bad_links:
            self.stats.inc_value("links/malformed", page.bad_links)
        if page.nofollow:
            self.stats.inc_value("links/nofollow", len(page.links))
            return
        hops = self._hops(response, verdict)
        if hops > self.tunnel:
            self.stats.inc_value("links/beyond_tunnel", len(page.links))
            return
        assert self.model is not None
        longest = self.crawler.settings.getint("URLLENGTH_LIMIT") or 1 << 30
        if too_long := sum(len(link.url) > longest for link in page.links):
            self.stats.inc_value("links/too_long", too_long)
        depth = response.meta.get("depth", 0) + 1
        promised = self._judged(self.model.promise(verdict), hops, depth)
        ranked = (
            (link.url, promised(link.url, link.anchor, link.context)) for link in page.links if len(link.url) <= longest
        )
        scheduler = self._scheduler
        if hasattr(scheduler, "enqueue_links"):
            scheduler.enqueue_links(ranked, depth=depth, hops=hops, referrer=response.url)
            return
        for url, quality in ranked:
            request = Request(url, priority=int(quality * 1000))
            TopicMeta(quality, hops, response.url).put(request.meta)
            yield request

    def _rank(self, response: Response, request: Request, verdict: Relevance) -> Request | None:
        """Give a request that the spider made itself its quality; None beyond the tunnel."""
        hops = self._hops(response, verdict)
        if hops > self.tunnel:
            self.stats.inc_value("links/beyond_tunnel")
            return None
        if "topic" not in request.meta:
            assert self.model is not None
            promised = self._judged(self.model.promise(verdict), hops, response.meta.get("depth", 0) + 1)
            quality = promised(request.url, "", "")
            TopicMeta(quality, hops, response.url).put(request.meta)
        return request

    def _judged(self, parent: float, hops: int, depth: int) -> Callable[[str, str, str], float]:
        """What tells the quality of a page's links. Our scheduler is told of their servers apart, with each settlement anew; any other is not."""
        assert self.judge is not None
        return self.judge.links_of(parent, hops, depth, with_server=not hasattr(self._scheduler, "enqueue_links"))

    @property
    def _scheduler(self) -> Any:
        """Ours, Scrapy's, or None before there is an engine."""
        return self.crawler.engine.scheduler if self.crawler.engine is not None else None

    def _hops(self, response: Response, verdict: Relevance) -> int:
        """Off-topic pages in a row up to and with this one."""
        assert self.model is not None
        return 0 if self.model.ends_tunnel(verdict) else TopicMeta.of(response.request).hops + 1

    def _enough(self, reason: str) -> None:
        """End the crawl; what is being fetched now is still finished."""
        engine = self.crawler.engine
        if engine is not None and self._closing is None:
            self._closing = asyncio.ensure_future(engine.close_spider_async(reason=reason))
