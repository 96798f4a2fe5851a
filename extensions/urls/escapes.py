"""One spelling for every percent-encoded text: the rule that paths and queries share.

What is `safe` stands for itself, so ``%41`` becomes ``A``; everything else is escaped as UTF-8 with upper-case hex. A ``%`` that
begins no escape is a plain per cent sign, ``%25``. Escapes in `kept` stay escapes though the character itself is safe:
``%2F`` in a path is not ``/``. Bytes that are no UTF-8 pass through as the escapes that they are.
"""

from __future__ import annotations

import re
import string
from itertools import product

UNRESERVED = string.ascii_letters + string.digits + "-._~"


class Escapes:
    """Normalises the escapes of one component of a URL. Idempotent; the result is ASCII."""

    __slots__ = ("_spelling", "_wrong")

    def __init__(self, safe: str, kept: str = "", space: str = "%20") -> None:
        safe = UNRESERVED + safe
        self._spelling = {chr(byte): chr(byte) if chr(byte) in safe else f"%{byte:02X}" for byte in range(256)}
        self._spelling[" "] = space
        stays: dict[str, str] = {}
        for digits in map("".join, product(string.hexdigits, repeat=2)):
            character = chr(int(digits, 16))
            upper = digits.upper()
            spelling = f"%{upper}" if character in kept else self._spelling[character]
            self._spelling[f"%{digits}"] = spelling
            if digits == upper and spelling == f"%{upper}":
                stays[upper[0]] = stays.get(upper[0], "") + upper[1]
        canonical = "|".join(f"{high}[{lows}]" for high, lows in stays.items())
        plain = re.escape("".join(character for character in safe if character != " "))
        self._wrong = re.compile(f"%(?!{canonical})(?:[0-9A-Fa-f]{{2}})?|[^%{plain}]")

    def __call__(self, text: str) -> str:
        """The text in its one spelling. It must hold no lone surrogates."""
        if not text.isascii():
            text = text.encode().decode("latin-1")  # one character a byte, as the table has them
        return self._wrong.sub(self._respell, text)

    def _respell(self, found: re.Match[str]) -> str:
        return self._spelling[found[0]]
