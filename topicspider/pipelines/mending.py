"""What killed processes left half done in the folder, put right when a crawl ends: by whoever lives, for those that do not come back.

A killed process may leave a torn last line, and pages in its ``pages-N.jsonl`` that had not reached its ``crawl-N.sqlite``. Where an
agent that lives is given such a page again, it finds it stored and does not store it twice; so the database is completed from the
lines here. Files of living processes are never touched: one may write to them only with their number's lock in hand.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from extensions.errors import OutputError
from topicspider.pipelines import schema
from topicspider.pipelines.folder import numbered
from topicspider.pipelines.stored import url_in, whole_lines

if TYPE_CHECKING:
    from pathlib import Path

    from topicspider.pipelines.folder import OutputFolder
    from topicspider.pipelines.stored import StoredPages

logger = logging.getLogger(__name__)


def mend(folder: OutputFolder, stored: StoredPages) -> None:
    """Put right what the dead left, and complete this process's own database. A failure is worth a warning, not the crawl."""
    try:
        stored.look()
        complete(stored.path, folder.path(schema.FILE), len(stored.own))
        with folder.abandoned() as numbers:
            for number in numbers:
                path = numbered(folder.root / "pages.jsonl", number)
                progress = stored.files.get(path.name)
                if progress is None:
                    continue
                stored.look()  # it may have died after the last look
                cut(path, progress.whole)
                complete(path, numbered(folder.root / schema.FILE, number), progress.pages)
    except (OSError, sqlite3.Error, OutputError) as error:
        logger.warning("What a killed crawl left in %s could not be put right: %s", folder.root, error)


def cut(path: Path, whole: int) -> None:
    """Cut off what follows the whole lines."""
    if (torn := path.stat().st_size - whole) > 0:
        os.truncate(path, whole)
        logger.warning("Cut a torn line of %d bytes off %s: its page is fetched again", torn, path)


def complete(lines: Path, database: Path, pages: int) -> None:
    """Bring pages that are in the lines only into the database. `pages` is how many there are in the lines."""
    if not pages:
        return
    with closing(schema.connect(database)) as connection, connection:
        (there,) = connection.execute("SELECT count(*) FROM pages").fetchone()
        if there >= pages:  # a line is written before its row, so they are the same pages
            return
        missing = 0
        for line in whole_lines(lines):
            url = url_in(line)
            row = (schema.bindable(url),)
            if url is None or connection.execute("SELECT 1 FROM pages WHERE url = ?", row).fetchone():
                continue
            record = json.loads(line)
            missing += connection.execute(schema.INSERT_PAGE, schema.row_of(record)).rowcount
    if missing:
        logger.info("Completed %s with %d pages of %s", database.name, missing, lines.name)
