"""The one spelling of a host: a name as DNS knows it, or an address.

Names follow the URL standard's *domain to ASCII* (https://url.spec.whatwg.org/#host-parsing): UTS #46 without transitional mapping,
so names that browsers open are hosts here too, emoji included; a name in ASCII is taken as it is. Beyond the standard, what DNS cannot hold is no host: empty labels, labels
over 63 characters, names over 253, and characters other than letters, digits, hyphens and underscores. A dot at the end goes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import unquote_to_bytes

import idna

DEFAULT_PORTS = {"http": 80, "https": 443}
LONGEST_NAME = 253
_LONGEST_SPELLING = 12 * LONGEST_NAME
"""Four bytes a character, three characters a byte in escapes."""

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_HEX_NUMBER = re.compile(r"0x[0-9a-f]*")
_NETLOC = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")


@lru_cache(maxsize=16384)
def canonical_server(scheme: str, netloc: str) -> str | None:
    """``scheme://host``, and the port if it is not the scheme's own; None if there is no such server.

    `scheme` is a key of `DEFAULT_PORTS`, `netloc` holds a host and perhaps a port, but no user info.
    """
    parts = _NETLOC.fullmatch(netloc)
    if parts is None or len(netloc) > _LONGEST_SPELLING:
        return None
    host = canonical_host(parts[1])
    digits = (parts[2] or "").lstrip("0")
    if host is None or len(digits) > 5 or (parts[2] and not 0 < int(digits or 0) < 65536):
        return None
    port = int(digits) if digits else DEFAULT_PORTS[scheme]
    return f"{scheme}://{host}" if port == DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


def canonical_host(host: str) -> str | None:
    """The host's one spelling; None if it is none."""
    if host.startswith("["):
        return _ipv6(host[1:-1])
    if "%" in host:
        host = unquote_to_bytes(host).decode("utf-8", "replace")
    try:
        name = _ascii_name(host).removesuffix(".")
    except ValueError:  # idna's and the punycode codec's errors alike
        return None
    last = name.rpartition(".")[2]
    if last.isdigit() or _HEX_NUMBER.fullmatch(last):
        return _ipv4(name)
    return name if len(name) <= LONGEST_NAME and _NAME.fullmatch(name) else None


def _ascii_name(host: str) -> str:
    """Domain to ASCII: mapped by UTS #46, each label checked and in punycode where it needs to be."""
    if host.isascii():
        return host.lower()  # Punycode that stands for nothing is DNS's affair, as the standard has it.
    mapped = idna.uts46_remap(host, std3_rules=False)
    labels = [_unicode_label(label) for label in mapped.split(".")]
    rules_of_direction = any(_is_right_to_left(label) for label in labels)
    return ".".join([_ascii_label(label, check_direction=rules_of_direction) for label in labels])


def _unicode_label(label: str) -> str:
    """The label in Unicode; ValueError if its punycode is not what the label would be encoded as."""
    if not label.startswith("xn--"):
        return label
    decoded = label[4:].encode("ascii").decode("punycode")
    if decoded.isascii() or idna.uts46_remap(decoded, std3_rules=False) != decoded:
        raise ValueError(f"{label} is no valid punycode")
    return decoded


def _ascii_label(label: str, *, check_direction: bool) -> str:
    """One label in ASCII, after the checks of UTS #46, section 4.1."""
    if label.isascii():
        return label
    idna.check_initial_combiner(label)
    for position, character in enumerate(label):
        if character in "\u200c\u200d" and not idna.valid_contextj(label, position):
            raise ValueError(f"a joiner stands where it may not in {label}")
    if check_direction:
        idna.check_bidi(label, check_ltr=True)
    return "xn--" + label.encode("punycode").decode("ascii")


def _is_right_to_left(label: str) -> bool:
    from unicodedata import bidirectional

    return any(bidirectional(character) in ("R", "AL", "AN") for character in label)


def _ipv4(host: str) -> str | None:
    """An IPv4 address from one to four numbers, octal after 0 and hexadecimal after 0x; the last fills what is left."""
    *firsts, last = numbers = [_ipv4_number(part) for part in host.split(".")]
    if len(numbers) > 4 or last is None:
        return None
    address = 0
    for number in firsts:
        if number is None or number > 255:
            return None
        address = address << 8 | number
    room = 8 * (4 - len(firsts))
    if last >= 1 << room:
        return None
    return ".".join(map(str, (address << room | last).to_bytes(4, "big")))


def _ipv4_number(text: str) -> int | None:
    try:
        if _HEX_NUMBER.fullmatch(text):
            return int(text[2:] or "0", 16)
        if not (text.isascii() and text.isdigit()):
            return None
        return int(text, 8 if text.startswith("0") else 10)
    except ValueError:  # an 8 in an octal number, or more digits than Python cares to convert
        return None


def _ipv6(text: str) -> str | None:
    """An IPv6 address in brackets, the longest run of zeros left out (RFC 5952, but always in hexadecimal)."""
    try:
        # Not str(): whether that writes ::ffff:192.0.2.1 in dots depends on Python's version.
        packed = IPv6Address(text).packed if "%" not in text else b""
    except ValueError:
        return None
    if not packed:
        return None
    spelling = ":".join(packed[index : index + 2].hex().lstrip("0") or "0" for index in range(0, 16, 2))
    runs = list(re.finditer(r"\b0(?::0\b)+", spelling))
    if not runs:
        return f"[{spelling}]"
    longest = max(runs, key=lambda run: len(run[0]))
    return f"[{spelling[: longest.start()].removesuffix(':')}::{spelling[longest.end() :].removeprefix(':')}]"
