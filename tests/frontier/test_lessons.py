"""What agents tell each other: all of it is heard once by everybody, and by whoever resumes the crawl."""

from __future__ import annotations

import asyncio
import itertools

import msgpack
import pytest
from redis.asyncio import Redis

from extensions.frontier.lessons import Lessons
from extensions.learning import SharedLearning
from extensions.scoring import ContextModel, CoverageModel, LinkFeatures, LinkModel, Topic
from extensions.scoring.places import Places

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
                return model, SharedLearning({"links": model}, client, crawl, name)

            @staticmethod
            def learners(name, **learners):
                return SharedLearning(learners, client, crawl, name)

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


def test_what_was_seen_of_places_is_exchanged_and_recalled_beside_the_links(school):
    topic = Topic.parse("beekeeping, honey")
    about, dull = ("Beekeeping and honey", "Beekeeping brings honey."), ("Appendix", "A page of figures.")

    def agent(name):
        model, links = ContextModel(CoverageModel(topic)), LinkModel()
        return model, links, school.learners(name, links=links, places=model.memory)

    first, links, sharing = agent("anna")
    second, _, hearing = agent("bert")
    for number in range(30):
        first.judge(f"https://bees.test/doc/{number}", *about)
        second.judge(f"https://dull.test/doc/{number}", *dull)
        links.learn(LinkFeatures(0.5, f"https://bees.test/doc/{number}"), 0.9)
    for one in (sharing, hearing, sharing):
        school.run(one.share())
    school.run(sharing.keep())
    resumed, knowing, remembering = agent("cleo")
    school.run(remembering.recall())
    for server, on_topic in (("bees.test", True), ("dull.test", False)):
        page = f"https://{server}/doc/x"
        found = [model.judge(page, *dull) for model in (first, second, resumed)]
        assert [one.on_topic for one in found] == [on_topic] * 3
        assert [one.relevance for one in found] == pytest.approx([found[0].relevance] * 3)
    link = LinkFeatures(0.5, "https://bees.test/doc/new")
    assert knowing.quality(link) == pytest.approx(links.quality(link))


def test_what_only_others_learn_is_passed_over(school):
    """Agents with other settings, or a crawl that goes on with another model."""
    both, links = school.learners("anna", links=LinkModel(), places=(places := Places())), LinkModel()
    places.take_in("https://a.test/", 1.0)
    school.run(both.keep())
    one = school.learners("bert", links=links)
    school.run(one.recall())
    assert len(links) == 0
    school.run(school.learners("cleo", places=(again := Places())).recall())
    assert len(again) == len(places)


def test_where_nothing_was_learned_nothing_is_told_or_kept(school):
    school.run(school.learners("anna", links=LinkModel(), places=Places()).keep())
    assert school.run(school.agent("bert").recall()) == []


@pytest.mark.parametrize(
    "told",
    [b"\xc1", msgpack.packb(5), msgpack.packb({"links": "text"}), msgpack.packb({1: b""}), LinkModel().state()],
    ids=["no msgpack", "a number", "text", "numbered", "a state of earlier versions"],
)
def test_what_cannot_be_used_is_told_once_and_the_rest_is_heard(school, caplog, told):
    teacher, places = school.learners("anna", places=(seen := Places())), Places()
    stranger = school.agent("stranger")
    school.run(stranger.keep(told))
    school.run(stranger.exchange(told))
    school.run(stranger.exchange(told))
    seen.take_in("https://a.test/", 1.0)
    school.run(teacher.share())
    caplog.clear()
    school.run(school.learners("bert", places=places).recall())
    assert len(places) == 1
    assert len([record for record in caplog.records if "cannot be used" in record.message]) == 1


def test_a_learner_that_cannot_use_its_part_does_not_keep_the_others_from_theirs(school, caplog):
    seen, links = Places(), LinkModel()
    seen.take_in("https://a.test/", 1.0)
    school.run(school.agent("anna").exchange(msgpack.packb({"links": b"junk", "places": seen.changes()})))
    school.run(school.learners("bert", links=links, places=(places := Places())).recall())
    assert (len(links), len(places)) == (0, 1)
    assert "no link model" in caplog.text
