"""What agents tell each other: all of it is heard once by everybody, and by whoever resumes the crawl."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from redis.asyncio import Redis

from extensions.frontier.lessons import Lessons
from extensions.learning import SharedLearning
from extensions.scoring import LinkFeatures, LinkModel

crawls = itertools.count()


@pytest.fixture
def school(redis_server):
    """`run` runs what `agent`s of one crawl do."""
    with asyncio.Runner() as runner:
        client = Redis.from_url(redis_server.url)
        crawl = f"lessons{next(crawls)}"

        class School:
            run = staticmethod(runner.run)

            @staticmethod
            def agent(name):
                return Lessons(client, crawl, name)

            @staticmethod
            def learner(name):
                model = LinkModel()
                return model, SharedLearning(model, client, crawl, name)

        yield School
        runner.run(client.aclose())


def test_each_hears_what_the_others_told_once_and_nothing_of_its_own(school):
    anna, bert = school.agent("anna"), school.agent("bert")
    assert school.run(anna.exchange(b"one")) == []
    assert school.run(bert.exchange(b"two")) == [b"one"]
    assert school.run(anna.exchange(b"")) == [b"two"]
    assert school.run(anna.exchange(b"")) == school.run(bert.exchange(b"")) == []


def test_who_resumes_a_crawl_hears_the_kept_sum_and_what_came_after(school):
    anna, bert = school.agent("anna"), school.agent("bert")
    school.run(anna.exchange(b"one"))
    school.run(anna.keep(b"sum"))
    school.run(bert.exchange(b"two"))
    again = school.agent("anna")
    assert school.run(again.recall()) == [b"sum", b"two"]
    assert school.run(again.exchange(b"")) == []


def test_models_that_share_agree_and_a_resumed_one_knows_as_much(school):
    (first, sharing), (second, hearing) = school.learner("anna"), school.learner("bert")
    for number in range(30):
        first.learn(LinkFeatures(0.5, f"https://a.test/good/{number}"), 0.9)
        second.learn(LinkFeatures(0.5, f"https://a.test/bad/{number}"), 0.0)
    for one in (sharing, hearing, sharing):
        school.run(one.share())
    good, bad = (LinkFeatures(0.5, f"https://a.test/{folder}/new") for folder in ("good", "bad"))
    assert first.quality(good) == pytest.approx(second.quality(good))
    assert first.quality(good) > 2 * first.quality(bad)
    school.run(sharing.keep())
    resumed, remembering = school.learner("cleo")
    school.run(remembering.recall())
    assert resumed.quality(good) == pytest.approx(first.quality(good))
    assert resumed.quality(bad) == pytest.approx(first.quality(bad))
