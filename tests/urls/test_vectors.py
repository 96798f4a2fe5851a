"""The URL standard's own test data, where it is at hand: which hosts exist, and how they are spelled."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from extensions.urls import Canonicaliser, host_port, split_server
from extensions.urls.hosts import canonical_host

SHARED = Path(os.environ.get("TOPICSPIDER_SHARED") or Path(__file__).parents[2].parent / "shared")
VECTORS = SHARED / "vectors" / "url"

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="no URL test vectors in TOPICSPIDER_SHARED")

canonicalise = Canonicaliser([])


def load(name: str) -> list[dict[str, Any]]:
    return [case for case in json.loads((VECTORS / name).read_text("utf-8", "surrogatepass")) if isinstance(case, dict)]


def dns_can_hold(host: str) -> bool:
    """The rule that `hosts` adds to the standard."""
    host = host.removesuffix(".")
    return (
        len(host) <= 253 and re.fullmatch(r"(?:[a-z0-9_-]{1,63}(?:\.|\Z))+", host + ".") is not None
    ) or host.startswith("[")


def test_hosts_and_ports_are_those_of_the_url_standard() -> None:
    checked = 0
    for case in load("urltestdata.json"):
        url = case["input"]
        if not re.match(r"\s*https?:[/\\]{2}", url, re.IGNORECASE):
            continue
        canonical = canonicalise(url)
        if case.get("failure") and "xn--" in url.lower():
            continue  # toascii.json, the newer of the two, lets punycode pass that stands for nothing
        if case.get("failure") or not dns_can_hold(case["hostname"]) or case["port"] == "0":
            assert canonical is None, url
        else:
            assert canonical is not None, url
            server, member = split_server(canonical)
            assert host_port(server)[0] == case["hostname"].removesuffix(".").strip("[]"), url
            assert host_port(server)[1] == int(case["port"] or {"http:": 80, "https:": 443}[case["protocol"]]), url
            assert member.startswith("/")
            # The standard leaves escapes as they are written, so paths are compared as the canonical URL of its result.
            assert canonicalise(case["href"]) == canonical, url
        checked += 1
    assert checked > 300


def test_international_names_are_encoded_as_the_url_standard_does() -> None:
    checked = 0
    for case in load("toascii.json"):
        expected = case["output"]
        got = canonical_host(case["input"])
        if expected is None or not dns_can_hold(expected):
            assert got is None, case
        else:
            assert got == expected.removesuffix("."), case
        checked += 1
    assert checked > 50


def test_names_that_unicode_calls_valid_are_encoded_as_unicode_does() -> None:
    checked = differing = 0
    for line in (VECTORS / "IdnaTestV2.txt").read_text("utf-8").splitlines():
        columns = [column.strip() for column in line.partition("#")[0].split(";")]
        if len(columns) < 5:
            continue
        source, unicode, unicode_status, ascii_name, ascii_status = (
            re.sub(r"\\u([0-9A-F]{4})|\\x\{([0-9A-F]+)\}", lambda found: chr(int(found[1] or found[2], 16)), column)
            for column in columns[:5]
        )
        unicode = unicode or source
        expected = ascii_name or unicode
        valid = (ascii_status or unicode_status or "[]") == "[]"
        if (
            not valid
            or source == '""'
            or expected == '""'
            or not dns_can_hold(expected)
            or re.search(r"(^|\.)\d+\.?$", expected)
        ):
            continue
        checked += 1
        differing += canonical_host(source) != expected.removesuffix(".")
    assert checked > 500
    assert differing == 0
