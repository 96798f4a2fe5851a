"""The model `context`: where a page stands counts beside what it says, within bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.scoring import ContextModel, CoverageModel, Example, Examples, Topic, make_model
from extensions.scoring.context import BASE, LESS
from extensions.scoring.places import Places

TOPIC = Topic.parse("rust, ownership, borrow checker")
FILLER = "Some sentences about nothing in particular fill up the page and leave the reader as wise as before. "
ABOUT = ("Rust and ownership", (FILLER + "Rust checks ownership with its borrow checker. ") * 5)
MENTION = ("Notes", FILLER * 4 + "Ownership of rust is checked.")
HINT = ("Notes", FILLER * 2 + "Ownership is checked.")
DULL = ("Appendix", FILLER * 5)


def logit(probability):
    return math.log(probability / (1 - probability))


def crawled(*pages):
    """A model that has judged pages: server and page, each as often as given."""
    model = ContextModel(CoverageModel(TOPIC))
    for server, page, number in pages:
        for count in range(number):
            model.judge(f"https://{server}/doc/{count}.html", *page)
    return model


def test_a_page_without_the_words_is_on_topic_in_a_place_that_is():
    model = crawled(("dull.test", DULL, 30), ("rust.test", ABOUT, 20))
    assert model.judge("https://rust.test/doc/appendix.html", *DULL).on_topic
    assert not model.judge("https://dull.test/doc/appendix.html", *DULL).on_topic
    assert not model.judge("https://new.test/doc/appendix.html", *DULL).on_topic


@pytest.mark.parametrize("page", [("", ""), (" \n", "\t"), ("—", "&&& ; …")])
def test_a_page_without_any_words_is_never_on_topic_and_says_nothing_of_its_place(page):
    model = crawled(("rust.test", ABOUT, 100))
    assert model.judge("https://rust.test/doc/x.html", *DULL).on_topic
    before = model.memory.state()
    found = model.judge("https://rust.test/doc/empty.html", *page)
    assert not found.on_topic
    assert not model.ends_tunnel(found)
    assert model.memory.state() == before


def test_the_same_mention_counts_less_in_a_place_about_other_things():
    model = crawled(("dull.test", DULL, 60), ("rust.test", ABOUT, 20))
    at_home = model.judge("https://rust.test/doc/x.html", *MENTION)
    abroad = model.judge("https://dull.test/doc/x.html", *MENTION)
    assert at_home.relevance > at_home.words == abroad.words > abroad.relevance


def test_a_page_full_of_the_topic_is_on_topic_wherever_it_stands():
    model = crawled(("dull.test", DULL, 300), ("rust.test", ABOUT, 20))
    assert CoverageModel(TOPIC).score(*ABOUT).relevance > 0.995
    assert model.judge("https://dull.test/doc/x.html", *ABOUT).on_topic


def test_the_first_page_of_a_crawl_is_judged_by_its_words():
    assert crawled().judge("https://a.test/", *ABOUT).on_topic
    assert not crawled().judge("https://a.test/", *DULL).on_topic


def test_folders_of_one_server_are_told_apart():
    model = crawled(("a.test", DULL, 1))
    for number in range(30):
        model.judge(f"https://a.test/rust/{number}.html", *ABOUT)
        model.judge(f"https://a.test/moon/{number}.html", *DULL)
    assert model.judge("https://a.test/rust/x.html", *DULL).relevance > 0.5
    assert model.judge("https://a.test/moon/x.html", *DULL).relevance < 0.5


def test_where_words_are_rare_everywhere_a_third_of_the_pages_is_enough():
    """The level adapts: what would be little for a common word is much for rare phrases."""
    model = crawled(("dull.test", DULL, 200))
    for number in range(60):
        model.judge(f"https://some.test/{number}.html", *(ABOUT if number % 3 == 0 else DULL))
    assert model.judge("https://some.test/x.html", *HINT).on_topic
    model = crawled(("dull.test", DULL, 200), ("rust.test", ABOUT, 60))
    assert not model.judge("https://new.test/x.html", *HINT).on_topic


def test_where_all_subjects_stand_side_by_side_words_decide():
    model = crawled()
    for number in range(100):
        found = model.judge(f"https://encyclopaedia.test/wiki/{number}", *(ABOUT if number % 5 == 0 else DULL))
        assert found.on_topic == (number % 5 == 0)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a.test", "b.test/x"]), st.sampled_from([ABOUT, MENTION, DULL])), max_size=30)
)
def test_surroundings_move_the_words_verdict_within_bounds_and_the_same_crawl_says_the_same(pages):
    first, second = crawled(), crawled()
    words, places = CoverageModel(TOPIC), Places()
    for place, page in pages:
        found = first.judge(f"http://{place}/{page[0]}", *page)
        assert found == second.judge(f"http://{place}/{page[0]}", *page)
        own = words.score(*page)
        assert found.words == own.relevance
        assert (found.title_similarity, found.body_similarity) == (own.title_similarity, own.body_similarity)
        assert logit(found.relevance) >= logit(own.relevance) - LESS - 1e-6
        share, _ = places.take_in(f"http://{place}/{page[0]}", own.relevance)
        assert logit(found.relevance) <= logit(own.relevance) + logit(share) - logit(BASE) + 1e-6
        assert found.on_topic == (found.relevance > 0.5)


def test_links_profit_from_words_and_from_surroundings_and_places_are_told_words_only():
    model = crawled(("rust.test", ABOUT, 20), ("dull.test", DULL, 60))
    at_home = model.judge("https://rust.test/doc/x.html", *DULL)
    assert model.of_words(at_home) == pytest.approx(at_home.words)
    assert model.promise(at_home) == pytest.approx(at_home.relevance)
    assert at_home.words < 0.1 < 0.5 < at_home.relevance
    abroad = model.judge("https://dull.test/doc/x.html", *ABOUT)
    assert model.promise(abroad) == model.of_words(abroad) == pytest.approx(abroad.words)
    assert abroad.relevance < abroad.words
    plain = CoverageModel(TOPIC)
    found = plain.score(*ABOUT)
    assert plain.promise(found) == plain.of_words(found) == pytest.approx(found.relevance)


def test_a_page_whose_words_are_on_topic_ends_a_tunnel_wherever_it_stands():
    model = crawled(("rust.test", ABOUT, 20), ("dull.test", DULL, 60))
    at_home = model.judge("https://rust.test/doc/x.html", *DULL)
    assert at_home.on_topic
    assert model.ends_tunnel(at_home)
    title, text = MENTION
    abroad = model.judge("https://dull.test/doc/x.html", title, text + FILLER * 8)
    assert abroad.relevance < 0.5 < abroad.words
    assert not abroad.on_topic
    assert model.ends_tunnel(abroad)
    assert not model.ends_tunnel(model.judge("https://dull.test/doc/y.html", *DULL))


def test_probability_is_half_at_the_threshold():
    assert ContextModel(CoverageModel(TOPIC), 0.2).probability(0.2) == pytest.approx(0.5)
    assert ContextModel(CoverageModel(TOPIC)).probability(0.7) == pytest.approx(0.7)


def test_a_model_that_was_told_what_another_has_seen_judges_as_it_does():
    knowing, told = crawled(("dull.test", DULL, 30), ("rust.test", ABOUT, 20)), crawled()
    assert not crawled().judge("https://rust.test/doc/x.html", *DULL).on_topic
    told.memory.merge(knowing.memory.state())
    for server in ("rust.test", "dull.test", "new.test"):
        page = f"https://{server}/doc/x.html"
        assert told.judge(page, *DULL).relevance == pytest.approx(knowing.judge(page, *DULL).relevance)
    assert told.judge("https://rust.test/doc/y.html", *DULL).on_topic


def test_examples_teach_the_words_of_a_model_that_knows_its_context():
    taught = Examples((Example("Moon", "craters and tides " * 9, True), Example(*DULL, False)) * 6)
    page = ("Moon", "craters and tides " * 9)
    with_examples, without = make_model("context", TOPIC, None, taught), make_model("context", TOPIC)
    assert with_examples.judge("http://a.test/", *page).words > without.judge("http://a.test/", *page).words
