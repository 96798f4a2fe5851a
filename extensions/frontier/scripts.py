"""The Lua scripts, ready to send: read from the package (also from inside a zip), known to Redis by their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SHARED = ("common", "payloads", "ranks", "places")


@dataclass(frozen=True, slots=True)
class Script:
    """One verb's source and its SHA-1, under which Redis keeps it."""

    name: str
    source: str
    sha: str


@cache
def script(name: str) -> Script:
    """The script of a verb, with what all of them share in front."""
    folder = files("extensions.frontier") / "lua"
    source = "".join((folder / f"{part}.lua").read_text("utf-8") for part in (*SHARED, name))
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())
