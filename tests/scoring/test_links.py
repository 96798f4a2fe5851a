"""The quality of links: bounds, monotonicity, what counts as evidence."""

from __future__ import annotations

import math
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring import LinkMatcher, Topic, link_quality
from extensions.scoring import links as module

TOPIC = Topic.parse("regular expressions:2, regex, 标准库, 异常")
MATCHER = LinkMatcher(TOPIC)
parents = st.floats(0, 1)
texts = st.text(max_size=60) | st.lists(
    st.sampled_from(["regular", "expression", "Regex", "标准库", "异常", "moon", "the"]), max_size=8
).map(" ".join)
hop_counts = st.integers(0, 50)


def quality(parent=0.5, anchor="", context="", url="https://a.test/", hops=0):
    return link_quality(
        parent=parent, anchor=MATCHER.text(anchor), context=MATCHER.text(context), url=MATCHER.url(url), hops=hops
    )


@given(parents, texts, texts, texts, hop_counts)
def test_quality_is_a_probability(parent, anchor, context, url, hops):
    assert 0.0 <= quality(parent, anchor, context, url, hops) <= 1.0


@given(parents, parents, texts, texts, texts, hop_counts)
def test_a_better_parent_never_makes_a_link_worse(one, other, anchor, context, url, hops):
    low, high = sorted((one, other))
    assert quality(low, anchor, context, url, hops) <= quality(high, anchor, context, url, hops)


@given(parents, texts, texts, texts, hop_counts)
def test_another_off_topic_hop_never_makes_a_link_better(parent, anchor, context, url, hops):
    assert quality(parent, anchor, context, url, hops + 1) <= quality(parent, anchor, context, url, hops)


@given(texts, texts)
def test_more_words_never_cover_less(text, more):
    assert MATCHER.text(f"{text} {more}") >= MATCHER.text(text)


@given(texts)
def test_coverage_is_the_cosine_of_the_terms_that_are_there(text):
    lower = text.lower()
    words = set(lower.replace("expressions", "expression").split())
    phrase = (("regular" in words) + ("expression" in words)) / 2
    chinese = ("标准" in lower) + ("库" in lower)
    parts = [
        (phrase if phrase == 1 else phrase * 0.5, 4),
        (float("regex" in words), 1),
        (1 if chinese == 2 else chinese * 0.25, 1),
        (float("异常" in lower), 1),
    ]
    # Only for words apart by spaces is the naive reading right.
    if all(word.isalpha() and word.isascii() for word in words if not set(word) & set("标准库异常")):
        assert MATCHER.text(text) == pytest.approx(math.sqrt(sum(m * w for m, w in parts) / 7))


@given(st.text(max_size=80) | st.text("ab c+#_-./5\x1f\tßé词", max_size=80))
def test_a_text_is_cut_where_letters_and_digits_end(text):
    lower = module.lowered(text)
    assert module.words_of(lower) == re.findall(r"c\+\+|[cf]#|[^\W_]+", lower)
    assert module.url_words(text) == re.findall(r"[^\W_]+", text)


def test_nothing_known_is_worth_nothing_and_everything_nearly_one():
    everything = "Regular expressions, regex, 标准库 异常"
    assert quality(parent=0.0) == 0.0
    assert quality(1.0, everything, everything, f"https://a.test/{everything}") > 0.9


def test_the_anchor_says_more_than_the_url_and_the_url_more_than_the_words_around():
    anchor = quality(anchor="regex")
    url = quality(url="https://a.test/regex")
    context = quality(context="regex")
    assert anchor > url > context > quality()


@pytest.mark.parametrize(
    "url",
    [
        "https://regex.test/",
        "https://a.test/docs/regex.html",
        "https://a.test/RegexBuilder",
        "https://a.test/java_regexFlags",
        "https://a.test/?q=regex",
        "https://a.test/%72egex",
        "/wiki/Regex",
        "https://a.test/wiki/%E5%BC%82%E5%B8%B8",
    ],
)
def test_words_of_a_url_are_found(url):
    assert quality(url=url) > quality()


@pytest.mark.parametrize("url", ["https://a.test/regexes-not", "", "%", "http://[::1", "https://a.test/%FF%C0", "//"])
def test_any_string_serves_as_url(url):
    assert 0.0 <= quality(url=url) <= 1.0


def test_the_scheme_is_no_word():
    matcher = LinkMatcher(Topic.parse("http"))
    assert matcher.url("http://a.test/") == 0.0
    assert matcher.url("http://a.test/http") == 1.0


def test_a_phrase_counts_whole_only_with_all_its_words():
    assert MATCHER.text("expressions that are regular") > MATCHER.text("expressions") > 0.0
    assert MATCHER.text("标准库") > MATCHER.text("标准") > 0.0


def test_inflections_match():
    assert MATCHER.text("REGULAR EXPRESSION") == MATCHER.text("regular expressions") > 0.0


def test_caches_stay_bounded(monkeypatch):
    monkeypatch.setattr(module, "CACHED", 100)
    matcher = LinkMatcher(TOPIC)
    for number in range(1000):
        matcher.text(f"anchor{number} word{number}")
        matcher.url(f"https://a.test/page{number}")
    caches = (matcher.text, matcher.url, matcher._of_word, matcher._of_url_word)
    assert max(cache.cache_info().currsize for cache in caches) == 100


def test_a_link_takes_microseconds():
    links = [
        (f"Chapter {number}", f"see chapter {number} about the moon and tides", f"https://a.test/book/{number}.html")
        for number in range(2000)
    ]
    start = time.perf_counter()
    for anchor, context, url in links:
        quality(0.5, anchor, context, url)
    assert (time.perf_counter() - start) / len(links) < 80e-6, "ten times what an idle machine needs"
