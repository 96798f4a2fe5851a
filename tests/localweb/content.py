"""The pages of the local web: which file, media type or redirect answers a URL.

Pages lie in folders as ``FOLDER/<host>/<path>``; a directory answers with its ``index.html``. Two tables may say more, as they
come with a collection of pages: ``pages.tsv`` (URL without scheme, file, media type, …) and ``redirects.tsv`` (old URL, new
URL). Media types name no charset, as on many real servers. Files are read once and again when they change.
"""

from __future__ import annotations

import mimetypes
from collections import OrderedDict
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CACHE_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class Page:
    """An answer before any fault: `location` is set for redirects only."""

    status: int
    media_type: str
    body: bytes
    location: str | None = None


class FileCache:
    """Contents of files, the least recently used forgotten first; a changed file is read anew."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._files: OrderedDict[Path, tuple[tuple[int, int], bytes]] = OrderedDict()

    def read(self, path: Path) -> bytes:
        """The file's bytes; `OSError` if there is no such file."""
        stat = path.stat()
        version = (stat.st_mtime_ns, stat.st_size)
        known = self._files.get(path)
        if known is not None:
            if known[0] == version:
                self._files.move_to_end(path)
                return known[1]
            self._forget(path)
        body = path.read_bytes()
        self._files[path] = (version, body)
        self._bytes += len(body)
        while self._bytes > self._most_bytes and len(self._files) > 1:
            self._forget(next(iter(self._files)))
        return body

    def _forget(self, path: Path) -> None:
        self._bytes -= len(self._files.pop(path)[1])


class Content:
    """All pages of all hosts: those of the tables first, then those of the folders in order."""

    def __init__(self, folders: Sequence[Path], tables: Path | None = None) -> None:
        self._folders = list(folders)
        self._cache = FileCache()
        pages = _table(tables / "pages.tsv") if tables else {}
        self._pages = {url: (row[0], row[1]) for url, row in pages.items()}
        self._redirects = {url: row[0] for url, row in (_table(tables / "redirects.tsv") if tables else {}).items()}
        self._hosts = {url.partition("/")[0] for url in self._pages}

    def find(self, scheme: str, host: str, target: str) -> Page:
        """The answer to a request: 200, 301, 404 for an unknown path, 502 for an unknown host."""
        found = self._in_tables(scheme, host, target) or self._in_folders(host, target)
        if found is not None:
            return found
        known = host in self._hosts or bool(self._folders_of(host))
        return plain_answer(HTTPStatus.NOT_FOUND if known else HTTPStatus.BAD_GATEWAY)

    def _in_tables(self, scheme: str, host: str, target: str) -> Page | None:
        if host not in self._hosts:
            return None
        for url in dict.fromkeys((host + target, host + unquote(target))):
            for candidate in (url, url + "index.html") if url.endswith("/") else (url,):
                if candidate in self._pages:
                    file, media_type = self._pages[candidate]
                    body = self._first_of([folder / file for folder in self._folders])
                    return None if body is None else Page(HTTPStatus.OK, media_type, body)
            if url in self._redirects:
                return redirect(HTTPStatus.MOVED_PERMANENTLY, f"{scheme}://{self._redirects[url]}")
        return None

    def _in_folders(self, host: str, target: str) -> Page | None:
        path, _, query = target.partition("?")
        parts = unquote(path).split("/")
        if any(part in ("..", ".") or "\0" in part for part in parts):
            return None
        for folder in self._folders_of(host):
            file = folder.joinpath(*parts)
            if _is_dir(file):
                if not path.endswith("/"):
                    return redirect(HTTPStatus.MOVED_PERMANENTLY, f"{path}/{'?' + query if query else ''}")
                file /= "index.html"
            elif path.endswith("/"):
                continue
            body = self._first_of([file])
            if body is not None:
                guess = mimetypes.guess_type(file.name)[0] if file.suffix else "text/html"
                media_type = guess or "application/octet-stream"
                return Page(HTTPStatus.OK, media_type, body)
        return None

    def _folders_of(self, host: str) -> list[Path]:
        if not host or "/" in host or host.startswith("."):
            return []
        return [folder / host for folder in self._folders if _is_dir(folder / host)]

    def _first_of(self, files: list[Path]) -> bytes | None:
        for file in files:
            try:
                return self._cache.read(file)
            except OSError:  # not here, a directory, or a name too long for the file system
                continue
        return None


def phrase(status: int) -> str:
    """What the status means, in the words of its standard; tests may ask for statuses that have none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Answer"


def plain_answer(status: int, body: str = "") -> Page:
    """A small page that says the status, or `body`."""
    text = body or f"<!DOCTYPE html><title>{status} {phrase(status)}</title><h1>{phrase(status)}</h1>"
    return Page(status, "text/html", text.encode())


def redirect(status: int, location: str) -> Page:
    """A redirect, with the small page that some servers send along."""
    return Page(status, "text/html", plain_answer(status).body, location)


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long for the file system
        return False


def _table(file: Path) -> dict[str, list[str]]:
    with file.open(encoding="utf-8", errors="surrogateescape") as lines:
        return {row[0]: row[1:] for row in (line.rstrip("\n").split("\t") for line in lines)}
