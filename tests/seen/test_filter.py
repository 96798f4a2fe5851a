from __future__ import annotations

from extensions.seen import SeenFilter
from extensions.seen.caches import ClockCache


def test_a_link_is_news_once() -> None:
    links = SeenFilter(ClockCache(10))
    assert [links.is_news("http://a/", 0.5) for _ in range(3)] == [True, False, False]
    assert (links.lookups, links.hits) == (3, 2)
    assert links.hit_rate == 2 / 3


def test_clearly_better_evidence_is_news_again() -> None:
    links = SeenFilter(ClockCache(10), raise_by=0.25)
    qualities = [0.5, 0.625, 0.25, 0.75, 0.875, 1.0]
    assert [links.is_news("http://a/", quality) for quality in qualities] == [True, False, False, True, False, True]
    assert links.hits == 3


def test_small_steps_add_up_to_a_raise() -> None:
    links = SeenFilter(ClockCache(10), raise_by=0.25)
    sent = [quality for quality in (step / 16 for step in range(17)) if links.is_news("http://a/", quality)]
    assert sent == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_an_evicted_link_is_news_again() -> None:
    links = SeenFilter(ClockCache(1))
    assert [links.is_news(url, 0.5) for url in ("http://a/", "http://b/", "http://a/")] == [True, True, True]


def test_the_hit_rate_of_nothing_is_nothing() -> None:
    assert SeenFilter(ClockCache(1)).hit_rate == 0
