"""What the frontier is told of servers: only what was learned, and nothing where nobody learns."""

from __future__ import annotations

from scrapy import Spider
from scrapy.crawler import Crawler

from extensions.frontier.records import Lease, LeasedUrl
from extensions.learning import fallen, judge_in, link_model_of, odds_of
from extensions.scoring import LinkFeatures, LinkJudge, LinkMatcher, LinkModel, LinkWords, Topic


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


def test_leased_urls_that_fell_are_named_and_others_keep_their_place() -> None:
    crawler = Crawler(Spider)
    judge = LinkJudge(LinkMatcher(Topic.parse("bees")), LinkModel(), LinkWords())
    links = judge.links_of(0.9, 0, 1)
    queued = {path: links(f"http://a.test{path}", path, "") for path in ("/login", "/manual")}
    urls = (*(LeasedUrl(path, quality, 1, 0) for path, quality in queued.items()), LeasedUrl("\0opaque", 0.9, 1, 0))
    lease = Lease("http://a.test", 1, 0, 0, 0.0, 0.0, 0.0, urls)
    assert list(fallen(crawler, lease)) == [], "nobody judges"
    judge_in(crawler, judge)
    assert list(fallen(crawler, lease)) == [], "nothing was learned"
    for number in range(40):
        links(f"http://s{number}.test/x", "/login", "")
        judge.learn(f"http://s{number}.test/x", 0.0)
    ((member, quality),) = fallen(crawler, lease)
    assert member == "/login"
    assert quality < queued["/login"]
