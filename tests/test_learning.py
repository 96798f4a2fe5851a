"""What the frontier is told of servers: only what was learned, and nothing where nobody learns."""

from __future__ import annotations

from scrapy import Spider
from scrapy.crawler import Crawler

from extensions.learning import link_model_of, odds_of
from extensions.scoring import LinkFeatures


def test_nothing_is_told_of_servers_before_something_was_learned() -> None:
    crawler = Crawler(Spider)
    assert odds_of(crawler, "http://a.test") is None, "nobody learns"
    model = link_model_of(crawler)
    assert odds_of(crawler, "http://a.test") is None, "nothing was learned yet"
    model.learn(LinkFeatures(0.0, "http://a.test/1"), 0.0)
    told = odds_of(crawler, "http://a.test")
    assert told is not None
    assert told < 1
    assert odds_of(crawler, "http://b.test") == 1


def test_crawlers_learn_apart() -> None:
    one, other = Crawler(Spider), Crawler(Spider)
    link_model_of(one).learn(LinkFeatures(0.0, "http://a.test/1"), 1.0)
    link_model_of(other).learn(LinkFeatures(0.0, "http://a.test/1"), 0.0)
    mine, theirs = odds_of(one, "http://a.test"), odds_of(other, "http://a.test")
    assert mine is not None
    assert theirs is not None
    assert mine > theirs
