# Each target sets itself up into .venv; the second time that costs nothing.
PYTHON ?= python3
PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test check bench soak clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/run: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sheaf needs Python 3.11 or newer; set PYTHON=python3.12 or similar")'
	@$(PYTHON) -m venv .venv
	@echo "installing requirements into .venv ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/dev: .venv/run requirements-dev.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: .venv/run ## harvest the built-in sample world, offline
	@$(PY) main.py --sample

test: .venv/dev ## every test; servers are started by the tests themselves
	@$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: .venv/dev ## lint and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

bench: .venv/dev ## side-by-side measurements (minutes), see bench/README.md
	@$(PY) -m bench

soak: .venv/dev ## a large sample world with random faults, compared with an undisturbed run (minutes)
	@$(PY) -m tests.soak

clean: ## remove .venv and caches; never touches a harvest
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
