"""The pages of the sample web as HTML: module pages, each server's home and metadata, and the index of all servers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

from tests.localweb.catalogue import HUB, Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.localweb.sample_links import Links

# A few servers with rules of their own, as on any web: large ones that ask for patience, and a folder that is private.
PATIENT = {"docutils", "mypy", "pygments", "setuptools", "encodings"}
HUB_SERVER = Server(HUB, "www", "Python on this machine", [])

Item = tuple[str, str, str]  # URL, text of the link, words after it


def module_page(
    server: Server, module: str, result: Mapping[str, Any], links: Links, synopses: Mapping[str, str]
) -> str:
    """A module's documentation, and which other modules it uses."""
    uses = [name for name in result["uses"] if name != module and links.module(name)]
    items = [(links.module(name) or "", name, synopses.get(name, "")) for name in uses[:40]]
    # With the site's own title behind the page's, as documentation has it everywhere.
    title = f"{result['title'].rstrip('.')} | {server.title}"
    return _page(server, title, links.rewired(result["html"], server) + _list("Uses", items))


def home_page(
    server: Server, description: str, links: Links, synopses: Mapping[str, str], related: Sequence[Server]
) -> str:
    """A server's front page: the description, its upper modules (the others are found from them), and related servers."""
    upper = [name for name in server.modules if name.count(".") < 2 or not links.module(name.rpartition(".")[0])]
    modules = [(url, name, synopses.get(name, "")) for name in upper if (url := links.module(name))]
    parts = [f"<h1>{escape(server.title)}</h1>", links.rewired(description, server)]
    parts.append(_list("Modules", [(url.removeprefix(server.url), name, words) for url, name, words in modules]))
    parts.append(_list("Related", [(f"{other.url}/", other.name, other.title) for other in related]))
    if server.distribution:
        parts.append('<p><a href="/about/">About this release</a></p>')
    return _page(server, server.title, "".join(parts))


def about_page(server: Server) -> str:
    """A distribution's metadata."""
    rows = [("Version", server.version), *(("Requires", name) for name in server.requires)]
    table = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows)
    groups = [(f"{HUB}/classifiers/{slug(name)}.html", name, "") for name in server.classifiers if shared(name)]
    return _page(
        server, f"About {server.name} {server.version}", f"<table>{table}</table>{_list('Classifiers', groups)}"
    )


def hub_pages(servers: Sequence[Server]) -> Iterator[tuple[str, str]]:
    """Path and HTML of each page of the index server: together they link to every server."""
    library = [server for server in servers if not server.distribution]
    packages = [server for server in servers if server.distribution]
    groups: defaultdict[str, list[Server]] = defaultdict(list)
    for server in packages:
        for name in filter(shared, server.classifiers):
            groups[name].append(server)
    parts = [
        ("/library.html", "Standard library", f"{len(library)} servers"),
        ("/packages.html", "Installed packages", f"{len(packages)} servers"),
    ]
    subjects = [(f"/classifiers/{slug(name)}.html", name, f"{len(groups[name])} packages") for name in sorted(groups)]
    body = f"<h1>{HUB_SERVER.title}</h1><p>Documentation of everything that is installed.</p>"
    yield "/", _page(HUB_SERVER, HUB_SERVER.title, body + _list("All", parts) + _list("By subject", subjects))
    yield "/library.html", _page(HUB_SERVER, "The standard library", _list("Standard library", _items(library)))
    yield "/packages.html", _page(HUB_SERVER, "Installed packages", _list("Packages", _items(packages)))
    for name, members in groups.items():
        yield f"/classifiers/{slug(name)}.html", _page(HUB_SERVER, name, _list(name, _items(members)))


def robots(server: Server) -> str | None:
    """The server's robots.txt, if it has one."""
    if server is HUB_SERVER:
        return "User-agent: *\nDisallow: /search/\nCrawl-delay: 0\n"
    if server.name in PATIENT:
        return "User-agent: *\nDisallow: /about/\nCrawl-delay: 1\n"
    if server.distribution and server.name[0] in "prs":
        return "User-agent: *\nDisallow: /about/\n"
    return None


def related(server: Server, servers: Sequence[Server], uses: Iterable[str]) -> list[Server]:
    """The servers of what this one requires, of what requires it, and of the modules it uses most."""
    by_module = {module: other for other in servers for module in other.modules}
    counted = Counter(by_module[name].url for name in uses if name in by_module)
    wanted = [url for url, _ in counted.most_common(8)]
    wanted += [other.url for other in servers if other.name in server.requires and other.distribution]
    if server.distribution:
        wanted += [other.url for other in servers if server.name in other.requires]
    by_url = {other.url: other for other in servers}
    return [by_url[url] for url in dict.fromkeys(wanted) if url != server.url]


def shared(classifier: str) -> bool:
    """Whether a classifier says what a package is about."""
    return classifier.startswith(("Topic ::", "Framework ::"))


def slug(name: str) -> str:
    """A classifier as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _items(servers: Iterable[Server]) -> list[Item]:
    return [(f"{server.url}/", server.name, server.title) for server in servers]


def _list(title: str, items: Sequence[Item]) -> str:
    if not items:
        return ""
    lines = "".join(
        f'<li><a href="{escape(url)}">{escape(name)}</a> {escape(words)}</li>\n' for url, name, words in items
    )
    return f"<h2>{escape(title)}</h2>\n<ul>\n{lines}</ul>\n"


def _page(server: Server, title: str, body: str) -> str:
    chinese = len(re.findall(r"[\u4e00-\u9fff]", body)) > 50
    return (
        f'<!DOCTYPE html>\n<html lang="{"zh" if chinese else "en"}">\n<head><meta charset="utf-8">'
        f"<title>{escape(' '.join(title.split()))}</title></head>\n<body>\n"
        f'<nav><a href="/">{escape(server.name)}</a> | <a href="{HUB}/">{HUB_SERVER.title}</a></nav>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
