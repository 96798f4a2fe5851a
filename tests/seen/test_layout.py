from __future__ import annotations

import hashlib
import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.seen import SeenLayout
from extensions.seen.layout import INTSET_LIMIT, MEAN_AT_MOST
from extensions.urls import fingerprint

layouts = st.builds(SeenLayout.for_expected, st.integers(1, 10**11), st.integers(1, 4096))


@given(layouts, st.binary(max_size=40))
def test_every_fingerprint_has_a_place(layout: SeenLayout, mark: bytes) -> None:
    bucket, remainder = layout.place(mark)
    assert 0 <= bucket < layout.buckets_per_partition
    assert -(2**31) <= remainder < 2**31
    assert layout.place(mark) == (bucket, remainder)


@given(layouts, st.binary(min_size=16, max_size=16))
def test_place_keeps_the_bits_it_promises(layout: SeenLayout, mark: bytes) -> None:
    """Bucket and remainder are the first and the last bits of the URL's half: none is used twice."""
    bucket, remainder = layout.place(mark)
    half = int.from_bytes(mark[8:], "big")
    assert bucket == half >> (64 - layout.bits)
    assert struct.pack(">i", remainder) == mark[12:]


@given(st.integers(1, 10**11), st.integers(1, 4096))
def test_a_layout_is_as_small_as_the_mean_allows(expected: int, partitions: int) -> None:
    layout = SeenLayout.for_expected(expected, partitions)
    buckets = partitions * layout.buckets_per_partition
    assert expected / buckets <= MEAN_AT_MOST
    assert layout.bits == 0 or expected / (buckets / 2) > MEAN_AT_MOST


def test_a_million_urls_fill_intset_buckets_evenly() -> None:
    layout = SeenLayout.for_expected(1_000_000)
    assert layout.bits == 12
    share = layout.buckets_per_partition // 16
    places = [layout.place(fingerprint("https://example.org", f"/{number}")) for number in range(1_000_000 // 16)]
    # A sixteenth of the URLs, folded onto a sixteenth of the buckets: as full as all URLs make all buckets.
    count = Counter(bucket % share for bucket, _ in places)
    assert len(count) == share
    assert max(count.values()) < INTSET_LIMIT
    assert len(set(places)) == len(places)


def test_fingerprints_of_other_lengths_spread_too() -> None:
    layout = SeenLayout(bits=4)
    count = Counter(layout.place(hashlib.sha1(str(number).encode()).digest())[0] for number in range(3200))
    assert sorted(count) == list(range(16))
    assert min(count.values()) > 120


def test_false_seen_probability_is_that_of_the_bits() -> None:
    assert SeenLayout(bits=12).false_seen_probability(1_000_000) == 1_000_000 / 2**44
    assert SeenLayout(bits=10, partitions=4).false_seen_probability(1_000_000) == 1_000_000 / 2**44


@pytest.mark.parametrize(("bits", "partitions"), [(-1, 1), (33, 1), (0, 0)])
def test_an_impossible_layout_is_refused(bits: int, partitions: int) -> None:
    with pytest.raises(ValueError, match="bucket bits"):
        SeenLayout(bits, partitions)
