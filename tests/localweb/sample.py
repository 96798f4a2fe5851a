"""Builds the sample web: some hundred servers of real pages, from the documentation installed with this Python.

Nobody's text is redistributed and no network is needed: modules are rendered by pydoc, and each distribution's own description is
its server's home page. The web is kept in a folder and built anew when Python, the installed distributions or the builder change.
``http://www.python.test/`` links to every server.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.localweb import sample_pages as pages
from tests.localweb.catalogue import HUB, Server, servers
from tests.localweb.renderer import Result, Task, render
from tests.localweb.sample_links import Links
from tests.localweb.web import write_site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

FOLDER = Path(".scrapy/sampleweb")
MODULES_PER_SERVER = 32
PAGE_CHARACTERS = 500_000  # a few modules inherit so much that their page is many times longer than any on the real web
BUILDER = ("catalogue.py", "render_worker.py", "renderer.py", "sample.py", "sample_links.py", "sample_pages.py")


@dataclass(frozen=True, slots=True)
class SampleWeb:
    """A sample web on disk: `folder` is what `LocalWeb` serves, `skipped` says why a module has no page."""

    folder: Path
    servers: int
    pages: int
    seconds: float
    skipped: dict[str, str] = field(default_factory=dict)
    reused: bool = False

    seeds = (f"{HUB}/",)

    def describe(self) -> str:
        """One line about it."""
        how = "kept from before" if self.reused else f"built in {self.seconds:.0f} s"
        return f"{self.pages:,} pages on {self.servers} servers, {how}, {len(self.skipped)} modules left out"


def build(
    folder: Path | str = FOLDER,
    *,
    distributions: Collection[str] | None = None,
    areas: Collection[str] | None = None,
    limit: int = MODULES_PER_SERVER,
    workers: int = 2,
    timeout_seconds: float = 15.0,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, all_: None,
) -> SampleWeb:
    """The sample web in `folder`, built if need be: all of it, or only some distributions and areas (by server name)."""
    folder = Path(folder)
    fingerprint = _fingerprint(distributions, areas, limit)
    if not fresh and (kept := _kept(folder, fingerprint)):
        return kept
    began = time.monotonic()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        found = servers(distributions, areas, limit)
        tasks = _tasks(found)
        results = dict(
            zip(
                map(_key, tasks),
                render(tasks, workers=workers, timeout_seconds=timeout_seconds, progress=progress),
                strict=True,
            )
        )
        written = _write(part / "web", found, results)
        facts = {
            "servers": len(found) + 1,
            "pages": written,
            "seconds": round(time.monotonic() - began, 1),
            "skipped": {key: why for key, result in sorted(results.items()) if (why := _fault(result))},
        }
        (part / "sample.json").write_text(json.dumps({"fingerprint": fingerprint, **facts}, indent=1), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return SampleWeb(folder / "web", **facts)  # type: ignore[arg-type]  # the values are as the fields


def print_progress(done: int, every: int) -> None:
    """Progress on one line of a terminal; now and then a line of its own elsewhere."""
    if sys.stderr.isatty():
        print(
            f"\rSample web: {done} of {every} documents rendered",
            end="\n" if done == every else "",
            file=sys.stderr,
            flush=True,
        )
    elif done % 250 == 0 or done == every:
        print(f"Sample web: {done} of {every} documents rendered", file=sys.stderr, flush=True)


def _kept(folder: Path, fingerprint: str) -> SampleWeb | None:
    try:
        facts = json.loads((folder / "sample.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if facts.pop("fingerprint", None) != fingerprint:
        return None
    return SampleWeb(folder / "web", reused=True, **facts)


def _fingerprint(*parameters: Any) -> str:
    here = Path(__file__).parent
    installed = sorted(f"{item.name}=={item.version}" for item in metadata.distributions())
    parts = [
        sys.version,
        sys.prefix,
        *installed,
        *(str(sorted(p) if isinstance(p, (list, tuple, set)) else p) for p in parameters),
    ]
    digest = hashlib.sha256("\n".join(parts).encode())
    for name in BUILDER:
        digest.update((here / name).read_bytes())
    return digest.hexdigest()


def _tasks(found: list[Server]) -> list[Task]:
    tasks: list[Task] = []
    for server in found:
        if server.distribution:
            tasks.append({"description": server.distribution})
        tasks += [{"module": module} for module in server.modules]
    return tasks


def _key(task: Task) -> str:
    return task.get("module") or f"description of {task['description']}"


def _fault(result: Result) -> str | None:
    if "error" in result:
        return str(result["error"])
    return "its page is too long" if len(result["html"]) > PAGE_CHARACTERS else None


def _write(web: Path, found: list[Server], results: dict[str, Result]) -> int:
    """Write all pages; how many there are."""
    good = {key: result for key, result in results.items() if not _fault(result)}
    synopses = {key: result["synopsis"] for key, result in good.items()}
    links = Links(found, good)
    count = 0

    def write(server: Server, site: dict[str, str]) -> None:
        nonlocal count
        count += len(site)
        write_site(web, server.host, site)
        if rules := pages.robots(server):
            write_site(web, server.host, {"/robots.txt": rules})

    for server in found:
        modules = [module for module in server.modules if module in good]
        site = {f"/{name}.html": pages.module_page(server, name, good[name], links, synopses) for name in modules}
        uses = [used for name in modules for used in good[name]["uses"]]
        description = good.get(f"description of {server.distribution}", {}).get("html", "")
        site["/"] = pages.home_page(server, description, links, synopses, pages.related(server, found, uses))
        if server.distribution:
            site["/about/"] = pages.about_page(server)
        write(server, site)
    write(pages.HUB_SERVER, dict(pages.hub_pages(found)))
    return count
