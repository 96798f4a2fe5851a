"""What is known of places: bounded, one record for each, saved and shared as sums."""

from __future__ import annotations

import itertools

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring.places import Places

urls = st.builds(
    "{}://{}.test{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from("ab"),
    st.sampled_from(["", "/", "/x", "/x/y", "/x/y/z", "/w/y/z/", "/w/y/z/v/u?q=/"]),
)
pages = st.lists(st.tuples(urls, st.floats(0, 1)), max_size=30)
parts = st.lists(pages, min_size=1, max_size=4)


def seen(*pages, capacity=1000):
    places = Places(capacity)
    for url, probability in pages:
        places.take_in(url, probability)
    return places


def kept(places):
    """Records and totals as they are saved; exact up to the order in which floats were added."""
    _, records, totals = msgpack.unpackb(places.state())
    return {place: pytest.approx(record) for place, record in records.items()}, totals


def test_records_are_bounded_and_the_fullest_stay():
    places = Places(capacity=10)
    for _ in range(5):
        places.take_in("https://full.test/", 1.0)
    for number in range(100):
        places.take_in(f"https://s{number}.test/a/b/c/d/e/f.html", 0.0)
        assert len(places) <= 10
    assert places.take_in("https://full.test/", 1.0)[0] > 0.5


@pytest.mark.parametrize(
    "url", ["https://a.test", "http://a.test/", "https://a.test/?q=/b/c/", "https://a.test/#/b/c/", "https://a.test/x"]
)
def test_spellings_of_one_place_share_their_record(url):
    places = Places()
    for number in range(50):
        places.take_in(f"https://a.test/{number}", 1.0)
    before = len(places)
    places.take_in(url, 1.0)
    assert len(places) == before == 1


@given(pages, pages)
def test_saved_places_go_on_as_they_were(before, after):
    places, again = seen(*before), Places()
    again.merge(places.state())
    assert [again.take_in(*page) for page in after] == [places.take_in(*page) for page in after]
    assert len(again) == len(places)


@given(parts, st.randoms(use_true_random=False))
def test_changes_of_many_agents_in_any_order_are_what_one_that_saw_all_pages_has(parts, random):
    """The records, the pages and the hits, that is; the sum of shares at most differs by what each agent did not know when it added its own."""
    changes = [seen(*part).changes() for part in parts]
    random.shuffle(changes)
    together = Places()
    for change in changes:
        together.merge(change)
    alone = seen(*itertools.chain(*parts))
    (records, totals), (all_records, all_totals) = kept(together), kept(alone)
    assert {place: record.expected for place, record in records.items()} == all_records
    assert totals[:3] == pytest.approx(all_totals[:3])
    assert 0 <= totals[3] <= totals[2] + 1e-9
    asked = "https://a.test/x/new", 0.3
    assert together.take_in(*asked)[0] == pytest.approx(alone.take_in(*asked)[0])


@given(parts, st.randoms(use_true_random=False), urls)
def test_all_who_have_heard_the_same_judge_alike(parts, random, url):
    agents = [seen(*part) for part in parts]
    changes = [agent.changes() for agent in agents]
    for number, agent in enumerate(agents):
        others = changes[:number] + changes[number + 1 :]
        random.shuffle(others)
        for change in others:
            agent.merge(change)
    told = [agent.take_in(url, 0.5) for agent in agents]
    assert told == [pytest.approx(told[0])] * len(told)


def test_changes_are_told_once_and_never_passed_on():
    one, other = seen(("https://a.test/1", 1.0)), Places()
    other.merge(one.changes())
    assert one.changes() == other.changes() == b""
    assert len(other) == 1


def test_what_is_heard_and_what_nobody_asks_for_is_bounded_as_well():
    many = [(f"https://s{number}.test/", 1.0) for number in range(100)]
    places = seen(capacity=10)
    places.merge(seen(*many).state())
    assert len(places) <= 10
    places = seen(*many, capacity=10)
    assert len(msgpack.unpackb(places.changes())[1]) <= 10


@pytest.mark.parametrize(
    "junk",
    [
        b"\xc1",
        b"\x93\x01\x02\x03",
        msgpack.packb((2, {}, (0, 0, 0, 0))),
        msgpack.packb((1, {"a.test": (1, "x")}, (0, 0, 0, 0))),
        msgpack.packb((1, {"a.test": (1, float("nan"))}, (0, 0, 0, 0))),
        msgpack.packb((1, {"a.test": (1, 1)}, (-1, 0, 0, 0))),
        msgpack.packb((1, {"a.test": (1, 1)}, (1, 0, 0))),
    ],
)
def test_what_is_no_record_of_places_is_refused_and_changes_nothing(junk):
    places = seen(("https://a.test/1", 1.0))
    before = places.state()
    with pytest.raises(ValueError, match="places"):
        places.merge(junk)
    assert places.state() == before
