"""Makes the links of rendered pages lead to servers of the sample web.

pydoc links to ``module.html``, descriptions link to project sites. What leads to a page that the sample has, is rewritten to that
page; any other link becomes plain text, so that the sample has no dead ends but its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.localweb.catalogue import Server

MODULE_FILE = re.compile(r"([\w.]+)\.html(#.*)?")
REFERENCE = re.compile(r"docs\.python\.org/.*?/library/([\w.]+)\.html$")
# What can be no part of a page of the sample: it would be fetched from elsewhere.
FOREIGN = "script, style, link, meta, img, picture, source, video, iframe, object, embed, form, base"


class Links:
    """Where each module and each project has its page in the sample."""

    def __init__(self, servers: Iterable[Server], modules: Iterable[str]) -> None:
        rendered = set(modules)
        self._modules: dict[str, str] = {}
        self._projects: dict[str, str] = {}
        for server in servers:
            for module in server.modules:
                if module in rendered:
                    self._modules.setdefault(module, f"{server.url}/{module}.html")
            for url in server.project_urls:
                self._projects.setdefault(_place(url), f"{server.url}/")

    def module(self, name: str) -> str | None:
        """URL of a module's page, if it has one."""
        return self._modules.get(name)

    def target(self, href: str, server: Server) -> str | None:
        """Where a link on a page of `server` leads in the sample; None if it leads out of it."""
        if href.startswith("#"):
            return href
        if href == ".":
            return "/"
        if match := MODULE_FILE.fullmatch(href):
            url = self._modules.get(match[1])
            return url and url.removeprefix(server.url) + (match[2] or "")
        if href.startswith(("http://", "https://")):
            return self._place_of(href)
        return None

    def rewired(self, html: str, server: Server) -> str:
        """The HTML fragment with its links rewritten and everything foreign removed."""
        tree = LexborHTMLParser(f"<body>{html}</body>")
        for node in tree.css(FOREIGN):
            node.decompose()
        for node in tree.css("a[href]"):
            url = self.target(node.attributes.get("href") or "", server)
            if url:
                node.attrs["href"] = url
            else:
                node.unwrap(delete_empty=True)  # a badge, whose image is gone, leaves nothing
        return tree.body.inner_html or "" if tree.body else ""

    def _place_of(self, href: str) -> str | None:
        place = _place(href)
        if match := REFERENCE.search(place):
            return self._modules.get(match[1])
        while place:  # the project whose address is the longest beginning of this one
            if place in self._projects:
                return self._projects[place]
            place = place.rpartition("/")[0]
        return None


def _place(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # descriptions are written by hand
        return ""
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}".lower()
