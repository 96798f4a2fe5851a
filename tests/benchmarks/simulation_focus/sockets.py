"""The same task on real sockets: ``scrapy crawl topic`` as it is, and plain Scrapy breadth first, on the web served over HTTP; what they brought home is read off the server's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extensions.config import Config
from tests.benchmarks.onecrawl import Crawl
from tests.benchmarks.simulation_focus.figures import recall_area

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.simulation_focus.task import Task

CRAWLERS = ("scrapy", "ours")


def on_sockets(task: Task, tables: Path | None, pages: int, slots: int) -> dict[str, dict[str, Any]]:
    """By crawler, the area under recall over `pages` pages and what else is told of a policy. Raises `RuntimeError` for a crawl that failed."""
    web = task.store.web
    assert task.topic_file is not None
    work = Crawl(
        web.folder.absolute(),
        [web.url(page) for page in task.seeds],
        urls=[],
        topic=f"@{task.topic_file.absolute()}",
        pages=pages,
        concurrency=slots,
        robots=False,
        tables=tables,
        settings={"TOPIC_TUNNEL": Config().tunnel},
    )
    found = {}
    for crawler in CRAWLERS:
        measured = work.run(crawler)
        order = list(dict.fromkeys(page for url in measured.answered if (page := web.number(f"https://{url}")) >= 0))[
            :pages
        ]
        found[crawler] = {
            "recall_area": round(recall_area(task.labels, order, pages), 5),
            "fetched": len(order),
            "relevant": sum(page in task.labels for page in order),
            "pages_per_second": round(measured.pages / measured.wall_seconds, 1),
        }
    return found
