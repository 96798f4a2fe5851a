"""The link model: the prior at first, then what folders have held; bounded, saved, shared."""

from __future__ import annotations

import math

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring.linkmodel import DEPTH_DECAY, FOLDERS, LEAST, MOST, LinkFeatures, LinkModel, adjusted

priors = st.floats(0, 1)
urls = st.lists(st.sampled_from(["a", "b", "docs", "%E5%BC%82"]), max_size=9).map(
    lambda folders: "https://s.test/" + "/".join([*folders, "page.html"])
)
lessons = st.lists(st.tuples(urls, st.floats(0, 1)), max_size=30)


def taught(*lessons):
    model = LinkModel()
    for url, relevant in lessons:
        model.learn(LinkFeatures(0.5, url), relevant)
    return model


def quality(model, url="https://a.test/x/page", prior=0.3, depth=0):
    return model.quality(LinkFeatures(prior, url, depth))


@given(st.floats(LEAST, MOST), urls)
def test_before_the_first_page_the_model_is_its_prior(prior, url):
    assert quality(LinkModel(), url, prior) == pytest.approx(prior)


@given(lessons, urls, priors, st.integers(0, 2000))
def test_quality_is_a_probability(lessons, url, prior, depth):
    assert 0.0 <= quality(taught(*lessons), url, prior, depth) <= 1.0


@given(lessons, urls, priors, priors)
def test_a_better_prior_never_makes_a_link_worse(lessons, url, one, other):
    model = taught(*lessons)
    low, high = sorted((one, other))
    assert quality(model, url, low) <= quality(model, url, high)


def test_each_link_from_a_seed_costs_the_same_part_of_the_odds():
    near, far = (quality(LinkModel(), depth=depth) for depth in (2, 3))
    assert far / (1 - far) == pytest.approx(DEPTH_DECAY * near / (1 - near))


def test_a_folder_that_held_relevant_pages_is_preferred_and_a_barren_one_shunned():
    model = taught(*[("https://a.test/good/1", 1.0), ("https://a.test/bad/1", 0.0)] * 5)
    good, unknown, bad = (quality(model, f"https://a.test/{folder}/new") for folder in ("good", "other", "bad"))
    assert good > unknown > bad


def test_a_barren_server_falls_behind_one_that_nobody_has_tried():
    model = taught(*[(f"https://barren.test/{number}", 0.02) for number in range(20)])
    assert quality(model, "https://barren.test/new") < quality(model, "https://new.test/new") == pytest.approx(0.3)


def test_the_estimate_of_a_folder_is_shrunk_towards_the_one_above():
    model = taught(("https://a.test/x/1", 1.0))
    # m = 1 here, as the one page learned is relevant: server and folder stand at it, and nothing shifts.
    assert quality(model, "https://a.test/x/2") == pytest.approx(0.3, abs=1e-3)
    model = taught(("https://a.test/x/1", 1.0), ("https://b.test/y/1", 0.0))
    mean = 0.5
    server = (0.0 + 2 * mean) / 3
    folder = (0.0 + 2 * server) / 3
    of_server, of_folder, of_all = (p / (1 - p) for p in (server, folder, mean))
    odds = 0.3 / 0.7 * of_server / of_all * (of_folder / of_server) ** FOLDERS
    assert quality(model, "https://b.test/y/2") == pytest.approx(odds / (1 + odds))


@given(lessons, urls, st.floats(LEAST, MOST), st.integers(0, 9))
def test_what_is_known_of_a_server_and_of_its_folders_makes_the_quality_together(lessons, url, prior, depth):
    model, link = taught(*lessons), LinkFeatures(prior, url, depth)
    assert adjusted(model.within(link), model.odds("https://s.test")) == pytest.approx(model.quality(link), abs=1e-9)


@given(lessons, st.lists(urls, min_size=2, max_size=2), st.floats(0.01, 100))
def test_a_servers_odds_never_change_the_order_of_its_urls(lessons, pair, odds):
    model = taught(*lessons)
    low, high = sorted(model.within(LinkFeatures(0.3, url)) for url in pair)
    assert 0.0 <= adjusted(low, odds) <= adjusted(high, odds) <= 1.0


def test_the_odds_of_a_server_fall_with_each_barren_page_and_stand_at_one_before_the_first():
    model = LinkModel()
    odds = [model.odds("https://s.test")]
    for number in range(5):
        model.learn(LinkFeatures(0.5, f"https://s.test/{number}"), 0.01)
        odds.append(model.odds("https://s.test"))
    assert odds[0] == 1.0
    assert odds == sorted(odds, reverse=True)
    assert odds[-1] < 0.5
    assert model.odds("https://new.test") == 1.0


def test_a_doubtful_page_in_a_folder_of_relevant_ones_counts_for_more_than_one_among_barren_ones():
    model = taught(*[("https://rich.test/a/1", 1.0), ("https://poor.test/a/1", 0.0)] * 5)
    before = {server: model.quality(LinkFeatures(0.3, f"https://{server}.test/b/2")) for server in ("rich", "poor")}
    for server in before:
        model.learn(LinkFeatures(0.3, f"https://{server}.test/a/2"), 0.5)
    told = msgpack.unpackb(model.changes())[1]
    assert told["https://rich.test/a"][1] > 5.5 > 1.0 > told["https://poor.test/a"][1] > 0.0


@given(lessons, urls)
def test_a_saved_model_goes_on_as_it_was(lessons, url):
    model = taught(*lessons)
    again = LinkModel.from_state(model.state())
    for one in (model, again):
        one.learn(LinkFeatures(0.5, "https://s.test/a/later"), 0.9)
    assert quality(again, url) == quality(model, url)


@given(lessons, lessons, urls)
def test_agents_that_exchange_changes_agree(ours, theirs, url):
    one, other = taught(*ours), taught(*theirs)
    told_by_one, told_by_other = one.changes(), other.changes()
    one.merge(told_by_other)
    other.merge(told_by_one)
    assert quality(one, url) == pytest.approx(quality(other, url))


@given(*[st.lists(st.tuples(urls, st.sampled_from([0.0, 1.0])), max_size=30)] * 2, urls)
def test_where_there_is_no_doubt_agents_know_together_what_one_would_know_alone(ours, theirs, url):
    one, other = taught(*ours), taught(*theirs)
    one.merge(other.changes())
    assert quality(one, url) == pytest.approx(quality(taught(*ours, *theirs), url))


def test_changes_are_told_once_and_never_passed_on():
    one, other = taught(("https://a.test/1", 1.0)), LinkModel()
    other.merge(one.changes())
    assert one.changes() == other.changes() == b""


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x93\x01\x02\x03", b"\x94\x01\x05\x00\x00", b"\x94\x07\x80\x00\x00"])
def test_what_is_no_model_is_refused(junk):
    with pytest.raises(ValueError, match="link model"):
        LinkModel.from_state(junk)


@pytest.mark.parametrize("relevant", [-0.1, 1.1, math.nan])
def test_relevance_that_is_no_probability_is_refused(relevant):
    with pytest.raises(ValueError, match="probability"):
        taught(("https://a.test/", relevant))


def test_memory_is_bounded_and_what_is_known_best_is_kept():
    model = LinkModel(capacity=100)
    for number in range(1000):
        model.learn(LinkFeatures(0.5, f"https://s{number}.test/folder/page"), 0.5)
        model.learn(LinkFeatures(0.5, "https://often.test/page"), 1.0)
        quality(model, f"https://t{number}.test/")
    assert len(model) <= 100
    assert len(model._changes) <= 100
    assert len(model._shifts) <= 100
    assert quality(model, "https://often.test/new") > 0.3
