from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.frontier.assignment import Assignment
from extensions.urls.fingerprints import partition_of

names = st.one_of(st.integers(1, 120).map("machine-7c1f03-{}".format), st.text(max_size=8).filter(str.isprintable))
capacities = st.one_of(st.sampled_from([1, 2, 4, 8, 16]), st.floats(1e-100, 1e100))
partition_counts = st.sampled_from([1, 2, 3, 64, 100])
few_or_many = st.one_of(
    st.dictionaries(names, capacities, max_size=6),
    st.integers(50, 100).map(lambda agents: {f"machine-7c1f03-{number}": 1 + number % 4 for number in range(agents)}),
)
some = few_or_many.filter(bool)


def owners(live: dict[str, float], partitions: int) -> list[str | None]:
    assignment = Assignment(live, partitions)
    return [assignment.owner(partition) for partition in range(partitions)]


def moves(before: dict[str, float], after: dict[str, float], partitions: int) -> set[tuple[str | None, str | None]]:
    pairs = zip(owners(before, partitions), owners(after, partitions), strict=True)
    return {(old, new) for old, new in pairs if old != new}


@given(some, partition_counts)
def test_every_partition_belongs_to_exactly_one_live_agent(live: dict[str, float], partitions: int) -> None:
    assignment = Assignment(live, partitions)
    owned = [(partition, agent) for agent in live for partition in assignment.partitions_of(agent)]
    assert sorted(owned) == [(partition, assignment.owner(partition)) for partition in range(partitions)]


@given(some, names, capacities, partition_counts)
def test_partitions_move_only_to_an_agent_that_joins(
    live: dict[str, float], newcomer: str, capacity: float, partitions: int
) -> None:
    before = {agent: live[agent] for agent in live if agent != newcomer} or {"the only one": 1}
    assert {new for _, new in moves(before, before | {newcomer: capacity}, partitions)} <= {newcomer}


@given(some, st.data(), partition_counts)
def test_partitions_move_only_from_an_agent_that_leaves(
    live: dict[str, float], data: st.DataObject, partitions: int
) -> None:
    leaver = data.draw(st.sampled_from(sorted(live)))
    after = {agent: live[agent] for agent in live if agent != leaver}
    assert {old for old, _ in moves(live, after, partitions)} <= {leaver}


@given(some, st.data(), partition_counts)
def test_partitions_move_only_to_an_agent_that_grows_and_only_from_one_that_shrinks(
    live: dict[str, float], data: st.DataObject, partitions: int
) -> None:
    agent = data.draw(st.sampled_from(sorted(live)))
    # Its next larger double too: contravariance does not stop where floating point rounds.
    larger = data.draw(st.one_of(st.just(math.nextafter(live[agent], math.inf)), st.floats(live[agent], 1e100)))
    grown = live | {agent: min(larger, 1e100)}
    assert {new for _, new in moves(live, grown, partitions)} <= {agent}
    assert {old for old, _ in moves(grown, live, partitions)} <= {agent}


@given(some, st.data(), partition_counts)
def test_a_restarted_agent_gets_its_old_partitions_back(
    live: dict[str, float], data: st.DataObject, partitions: int
) -> None:
    agent = data.draw(st.sampled_from(sorted(live)))
    old = Assignment(live, partitions).partitions_of(agent)
    without = {other: live[other] for other in live if other != agent}
    assert Assignment(without, partitions).partitions_of(agent) == ()
    assert Assignment(without | {agent: live[agent]}, partitions).partitions_of(agent) == old


@given(some, st.randoms(use_true_random=False), partition_counts)
def test_the_order_of_the_mapping_does_not_matter(live: dict[str, float], random: object, partitions: int) -> None:
    shuffled = list(live.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert owners(live, partitions) == owners(dict(shuffled), partitions)


@pytest.mark.parametrize("partition", range(8))
def test_a_dead_heat_is_decided_alike_by_all(partition: int) -> None:
    # Two agents arrive at the same instant, if ever, at the capacity with which one takes the partition from the other.
    def owner(capacity: float, *order: str) -> str | None:
        live = {"rival": 1.0, "agent": capacity}
        return Assignment({name: live[name] for name in order}, 8).owner(partition)

    too_small, enough = 1e-6, 1e6
    while math.nextafter(too_small, math.inf) < enough:
        middle = (too_small + enough) / 2
        too_small, enough = (too_small, middle) if owner(middle, "rival", "agent") == "agent" else (middle, enough)
    for capacity in (too_small, enough, math.nextafter(enough, math.inf), math.nextafter(too_small, 0)):
        assert owner(capacity, "agent", "rival") == owner(capacity, "rival", "agent")


@given(some, st.data(), partition_counts)
def test_an_agent_looks_into_its_own_partitions_first_and_then_into_all_others(
    live: dict[str, float], data: st.DataObject, partitions: int
) -> None:
    assignment = Assignment(live, partitions)
    agent = data.draw(st.sampled_from(sorted(live)))
    own, order = assignment.partitions_of(agent), assignment.order(agent)
    assert order[: len(own)] == own
    assert sorted(order) == list(range(partitions))


@given(st.integers(2, 20), st.floats(1.01, 1000))
@settings(max_examples=50)
def test_an_agent_helps_first_where_it_would_be_the_owner_with_more_capacity(agents: int, factor: float) -> None:
    live: dict[str, float] = {f"agent-{number}": 1 + number % 3 for number in range(agents)}
    order = Assignment(live, 64).order("agent-0")
    grown = Assignment(live | {"agent-0": factor}, 64).partitions_of("agent-0")
    assert set(grown) == set(order[: len(grown)])


def test_all_processes_compute_the_same_owners_whatever_their_hash_seed() -> None:
    live = {f"machine-{number}-ü": 1 + number / 3 for number in range(30)}
    program = (
        "import json, sys; from extensions.frontier.assignment import Assignment\n"
        "live = json.loads(sys.argv[1]); chosen = Assignment({name: live[name] for name in set(live)}, 256)\n"
        "print(json.dumps([[chosen.owner(part) for part in range(256)], chosen.order(min(live))]))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(live)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    ]
    here = Assignment(live, 256)
    assert [json.loads(text) for text in told] == [[owners(live, 256), list(here.order(min(live)))]] * 3


def test_owners_stay_the_same_from_release_to_release() -> None:
    # Agents of two releases may share a crawl: a change of this list is a change of the protocol.
    chosen = owners({"a": 1, "b": 2, "c": 4}, 24)
    assert "".join(str(owner) for owner in chosen) == "ccbbababbacbbcccccbcacbc"


@pytest.mark.parametrize("agents", [2, 3, 10, 100])
@pytest.mark.parametrize("weights", [(1,), (1, 2, 4, 8)], ids=["equal", "1:2:4:8"])
@pytest.mark.parametrize("partitions", [64, 1024, 4096])
def test_shares_are_proportional_to_capacity_as_closely_as_chance_allows(
    agents: int, weights: tuple[int, ...], partitions: int
) -> None:
    # An agent's count is a sum of negatively associated indicators, so Chernoff's bounds for independent ones hold (Dubhashi and
    # Ranjan 1998). Were the names drawn at random, one of all counts tested here would break its bound once in a million runs.
    live = {f"machine-7c1f03-{number}": weights[number % len(weights)] for number in range(agents)}
    assignment = Assignment(live, partitions)
    risk = math.log(2 * 1e6 * 6 * sum([2, 3, 10, 100]))
    for agent, capacity in live.items():
        share = capacity / sum(live.values())
        count = len(assignment.partitions_of(agent))
        assert partitions * divergence(count / partitions, share) <= risk, (agent, count, partitions * share)


def divergence(seen: float, expected: float) -> float:
    """Kullback and Leibler's, of two coins: P(count/n beyond `seen`) ≤ exp(-n · divergence) on either side."""
    terms = [(seen, expected), (1 - seen, 1 - expected)]
    return sum(p * math.log(p / q) for p, q in terms if p > 0)


@pytest.mark.parametrize("agents", [2, 8, 32])
def test_shares_are_more_even_than_independent_hashes_would_make_them(agents: int) -> None:
    # Σ (count - mean)² / mean over agents and crews: independent hashes would give it the mean (agents - 1) · crews. Here it is half,
    # for two agents a third. A chi-squared variable of 1000 degrees of freedom falls below two thirds of its mean less than once in a
    # million times.
    crews = math.ceil(1000 / (agents - 1))
    partitions = 16 * agents
    total = 0.0
    for crew in range(crews):
        live = {f"crew-{crew}-agent-{number}": 1.0 for number in range(agents)}
        counts = Counter(owners(live, partitions))
        total += sum((counts[agent] - 16) ** 2 / 16 for agent in live)
    assert total <= 2 / 3 * (agents - 1) * crews


def test_servers_spread_over_agents_as_their_partitions_do() -> None:
    live = {"small": 1, "large": 3}
    assignment = Assignment(live, 1024)
    agents = Counter(assignment.owner(partition_of(f"https://site-{number}.example", 1024)) for number in range(20_000))
    small = len(assignment.partitions_of("small")) / 1024
    # Hoeffding: further off once in a million times.
    assert agents["small"] / 20_000 == pytest.approx(small, abs=math.sqrt(math.log(2e6) / (2 * 20_000)))


def test_without_agents_nobody_owns_anything() -> None:
    assignment = Assignment({}, 4)
    assert [assignment.owner(partition) for partition in range(4)] == [None] * 4
    assert assignment.partitions_of("a") == assignment.order("a") == ()


def test_an_agent_that_does_not_live_owns_nothing_and_helps_nobody() -> None:
    assignment = Assignment({"a": 1}, 4)
    assert assignment.partitions_of("b") == assignment.order("b") == ()


@pytest.mark.parametrize("capacity", [0, -1, math.nan, math.inf, -math.inf, 1e-101])
def test_a_capacity_that_is_not_positive_and_finite_is_refused_with_the_agents_name(capacity: float) -> None:
    with pytest.raises(ValueError, match="'lame'"):
        Assignment({"fine": 1, "lame": capacity}, 4)


@pytest.mark.parametrize("partitions", [0, -1, (1 << 20) + 1])
def test_a_number_of_partitions_beyond_reason_is_refused(partitions: int) -> None:
    with pytest.raises(ValueError, match="partitions"):
        Assignment({"a": 1}, partitions)


@pytest.mark.parametrize("partition", [-1, 4])
def test_a_partition_that_does_not_exist_is_an_error(partition: int) -> None:
    with pytest.raises(IndexError):
        Assignment({"a": 1}, 4).owner(partition)
