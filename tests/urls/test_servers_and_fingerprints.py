from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.urls import Canonicaliser, fingerprint, host_port, join_server, partition_of, split_server
from tests.urls.test_canonical import urls


@given(urls)
def test_server_and_member_make_the_canonical_url_again(url: str) -> None:
    canonical = Canonicaliser([])(url)
    assert canonical is not None
    server, member = split_server(canonical)
    assert member.startswith("/")
    assert "/" not in server.partition("://")[2]
    assert join_server(server, member) == canonical


@pytest.mark.parametrize(
    ("canonical", "server", "member", "address"),
    [
        ("https://example.org/", "https://example.org", "/", ("example.org", 443)),
        ("http://h/a?b=/c", "http://h", "/a?b=/c", ("h", 80)),
        ("http://example.org:8080//a", "http://example.org:8080", "//a", ("example.org", 8080)),
        ("https://[::1]/", "https://[::1]", "/", ("::1", 443)),
        ("https://[::1]:8443/", "https://[::1]:8443", "/", ("::1", 8443)),
    ],
)
def test_a_server_is_scheme_host_and_port(canonical: str, server: str, member: str, address: tuple[str, int]) -> None:
    assert split_server(canonical) == (server, member)
    assert host_port(server) == address


def test_pages_of_one_server_share_the_first_half_and_root_pages_of_two_share_neither() -> None:
    one, two, other = (fingerprint(*pair) for pair in [("http://a", "/"), ("http://a", "/b"), ("http://b", "/")])
    assert len(one) == 16
    assert one[:8] == two[:8] != other[:8]
    assert len({one[8:], two[8:], other[8:]}) == 3


def test_a_fingerprint_does_not_change_between_releases() -> None:
    """It is in every seen-set there is: whoever changes it makes every crawl begin anew."""
    assert fingerprint("https://example.org", "/a?b=c").hex() == "75b6bd70030885c4de2c7869edad2408"


def test_servers_spread_evenly_over_partitions() -> None:
    count = Counter(partition_of(f"https://host{number}.example", 8) for number in range(8000))
    assert sorted(count) == list(range(8))
    assert max(count.values()) < 1.15 * min(count.values())


@given(st.text(max_size=20), st.text(max_size=20), st.integers(1, 4096))
def test_a_page_is_in_the_partition_of_its_server(server: str, member: str, partitions: int) -> None:
    partition = partition_of(server, partitions)
    assert partition == partition_of(fingerprint(server, member), partitions)
    assert 0 <= partition < partitions
