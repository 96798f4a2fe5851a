"""Partitions among agents: balanced, the same everywhere, and moving only where they must."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.frontier.assignment import Assignment

PARTITIONS = 96
names = st.text(min_size=1, max_size=12)
capacities = st.floats(0.01, 1000)
crews = st.dictionaries(names, capacities, min_size=1, max_size=100)


def owners(crew, partitions=PARTITIONS):
    assignment = Assignment(crew, partitions)
    return [assignment.owner(partition) for partition in range(partitions)]


@given(crews)
def test_every_partition_has_one_owner_among_the_living(crew):
    assignment = Assignment(crew, PARTITIONS)
    shares = [partition for name in crew for partition in assignment.partitions_of(name)]
    assert sorted(shares) == list(range(PARTITIONS))
    assert all(assignment.owner(partition) in crew for partition in range(PARTITIONS))


def test_without_agents_nobody_has_anything():
    assignment = Assignment({}, 4)
    assert assignment.owner(3) is None
    assert assignment.partitions_of("nobody") == ()


@given(crews, st.randoms())
def test_the_order_in_which_agents_are_known_does_not_matter(crew, random):
    shuffled = list(crew.items())
    random.shuffle(shuffled)
    assert owners(dict(shuffled)) == owners(crew)


@given(crews, names, capacities)
def test_who_joins_takes_and_nothing_moves_between_the_others(crew, name, capacity):
    before = owners({other: weight for other, weight in crew.items() if other != name})
    after = owners(crew | {name: capacity})
    assert all(new == name for old, new in zip(before, after, strict=True) if old != new)


@given(crews.filter(lambda crew: len(crew) > 1), st.data())
def test_of_who_leaves_everything_moves_and_nothing_else(crew, data):
    name = data.draw(st.sampled_from(sorted(crew)))
    before, after = owners(crew), owners({other: weight for other, weight in crew.items() if other != name})
    assert all((old == name) == (old != new) for old, new in zip(before, after, strict=True))


@given(crews, capacities, st.data())
def test_whose_capacity_changes_only_gives_or_only_takes(crew, capacity, data):
    name = data.draw(st.sampled_from(sorted(crew)))
    moved = [(old, new) for old, new in zip(owners(crew), owners(crew | {name: capacity}), strict=True) if old != new]
    assert all((new if capacity > crew[name] else old) == name for old, new in moved)


def test_all_processes_agree_whatever_their_hash_seed():
    crew = {f"agent-{number}": 1 + number % 3 for number in range(10)}
    program = f"import json; from tests.frontier.test_assignment import owners; print(json.dumps(owners({crew!r})))"
    for seed in ("1", "2"):
        said = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        assert json.loads(said.stdout) == owners(crew)


@pytest.mark.parametrize("weights", [(1,), (1, 2, 4, 8)])
@pytest.mark.parametrize("agents", [2, 8, 40, 100])
def test_shares_are_as_the_capacities_within_what_chance_allows(agents, weights):
    partitions = 4096
    crew = {f"agent-{number}": float(weights[number % len(weights)]) for number in range(agents)}
    assignment = Assignment(crew, partitions)
    for name, capacity in crew.items():
        share = capacity / sum(crew.values())
        spread = math.sqrt(partitions * share * (1 - share))
        # Six standard deviations: the draws are fixed, so this holds always or never.
        assert abs(len(assignment.partitions_of(name)) - partitions * share) < 6 * spread


@pytest.mark.parametrize("capacity", [0, -1, math.inf, math.nan])
def test_a_capacity_that_cannot_be_one_is_refused(capacity):
    with pytest.raises(ValueError, match="capacity of agent a"):
        Assignment({"a": capacity}, 4)
