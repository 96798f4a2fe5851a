"""Links of a page as absolute URLs: the cheapest resolution that is right, and nothing that no request can be made of."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

MAX_URL = 4_096
"""Characters. Few servers accept more than twice that; what is longer than this is a mistake or a trap."""

_PLAIN_ABSOLUTE = re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})(?::[0-9]{1,4})?(?=[/?#]|\Z)")
# No slash or dot where it would mean a folder; nothing that has to be cleaned, no scheme, no query.
_PLAIN_RELATIVE = re.compile(r"((?:\.\./)*+)(?!/)((?:[A-Za-z0-9_/~%+=&;,@!$()*'-]++|\.(?![/#]|\Z))++)(?:#[!-\[\]-~]*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FETCHED = {"http:", "https:"}
_NO_HOST = re.compile(r"(?:https?:)?//(?:[/?]|\Z)", re.IGNORECASE)  # urljoin takes it for the base
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|\Z)")
_HOST_FORBIDS = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^`{|}\"]")


class Link(NamedTuple):
    """One link of a page.

    `url` is absolute, without fragment, and not canonical yet: the spelling of the page. `anchor` is the text of the link (of an image, what
    stands for it), `context` the words before and after it. `nofollow` is true if every link of the page to this URL says so. (A tuple, as it is made in a third of the time of a frozen dataclass.)
    """

    url: str
    anchor: str
    context: str
    nofollow: bool


class Resolver:
    """Resolves the references of one page against its base URL, as RFC 3986 and browsers do."""

    __slots__ = ("_above", "_base", "_folder", "_origin", "_path")

    def __init__(self, base: str) -> None:
        """`base` is an absolute http or https URL; raises `ValueError` otherwise."""
        if not _is_fetchable(base):
            raise ValueError(f"not an absolute http URL: {base[:100]!r}")
        parts = urlsplit(base)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        path = parts.path or "/"
        self._path = self._origin + path
        self._folder = self._origin + path[: path.rfind("/") + 1]
        self._above = [] if _DOTS.search(path) else _folders_above(self._folder, len(self._origin))
        self._base = base.partition("#")[0]

    def resolve(self, reference: str) -> str | None:
        """The absolute URL without its fragment; "" for what leads to no page (a bare fragment, `mailto:`); None for a broken one (`javascript:` included)."""
        # Most references are plain paths; everything else takes a careful way.
        plain = _PLAIN_RELATIVE.fullmatch(reference)
        if plain is not None and self._above:
            up, path = plain.groups()
            joined = self._above[min(len(up) // 3, len(self._above) - 1)] + path
            return joined if len(joined) <= MAX_URL else None
        if not reference.isprintable() or "\\" in reference or " " in reference:
            reference = _cleaned(reference)
            if _CONTROL.search(reference):
                return None
        reference = reference.partition("#")[0]
        scheme = _SCHEME.match(reference) if ":" in reference else None
        if not reference or (scheme and scheme[0].lower() not in _FETCHED):
            return None if scheme and scheme[0].lower() == "javascript:" else ""
        url = self._joined(reference) if len(reference) <= MAX_URL else None
        return url if url is not None and len(url) <= MAX_URL else None

    def _joined(self, reference: str) -> str | None:
        if _PLAIN_ABSOLUTE.match(reference):
            return reference
        if reference[0] == "/" and not reference.startswith("//"):
            return self._origin + reference
        if (":" in reference and _SCHEME.match(reference)) or reference.startswith("//"):
            return self._careful(reference)
        if reference[0] == "?":
            return self._path + reference
        if "./" in reference or reference[-1] == ".":
            return self._up(reference)
        return self._folder + reference

    def _up(self, reference: str) -> str | None:
        """A reference to a folder above, as documentation is full of; others with dots in them take the careful way."""
        up = 0
        while reference.startswith("../", 3 * up):
            up += 1
        rest = reference[3 * up :]
        if not (up and self._above) or "./" in rest or rest.endswith("."):
            return self._careful(reference)
        return self._above[min(up, len(self._above) - 1)] + rest

    def _careful(self, reference: str) -> str | None:
        if _NO_HOST.match(reference):
            return None
        try:
            url = urljoin(self._base, reference)
        except ValueError:
            return None
        return url if _is_fetchable(url) else None


def _folders_above(folder: str, root: int) -> list[str]:
    """The folder itself, the one above it, and so on to the root, which begins at index `root`."""
    folders = [folder]
    while (end := folder.rfind("/", root, len(folder) - 1)) >= 0:
        folder = folder[: end + 1]
        folders.append(folder)
    return folders


def _cleaned(reference: str) -> str:
    """Without the white space that browsers drop, and with the slashes of a path the right way round."""
    reference = reference.strip("\x00\t\n\f\r \xa0\u3000").translate({9: None, 10: None, 13: None})
    path, mark, query = reference.partition("?")
    return path.replace("\\", "/") + mark + query


def _is_fetchable(url: str) -> bool:
    """True for http and https with a host that can be one, and a port that can be one."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        if parts.scheme not in ("http", "https") or not host or parts.port == 0:  # .port raises above 65535
            return False
        if "[" in parts.netloc:
            ipaddress.IPv6Address(host)
            return True
    except ValueError:
        return False
    return not _HOST_FORBIDS.search(host) and ".." not in host and host[0] != "."
