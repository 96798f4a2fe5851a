"""The judge of links: the prior at first, then places and words; a memory of links until their pages have come."""

from __future__ import annotations

import pytest

from extensions.scoring import LinkFeatures, LinkJudge, LinkMatcher, LinkModel, LinkWords, Topic, link_quality
from extensions.scoring.linkmodel import DEPTH_DECAY, adjusted
from extensions.scoring.linkwords import ANCHOR, buckets

MATCHER = LinkMatcher(Topic.parse("bees"))


def judge(capacity=100):
    return LinkJudge(MATCHER, LinkModel(), LinkWords(), capacity)


def test_without_anything_that_learns_quality_is_the_prior():
    plain = LinkJudge(MATCHER)
    told = plain.links_of(0.4, 1, 3)("https://a.test/x", "about bees", "")
    assert told == link_quality(parent=0.4, anchor=MATCHER.text("about bees"), context=0.0, url=0.0, hops=1) > 0.4
    plain.learn("https://a.test/x", 1.0)
    assert plain.within("https://a.test/x") is None


def test_before_the_first_lesson_only_depth_lowers_the_prior():
    prior = link_quality(parent=0.4, anchor=0.0, context=0.0, url=0.0, hops=0)
    assert judge().links_of(0.4, 0, 2)("https://a.test/x", "hive", "") == pytest.approx(adjusted(prior, DEPTH_DECAY**2))


def test_words_that_led_to_relevant_pages_raise_the_quality_of_other_links_with_them():
    taught = judge()
    links = taught.links_of(0.3, 0, 1)
    for number in range(10):
        links(f"https://s{number}.test/manual", "manual", "")
        links(f"https://s{number}.test/login", "login", "")
        taught.learn(f"https://s{number}.test/manual", 0.9)
        taught.learn(f"https://s{number}.test/login", 0.02)
    manual, other, login = (links(f"https://new.test/{name}", name, "") for name in ("manual", "other", "login"))
    assert manual > other > login


def test_the_server_is_part_of_the_quality_only_where_that_is_asked_for():
    taught = judge()
    for number in range(20):
        taught.learn(f"https://barren.test/{number}", 0.0)
    apart, together = (
        taught.links_of(0.3, 0, 1, with_server=whole)("https://barren.test/new", "", "") for whole in (False, True)
    )
    assert together < apart / 2


def test_a_waiting_link_is_worth_what_it_would_be_if_it_were_found_now():
    taught = judge()
    links = taught.links_of(0.3, 0, 1)
    before = links("https://a.test/x/wiki", "wiki", "")
    assert taught.within("https://a.test/x/wiki") == pytest.approx(before)
    for number in range(10):
        links(f"https://b.test/wiki/{number}", "wiki", "")
        taught.learn(f"https://b.test/wiki/{number}", 0.0)
        taught.learn(f"https://a.test/x/{number}", 0.0)
    now = taught.within("https://a.test/x/wiki")
    assert now < before
    assert now == pytest.approx(links("https://a.test/x/wiki", "wiki", ""))


def test_a_link_has_fallen_when_it_is_worth_clearly_less_than_was_foretold():
    taught = judge()
    links = taught.links_of(0.9, 0, 1)
    foretold = links("https://a.test/x/wiki", "wiki", "")
    assert taught.fallen("https://a.test/x/wiki", foretold) is None
    for number in range(40):
        links(f"https://s{number}.test/wiki", "wiki", "")
        taught.learn(f"https://s{number}.test/wiki", 0.0)
    assert taught.fallen("https://a.test/x/wiki", foretold) == taught.within("https://a.test/x/wiki")
    assert taught.fallen("https://a.test/never/seen", foretold) is None


def test_of_several_links_to_a_page_the_most_promising_is_remembered():
    taught = judge()
    best = taught.links_of(0.9, 0, 1)("https://a.test/x", "bees", "")
    taught.links_of(0.1, 3, 5)("https://a.test/x", "more", "")
    assert taught.within("https://a.test/x") == pytest.approx(best)


def test_a_link_is_forgotten_when_its_page_has_come():
    taught = judge()
    links = taught.links_of(0.3, 0, 1)
    links("https://a.test/x", "wiki", "")
    taught.learn("https://a.test/x", 0.9)
    links("https://a.test/x", "wiki", "")
    assert taught.within("https://a.test/x") is None


def test_a_redirected_page_teaches_the_words_of_the_link_that_was_followed_and_the_place_where_it_stands():
    taught = judge()
    links = taught.links_of(0.3, 0, 1)
    links("https://a.test/old", "wiki", "")
    taught.learn("https://b.test/new/page", 0.0, asked="https://a.test/old")
    assert taught.words.evidence(buckets(ANCHOR, ["wiki"])) < 0.0
    assert taught.model.odds("https://b.test") < 1.0 == taught.model.odds("https://a.test")


def test_memory_is_bounded_and_the_oldest_links_are_forgotten_first():
    taught = judge(capacity=3)
    links = taught.links_of(0.3, 0, 1)
    for number in range(5):
        links(f"https://a.test/{number}", "", "")
    assert [taught.within(f"https://a.test/{number}") is None for number in range(5)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_words_of_a_server_s_name_are_no_words_of_its_links():
    taught = judge()
    links = taught.links_of(0.3, 0, 1)
    links("https://wiki.test/one", "", "")
    taught.learn("https://wiki.test/one", 1.0)
    model = LinkModel()
    model.learn(LinkFeatures(0.0, "https://wiki.test/one"), 1.0)
    assert links("https://a.test/wiki", "", "") == pytest.approx(
        LinkJudge(MATCHER, model, LinkWords()).links_of(0.3, 0, 1)("https://a.test/wiki", "", "")
    )
