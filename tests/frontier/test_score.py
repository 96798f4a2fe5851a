from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.frontier.records import MAX_DEPTH, MAX_HOPS, MAX_SEQUENCE, QUALITY_STEPS
from extensions.frontier.score import Fields, pack, steps, unpack

by_quality = st.booleans()
quality = st.floats(0, 1)
fields = st.tuples(quality, st.integers(0, MAX_SEQUENCE), st.integers(0, MAX_DEPTH), st.integers(0, MAX_HOPS))


@given(by_quality, fields)
def test_score_unpacks_to_what_was_packed(ordered: bool, values: tuple[float, int, int, int]) -> None:
    got = unpack(ordered, pack(ordered, *values))
    assert got == Fields(steps(values[0]) / QUALITY_STEPS, *values[1:])
    assert pack(ordered, *got) == pack(ordered, *values)


@given(by_quality, fields)
def test_score_is_exact_in_a_double(ordered: bool, values: tuple[float, int, int, int]) -> None:
    value = pack(ordered, *values)
    assert 0 <= value < 2**53
    assert int(float(value)) == value


def test_every_bit_of_a_double_is_used() -> None:
    assert pack(True, 1.0, 0, MAX_DEPTH, MAX_HOPS) == pack(False, 1.0, 0, MAX_DEPTH, MAX_HOPS) == 2**53 - 1
    assert pack(True, 0.0, MAX_SEQUENCE, 0, 0) == pack(False, 0.0, MAX_SEQUENCE, 0, 0) == 0


@given(by_quality, quality, st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**40))
def test_what_does_not_fit_is_capped(ordered: bool, value: float, sequence: int, depth: int, hops: int) -> None:
    capped = (min(sequence, MAX_SEQUENCE), min(depth, MAX_DEPTH), min(hops, MAX_HOPS))
    assert unpack(ordered, pack(ordered, value, sequence, depth, hops))[1:] == capped


@given(fields, fields)
def test_better_quality_comes_first_and_of_equal_ones_the_older(
    one: tuple[float, int, int, int], other: tuple[float, int, int, int]
) -> None:
    keys = [(steps(values[0]), -values[1]) for values in (one, other)]
    scores = [pack(True, *values) for values in (one, other)]
    if keys[0] != keys[1]:
        assert (keys[0] > keys[1]) == (scores[0] > scores[1])


@given(fields, fields)
def test_older_comes_first_in_first_in_first_out(
    one: tuple[float, int, int, int], other: tuple[float, int, int, int]
) -> None:
    if one[1] != other[1]:
        assert (one[1] < other[1]) == (pack(False, *one) > pack(False, *other))


@given(st.integers(0, QUALITY_STEPS))
def test_quality_survives_another_round(step: int) -> None:
    assert steps(step / QUALITY_STEPS) == step


@pytest.mark.parametrize(
    ("ordered", "expected"),
    [
        (True, QUALITY_STEPS * 2**39 + (MAX_SEQUENCE - 3) * 2**14 + 5 * 2**4 + 7),
        (False, (MAX_SEQUENCE - 3) * 2**28 + QUALITY_STEPS * 2**14 + 5 * 2**4 + 7),
    ],
)
def test_score_is_the_contracts_sum(ordered: bool, expected: int) -> None:
    assert pack(ordered, 1.0, 3, 5, 7) == expected
