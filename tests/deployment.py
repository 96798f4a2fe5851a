"""A copy of the project as a clean clone has it, and the egg that `scrapyd-deploy` makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FOLDERS = ("settings", "topicspider", "extensions", "tests")
FILES = ("scrapy.cfg", "requirements.txt", "pyproject.toml", "setup.py", "README.md", "LICENSE")
DEPLOY = (sys.executable, "-m", "scrapyd_client.deploy")


def copy_project(folder: Path) -> Path:
    """The project's files and none of its state: builds write into the folder that they build."""
    for name in FOLDERS:
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in FILES:
        if (PROJECT / name).exists():
            shutil.copy(PROJECT / name, folder / name)
    return folder


def build_egg(project: Path, egg: Path) -> Path:
    """Build the project's egg with the command that people deploy with."""
    # Given --build-egg, it leaves its own temporary folder behind.
    environment = os.environ | {"TMPDIR": str(egg.parent)}
    command = [*DEPLOY, "--debug", "--build-egg", str(egg)]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return egg
