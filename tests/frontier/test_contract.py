"""Every sentence of `extensions.frontier.contract`, on the oracle in dicts and on the scripts on Redis."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from extensions.frontier.contract import PROMOTE_LIMIT
from extensions.frontier.exploring import EXPLORED_URLS, PATIENCE
from extensions.frontier.records import (
    MAX_DEPTH,
    MAX_HOPS,
    QUALITY_STEPS,
    Admission,
    Lease,
    LeasedUrl,
    Peek,
    Policy,
    Rules,
    Settlement,
    Stats,
)
from tests.frontier.examples import (
    done,
    given_back,
    kept,
    lease_all,
    lease_one,
    members,
    row_of,
    servers,
    url,
)

if TYPE_CHECKING:
    from tests.frontier.conftest import PartitionFactory

QUALITY = Rules(policy=Policy.QUALITY)
TURNS = Rules(policy=Policy.BREADTH_FIRST)
SPEED = Rules(policy=Policy.PERFORMANCE)
ONE_BY_ONE = Rules(policy=Policy.QUALITY, requests_per_connection=1)
EVERY_POLICY = [Rules(policy=policy) for policy in Policy]


# admit: seen, raised, duplicate


def test_new_url_is_admitted_and_queued(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    assert frontier.admit(0, [url("a", "/1")]) == Admission(admitted=1)
    assert frontier.stats() == Stats(queued=1, servers=1, seen=1, admitted=1)


def test_seen_url_is_a_duplicate(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    assert frontier.admit(0, [url("a", "/1"), url("a", "/1")]) == Admission(admitted=1, duplicates=1)
    assert frontier.admit(0, [url("a", "/1")]) == Admission(duplicates=1)
    assert frontier.stats() == Stats(queued=1, servers=1, seen=1, admitted=1, duplicates=2)


def test_settled_url_is_still_seen(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1")])
    frontier.settle(0, done(lease_one(frontier)))
    assert frontier.admit(0, [url("a", "/1")]) == Admission(duplicates=1)
    assert frontier.stats().queued == 0


def test_seen_test_goes_by_bucket_and_remainder(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    same = url("a", "/1", bucket=3, remainder=2**32 - 1)
    others = [
        url("b", "/other", bucket=3, remainder=2**32 - 1),
        url("b", "/bucket", bucket=4, remainder=2**32 - 1),
        url("b", "/remainder", bucket=3, remainder=2**32 - 2),
    ]
    assert frontier.admit(0, [same, *others]) == Admission(admitted=3, duplicates=1)
    assert frontier.stats().seen == 3


def test_same_path_on_two_servers_is_two_urls(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    assert frontier.admit(0, [url("a", "/"), url("b", "/")]) == Admission(admitted=2)
    assert frontier.stats().servers == 2


def test_forced_url_is_fetched_again(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1")])
    frontier.settle(0, done(lease_one(frontier)))
    assert frontier.admit(0, [url("a", "/1", force=True)]) == Admission(admitted=1)
    assert members(lease_one(frontier)) == ["/1"]


def test_forced_url_is_remembered_as_seen(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", force=True)])
    frontier.settle(0, done(lease_one(frontier)))
    assert frontier.admit(0, [url("a", "/1")]) == Admission(duplicates=1)
    assert frontier.stats().seen == 1


def test_forced_url_is_not_queued_twice(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", force=True)])
    assert frontier.admit(0, [url("a", "/1", force=True)]) == Admission(duplicates=1)
    assert frontier.stats().queued == 1


def test_forced_url_is_not_queued_while_it_is_leased(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", 0.2)])
    lease_one(frontier)
    assert frontier.admit(0, [url("a", "/1", 0.9, force=True)]) == Admission(duplicates=1)
    assert frontier.stats() == Stats(leased=1, open_servers=1, servers=1, seen=1, admitted=1, duplicates=1)


def test_queued_member_under_another_fingerprint_is_a_duplicate_and_its_fingerprint_is_seen(
    partition: PartitionFactory,
) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", bucket=0, remainder=1)])
    assert frontier.admit(0, [url("a", "/1", bucket=0, remainder=2)]) == Admission(duplicates=1)
    assert frontier.stats().seen == 2
    assert frontier.admit(0, [url("b", "/2", bucket=0, remainder=2)]) == Admission(duplicates=1)


def test_forced_duplicate_is_remembered_as_seen(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", bucket=0, remainder=1)])
    frontier.admit(0, [url("a", "/1", bucket=0, remainder=2, force=True)])
    assert frontier.stats().seen == 2


def test_better_evidence_raises_a_queued_url(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1", 0.2), url("a", "/2", 0.4)])
    assert frontier.admit(0, [url("a", "/1", 0.6)]) == Admission(raised=1)
    (raised,) = lease_one(frontier).urls
    assert raised == LeasedUrl("/1", kept(0.6), 0, 0)
    assert frontier.stats() == Stats(queued=1, leased=1, open_servers=1, servers=1, seen=2, admitted=2, raised=1)


def test_forced_url_with_better_evidence_is_raised(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", 0.2)])
    assert frontier.admit(0, [url("a", "/1", 0.6, force=True)]) == Admission(raised=1)


def test_raise_within_one_batch(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    assert frontier.admit(0, [url("a", "/1", 0.2), url("a", "/1", 0.6)]) == Admission(admitted=1, raised=1)
    assert row_of(frontier, "a").head == (LeasedUrl("/1", kept(0.6), 0, 0),)


@pytest.mark.parametrize("quality", [0.4, 0.5, 0.5 + 0.2 / 2**14])
def test_evidence_that_is_not_better_by_a_step_changes_nothing(partition: PartitionFactory, quality: float) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", 0.5, depth=4, hops=4)])
    assert frontier.admit(0, [url("a", "/1", quality, depth=1, hops=1)]) == Admission(duplicates=1)
    assert row_of(frontier, "a").head == (LeasedUrl("/1", kept(0.5), 4, 4),)


def test_raised_url_has_the_lesser_depth_and_hops(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", 0.1, depth=4, hops=4)])
    frontier.admit(0, [url("a", "/1", 0.2, depth=3, hops=5)])
    assert row_of(frontier, "a").head == (LeasedUrl("/1", kept(0.2), 3, 4),)
    frontier.admit(0, [url("a", "/1", 0.3, depth=9, hops=2)])
    assert row_of(frontier, "a").head == (LeasedUrl("/1", kept(0.3), 3, 2),)


def test_raised_url_keeps_its_age(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/old", 0.1), url("a", "/new", 0.7)])
    frontier.admit(0, [url("a", "/old", 0.7)])
    assert members(lease_one(frontier)) == ["/old", "/new"]


def test_raised_url_keeps_its_payload(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "\0x", 0.1, payload=b"first")])
    frontier.admit(0, [url("a", "\0x", 0.7, payload=b"second")])
    assert lease_one(frontier).urls[0].payload == b"first"


def test_raise_is_not_subject_to_the_bounds(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_depth=3, max_pending=1))
    frontier.admit(0, [url("a", "/1", 0.1, depth=3)])
    assert frontier.admit(0, [url("a", "/1", 0.2, depth=9)]) == Admission(raised=1)


def test_raise_re_ranks_the_server(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/", 0.3), url("b", "/", 0.5)])
    assert servers(frontier, "ready") == ["b", "a"]
    frontier.admit(0, [url("a", "/", 0.6)])
    assert servers(frontier, "ready") == ["a", "b"]


def test_new_url_re_ranks_the_server(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY))
    frontier.admit(0, [url("a", "/1", 0.5), url("b", "/1", 0.51)])
    assert servers(frontier, "ready") == ["b", "a"]
    frontier.admit(0, [url("a", "/2", 0.5)])
    assert servers(frontier, "ready") == ["a", "b"]


def test_empty_batch_does_nothing(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    assert frontier.admit(0, []) == Admission()
    assert frontier.stats() == Stats()


def test_every_candidate_is_counted_once(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_pending=2, max_depth=5))
    batch = [
        url("a", "/1", 0.1),
        url("a", "/2", 0.2),
        url("a", "/1", 0.15),
        url("a", "/2", 0.2),
        url("a", "/3", 0.9),
        url("a", "/4", 0.1),
        url("a", "/5", 0.9, depth=6),
    ]
    assert frontier.admit(0, batch) == Admission(admitted=3, raised=1, duplicates=1, dropped=2, evicted=1)


# admit: bounds


def test_too_deep_url_is_dropped_and_seen(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_depth=2))
    assert frontier.admit(0, [url("a", "/2", depth=2), url("a", "/3", depth=3)]) == Admission(admitted=1, dropped=1)
    assert frontier.admit(0, [url("a", "/3", depth=1)]) == Admission(duplicates=1)
    assert frontier.stats() == Stats(queued=1, servers=1, seen=2, admitted=1, duplicates=1, dropped=1)


def test_depth_bound_beyond_what_a_score_holds_is_kept_too(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_depth=5000))
    batch = [url("a", "/deep", depth=5000), url("a", "/deeper", depth=5001)]
    assert frontier.admit(0, batch) == Admission(admitted=1, dropped=1)


def test_depth_and_hops_are_capped(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", depth=10**6, hops=10**6), url("a", "/2", depth=MAX_DEPTH, hops=MAX_HOPS)])
    capped = {(one.depth, one.hops) for one in lease_one(frontier).urls}
    assert capped == {(MAX_DEPTH, MAX_HOPS)}


def test_full_queue_drops_what_is_not_better_than_its_worst(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=2))
    frontier.admit(0, [url("a", "/1", 0.5), url("a", "/2", 0.6)])
    worse = [url("a", "/3", 0.4), url("a", "/4", 0.5)]
    assert frontier.admit(0, worse) == Admission(dropped=2)
    assert frontier.admit(0, worse) == Admission(duplicates=2)
    assert members(lease_one(frontier)) == ["/2", "/1"]


def test_full_queue_evicts_its_worst_for_a_better_one(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=2))
    frontier.admit(0, [url("a", "/1", 0.5), url("a", "/2", 0.6)])
    assert frontier.admit(0, [url("a", "/3", 0.7)]) == Admission(admitted=1, evicted=1)
    assert frontier.admit(0, [url("a", "/1", 0.9)]) == Admission(duplicates=1)
    assert members(lease_one(frontier)) == ["/3", "/2"]
    assert frontier.stats().evicted == 1


def test_of_equals_the_youngest_is_evicted(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=2))
    frontier.admit(0, [url("a", "/1", 0.5), url("a", "/2", 0.5), url("a", "/3", 0.7)])
    assert members(lease_one(frontier)) == ["/3", "/1"]


def test_full_queue_in_turn_order_drops_the_late_ones(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.BREADTH_FIRST, max_pending=2))
    batch = [url("a", "/1", 0.1), url("a", "/2", 0.1), url("a", "/3", 0.9)]
    assert frontier.admit(0, batch) == Admission(admitted=2, dropped=1)
    assert members(lease_one(frontier)) == ["/1", "/2"]


def test_evicted_url_takes_its_payload_along(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=1))
    frontier.admit(0, [url("a", "\0x", 0.1, payload=b"old"), url("a", "/2", 0.5)])
    frontier.settle(0, done(lease_one(frontier)))
    frontier.admit(0, [url("a", "\0x", 0.1, force=True)])
    assert lease_one(frontier).urls[0].payload == b""


def test_bound_on_pending_urls_is_per_server(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_pending=1))
    assert frontier.admit(0, [url("a", "/"), url("b", "/"), url("c", "/")]) == Admission(admitted=3)


def test_leased_urls_do_not_count_as_pending(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_pending=1))
    frontier.admit(0, [url("a", "/1")])
    lease_one(frontier)
    assert frontier.admit(0, [url("a", "/2")]) == Admission(admitted=1)


def test_server_with_its_pages_fetched_is_closed(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_pages=2))
    frontier.admit(0, [url("a", "/1"), url("a", "/2")])
    frontier.settle(0, done(lease_one(frontier)))
    assert frontier.admit(0, [url("a", "/3"), url("b", "/1")]) == Admission(admitted=1, dropped=1)
    assert frontier.admit(0, [url("a", "/3")]) == Admission(duplicates=1)
    assert servers(frontier, "ready") == ["b"]


def test_closed_server_takes_no_forced_url_either(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_pages=1))
    frontier.admit(0, [url("a", "/1")])
    frontier.settle(0, done(lease_one(frontier)))
    assert frontier.admit(0, [url("a", "/1", force=True)]) == Admission(dropped=1)


def test_server_that_fails_again_and_again_is_closed(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_failures=2, requests_per_connection=1))
    frontier.admit(0, [url("a", "/1"), url("a", "/2"), url("a", "/3")])
    frontier.settle(0, done(lease_one(frontier), pages=0, failures=1))
    frontier.settle(0, done(lease_one(frontier), pages=0, failures=1))
    assert frontier.stats() == Stats(servers=1, seen=3, admitted=3, settled=2, dropped=1)
    assert frontier.admit(0, [url("a", "/4")]) == Admission(dropped=1)


def test_fetched_page_resets_the_failures_before_it(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_failures=2, requests_per_connection=1))
    frontier.admit(0, [url("a", f"/{n}") for n in range(4)])
    frontier.settle(0, done(lease_one(frontier), pages=0, failures=1))
    frontier.settle(0, done(lease_one(frontier), pages=1, failures=1))
    assert frontier.stats().queued == 2
    frontier.settle(0, done(lease_one(frontier), pages=0, failures=1))
    assert frontier.stats().queued == 0


# The order of URLs within a server


@pytest.mark.parametrize("policy", [Policy.CAPABILITY, Policy.QUALITY])
def test_best_url_comes_first_and_of_equals_the_oldest(partition: PartitionFactory, policy: Policy) -> None:
    frontier = partition(Rules(policy=policy))
    frontier.admit(0, [url("a", "/b", 0.5), url("a", "/c", 0.9), url("a", "/a", 0.5), url("a", "/d", 0.6)])
    assert [one.member for one in row_of(frontier, "a").head] == ["/c", "/d", "/b", "/a"]


@pytest.mark.parametrize("policy", [Policy.PERFORMANCE, Policy.BREADTH_FIRST])
def test_oldest_url_comes_first(partition: PartitionFactory, policy: Policy) -> None:
    frontier = partition(Rules(policy=policy))
    frontier.admit(0, [url("a", "/b", 0.5), url("a", "/c", 0.9)])
    frontier.admit(0, [url("a", "/a", 0.7)])
    frontier.admit(0, [url("a", "/b", 0.8)])
    assert members(lease_one(frontier)) == ["/b", "/c", "/a"]


def test_shallow_url_has_no_precedence_over_an_older_one(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/deep", depth=1000, hops=15), url("a", "/flat")])
    assert members(lease_one(frontier)) == ["/deep", "/flat"]


def test_quality_is_kept_in_steps(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    values = [0.0, 1.0, 0.5, 1e-9, 1 / 3, 0.99999]
    frontier.admit(0, [url("a", f"/{value}", value) for value in values])
    assert sorted(one.quality for one in lease_one(frontier).urls) == sorted(map(kept, values))


# The order of servers


def test_servers_take_turns(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.BREADTH_FIRST, requests_per_connection=1))
    frontier.admit(0, [url(name, f"/{n}") for name in ("b", "a", "c") for n in range(2)])
    fetched = []
    for _ in range(6):
        lease = lease_one(frontier)
        fetched.append((lease.server, *members(lease)))
        frontier.settle(0, done(lease))
    assert fetched == [("b", "/0"), ("a", "/0"), ("c", "/0"), ("b", "/1"), ("a", "/1"), ("c", "/1")]


def test_server_that_has_more_urls_keeps_its_turn(partition: PartitionFactory) -> None:
    frontier = partition(TURNS)
    frontier.admit(0, [url("b", "/1"), url("a", "/1")])
    frontier.admit(0, [url("b", "/2"), url("c", "/1")])
    assert servers(frontier, "ready") == ["b", "a", "c"]
    assert [row.rank for row in frontier.peek(9)] == [-1, -2, -3]


def test_server_that_was_idle_goes_to_the_end(partition: PartitionFactory) -> None:
    frontier = partition(TURNS)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    frontier.settle(0, done(lease_one(frontier)))
    frontier.admit(0, [url("a", "/2")])
    assert servers(frontier, "ready") == ["b", "a"]


def test_turns_go_by_the_order_in_which_a_batch_names_servers(partition: PartitionFactory) -> None:
    frontier = partition(TURNS)
    frontier.admit(0, [url("a", "/seen")])
    frontier.settle(0, done(lease_one(frontier)))
    frontier.admit(0, [url("a", "/seen"), url("b", "/1"), url("a", "/1"), url("b", "/2")])
    assert servers(frontier, "ready") == ["a", "b"]


def test_released_server_goes_to_the_end(partition: PartitionFactory) -> None:
    frontier = partition(TURNS)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    frontier.settle(0, given_back(lease_one(frontier)))
    assert servers(frontier, "ready") == ["b", "a"]


def test_performance_puts_fast_servers_first(partition: PartitionFactory) -> None:
    frontier = partition(SPEED)
    frontier.admit(0, [url(name, f"/{n}") for name in ("fast", "slow") for n in range(2)])
    for lease in lease_all(frontier):
        took = 100.0 if lease.server == "fast" else 900.0
        frontier.settle(0, given_back(lease, connection_ms=(50.0,), response_ms=(took,)))
    rows = [(row.server, row.rank) for row in frontier.peek(9)]
    assert rows == [("fast", 2 / (2 * 0.05 + 2 * 0.1)), ("slow", 2 / (2 * 0.05 + 2 * 0.9))]


def test_quality_puts_the_best_first_url_first(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.6), url("a", "/2", 0.6), url("b", "/1", 0.7)])
    assert [(row.server, row.rank) for row in frontier.peek(9)] == [("b", kept(0.7)), ("a", kept(0.6))]


def test_capability_is_quality_per_second(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY, connection_ms=500.0, response_ms=1000.0))
    frontier.admit(0, [url("many", "/1", 1.0), url("many", "/2", 1.0), url("many", "/3", 0.0), url("one", "/", 1.0)])
    assert [(row.server, row.rank) for row in frontier.peek(9)] == [("many", 2 / 3), ("one", 1 / 2)]


def test_politeness_is_part_of_the_cost(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY, connection_ms=500.0, response_ms=1000.0, delay_ms=3000.0))
    frontier.admit(0, [url("a", "/1", 1.0)])
    assert row_of(frontier, "a").rank == 1 / 2  # the delay passes when the connection is over
    performance = partition(Rules(policy=Policy.PERFORMANCE, connection_ms=500.0, response_ms=1000.0, delay_ms=3000.0))
    performance.admit(0, [url("a", f"/{n}") for n in range(3)])
    assert row_of(performance, "a").rank == 3 / (2 * 0.5 + 3 * 1.0 + 2 * 3.0)
    performance.settle(0, given_back(lease_one(performance), delay_ms=7000.0))
    assert row_of(performance, "a").rank == 3 / (2 * 0.5 + 3 * 1.0 + 2 * 7.0)


def test_crawl_delay_longer_than_it_takes_to_come_back_is_not_sat_out_where_others_wait(
    partition: PartitionFactory,
) -> None:
    frontier = partition(Rules(connection_ms=100.0, response_ms=300.0, delay_ms=250.0))
    frontier.admit(0, [url(server, f"/{n}", 0.5) for server in "ab" for n in range(30)])
    assert len(lease_one(frontier).urls) == 1


def test_crawl_delay_shorter_than_it_takes_to_come_back_is_sat_out(partition: PartitionFactory) -> None:
    frontier = partition(Rules(connection_ms=200.0, response_ms=300.0, delay_ms=250.0))
    frontier.admit(0, [url(server, f"/{n}", 0.5) for server in "ab" for n in range(30)])
    assert len(lease_one(frontier).urls) == 30


def test_lease_that_no_other_server_waits_for_lasts_as_many_crawl_delays_as_a_connection_survives(
    partition: PartitionFactory,
) -> None:
    frontier = partition(Rules(delay_ms=1000.0, keep_open_ms=5000.0))
    frontier.admit(0, [url(server, f"/{n}", 0.5) for server in "ab" for n in range(30)])
    assert [len(lease.urls) for lease in frontier.lease(0, "agent", 2, 1000)[0]] == [6, 6]


def test_lease_that_no_other_server_waits_for_still_ends_before_the_dull_pages(partition: PartitionFactory) -> None:
    frontier = partition(Rules(connection_ms=100.0, delay_ms=1000.0))
    frontier.admit(0, [url("a", "/1", 1.0), url("a", "/2", 0.9), url("a", "/3", 0.0)])
    assert members(lease_one(frontier)) == ["/1", "/2"]


HUB = url("a", "/links", 0.5)
DEEP = url("a", "/2019/05/post", 0.6)
EXPLORING = Rules(explore=1.0)


@pytest.mark.parametrize("odds", [None, 1.99])
def test_lease_of_a_poor_server_that_nobody_else_wants_takes_the_hub_first(
    partition: PartitionFactory, odds: float | None
) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP, url("a", "/2019/06/other", 0.55)])
    assert frontier.settle(0, given_back(lease_one(frontier), odds=odds))
    lease = lease_one(frontier)
    assert members(lease) == ["/links", "/2019/05/post"]
    assert frontier.settle(0, done(lease))
    assert members(lease_one(frontier)) == ["/2019/06/other"]


def test_seed_comes_first_wherever_it_stands(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP, url("a", "/a/b/c/d/e/f/seed", 1.0)])
    assert members(lease_one(frontier)) == ["/a/b/c/d/e/f/seed", "/links"]


def test_contested_lease_does_not_explore(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP, url("b", "/", 0.1)])
    assert members(lease_one(frontier)) == ["/2019/05/post", "/links"]


def test_lease_of_what_has_long_been_due_does_not_explore(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP])
    (lease,), _ = frontier.lease(2000, "agent", 5, 1000, 1000)
    assert members(lease) == ["/2019/05/post", "/links"]


def test_rich_server_is_not_explored(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP])
    frontier.settle(0, given_back(lease_one(frontier), odds=2.0))
    assert members(lease_one(frontier)) == ["/2019/05/post", "/links"]


def test_without_a_share_for_it_no_lease_explores(partition: PartitionFactory) -> None:
    frontier = partition(Rules(explore=0.0))
    frontier.admit(0, [HUB, DEEP])
    assert members(lease_one(frontier)) == ["/2019/05/post", "/links"]


@pytest.mark.parametrize("policy", [policy for policy in Policy if policy is not Policy.CAPABILITY])
def test_only_capability_explores(partition: PartitionFactory, policy: Policy) -> None:
    frontier = partition(Rules(policy=policy, explore=1.0))
    frontier.admit(0, [DEEP, HUB])
    assert members(lease_one(frontier)) == ["/2019/05/post", "/links"]


@pytest.mark.parametrize(("share", "explored"), [(0.5, [2, 4, 6, 8]), (0.25, [4, 8]), (1.0, list(range(1, 9)))])
def test_share_of_the_leases_explores_evenly(partition: PartitionFactory, share: float, explored: list[int]) -> None:
    frontier = partition(Rules(explore=share))
    frontier.admit(0, [HUB, DEEP])
    found = []
    for _ in range(8):
        lease = lease_one(frontier)
        if members(lease)[0] == "/links":
            found.append(lease.token)
        frontier.settle(0, given_back(lease))
    assert found == explored


def test_a_partition_that_explores_in_vain_stops_until_a_new_server_comes(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [HUB, DEEP])

    def exploring_leases() -> int:
        for number in range(100):
            lease = lease_one(frontier)
            frontier.settle(0, given_back(lease))
            if members(lease)[0] == "/2019/05/post":
                return number
        raise AssertionError("it never stops")

    assert exploring_leases() == PATIENCE
    frontier.admit(0, [url("a", "/another", 0.2)])
    assert exploring_leases() == 0
    frontier.admit(0, [url("b", "/", 0.1)])
    leases, _ = frontier.lease(0, "agent", 2, 1000)
    assert [members(lease)[0] for lease in leases] == ["/links", "/"]


def test_opaque_members_count_as_pages_at_the_root(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [url("a", "\0POST /a/b/c", 0.5, payload=b"body"), DEEP, url("a", "/near", 0.51)])
    lease = lease_one(frontier)
    assert members(lease)[0] == "/near"
    assert lease.urls[1] == LeasedUrl("\0POST /a/b/c", kept(0.5), 0, 0, b"body")


@pytest.mark.parametrize(("step", "first"), [(11_702, "/near"), (11_703, "/a/deep")])
def test_every_segment_takes_three_fifths_of_a_pages_odds(partition: PartitionFactory, step: int, first: str) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [url("a", "/near", 8192 / QUALITY_STEPS), url("a", "/a/deep", step / QUALITY_STEPS)])
    assert 11_702 / 4681 * 0.4 < 8192 / 8191 < 11_703 / 4680 * 0.4
    assert members(lease_one(frontier))[0] == first


def test_of_equally_promising_urls_the_earlier_comes_first(partition: PartitionFactory) -> None:
    frontier = partition(Rules(explore=1.0, response_ms=0.0))
    # What is worth nothing and what is worth a step promise the same.
    frontier.admit(0, [url("a", "/nothing", 0.0), url("a", "/step", 1 / QUALITY_STEPS), url("a", "/deep/1", 0.0)])
    assert members(lease_one(frontier)) == ["/step", "/nothing"]


def test_exploring_looks_at_the_first_urls_of_the_queue_only(partition: PartitionFactory) -> None:
    frontier = partition(EXPLORING)
    frontier.admit(0, [url("a", f"/a/b/c/{n}", 0.5) for n in range(EXPLORED_URLS - 1)] + [url("a", "/near", 0.4)])
    frontier.admit(0, [url("a", "/far", 0.39)])
    assert members(lease_one(frontier)) == ["/near", "/a/b/c/0"]


def test_exploring_lease_is_as_short_as_the_crawl_delay_asks_for(partition: PartitionFactory) -> None:
    frontier = partition(Rules(explore=1.0, delay_ms=5000.0, keep_open_ms=5000.0))
    frontier.admit(0, [HUB, DEEP])
    assert members(lease_one(frontier)) == ["/links"]


def test_lease_of_what_has_long_been_due_is_contested(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=1000.0))
    frontier.admit(0, [url("a", f"/{n}", 0.5) for n in range(30)])
    (lease,), _ = frontier.lease(2000, "agent", 5, 1000, 1000)
    assert len(lease.urls) == 1


def test_pipelining_divides_the_response_time(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.PERFORMANCE, connection_ms=500.0, response_ms=1200.0, pipelining=1.2))
    frontier.admit(0, [url("a", "/1", 1.0)])
    assert row_of(frontier, "a").rank == 1 / (2 * 0.5 + 1200.0 / 1.2 / 1000)


@pytest.mark.parametrize("policy", [Policy.PERFORMANCE, Policy.CAPABILITY])
def test_server_without_measured_time_has_a_finite_rank(partition: PartitionFactory, policy: Policy) -> None:
    frontier = partition(Rules(policy=policy, connection_ms=0.0, response_ms=0.0))
    frontier.admit(0, [url("a", "/1", 1.0)])
    assert row_of(frontier, "a").rank == 1000.0


def test_of_equal_ranks_the_greatest_name_as_bytes_comes_first(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    names = ["http://b", "http://a", "http://é", "http://日本", "http://a:80", "HTTP://a", "http://\U0001f600"]
    frontier.admit(0, [url(name, "/") for name in names])
    assert servers(frontier, "ready") == sorted(names, key=str.encode, reverse=True)
    assert [lease.server for lease in lease_all(frontier)] == sorted(names, key=str.encode, reverse=True)


# lease


def test_lease_tells_all_that_the_agent_needs(partition: PartitionFactory) -> None:
    frontier = partition(Rules(connection_ms=20.0, response_ms=30.0, delay_ms=40.0))
    frontier.admit(5, [url("a", "\0p", 0.25, depth=3, hops=2, payload=b"\x00\xff\x80body")])
    lease = lease_one(frontier, now_ms=7, lease_ms=1000)
    assert (lease.server, lease.token, lease.deadline_ms, lease.due_ms) == ("a", 1, 1007, 0)
    assert (lease.connection_ms, lease.response_ms, lease.delay_ms) == (20.0, 30.0, 40.0)
    assert lease.urls == (LeasedUrl("\0p", kept(0.25), 3, 2, b"\x00\xff\x80body"),)


def test_nothing_queued_is_nothing_leased(partition: PartitionFactory) -> None:
    assert partition(Rules()).lease(0, "agent", 5, 1000) == ([], None)


def test_lease_opens_as_many_servers_as_asked_for(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url(name, "/") for name in "abcde"])
    leases, _ = frontier.lease(0, "agent", 3, 1000)
    assert [lease.server for lease in leases] == ["e", "d", "c"]
    assert [lease.token for lease in leases] == [1, 2, 3]
    assert frontier.stats().open_servers == 3


def test_lease_of_no_servers_only_promotes(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=10.0))
    frontier.admit(0, [url("a", "/")])
    lease_one(frontier)
    frontier.reclaim(0, "agent")
    assert servers(frontier, "waiting") == ["a"]
    assert frontier.lease(10, "agent", 0, 1000) == ([], None)
    assert servers(frontier, "ready") == ["a"]


def test_open_server_is_not_opened_again(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1"), url("a", "/2")])
    lease_one(frontier)
    frontier.admit(0, [url("a", "/3")])
    assert lease_all(frontier) == []
    assert row_of(frontier, "a").queued == 2


def test_tokens_are_never_used_again(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    tokens = []
    for _ in range(3):
        lease = lease_one(frontier)
        tokens.append(lease.token)
        frontier.settle(0, given_back(lease))
    assert tokens == [1, 2, 3]


@pytest.mark.parametrize("policy", [Policy.QUALITY, Policy.PERFORMANCE, Policy.BREADTH_FIRST])
def test_lease_is_as_long_as_the_connection(partition: PartitionFactory, policy: Policy) -> None:
    frontier = partition(Rules(policy=policy, requests_per_connection=3))
    frontier.admit(0, [url("a", f"/{n}") for n in range(5)])
    lease = lease_one(frontier)
    assert members(lease) == ["/0", "/1", "/2"]
    frontier.settle(0, done(lease))
    assert members(lease_one(frontier)) == ["/3", "/4"]


def test_connection_carries_what_an_earlier_one_carried(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", f"/{n}") for n in range(9)])
    frontier.settle(0, given_back(lease_one(frontier), carried=4))
    lease = lease_one(frontier)
    assert len(lease.urls) == 4
    frontier.settle(0, given_back(lease))
    assert len(lease_one(frontier).urls) == 4


def test_connection_that_carried_nothing_counts_as_one_that_carried_one(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", f"/{n}") for n in range(3)])
    frontier.settle(0, given_back(lease_one(frontier), carried=0))
    assert len(lease_one(frontier).urls) == 1


def test_capability_leases_until_the_rate_is_greatest(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY, connection_ms=500.0, response_ms=1000.0))
    frontier.admit(0, [url("a", f"/{n}", quality) for n, quality in enumerate([0.0, 1.0, 0.1, 0.9])])
    assert members(lease_one(frontier)) == ["/1", "/3"]


def test_capability_leases_the_most_of_equal_rates(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY))
    frontier.admit(0, [url("a", f"/{n}", 0.0) for n in range(4)])
    assert len(lease_one(frontier).urls) == 4


@pytest.mark.parametrize("at_once", [True, False])
def test_url_that_takes_no_time_worth_mentioning_lengthens_the_lease_however_poor_it_is(
    partition: PartitionFactory, at_once: bool
) -> None:
    frontier = partition(Rules(connection_ms=100.0, response_ms=2.0**-52))
    batch = [url("a", "/1", 0.25), url("a", "/2", 0.0)]
    for part in [batch] if at_once else [batch[:1], batch[1:]]:
        frontier.admit(0, [url("b", "/", 0.1), *part])
    lease = lease_one(frontier)
    assert (lease.server, members(lease)) == ("a", ["/1", "/2"])


def test_capability_looks_no_farther_than_the_connection(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY, requests_per_connection=2))
    frontier.admit(0, [url("a", f"/{n}", 0.5) for n in range(4)])
    assert len(lease_one(frontier).urls) == 2


@pytest.mark.parametrize("rules", EVERY_POLICY, ids=[rules.policy for rules in EVERY_POLICY])
@pytest.mark.parametrize(("delay_ms", "length"), [(2499.0, 3), (2500.0, 1)])
def test_server_whose_delay_outlasts_a_connection_is_leased_one_url_at_a_time(
    partition: PartitionFactory, rules: Rules, delay_ms: float, length: int
) -> None:
    frontier = partition(rules)
    frontier.admit(0, [url("a", f"/{n}", 0.5) for n in range(3)])
    frontier.settle(0, given_back(lease_one(frontier), delay_ms=delay_ms))
    if rules.policy is Policy.CAPABILITY:  # one such delay is all that it sits out
        length = min(length, 2)
    assert len(lease_one(frontier).urls) == length


def test_without_that_bound_a_long_delay_does_not_matter(partition: PartitionFactory) -> None:
    frontier = partition(Rules(keep_open_ms=0.0, delay_ms=60_000.0))
    frontier.admit(0, [url("a", f"/{n}", 0.5) for n in range(3)])
    assert len(lease_one(frontier).urls) == 3


def test_reply_tells_when_another_server_becomes_due(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/"), url("b", "/"), url("c", "/")])
    for lease, due_ms in zip(lease_all(frontier), (300, 200, 100), strict=True):
        frontier.settle(0, given_back(lease, due_ms=due_ms))
    assert frontier.lease(50, "agent", 5, 1000) == ([], 100)
    leases, next_due_ms = frontier.lease(200, "agent", 5, 1000)
    assert ([(lease.server, lease.due_ms) for lease in leases], next_due_ms) == ([("b", 200), ("a", 100)], 300)
    assert frontier.lease(200, "agent", 5, 1000) == ([], 300)


def test_server_that_is_due_at_this_very_instant_is_leased(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    frontier.settle(0, given_back(lease_one(frontier), due_ms=100))
    assert frontier.lease(99, "agent", 1, 1000) == ([], 100)
    assert len(frontier.lease(100, "agent", 1, 1000)[0]) == 1


def test_waiting_server_waits_until_a_lease_promotes_it(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.1)])
    frontier.settle(0, given_back(lease_one(frontier), due_ms=100))
    frontier.admit(500, [url("a", "/2", 0.9)])
    assert row_of(frontier, "a").state == "waiting"
    assert members(lease_one(frontier, 500)) == ["/2", "/1"]


def test_promoted_server_is_ranked_by_what_it_got_while_waiting(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.1), url("b", "/1", 0.5)])
    frontier.settle(0, given_back(lease_all(frontier)[1], due_ms=100))
    frontier.admit(0, [url("a", "/2", 0.9), url("c", "/1", 0.8)])
    assert [lease.server for lease in lease_all(frontier, 100)] == ["a", "c"]


def test_promotion_is_bounded_and_the_earliest_due_come_first(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, delay_ms=1000.0))
    names = [f"{n:04}" for n in range(PROMOTE_LIMIT + 2)]
    frontier.admit(0, [url(name, "/") for name in names])
    frontier.lease(0, "early", 1, 9000)
    frontier.lease(0, "late", 2000, 9000)
    assert frontier.reclaim(0, "early") == 1
    assert frontier.reclaim(1, "late") == PROMOTE_LIMIT + 1
    assert frontier.lease(5000, "agent", 0, 1000) == ([], 1001)
    assert servers(frontier, "ready") == [names[-1], *reversed(names[: PROMOTE_LIMIT - 1])]
    assert servers(frontier, "waiting") == names[PROMOTE_LIMIT - 1 : -1]
    assert frontier.lease(5000, "agent", 0, 1000) == ([], None)


def test_ready_server_stays_ready_when_the_clock_is_set_back(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    frontier.settle(0, given_back(lease_one(frontier), due_ms=100))
    frontier.lease(100, "agent", 0, 1000)
    frontier.admit(50, [url("a", "/2", 0.9)])
    assert row_of(frontier, "a").state == "ready"
    assert lease_one(frontier, 50).due_ms == 100


# settle


def test_settled_urls_are_done(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("a", "/2")])
    assert frontier.settle(0, done(lease_one(frontier))) is True
    assert frontier.stats() == Stats(servers=1, seen=2, admitted=2, settled=2)
    assert frontier.peek(9) == []


def test_lease_goes_on_without_release(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("a", "/2")])
    lease = lease_one(frontier)
    assert frontier.settle(0, Settlement("a", lease.token, done=("/1",), pages=1))
    assert frontier.stats() == Stats(leased=1, open_servers=1, servers=1, seen=2, admitted=2, settled=1)
    assert frontier.settle(0, Settlement("a", lease.token, done=("/2",), pages=1))
    assert frontier.stats() == Stats(open_servers=1, servers=1, seen=2, admitted=2, settled=2)
    assert frontier.settle(0, Settlement("a", lease.token, release=True))
    assert frontier.stats() == Stats(servers=1, seen=2, admitted=2, settled=2)


def test_unfinished_urls_go_back_to_their_old_places(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", depth=1), url("a", "/2", hops=2), url("a", "/3", payload=b"three")])
    lease = lease_one(frontier)
    frontier.admit(0, [url("a", "/4")])
    frontier.settle(0, Settlement("a", lease.token, done=("/1",), pages=1, release=True))
    assert lease_one(frontier).urls == (
        LeasedUrl("/2", kept(0.5), 0, 2),
        LeasedUrl("/3", kept(0.5), 0, 0, b"three"),
        LeasedUrl("/4", kept(0.5), 0, 0),
    )


def test_urls_go_back_even_where_the_queue_is_full(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=1))
    frontier.admit(0, [url("a", "/1")])
    lease = lease_one(frontier)
    frontier.admit(0, [url("a", "/2")])
    frontier.settle(0, given_back(lease))
    assert row_of(frontier, "a").queued == 2


def test_overfull_queue_evicts_one_for_one(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pending=1))
    frontier.admit(0, [url("a", "/1")])
    lease = lease_one(frontier)
    frontier.admit(0, [url("a", "/2")])
    frontier.settle(0, given_back(lease))
    assert frontier.admit(0, [url("a", "/3", 0.9)]) == Admission(admitted=1, evicted=1)
    assert members(lease_one(frontier)) == ["/3", "/1"]


@pytest.mark.parametrize("policy", [Policy.QUALITY, Policy.BREADTH_FIRST])
def test_url_that_is_worth_less_now_goes_back_with_the_lesser_quality_and_all_else_as_it_was(
    partition: PartitionFactory, policy: Policy
) -> None:
    frontier = partition(Rules(policy=policy))
    frontier.admit(0, [url("a", "/1", 0.9, depth=3, hops=2, payload=b"one"), url("a", "/2", 0.8), url("a", "/3", 0.4)])
    lease = lease_one(frontier)
    assert frontier.settle(0, given_back(lease, lowered=(("/1", 0.4),)))
    by_age = [
        LeasedUrl("/1", kept(0.4), 3, 2, b"one"),
        LeasedUrl("/2", kept(0.8), 0, 0),
        LeasedUrl("/3", kept(0.4), 0, 0),
    ]
    # Of equals the oldest comes first, as ever.
    expected = by_age if policy is Policy.BREADTH_FIRST else [by_age[1], by_age[0], by_age[2]]
    assert list(row_of(frontier, "a").head) == expected
    assert list(lease_one(frontier).urls) == expected


def test_quality_that_is_not_less_changes_nothing(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.5), url("a", "/2", 0.5)])
    lease = lease_one(frontier)
    frontier.settle(0, given_back(lease, lowered=(("/1", 0.9), ("/2", 0.5))))
    assert lease_one(frontier).urls == lease.urls


def test_of_several_lesser_qualities_the_least_counts(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.5)])
    frontier.settle(0, given_back(lease_one(frontier), lowered=(("/1", 0.2), ("/1", 0.3))))
    assert lease_one(frontier).urls[0].quality == kept(0.2)


def test_lowered_url_that_is_done_or_was_never_leased_is_passed_over(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.5)])
    lease = lease_one(frontier)
    assert frontier.settle(0, done(lease, lowered=(("/1", 0.1), ("/2", 0.1), ("/3", 0.1))))
    assert row_of(frontier, "a").head == (LeasedUrl("/2", kept(0.5), 0, 0),)
    assert frontier.stats().settled == 1


def test_without_release_nothing_is_lowered(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.9)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, lowered=(("/1", 0.1),)))
    frontier.settle(0, given_back(lease))
    assert lease_one(frontier).urls == lease.urls


def test_server_whose_urls_are_worth_less_now_loses_its_rank(partition: PartitionFactory) -> None:
    frontier = partition(Rules())
    frontier.admit(0, [url("a", "/1", 0.9), url("b", "/1", 0.5)])
    frontier.settle(0, given_back(lease_one(frontier), lowered=(("/1", 0.1),)))
    assert servers(frontier, "ready") == ["b", "a"]


def test_what_was_done_under_a_forgotten_lease_is_not_fetched_again(partition: PartitionFactory) -> None:
    """As after Redis lost its last writes: what was said before is said again, to a queue in which everything stands as it did."""
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.9, payload=b"one"), url("a", "\0x", 0.8, payload=b"x"), url("a", "/2", 0.5)])
    again = Settlement("a", 7, ("/1", "\0x", "/unknown"), due_ms=300, release=True, again=True)
    assert frontier.settle(100, again) is False
    assert frontier.stats() == Stats(queued=1, servers=1, seen=3, admitted=3, settled=2, refused=1)
    assert row_of(frontier, "a") == Peek("a", "waiting", 300.0, 1, (LeasedUrl("/2", kept(0.5), 0, 0),))
    assert frontier.settle(400, Settlement("a", 7, ("/2",), release=True, again=True)) is False
    assert frontier.peek(9) == []
    frontier.admit(400, [url("a", "/1", 0.9, force=True), url("a", "\0x", 0.8, force=True)])
    assert lease_one(frontier, now_ms=400).urls == (
        LeasedUrl("/1", kept(0.9), 0, 0),
        LeasedUrl("\0x", kept(0.8), 0, 0),
    ), "their payloads went with them"


def test_server_of_which_some_turns_out_to_be_done_is_ranked_by_what_is_left(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.3), url("b", "/1", 0.5)])
    frontier.settle(0, Settlement("a", 7, ("/1",), again=True))
    assert servers(frontier, "ready") == ["b", "a"]


def test_what_is_said_again_of_an_earlier_lease_leaves_alone_what_the_present_one_holds(
    partition: PartitionFactory,
) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.5), url("a", "/3", 0.4)])
    lease = lease_one(frontier)
    assert frontier.settle(0, Settlement("a", lease.token + 1, ("/1", "/2"), again=True)) is False
    assert frontier.settle(0, Settlement("a", lease.token + 1, ("/3",))) is False, "said for the first time"
    assert frontier.stats() == Stats(
        queued=1, leased=1, open_servers=1, servers=1, seen=3, admitted=3, settled=1, refused=2
    )


def test_lowered_urls_of_a_closing_server_are_dropped(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pages=1))
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.8)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, ("/1",), pages=1, release=True, lowered=(("/2", 0.1),)))
    assert frontier.stats() == Stats(servers=1, seen=2, admitted=2, settled=1, dropped=1)


def test_stale_token_is_refused_and_changes_nothing(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    old = lease_one(frontier, lease_ms=10)
    frontier.reclaim(10)
    new = lease_one(frontier, 10)
    before = frontier.peek(9)
    assert frontier.settle(20, done(old, due_ms=999, delay_ms=9.0, carried=1, connection_ms=(9.0,))) is False
    assert frontier.peek(9) == before
    assert frontier.stats().refused == 1
    assert frontier.stats().settled == 0
    assert frontier.settle(20, given_back(new)) is True
    assert lease_one(frontier, 20) == Lease("a", 3, 1020, 10, 0.0, 100.0, 300.0, new.urls)


@pytest.mark.parametrize("token", [0, -1, 2])
def test_token_nobody_was_given_is_refused(partition: PartitionFactory, token: int) -> None:
    frontier = partition(QUALITY)
    assert frontier.settle(0, Settlement("a", token, release=True)) is False
    frontier.admit(0, [url("a", "/1")])
    assert frontier.settle(0, Settlement("a", token, release=True)) is False
    lease_one(frontier)
    assert frontier.settle(0, Settlement("a", token, release=True)) is False
    assert frontier.stats() == Stats(leased=1, open_servers=1, servers=1, seen=1, admitted=1, refused=3)


def test_token_of_another_server_is_refused(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    first, second = lease_all(frontier)
    assert frontier.settle(0, Settlement(first.server, second.token, done=("/1",), release=True)) is False
    assert frontier.stats().leased == 2


def test_lease_cannot_be_settled_twice(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    lease = lease_one(frontier)
    assert frontier.settle(0, done(lease)) is True
    assert frontier.settle(0, done(lease)) is False
    assert frontier.stats().settled == 1


def test_expired_lease_holds_until_it_is_reclaimed(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    lease = lease_one(frontier, lease_ms=10)
    assert frontier.settle(10**6, done(lease)) is True


def test_members_that_are_not_held_are_passed_over(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.1)])
    lease = lease_one(frontier)
    assert frontier.settle(0, Settlement("a", lease.token, done=("/1", "/2", "/3", "/1"), pages=1, release=True))
    assert frontier.stats() == Stats(queued=1, servers=1, seen=2, admitted=2, settled=1)


def test_queued_url_that_is_called_done_keeps_its_payload(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "\0x", 0.1, payload=b"kept")])
    frontier.settle(0, Settlement("a", lease_one(frontier).token, done=("/1", "\0x"), pages=1, release=True))
    assert lease_one(frontier).urls == (LeasedUrl("\0x", kept(0.1), 0, 0, b"kept"),)


def test_settled_url_takes_its_payload_along(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "\0x", payload=b"old")])
    frontier.settle(0, done(lease_one(frontier)))
    frontier.admit(0, [url("a", "\0x", force=True)])
    assert lease_one(frontier).urls[0].payload == b""


def test_first_measurement_replaces_the_prior_and_later_ones_weigh_a_fifth(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    frontier.settle(0, given_back(lease_one(frontier), connection_ms=(10.0,), response_ms=(100.0, 200.5, 0.1)))
    lease = lease_one(frontier)
    assert lease.connection_ms == 10.0
    assert lease.response_ms == 0.8 * (0.8 * 100.0 + (1 - 0.8) * 200.5) + (1 - 0.8) * 0.1
    frontier.settle(0, given_back(lease, connection_ms=(20.0,)))
    again = lease_one(frontier)
    assert again.connection_ms == 0.8 * 10.0 + (1 - 0.8) * 20.0
    assert again.response_ms == lease.response_ms


def test_estimates_of_nought_are_not_taken_for_the_prior(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=70.0))
    frontier.admit(0, [url("a", "/")])
    frontier.settle(0, given_back(lease_one(frontier), connection_ms=(0.0,), response_ms=(0.0,), delay_ms=0.0))
    lease = lease_one(frontier)
    assert (lease.connection_ms, lease.response_ms, lease.delay_ms) == (0.0, 0.0, 0.0)


def test_weight_of_the_past_is_a_rule(partition: PartitionFactory) -> None:
    frontier = partition(Rules(alpha=0.3))
    frontier.admit(0, [url("a", "/")])
    frontier.settle(0, given_back(lease_one(frontier), connection_ms=(10.0, 20.0)))
    assert lease_one(frontier).connection_ms == 0.3 * 10.0 + (1 - 0.3) * 20.0


def test_crawl_delay_is_replaced_only_if_it_is_given(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=70.0))
    frontier.admit(0, [url("a", "/")])
    frontier.settle(0, given_back(lease_one(frontier), delay_ms=1234.5))
    lease = lease_one(frontier)
    assert lease.delay_ms == 1234.5
    frontier.settle(0, given_back(lease))
    assert lease_one(frontier).delay_ms == 1234.5


@pytest.mark.parametrize(("policy", "even", "rich"), [(Policy.QUALITY, 0.5, 0.75), (Policy.CAPABILITY, 0.25, 0.375)])
def test_odds_move_all_that_is_queued_and_leave_its_order_and_its_qualities(
    partition: PartitionFactory, policy: Policy, even: float, rich: float
) -> None:
    frontier = partition(Rules(policy=policy, requests_per_connection=1, connection_ms=500.0, response_ms=1000.0))
    half = (QUALITY_STEPS + 1) / 2 / QUALITY_STEPS
    frontier.admit(0, [url("a", f"/{n}", quality) for n, quality in enumerate([0.2, half, 0.4, half])])
    before = row_of(frontier, "a")
    assert before.rank == pytest.approx(even, abs=1e-4)
    frontier.settle(0, given_back(lease_one(frontier), odds=3.0))
    after = row_of(frontier, "a")
    assert after.rank == pytest.approx(rich, abs=1e-4)
    assert after.head == before.head


def test_server_that_turns_out_barren_comes_after_one_that_promised_less(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [*(url("barren", f"/{n}", 0.6) for n in range(2)), url("other", "/", 0.5)])
    lease = lease_one(frontier)
    assert lease.server == "barren"
    frontier.settle(0, done(lease, odds=0.6))
    assert servers(frontier, "ready") == ["other", "barren"]


def test_odds_stay_until_others_are_told(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", 1.0 / 3), url("a", "/2", 1.0 / 3)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, odds=4.0))
    frontier.settle(0, done(lease, done=("/1",), pages=1))
    assert row_of(frontier, "a").rank == pytest.approx(2 / 3, abs=1e-4)
    frontier.reclaim(0, "agent")
    lease_one(frontier)
    frontier.reclaim(0, "agent")
    assert row_of(frontier, "a").rank == pytest.approx(2 / 3, abs=1e-4)
    frontier.settle(0, given_back(lease_one(frontier), odds=1.0))
    assert row_of(frontier, "a").rank == kept(1 / 3)


def test_odds_beyond_their_bounds_are_those_bounds(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url(server, "/", 0.5) for server in "ab"])
    for lease, odds in zip(lease_all(frontier), (1e-300, 1e300), strict=True):
        frontier.settle(0, given_back(lease, odds=odds))
    assert [row.rank for row in frontier.peek(2)] == [
        pytest.approx(1.0, abs=2e-6),
        pytest.approx(1e-6, rel=1e-3),
    ]
    assert all(0 < row.rank < 1 for row in frontier.peek(2))


def test_odds_decide_how_long_a_lease_is(partition: PartitionFactory) -> None:
    frontier = partition(Rules(connection_ms=100.0, response_ms=1000.0))
    frontier.admit(0, [url("a", f"/{n}", 0.9 if n == 0 else 0.5) for n in range(3)])
    lease = lease_one(frontier)
    assert len(lease.urls) == 1
    frontier.settle(0, given_back(lease, odds=20.0))
    assert len(lease_one(frontier).urls) == 3


def test_server_is_not_due_earlier_than_it_was(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, due_ms=500))
    frontier.settle(0, given_back(lease, due_ms=100))
    assert frontier.lease(100, "agent", 1, 1000) == ([], 500)


def test_released_server_that_is_due_is_ready_at_once(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    frontier.settle(50, given_back(lease_one(frontier), due_ms=50))
    assert row_of(frontier, "a") == Peek("a", "ready", kept(0.5), 1, (LeasedUrl("/", kept(0.5), 0, 0),))


def test_server_that_closes_drops_its_queue_at_once_and_the_rest_with_the_lease(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, requests_per_connection=2, max_pages=1))
    frontier.admit(0, [url("a", f"/{n}", payload=b"p") for n in range(5)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, done=("/0",), pages=1))
    assert frontier.stats() == Stats(leased=1, open_servers=1, servers=1, seen=5, admitted=5, dropped=3, settled=1)
    assert frontier.admit(0, [url("a", "/new")]) == Admission(dropped=1)
    frontier.settle(0, given_back(lease))
    assert frontier.stats() == Stats(servers=1, seen=6, admitted=5, dropped=5, settled=1)
    assert frontier.peek(9) == []


def test_url_of_a_closing_server_can_still_be_settled(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pages=1))
    frontier.admit(0, [url("a", "/0"), url("a", "/1")])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, done=("/0",), pages=1))
    frontier.settle(0, Settlement("a", lease.token, done=("/1",), pages=1, release=True))
    assert frontier.stats() == Stats(servers=1, seen=2, admitted=2, settled=2)


# renew


def test_renewed_lease_expires_later(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier, lease_ms=100)
    assert frontier.renew(50, [("a", lease.token)], 100) == set()
    assert frontier.reclaim(149) == 0
    assert frontier.reclaim(150) == 1


def test_stale_renewals_are_named_and_counted(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/"), url("b", "/")])
    b, a = lease_all(frontier)
    frontier.settle(0, done(b))
    assert frontier.renew(0, [("a", a.token), ("b", b.token), ("ü", 9)], 10) == {"b", "ü"}
    assert frontier.stats().refused == 2


def test_renewing_nothing_is_fine(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    assert frontier.renew(0, [], 10) == set()


def test_reclaimed_lease_cannot_be_renewed(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier, lease_ms=10)
    frontier.reclaim(10)
    lease_one(frontier, 10)
    assert frontier.renew(10, [("a", lease.token)], 1000) == {"a"}


# reclaim


def test_expired_lease_is_served_again(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1", payload=b"one"), url("a", "/2", 0.9, depth=2)])
    lease = lease_one(frontier, lease_ms=100)
    assert frontier.reclaim(99) == 0
    assert frontier.reclaim(100) == 2
    assert frontier.stats() == Stats(queued=2, servers=1, seen=2, admitted=2, reclaimed=2, expired=1)
    assert lease_one(frontier, 100).urls == lease.urls


def test_agent_that_makes_sure_of_its_leases_keeps_those_it_knows_of_and_loses_those_it_does_not(
    partition: PartitionFactory,
) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("b", "/1"), url("c", "/1")])
    known, lost, others = (lease_one(frontier, agent=agent) for agent in ("me", "me", "you"))
    assert frontier.reclaim(0, "me", [(known.server, known.token)]) == 1
    assert not frontier.settle(0, Settlement(lost.server, lost.token, done=("/1",)))
    assert frontier.settle(0, Settlement(known.server, known.token, done=("/1",)))
    assert frontier.settle(0, Settlement(others.server, others.token, done=("/1",)))
    assert frontier.stats().expired == 0


def test_no_token_is_given_twice_even_if_redis_has_forgotten_the_last_ones(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    first = lease_one(frontier)
    frontier.reclaim(0, "agent", [(first.server, first.token)])
    assert lease_one(frontier).token > first.token + 1000


def test_server_whose_lease_redis_has_forgotten_is_left_alone_for_its_crawl_delay(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, delay_ms=250))
    frontier.admit(0, [url("a", "/1")])
    frontier.reclaim(100, "agent", [("a", 7), ("unknown", 8)])
    assert frontier.lease(349, "other", 1, 1000) == ([], 350)
    assert lease_one(frontier, 350).server == "a"


def test_only_servers_that_have_been_due_for_a_while_are_leased_as_overdue(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, requests_per_connection=1))
    frontier.admit(0, [url("a", "/1", 0.9), url("a", "/2", 0.8), url("b", "/1", 0.1)])
    a = lease_one(frontier)
    frontier.settle(0, Settlement("a", a.token, done=("/1",), due_ms=100, release=True))
    leases, _ = frontier.lease(1000, "agent", 2, 1000, 901)
    assert [one.server for one in leases] == ["b"], "a is the better one, and has been due for 900 ms only"
    leases, _ = frontier.lease(1000, "agent", 2, 1000, 900)
    assert [one.server for one in leases] == ["a"]


def test_agents_leases_are_reclaimed_by_name_and_no_others(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/"), url("b", "/")])
    lease_one(frontier, agent="dead")
    alive = lease_one(frontier, agent="alive")
    assert frontier.reclaim(0, "unknown") == 0
    assert frontier.reclaim(0, "dead") == 1
    assert frontier.stats().leased == 1
    assert frontier.settle(0, done(alive)) is True


def test_agents_leases_are_reclaimed_by_name_and_not_by_deadline(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/"), url("b", "/")])
    lease_one(frontier, agent="dead")
    lease_one(frontier, agent="alive", lease_ms=1)
    assert frontier.reclaim(10, "dead") == 1
    assert frontier.stats().leased == 1


def test_reclaimed_server_rests_for_its_crawl_delay(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=250.0))
    frontier.admit(0, [url("a", "/")])
    lease_one(frontier, lease_ms=100)
    frontier.reclaim(100)
    assert frontier.lease(349, "agent", 1, 1000) == ([], 350)
    assert lease_one(frontier, 350).due_ms == 350


def test_reclaimed_server_rests_for_its_own_crawl_delay(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=250.0))
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier, lease_ms=100)
    frontier.settle(0, Settlement("a", lease.token, delay_ms=999.5))
    frontier.reclaim(100)
    assert frontier.lease(1099, "agent", 1, 1000) == ([], 1100)


def test_reclaim_does_not_make_a_server_due_earlier(partition: PartitionFactory) -> None:
    frontier = partition(Rules(delay_ms=250.0))
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier, lease_ms=100)
    frontier.settle(0, Settlement("a", lease.token, due_ms=5000))
    frontier.reclaim(100)
    assert frontier.lease(400, "agent", 1, 1000) == ([], 5000)


def test_reclaimed_servers_queue_up_by_deadline_and_then_by_name(partition: PartitionFactory) -> None:
    frontier = partition(TURNS)
    frontier.admit(0, [url(name, "/") for name in ("c", "b", "d", "a")])
    for lease_ms in (20, 20, 10, 20):
        lease_one(frontier, lease_ms=lease_ms)
    assert frontier.reclaim(50) == 4
    assert servers(frontier, "ready") == ["d", "a", "b", "c"]


def test_lease_with_nothing_left_is_reclaimed_as_nothing(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    lease = lease_one(frontier, lease_ms=10)
    frontier.settle(0, done(lease, release=False))
    frontier.admit(0, [url("a", "/next")])
    assert frontier.reclaim(10) == 0
    assert frontier.stats().open_servers == 0
    assert members(lease_one(frontier, 10)) == ["/next"]


def test_reclaimed_urls_of_a_closed_server_are_dropped_and_count_as_reclaimed(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.QUALITY, max_pages=1))
    frontier.admit(0, [url("a", "/1"), url("a", "/2")])
    lease = lease_one(frontier, lease_ms=10)
    frontier.settle(0, Settlement("a", lease.token, done=("/1",), pages=1))
    assert frontier.reclaim(10) == 1
    assert frontier.stats() == Stats(servers=1, seen=2, admitted=2, dropped=1, settled=1, reclaimed=1, expired=1)


def test_nothing_to_reclaim_is_nothing_reclaimed(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    assert frontier.reclaim(10**12) == 0
    assert frontier.reclaim(0, "agent") == 0
    assert frontier.stats() == Stats()


# stats, peek, clear


def test_peek_lists_ready_then_waiting_then_leased_servers(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url(name, f"/{n}", 0.9 - n / 10) for name in "abcdef" for n in range(3)])
    f, e, d, c = frontier.lease(0, "agent", 4, 1000)[0]
    frontier.settle(0, done(f, due_ms=70))
    frontier.settle(0, done(e, due_ms=60))
    frontier.renew(100, [("d", d.token), ("c", c.token)], 1000)
    rows = [(row.server, row.state, row.rank, row.queued) for row in frontier.peek(9)]
    assert rows == [
        ("b", "ready", kept(0.9), 3),
        ("a", "ready", kept(0.9), 3),
        ("e", "waiting", 60.0, 2),
        ("f", "waiting", 70.0, 2),
        ("c", "leased", 1100.0, 2),
        ("d", "leased", 1100.0, 2),
    ]


def test_peek_shows_the_first_urls_of_the_queue_and_not_of_the_lease(partition: PartitionFactory) -> None:
    frontier = partition(ONE_BY_ONE)
    frontier.admit(0, [url("a", f"/{n}", 0.9 - n / 10, depth=n, payload=b"p%d" % n) for n in range(5)])
    lease_one(frontier)
    (row,) = frontier.peek(1, head=2)
    assert row.queued == 4
    assert row.head == (LeasedUrl("/1", kept(0.8), 1, 0, b"p1"), LeasedUrl("/2", kept(0.7), 2, 0, b"p2"))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_peek_lists_no_more_than_asked_for(partition: PartitionFactory, count: int) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/"), url("b", "/"), url("c", "/")])
    frontier.settle(0, given_back(lease_one(frontier), due_ms=9))
    lease_one(frontier)
    assert [row.server for row in frontier.peek(count)] == ["a", "c", "b"][:count]


def test_peek_without_heads(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/")])
    assert frontier.peek(1, head=0) == [Peek("a", "ready", kept(0.5), 1, ())]


def test_peek_and_stats_change_nothing(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    lease_one(frontier)
    first = (frontier.peek(9), frontier.stats())
    assert (frontier.peek(9), frontier.stats()) == first


def test_server_of_which_nothing_was_ever_queued_is_not_counted(partition: PartitionFactory) -> None:
    frontier = partition(Rules(max_depth=1))
    frontier.admit(0, [url("a", "/", depth=2)])
    assert frontier.stats() == Stats(seen=1, dropped=1)


def test_server_stays_counted_when_its_urls_are_done(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "/1")])
    frontier.settle(0, done(lease_one(frontier)))
    frontier.admit(0, [url("a", "/2")])
    assert frontier.stats().servers == 1


def test_clear_forgets_everything(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.BREADTH_FIRST, max_pages=1, requests_per_connection=1))
    frontier.admit(0, [url(name, f"/{n}", payload=b"p") for name in "abc" for n in range(3)])
    leases = lease_all(frontier)
    frontier.settle(0, done(leases[0], response_ms=(5.0,), delay_ms=10.0, due_ms=10**9))
    frontier.settle(0, given_back(leases[1], due_ms=10**9))
    frontier.clear()
    assert frontier.stats() == Stats()
    assert frontier.peek(9) == []
    assert frontier.settle(0, done(leases[2])) is False
    assert frontier.admit(0, [url("a", "/0")]) == Admission(admitted=1)
    lease = lease_one(frontier)
    assert (lease.token, lease.due_ms, lease.delay_ms, lease.response_ms) == (1, 0, 0.0, 300.0)
    assert lease.urls == (LeasedUrl("/0", kept(0.5), 0, 0),)


def test_clearing_nothing_is_fine(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    frontier.clear()
    assert frontier.stats() == Stats()


# Awkward names and sizes


AWKWARD = [
    "/",
    "/ü?q=日本語",
    "/\U0001f600",
    "/a b\tc\nd",
    "\0",
    "\0\0\x7f",
    "/%00",
    "/" + "x" * 8000,
    "/{}|[]*?",
    "/-1",
    "/:%d",
]


def test_any_member_survives_the_round(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    assert frontier.admit(0, [url("http://bücher.example", member) for member in AWKWARD]).admitted == len(AWKWARD)
    lease = lease_one(frontier)
    assert members(lease) == AWKWARD
    assert [one.member for one in frontier.peek(1, head=99)[0].head] == []
    assert frontier.settle(0, done(lease)) is True
    assert frontier.stats().settled == len(AWKWARD)


def test_any_server_survives_the_round(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    assert frontier.admit(0, [url(name, "/") for name in AWKWARD]).admitted == len(AWKWARD)
    leases = lease_all(frontier)
    assert {lease.server for lease in leases} == set(AWKWARD)
    assert frontier.renew(0, [(lease.server, lease.token) for lease in leases], 10) == set()
    assert all(frontier.settle(0, done(lease)) for lease in leases)
    assert frontier.stats() == Stats(servers=11, seen=11, admitted=11, settled=11)


@pytest.mark.parametrize("payload", [b"", b"\x00", bytes(range(256)), b"\r\n$-1\r\n", b"x" * 100_000])
def test_any_payload_survives_the_round(partition: PartitionFactory, payload: bytes) -> None:
    frontier = partition(QUALITY)
    frontier.admit(0, [url("a", "\0p", payload=payload)])
    assert lease_one(frontier).urls[0].payload == payload


def test_names_that_join_to_the_same_string_are_kept_apart(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    pairs = [
        ("a", "/b/c"),
        ("a/b", "/c"),
        ("a\0", "/b"),
        ("a", "\0/b"),
        ("a:", "/"),
        ("a", ":/"),
        ("a\n", "/"),
        ("a", "\n/"),
    ]
    frontier.admit(0, [url(*pair, payload=repr(pair).encode()) for pair in pairs])
    got = {(lease.server, one.member): one.payload for lease in lease_all(frontier) for one in lease.urls}
    assert got == {pair: repr(pair).encode() for pair in pairs}


def test_realistic_instants_are_exact(partition: PartitionFactory) -> None:
    frontier = partition(QUALITY)
    now_ms = 1_893_456_000_123
    frontier.admit(now_ms, [url("a", "/")])
    lease = lease_one(frontier, now_ms, lease_ms=60_001)
    assert lease.deadline_ms == now_ms + 60_001
    frontier.settle(now_ms, given_back(lease, due_ms=now_ms + 777))
    assert frontier.lease(now_ms, "agent", 1, 1000) == ([], now_ms + 777)
    assert row_of(frontier, "a").rank == now_ms + 777


def test_thousands_of_urls_on_hundreds_of_servers_are_each_leased_once(partition: PartitionFactory) -> None:
    frontier = partition(Rules(policy=Policy.CAPABILITY, requests_per_connection=7))
    batch = [url(f"s{n % 300}", f"/{n}", n % 97 / 97) for n in range(3000)]
    assert frontier.admit(0, batch) == Admission(admitted=3000)
    leased: list[tuple[str, str]] = []
    for now_ms in itertools.count():
        leases = frontier.lease(now_ms, "agent", 100, 1000)[0]
        if not leases:
            break
        for lease in leases:
            leased += [(lease.server, member) for member in members(lease)]
            frontier.settle(now_ms, done(lease))
    assert sorted(leased) == sorted((one.server, one.member) for one in batch)
    assert frontier.stats() == Stats(servers=300, seen=3000, admitted=3000, settled=3000)
