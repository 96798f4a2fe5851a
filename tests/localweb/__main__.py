"""`python -m tests.localweb build | serve | demo`: the local web from a terminal; `make crawl` runs the demo."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; its exit status."""
    options = _parser().parse_args(arguments)
    return {"build": _build, "serve": _serve, "demo": _demo}[options.command](options)


def _build(options: argparse.Namespace) -> int:
    from tests.localweb.sample import build, print_progress

    web = build(options.folder, fresh=options.fresh, progress=print_progress)
    print(f"{web.describe()}: {web.folder}")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from tests.localweb.behaviour import Behaviour
    from tests.localweb.content import Content
    from tests.localweb.server import run

    try:
        plan = json.loads(options.behaviour.read_text(encoding="utf-8")) if options.behaviour else None
        behaviour = Behaviour(plan, options.latency_ms)
        content = Content(options.folder, options.tables)
    except (OSError, ValueError, TypeError) as error:
        print(f"The local web cannot be served: {error}", file=sys.stderr)
        return 2
    serving = run(
        content,
        behaviour,
        http_port=options.http_port,
        https_port=options.https_port,
        log_file=options.log,
        ready_file=options.ready_file,
        until_eof=options.until_eof,
    )
    try:
        asyncio.run(serving)
    except OSError as error:  # a port that is taken, a log that cannot be written
        print(f"The local web cannot be served: {error}", file=sys.stderr)
        return 2
    return 0


def _demo(options: argparse.Namespace) -> int:
    from tests.localweb.demo import run

    return run(options.folder, pages=options.pages)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.localweb", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    sample_folder = argparse.ArgumentParser(add_help=False)
    sample_folder.add_argument(
        "--folder", type=Path, default=Path(".scrapy/sampleweb"), help="where the sample web is kept (%(default)s)"
    )
    build = commands.add_parser("build", parents=[sample_folder], help="build the sample web")
    build.add_argument("--fresh", action="store_true", help="build it anew even if nothing has changed")

    serve = commands.add_parser("serve", help="serve folders of pages until Ctrl-C")
    serve.add_argument("folder", type=Path, nargs="+", help="FOLDER/<host>/<path> holds the pages")
    serve.add_argument("--http-port", type=int, default=0, help="0: a free one")
    serve.add_argument("--https-port", type=int, default=0, help="0: a free one")
    serve.add_argument("--tables", type=Path, help="folder of pages.tsv and redirects.tsv")
    serve.add_argument("--log", type=Path, help="access log: one JSON line per request is appended")
    serve.add_argument("--latency-ms", type=float, default=0.0, help="wait before each answer")
    serve.add_argument("--behaviour", type=Path, help="JSON file of limits and faults: see tests.localweb.behaviour")
    serve.add_argument("--ready-file", type=Path, help="written with the ports as JSON when the servers listen")
    serve.add_argument("--until-eof", action="store_true", help="stop when standard input ends")

    demo = commands.add_parser("demo", parents=[sample_folder], help="crawl the sample web by topic")
    demo.add_argument("--pages", type=int, default=300, help="pages after which each crawl ends (%(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
