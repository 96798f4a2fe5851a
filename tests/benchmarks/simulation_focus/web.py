"""A stored web: its pages by number, where their files are, and which page a URL leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from extensions.urls import Canonicaliser

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PAGES, REDIRECTS = "pages.tsv", "redirects.tsv"
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class StoredPage:
    """One page: its canonical URL without scheme, its file within the folder, and the charset its server declares."""

    name: str
    file: str
    charset: str | None


class StoredWeb:
    """Pages below one folder, laid out as ``<host>/<path>``. A page's number is its place in `pages`.

    With `tables` (a folder with pages.tsv and redirects.tsv: URL without scheme, file, media type, charset; old URL, new URL) those say what
    there is; without, every file is a page under its own path. http and https are one, as they are for most servers.
    """

    def __init__(self, folder: Path, tables: Path | None = None) -> None:
        self.folder = folder
        self._canonical = Canonicaliser(())
        self.pages = list(self._listed(tables) if tables else self._walked())
        self._number = {page.name: number for number, page in enumerate(self.pages)}
        self.server_names = sorted({page.name.partition("/")[0] for page in self.pages})
        order = {name: number for number, name in enumerate(self.server_names)}
        self.server = [order[page.name.partition("/")[0]] for page in self.pages]
        """The server's number, for each page."""
        if tables:
            self._redirect(tables / REDIRECTS)

    def number(self, url: str) -> int:
        """The page that an absolute URL leads to, old names and folders' index pages included; -1 if it leads out of this web."""
        name = self.name(url)
        found = self._number.get(name, -1)
        return self._number.get(name + INDEX, -1) if found < 0 and name.endswith("/") else found

    def url(self, number: int) -> str:
        """The canonical URL of a page."""
        return f"https://{self.pages[number].name}"

    def name(self, url: str) -> str:
        """The canonical URL without its scheme; empty for what cannot be crawled."""
        return (self._canonical(url) or "").partition("://")[2]

    def body(self, number: int) -> bytes:
        """The page as stored."""
        return (self.folder / self.pages[number].file).read_bytes()

    def _walked(self) -> Iterable[StoredPage]:
        for path in sorted(self.folder.rglob("*.htm*")):
            file = path.relative_to(self.folder).as_posix()
            yield StoredPage(self.name(f"https://{file}"), file, None)

    def _listed(self, tables: Path) -> Iterable[StoredPage]:
        for line in (tables / PAGES).read_text("utf-8").splitlines():
            url, file, _, charset = line.split("\t")[:4]
            yield StoredPage(self.name(f"https://{url}"), file, None if charset.startswith("none/") else charset)

    def _redirect(self, table: Path) -> None:
        if not table.exists():
            return
        for line in table.read_text("utf-8").splitlines():
            old, new = (self.name(f"https://{url}") for url in line.split("\t")[:2])
            if old not in self._number and new in self._number:
                self._number[old] = self._number[new]
