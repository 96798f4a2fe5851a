"""Asking several partitions for servers as if they were one: the best first, and no more than there is room for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from extensions.frontier.allotment import HEADS, REFRESH_MS, Allotment, Ask, PartitionView


def view(partition, *ranks, ready=None, next_due_ms=None, queued=0, leased=0):
    return PartitionView(partition, next_due_ms, queued, leased, len(ranks) if ready is None else ready, ranks)


def asked(asks):
    return {ask.partition: ask.servers for ask in asks}


def test_the_best_servers_are_asked_for_wherever_they_are():
    allotment = Allotment()
    allotment.saw(0, [view(0, 0.9, 0.2), view(1, 0.8, 0.7), view(2, 0.1)])
    assert asked(allotment.asks(0, 3, range(3))) == {0: 1, 1: 2}


def test_partitions_of_other_agents_are_not_asked():
    allotment = Allotment()
    allotment.saw(0, [view(0, 0.1), view(1, 0.9)])
    assert asked(allotment.asks(0, 2, [0])) == {0: 1}


def test_a_partition_that_nobody_has_looked_into_is_looked_into_before_it_is_leased_from():
    allotment = Allotment()
    allotment.saw(0, [view(0, 0.1)])
    assert asked(allotment.asks(0, 1, range(3))) == {0: 1, 1: 0, 2: 0}


def test_where_there_is_room_for_all_nothing_needs_to_be_looked_into_first():
    assert asked(Allotment().asks(0, 7, range(3))) == {0: 2, 1: 2, 2: 2}


def test_one_partition_gets_all_the_room():
    assert Allotment().asks(0, 5, [0]) == [Ask(0, 5)]


def test_what_was_touched_what_is_due_and_what_is_old_is_looked_into_again_and_nothing_else():
    allotment = Allotment()
    allotment.saw(0, [view(0), view(1), view(2, next_due_ms=50), view(3)])
    allotment.saw(-REFRESH_MS, [view(3)])
    allotment.touch([1])
    assert set(asked(allotment.asks(49, 1, range(4)))) == {1, 3}
    allotment.saw(49, [view(1), view(3)])
    assert set(asked(allotment.asks(50, 1, range(4)))) == {2}


def test_without_room_nobody_is_asked():
    assert Allotment().asks(0, 0, range(4)) == []


def test_it_is_known_what_is_ready_when_the_next_is_due_and_what_is_left():
    allotment = Allotment()
    allotment.saw(0, [view(0, 0.5, queued=7, leased=2), view(1, next_due_ms=80, queued=1), view(2, next_due_ms=60)])
    assert allotment.any_ready([0, 1])
    assert not allotment.any_ready([1, 2])
    assert allotment.next_due_ms([0, 1]) == 80
    assert allotment.next_due_ms([0]) is None
    assert allotment.left() == (8, 2)


@given(
    st.dictionaries(st.integers(0, 15), st.lists(st.floats(0, 1), max_size=20), max_size=16),
    st.integers(1, 40),
)
def test_when_all_ranks_are_known_the_room_goes_to_the_best_of_them(ranks, room):
    known = {part: sorted(found, reverse=True)[:HEADS] for part, found in ranks.items()}
    allotment = Allotment()
    allotment.saw(0, [view(part, *found) for part, found in known.items()])
    counts = asked(allotment.asks(0, room, list(known)))
    taken = sorted((rank for part, count in counts.items() for rank in known[part][:count]), reverse=True)
    best = sorted((rank for found in known.values() for rank in found), reverse=True)[:room]
    assert taken == best


@given(
    st.dictionaries(st.integers(0, 15), st.tuples(st.lists(st.floats(0, 1), max_size=4), st.integers(0, 9))),
    st.sets(st.integers(0, 20)),
    st.integers(0, 40),
)
def test_never_more_servers_are_asked_for_than_there_is_room_for(views, touched, room):
    allotment = Allotment()
    allotment.saw(
        0, [view(part, *sorted(ranks, reverse=True), ready=len(ranks) + more) for part, (ranks, more) in views.items()]
    )
    allotment.touch(touched)
    assert sum(ask.servers for ask in allotment.asks(0, room, range(21))) <= room
