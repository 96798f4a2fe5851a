from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.frontier.policies import (
    Estimates,
    adjusted,
    bounded_odds,
    capability_rank,
    connection_seconds,
    ewma,
    lease_length,
    pages_per_connection,
    performance_rank,
    quality_rank,
    rank,
    response_seconds,
)
from extensions.frontier.records import LEAST_ODDS, MOST_ODDS, QUALITY_STEPS, Policy, Rules
from extensions.scoring import linkmodel

qualities = st.lists(st.floats(0, 1), min_size=1, max_size=60)
seconds = st.floats(0, 100)
milliseconds = st.floats(0, 100_000)
estimates = st.builds(
    Estimates,
    requests_per_connection=st.integers(1, 100),
    connection_ms=milliseconds,
    response_ms=milliseconds,
    delay_ms=milliseconds,
    odds=st.just(1.0) | st.floats(LEAST_ODDS, MOST_ODDS),
)
# Sums and products of these are exact in a double, so that equal rates are equal and unequal ones are told apart.
sixteenths = st.integers(0, 16).map(lambda n: n / 16)
exact_qualities = st.lists(sixteenths, min_size=1, max_size=30).map(lambda values: sorted(values, reverse=True))
exact_seconds = st.integers(1, 1000).map(lambda n: n / 16)


def test_first_measurement_replaces_the_prior() -> None:
    assert ewma(None, 700.0, 0.8) == 700.0


def test_later_measurements_weigh_a_fifth() -> None:
    assert ewma(100.0, 200.0, 0.8) == pytest.approx(120.0)


@given(milliseconds, milliseconds, st.floats(0, 1))
def test_average_lies_between_estimate_and_measurement(estimate: float, measured: float, alpha: float) -> None:
    low, high = sorted((estimate, measured))
    assert low * (1 - 1e-12) <= ewma(estimate, measured, alpha) <= high * (1 + 1e-12)


def test_connection_carries_what_the_server_allows_or_what_there_is() -> None:
    assert pages_per_connection(50, 7) == 7
    assert pages_per_connection(5, 7) == 5


def test_pipelining_shortens_the_response() -> None:
    assert response_seconds(300.0, 1.0) == 0.3
    assert response_seconds(300.0, 1.2) == 0.25


def test_connection_is_opened_once_and_closed_once() -> None:
    assert connection_seconds(4, 0.5, 0.25, 0.0) == 2.0


def test_connection_pauses_between_pages_and_not_after_the_last() -> None:
    assert connection_seconds(4, 0.5, 0.25, 1.0) == 5.0
    assert connection_seconds(1, 0.5, 0.25, 1.0) == 1.25


def test_connection_without_measured_time_takes_a_millisecond() -> None:
    assert connection_seconds(10, 0.0, 0.0, 0.0) == 0.001


def test_performance_is_pages_per_second() -> None:
    assert performance_rank(4, 0.5, 0.25, 0.0) == 2.0
    assert performance_rank(4, 0.5, 0.25, 2.0) == 0.5


def test_quality_is_that_of_the_best_url() -> None:
    assert quality_rank([0.9, 0.1]) == 0.9


def test_capability_of_one_page_by_hand() -> None:
    assert capability_rank([0.8], 0.5, 1.0, 0.0) == (0.4, 1)


def test_capability_leaves_before_the_dull_pages() -> None:
    rate, length = capability_rank([1.0, 1.0, 0.0, 0.0], 0.5, 1.0, 0.0)
    assert (rate, length) == (2 / 3, 2)


def test_capability_of_equal_rates_takes_the_longest() -> None:
    assert capability_rank([0.0, 0.0, 0.0], 0.5, 1.0, 0.0) == (0.0, 3)


def test_capability_of_nothing_is_nothing() -> None:
    assert capability_rank([], 0.5, 1.0, 0.0) == (0.0, 0)


@given(st.floats(0, 1), st.floats(LEAST_ODDS, MOST_ODDS))
def test_odds_mean_here_what_they_mean_where_they_are_learned(quality: float, odds: float) -> None:
    assert adjusted(quality, odds) == pytest.approx(linkmodel.adjusted(quality, odds))
    assert 0 <= adjusted(quality, odds) <= 1 + 1e-9
    assert adjusted(quality, 1.0) == quality


@given(st.integers(1, QUALITY_STEPS), st.floats(LEAST_ODDS, MOST_ODDS))
def test_odds_never_change_the_order_within_a_server(step: int, odds: float) -> None:
    assert adjusted((step - 1) / QUALITY_STEPS, odds) < adjusted(step / QUALITY_STEPS, odds)


@pytest.mark.parametrize(("odds", "expected"), [(1e-300, LEAST_ODDS), (1e300, MOST_ODDS), (0.3, 0.3)])
def test_odds_are_bounded(odds: float, expected: float) -> None:
    assert bounded_odds(odds) == expected


def test_odds_multiply_what_speaks_for_each_url_against_what_speaks_against_it() -> None:
    assert adjusted(0.5, 3.0) == 0.75
    assert adjusted(0.25, 3.0) == 0.5
    assert (adjusted(0.0, 3.0), adjusted(1.0, 3.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("policy", "even", "rich"), [(Policy.QUALITY, 0.5, 0.75), (Policy.CAPABILITY, 1 / 3, 0.5)])
def test_odds_of_a_server_move_its_rank(policy: Policy, even: float, rich: float) -> None:
    rules, server = Rules(policy=policy), Estimates(2, 250.0, 1000.0, 0.0)
    assert rank(rules, server, 1, [0.5, 0.25]) == even
    assert rank(rules, replace(server, odds=3.0), 1, [0.5, 0.25]) == rich


def test_odds_of_a_server_change_how_long_one_stays() -> None:
    values = [0.9, 0.5, 0.5]
    assert lease_length(Rules(), Estimates(50, 100.0, 1000.0, 0.0), values) == 1
    assert lease_length(Rules(), Estimates(50, 100.0, 1000.0, 0.0, odds=20.0), values) == 3


@pytest.mark.parametrize("policy", [Policy.BREADTH_FIRST, Policy.PERFORMANCE])
@given(estimates, qualities)
def test_odds_are_nothing_to_policies_that_know_no_quality(
    policy: Policy, server: Estimates, values: list[float]
) -> None:
    plain = replace(server, odds=1.0)
    assert rank(Rules(policy=policy), server, 1, values) == rank(Rules(policy=policy), plain, 1, values)
    assert lease_length(Rules(policy=policy), server, values) == lease_length(Rules(policy=policy), plain, values)


@given(qualities, seconds, seconds, seconds)
def test_no_other_length_has_a_better_rate(
    values: list[float], connection_time: float, response_time: float, pause: float
) -> None:
    best, length = capability_rank(values, connection_time, response_time, pause)
    assert 1 <= length <= len(values)
    total = 0.0
    for pages, quality in enumerate(values, start=1):
        total += quality
        rate = total / connection_seconds(pages, connection_time, response_time, pause)
        assert rate < best or (rate == best and pages <= length)


@given(exact_qualities, exact_seconds, exact_seconds, exact_seconds)
def test_marginal_value_of_the_last_page_is_at_least_the_rate_and_of_the_next_one_less(
    values: list[float], connection_time: float, response_time: float, pause: float
) -> None:
    _, length = capability_rank(values, connection_time, response_time, pause)
    each = Fraction(response_time) + Fraction(pause)
    rate = sum(map(Fraction, values[:length])) / (2 * Fraction(connection_time) + length * each - Fraction(pause))
    if length > 1:
        assert Fraction(values[length - 1]) / each >= rate
    if length < len(values):
        assert Fraction(values[length]) / each < rate


@given(exact_qualities, exact_seconds, exact_seconds, exact_seconds, exact_seconds)
def test_cheaper_connections_are_left_sooner(
    values: list[float], one: float, other: float, response_time: float, pause: float
) -> None:
    cheap, dear = sorted((one, other))
    assert (
        capability_rank(values, cheap, response_time, pause)[1]
        <= capability_rank(values, dear, response_time, pause)[1]
    )


@given(exact_qualities, exact_seconds, exact_seconds, exact_seconds)
def test_pause_longer_than_closing_and_opening_is_never_sat_out(
    values: list[float], connection_time: float, response_time: float, more: float
) -> None:
    best_first = [values[0] + 1 / 16, *values]
    assert capability_rank(best_first, connection_time, response_time, 2 * connection_time + more)[1] == 1


@given(st.sampled_from(Policy), estimates, st.integers(1, 10**9), qualities)
def test_rank_is_not_negative_but_for_turns(policy: Policy, server: Estimates, order: int, values: list[float]) -> None:
    value = rank(Rules(policy=policy), server, order, sorted(values, reverse=True))
    assert value == -order if policy is Policy.BREADTH_FIRST else value >= 0


@given(st.sampled_from(Policy), estimates, milliseconds, qualities)
def test_longer_crawl_delay_never_raises_the_rank(
    policy: Policy, server: Estimates, more: float, values: list[float]
) -> None:
    rules = Rules(policy=policy)
    slower = replace(server, delay_ms=server.delay_ms + more)
    assert rank(rules, slower, 1, values) <= rank(rules, server, 1, values)


@given(st.sampled_from(Policy), estimates, qualities)
def test_lease_is_never_empty_nor_longer_than_the_connection(
    policy: Policy, server: Estimates, values: list[float]
) -> None:
    most = min(server.requests_per_connection, len(values))
    length = lease_length(Rules(policy=policy), server, values)
    relaxed = lease_length(Rules(policy=policy), server, values, contested=False)
    assert 1 <= length <= relaxed <= most


def test_lease_that_nobody_waits_for_is_longer_only_by_what_crawl_delays_took_from_it() -> None:
    values = [0.5] * 50
    assert lease_length(Rules(), Estimates(50, 100.0, 300.0, 1000.0), values) == 1
    assert lease_length(Rules(), Estimates(50, 100.0, 300.0, 1000.0), values, contested=False) == 3
    dull = [0.5, 0.5, *[0.0] * 48]
    assert lease_length(Rules(), Estimates(50, 100.0, 300.0, 0.0), dull) == 2
    assert lease_length(Rules(), Estimates(50, 100.0, 300.0, 0.0), dull, contested=False) == 2
    assert lease_length(Rules(), Estimates(50, 100.0, 300.0, 1000.0), dull, contested=False) == 2


@given(st.sampled_from(Policy), estimates, qualities)
def test_server_that_makes_one_wait_longer_than_a_connection_lasts_gets_one_url(
    policy: Policy, server: Estimates, values: list[float]
) -> None:
    rules = Rules(policy=policy, keep_open_ms=max(server.delay_ms, 0.001))
    patient = replace(server, delay_ms=rules.keep_open_ms)
    assert lease_length(rules, patient, values) == 1


def test_without_a_bound_on_keeping_open_a_long_delay_does_not_shorten_the_lease() -> None:
    slow = Estimates(50, 100.0, 300.0, 86_400_000.0)
    assert lease_length(Rules(policy=Policy.QUALITY, keep_open_ms=0), slow, [0.5] * 9) == 9


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy.BREADTH_FIRST, -7.0),
        (Policy.PERFORMANCE, 2 / 3),
        (Policy.QUALITY, 1.0),
        (Policy.CAPABILITY, 0.5),
    ],
)
def test_each_policy_ranks_by_its_own_formula(policy: Policy, expected: float) -> None:
    server = Estimates(requests_per_connection=2, connection_ms=500.0, response_ms=1000.0, delay_ms=0.0)
    assert rank(Rules(policy=policy), server, 7, [1.0, 0.25, 1.0]) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(Policy.BREADTH_FIRST, 2), (Policy.PERFORMANCE, 2), (Policy.QUALITY, 2), (Policy.CAPABILITY, 1)],
)
def test_only_capability_leaves_early(policy: Policy, expected: int) -> None:
    server = Estimates(requests_per_connection=2, connection_ms=500.0, response_ms=1000.0, delay_ms=0.0)
    assert lease_length(Rules(policy=policy), server, [1.0, 0.25, 1.0]) == expected
