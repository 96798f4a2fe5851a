from __future__ import annotations

import gzip
import os
from collections import Counter
from functools import cache
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.errors import ConfigurationError
from extensions.seen.caches import (
    ClockCache,
    LruCache,
    RandomCache,
    SeenCache,
    StaticCache,
    make_cache,
    min_misses,
    miss_rate,
)

POLICIES = ("clock", "random", "lru", "static", "infinite")
TRACE = (
    Path(os.environ.get("TOPICSPIDER_SHARED") or Path(__file__).parents[2].parent / "shared") / "web" / "trace.txt.gz"
)

url_names = st.sampled_from("abcdefgh")
traces = st.lists(url_names, max_size=60)
capacities = st.integers(1, 6)
steps = st.lists(
    st.tuples(st.sampled_from(["get", "put"]), url_names, st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=80
)


class NaiveClock:
    """A circle that is walked step by step."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.circle: list[list] = []
        self.hand = 0

    def get(self, url: str) -> float | None:
        for entry in self.circle:
            if entry[0] == url:
                entry[2] = True
                return entry[1]
        return None

    def put(self, url: str, quality: float) -> None:
        for entry in self.circle:
            if entry[0] == url:
                entry[1] = quality
                return
        if len(self.circle) < self.capacity:
            self.circle.append([url, quality, False])
            return
        while self.circle[self.hand][2]:
            self.circle[self.hand][2] = False
            self.hand = (self.hand + 1) % self.capacity
        self.circle[self.hand] = [url, quality, False]
        self.hand = (self.hand + 1) % self.capacity


class NaiveLru:
    """A list, the latest requested last."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.urls: list[tuple[str, float]] = []

    def get(self, url: str) -> float | None:
        for entry in self.urls:
            if entry[0] == url:
                self.urls.remove(entry)
                self.urls.append(entry)
                return entry[1]
        return None

    def put(self, url: str, quality: float) -> None:
        self.urls = [entry for entry in self.urls if entry[0] != url][-self.capacity :]
        if len(self.urls) == self.capacity:
            self.urls.pop(0)
        self.urls.append((url, quality))


@pytest.mark.parametrize(("policy", "naive"), [(ClockCache, NaiveClock), (LruCache, NaiveLru)])
@given(steps=steps, capacity=capacities)
@settings(max_examples=300)
def test_policy_answers_as_its_naive_model(policy: type, naive: type, steps: list, capacity: int) -> None:
    cache, model = policy(capacity), naive(capacity)
    for verb, url, quality in steps:
        if verb == "get":
            assert cache.get(url) == model.get(url)
        else:
            cache.put(url, quality)
            model.put(url, quality)


@pytest.mark.parametrize("policy", POLICIES)
@given(steps=steps, capacity=capacities)
def test_a_cache_holds_no_more_than_its_capacity_and_never_a_wrong_quality(
    policy: str, steps: list, capacity: int
) -> None:
    cache = make_cache(policy, capacity, "aaceg")
    last: dict[str, float] = {}
    for verb, url, quality in steps:
        if verb == "get":
            assert cache.get(url) in (None, last.get(url))
        else:
            cache.put(url, quality)
            last[url] = quality
            assert cache.get(url) in ((None, quality) if policy == "static" else (quality,))
        assert len(cache) <= cache.capacity
        assert sum(cache.get(url) is not None for url in "abcdefgh") == len(cache)


def test_clock_gives_a_requested_url_a_second_chance() -> None:
    cache = ClockCache(3)
    for url in "abc":
        cache.put(url, 0.5)
    cache.get("a")
    cache.put("d", 0.5)
    assert [url for url in "abcd" if cache.get(url) is not None] == ["a", "c", "d"]


def test_random_evicts_any() -> None:
    evicted = set()
    for seed in range(100):
        cache = RandomCache(4, seed)
        for url in "abcde":
            cache.put(url, 0.5)
        evicted |= {url for url in "abcde" if cache.get(url) is None}
    assert evicted == set("abcd")


def test_static_knows_a_popular_url_only_once_it_was_sent() -> None:
    cache = StaticCache(2, ["a", "b", "c"])
    assert cache.get("a") is None
    for url in "abc":
        cache.put(url, 0.5)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (0.5, 0.5, None)


@cache
def fewest_misses(trace: str, held: frozenset[str], capacity: int) -> int:
    """The optimum by trying everything."""
    if not trace:
        return 0
    url, rest = trace[0], trace[1:]
    if url in held:
        return fewest_misses(rest, held, capacity)
    ways = [held] + [held - {gone} | {url} for gone in held] + ([held | {url}] if len(held) < capacity else [])
    return 1 + min(fewest_misses(rest, way, capacity) for way in ways)


@given(st.text("abcde", max_size=9), st.integers(1, 3))
@settings(max_examples=200)
def test_min_is_the_optimum_of_all_ways_to_evict(trace: str, capacity: int) -> None:
    assert min_misses(trace, capacity) == fewest_misses(trace, frozenset(), capacity)


@given(traces, capacities)
def test_no_policy_beats_min_and_none_the_infinite(trace: list[str], capacity: int) -> None:
    infinite, best = (miss_rate(policy, trace, capacity) for policy in ("infinite", "min"))
    assert infinite == (len(set(trace)) / len(trace) if trace else 0)
    assert infinite <= best
    for policy in ("clock", "random", "lru", "static"):
        assert best <= miss_rate(policy, trace, capacity, "abc")


def test_min_forgets_stale_entries_of_a_long_trace() -> None:
    trace = ["a", "b"] * 5000 + ["c", "a"]
    assert min_misses(trace, 2) == 3


@pytest.mark.parametrize(("policy", "size"), [("fifo", 10), ("clock", 0), ("lru", -1)])
def test_an_impossible_cache_is_refused(policy: str, size: int) -> None:
    with pytest.raises(ConfigurationError, match="SEEN_CACHE_"):
        make_cache(policy, size)


def test_sweeping_past_many_marks_is_cheap() -> None:
    cache: SeenCache = ClockCache(20_000)
    urls = ["".join(parts) for parts in islice(product("abcdefgh", repeat=6), 40_000)]
    for url in urls:
        cache.put(url, 0.0)
        for known in urls[-3:]:
            cache.get(known)
    assert len(cache) == 20_000


@pytest.mark.skipif(not TRACE.exists(), reason="no trace of a real crawl in TOPICSPIDER_SHARED")
def test_a_real_trace_ranks_the_policies_as_the_paper_does() -> None:
    with gzip.open(TRACE, "rt", encoding="utf-8", errors="surrogateescape") as lines:
        trace = [line.rstrip("\n") for line in islice(lines, 400_000)]
    earlier, trace = trace[:200_000], trace[200_000:]
    popular = [url for url, _ in Counter(earlier).most_common(3000)]
    rate = {policy: miss_rate(policy, trace, 3000, popular) for policy in (*POLICIES, "min")}
    assert rate["infinite"] <= rate["min"] < rate["clock"]
    assert rate["clock"] == pytest.approx(rate["lru"], rel=0.05)
    assert rate["clock"] < rate["random"] < 1.2 * rate["clock"]
    assert rate["static"] > 1.5 * rate["clock"]
