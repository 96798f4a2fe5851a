"""A path in its one spelling, without dot segments (RFC 3986, section 5.2.4) and without parameters that name a visit.

The characters that a path may hold bare stand for themselves (``Rust_(language)``). ``%2F``, ``%3B``, ``%3F`` and ``%25`` stay
escapes, as they mean something else than the bare character. Empty segments (``//``) are kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from extensions.urls.escapes import Escapes

if TYPE_CHECKING:
    from extensions.urls.parameters import VisitParameters

_respell = Escapes(safe="!$&'()*+,;=:@/", kept="/;")
_PARAMETER = re.compile(r";([^;/=]*)(?:=[^;/]*)?")


def canonical_path(path: str, dropped: VisitParameters) -> str:
    """The path in its one spelling, beginning with a slash."""
    path = _respell(path.replace("\\", "/"))
    if ";" in path:
        path = _PARAMETER.sub(lambda found: "" if found[1] in dropped else found[0], path)
    # Last: an escaped dot (%2E) is a dot by now, and "..;jsessionid=1" is "..".
    return without_dot_segments(path) if "/." in path else path or "/"


def without_dot_segments(path: str) -> str:
    """Resolve ``.`` and ``..`` in a path that begins with a slash; above the root there is only the root."""
    *folders, last = path[1:].split("/")
    way: list[str] = []
    for folder in folders:
        if folder == "..":
            del way[-1:]
        elif folder != ".":
            way.append(folder)
    if last == "..":
        del way[-1:]
    way.append("" if last in (".", "..") else last)
    return "/" + "/".join(way)
